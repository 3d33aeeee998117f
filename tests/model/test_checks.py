"""The verdicts on the paper's assumptions, against enumeration of all policies on small models."""

from itertools import product

import numpy as np
import pytest

from sojourn.model.checks import check, communicating, irreducible, rates_bounded, unichain
from sojourn.model.ctmdp import CTMDP


def small_model(rng, density):
    """A random model of 1 to 6 states and at most 3 actions each, by its supports only."""
    n = int(rng.integers(1, 7))
    counts = rng.integers(1, 4, size=n)
    while np.prod(counts) > 100:
        counts = rng.integers(1, 4, size=n)
    state = np.repeat(np.arange(n), counts)
    action = np.concatenate([np.arange(c) for c in counts])
    support = rng.random((len(state), n)) < density
    support[np.arange(len(state)), rng.integers(0, n, len(state))] = True
    return CTMDP.from_pairs(state, action, support / support.sum(1, keepdims=True), np.ones(len(state)), normalize_rows=True)


def reach(model, pairs):
    """Transitive closure of a policy's graph, each state reaching itself."""
    matrix = (model.matrix[pairs].toarray() > 0) | np.eye(model.n_states, dtype=bool)
    for _ in range(model.n_states):
        matrix = matrix @ matrix
    return matrix


def by_enumeration(model):
    """(every policy irreducible, every policy unichain) by looking at all policies."""
    every, single = True, True
    for pairs in product(*(range(model.pair_start[s], model.pair_start[s + 1]) for s in range(model.n_states))):
        matrix = reach(model, np.array(pairs))
        every = every and bool(matrix.all())
        recurrent = [s for s in range(model.n_states) if matrix[np.flatnonzero(matrix[s]), s].all()]
        single = single and bool(matrix[np.ix_(recurrent, recurrent)].all())
    return every, single


def confirm_witness(model, verdict):
    matrix = reach(model, model.policy_pairs(verdict.policy))
    inside = list(verdict.states)
    outside = [s for s in range(model.n_states) if s not in inside]
    assert inside and not matrix[np.ix_(inside, outside)].any()
    if verdict.unreached is not None:
        assert verdict.unreached in outside
        assert f"state {model.states[verdict.unreached]!r}" in verdict.statement
    if verdict.others:
        others = list(verdict.others)
        rest = [s for s in range(model.n_states) if s not in others]
        assert not set(inside) & set(others) and not matrix[np.ix_(others, rest)].any()


@pytest.mark.parametrize("density", [0.15, 0.35, 0.6])
def test_irreducible_and_unichain_verdicts_equal_enumeration_on_a_thousand_small_models(density):
    rng = np.random.default_rng(20260101)
    answers = []
    for _ in range(400):
        model = small_model(rng, density)
        every, single = by_enumeration(model)
        one, two = irreducible(model), unichain(model)
        assert one.holds is every and two.holds is single
        for verdict in (one, two):
            if verdict.holds is False:
                confirm_witness(model, verdict)
        answers.append((every, single))
    assert len(set(answers)) >= 2  # the comparison saw more than one kind of model


def test_communicating_equals_the_union_graph():
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(300):
        model = small_model(rng, 0.2)
        union = np.zeros((model.n_states, model.n_states), dtype=bool)
        for k in range(model.n_pairs):
            union[model.pair_state[k]] |= model.matrix[[k]].toarray().ravel() > 0
        union |= np.eye(model.n_states, dtype=bool)
        for _ in range(model.n_states):
            union = union @ union
        verdict = communicating(model)
        assert verdict.holds is bool(union.all())
        seen.add(verdict.holds)
        if not verdict:
            assert not union[verdict.states[0], verdict.unreached]
    assert seen == {True, False}


def test_a_riverswim_without_leak_is_refused_with_the_policy_that_stays(golden_model):
    verdicts = check(golden_model("riverswim_unichain"))
    assert verdicts.irreducible.holds is False and verdicts.unichain.holds is True and verdicts.communicating.holds is True
    assert "for ever" in verdicts.irreducible.statement
    confirm_witness(golden_model("riverswim_unichain"), verdicts.irreducible)


@pytest.mark.parametrize("name", ["two_state", "three_state", "boundary_cases", "ties", "miller_n3_m3", "machine_maintenance"])
def test_golden_models_meet_both_assumptions(golden_model, name):
    verdicts = check(golden_model(name))
    assert all(verdicts)
    assert len(verdicts.summary().splitlines()) == 4


def test_irreducible_where_merging_stops_early_is_found_by_peeling():
    # k may go to a or b; a leads to b, b to k and a: always all three, but no single step is forced on k
    model = CTMDP.from_pairs([0, 0, 1, 2], [0, 1, 0, 0], [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0.5, 0.5, 0]], np.ones(4))
    assert irreducible(model)


def test_unichain_is_left_open_rather_than_guessed():
    # 100 states with random successors: one end component, too many classes to look at every set of them
    rng = np.random.default_rng(5)
    n, a, d = 100, 3, 5
    transition = np.zeros((n * a, n))
    np.add.at(transition, (np.repeat(np.arange(n * a), d), rng.integers(n, size=n * a * d)), 1 / d)
    model = CTMDP.from_pairs(np.repeat(np.arange(n), a), np.tile(np.arange(a), n), transition, np.ones(n * a), normalize_rows=True)
    verdict = unichain(model)
    assert verdict.holds is None and not verdict
    assert str(verdict).startswith("unichain under every policy: not decided.") and "100 states" in verdict.statement


def test_a_witness_names_states_and_actions_by_label():
    model = CTMDP.from_pairs([0, 0, 1], [0, 1, 2], [[1, 0], [0, 1], [1, 0]], np.ones(3), states=["idle", "busy"],
                             actions=["wait", "start", "serve"])
    verdict = irreducible(model)
    assert "'wait' in 'idle'" in verdict.statement and "never visits state 'busy'" in verdict.statement
    assert verdict.policy.tolist() == [0, 2] and verdict.states == ("idle",) and verdict.unreached == "busy" and not verdict


def test_all_verdicts_print_one_a_line():
    verdicts = check(CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [0.5]]))
    assert str(verdicts) == verdicts.summary() and len(str(verdicts).splitlines()) == 4


def test_rate_bounds_are_told_with_their_values():
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [0.5]], rate_bounds=(0.25, 4))
    assert rates_bounded(model) and "0.5 to 2" in rates_bounded(model).statement and "[0.25, 4]" in rates_bounded(model).statement


def test_irreducible_is_what_looking_at_every_state_says():
    """Only states that no sure jump enters are looked at; the answer is the one of all of them."""
    from sojourn.model.forced import Forced

    rng, answers = np.random.default_rng(17), []
    for _ in range(300):
        n, actions = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        rows = (rng.random((n, actions, n)) < rng.uniform(0.15, 0.7)) * 1.0
        rows[np.arange(n), :, (np.arange(n) + 1) % n] += rng.random((n, actions)) < 0.6
        rows[rows.sum(axis=-1) == 0, 0] = 1.0
        model = CTMDP.from_arrays(rows / rows.sum(axis=-1, keepdims=True), np.ones((n, actions)), normalize_rows=True)
        forced = Forced(model)
        known = not any(forced.avoiding_state(j)[0].any() for j in range(n))
        answers.append(bool(irreducible(model)))
        assert answers[-1] == known
    assert 30 < sum(answers) < 270
