"""g and g_step against all policies in exact arithmetic, ties included."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from shapes import case
from sojourn.errors import AssumptionError
from sojourn.instance import deviations as module
from sojourn.instance import first_passage
from sojourn.instance.all_targets import AllTargets
from sojourn.instance.first_passage import Passage
from sojourn.instance.gain_gap import gain_gap, gap_of
from sojourn.instance.gaps import gaps, optimum
from sojourn.instance.sparse_targets import SparseTargets
from sojourn.model.checks import irreducible
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve


def compare(exact):
    model = exact.float_model()
    best = optimum(model)
    assert best.gain == pytest.approx(float(exact.gain), rel=1e-12)
    gap = [c[4] for options in exact.choices for c in options]
    assert (best.optimal == [g == 0 for g in gap]).all()
    np.testing.assert_allclose(best.gap, [float(g) for g in gap], rtol=1e-9, atol=0)
    below = [(exact.gain - gain, time) for _, gain, time in exact.policy_values() if gain < exact.gain]
    found = gap_of(best, irreducible(model))
    if not below:
        assert found.value == found.per_decision == np.inf and found.policy is None
        return
    assert found.value == pytest.approx(float(min(g for g, _ in below)), rel=1e-9, abs=0)
    assert found.per_decision == pytest.approx(float(min(g * t for g, t in below)), rel=1e-9, abs=0)
    values = {policy: gain for policy, gain, _ in exact.policy_values()}
    assert float(exact.gain - values[tuple(int(a) for a in found.policy)]) == pytest.approx(found.value, rel=1e-9, abs=0)


@pytest.mark.slow
def test_gaps_of_single_deviations_are_the_gaps_of_all_policies_without_ties(make_exact):
    rng = np.random.default_rng(1)
    for i in range(500):
        compare(make_exact(rng, int(rng.integers(2, 4)), int(rng.integers(1, 4)), 0, running=i % 3 == 0))


@pytest.mark.slow
def test_gaps_of_single_deviations_are_the_gaps_of_all_policies_with_ties(make_exact):
    rng = np.random.default_rng(2)
    for i in range(500):
        compare(
            make_exact(rng, int(rng.integers(2, 4)), int(rng.integers(0, 3)), int(rng.integers(1, 4)), running=i % 3 == 0)
        )


def test_larger_models_go_through_the_inverse_and_agree_with_the_policies_themselves(random_model):
    rng = np.random.default_rng(3)
    for n, actions in ((60, 3), (150, 2)):
        model = random_model(rng, n, actions, 4)
        found, best = gain_gap(model), optimum(model)
        assert best.gain - evaluate(model, found.policy).gain == pytest.approx(found.value, rel=1e-6)
        some = rng.choice(np.flatnonzero(~best.optimal), 25, replace=False)
        for k in some:  # no single deviation loses less
            policy = best.policy.copy()
            policy[model.pair_state[k]] = model.pair_action[k]
            assert best.gain - evaluate(model, policy).gain >= found.value * (1 - 1e-6)


def test_ties_in_a_larger_model_use_the_longest_way_back(random_model):
    """Duplicate a model's optimal actions with other rates: time per return grows, gaps stay, so g falls."""
    rng = np.random.default_rng(4)
    model = random_model(rng, 50, 2, 4)
    best = optimum(model)
    dense = model.dense()
    rows = np.arange(50)
    slow = dense["rate"][rows, best.policy] * rng.uniform(0.4, 0.9, 50)
    same = dense["transition"][rows, best.policy]
    lump = best.bias + best.gain / slow - same @ best.bias  # ties exactly, whatever the rate
    wider = CTMDP.from_arrays(
        np.concatenate([dense["transition"], same[:, None]], axis=1),
        np.column_stack([dense["rate"], slow]),
        np.column_stack([dense["reward"], lump]),
        normalize_rows=True,
    )
    found = gain_gap(wider)
    assert (optimum(wider).optimal.sum()) == 100
    assert found.value < gain_gap(model).value
    assert best.gain - evaluate(wider, found.policy).gain == pytest.approx(found.value, rel=1e-6)
    assert found.per_decision == pytest.approx(gain_gap(model).per_decision, rel=1e-8)  # the jumps are the same


def test_all_policies_optimal_gives_an_infinite_gap():
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[2.0, 2], [1, 1]], [[1.0, 1], [0, 0]])
    assert gain_gap(model).value == np.inf
    assert (gaps(model) == 0).all()


def test_a_large_reducible_model_is_refused_with_the_witness():
    n = 16
    transition = np.zeros((n, 2, n))
    for s in range(n):
        transition[s, 0, s] = 1.0
        transition[s, 1, (s + 1) % n] = 1.0
    model = CTMDP.from_arrays(transition, np.ones((n, 2)), np.random.default_rng(0).random((n, 2)))
    with pytest.raises(AssumptionError, match=r"65,536|6\.55e\+04.*never visits state"):
        gain_gap(model)


def crawl(n, seed=0):
    """Birth and death on a line with three speeds of death and random rewards: it mixes slowly."""
    generators = np.zeros((3, n, n))
    for a, down in enumerate((1.0, 1.02, 1.05)):
        generators[a] += np.diag(np.ones(n - 1), 1) + down * np.diag(np.ones(n - 1), -1)
        generators[a] -= np.diag(generators[a].sum(axis=1))
    return CTMDP.from_generators(generators, reward=np.random.default_rng(seed).random((n, 3)))


def test_large_models_get_the_same_gap_whether_they_mix_fast_or_slowly(random_model, monkeypatch):
    fast, slow = random_model(np.random.default_rng(5), 130, 3, 6), crawl(120)
    for model, cheap in ((fast, 0), (slow, module.CHEAP), (slow, 0)):
        exact = gain_gap(model)
        with monkeypatch.context() as patch:
            patch.setattr(module, "DENSE_STATES", 100)
            patch.setattr(module, "CHEAP", cheap)
            patch.setattr(module, "_by_hub_pays", lambda best: False)
            found = gain_gap(model)
        proved = model is fast or cheap > 0  # else: attained, with an open lower end, and said so
        assert exact.exact and found.exact == proved and found.pair == exact.pair
        assert found.value == pytest.approx(exact.value, rel=1e-9)
        assert found.per_decision == pytest.approx(exact.per_decision, rel=1e-9)
        np.testing.assert_array_equal(found.policy, exact.policy)
        assert found.bounds[0] <= exact.bounds[1] and exact.bounds[0] <= found.bounds[1]
        assert found.bounds[0] > 0 or not proved


def test_where_only_some_states_are_solved_for_the_interval_still_holds_the_gap(random_model, monkeypatch):
    monkeypatch.setattr(module, "CHEAP", 0)
    monkeypatch.setattr(module, "_by_hub_pays", lambda best: False)
    apart, right = 0, module._Deviations._reached
    for seed in range(6):
        dense = random_model(np.random.default_rng(seed), 130, 1, 20).dense()
        twice = {k: np.repeat(dense[k], 2, axis=1) for k in ("transition", "rate", "reward")}
        twice["reward"][:, 1] -= 0.5 + 0.1 * np.random.default_rng(seed).random(130)  # what deviations lose is much the same
        model = CTMDP.from_arrays(**twice, normalize_rows=True)
        exact, solved = gain_gap(model), []
        with monkeypatch.context() as patch:
            patch.setattr(module, "DENSE_STATES", 100)
            patch.setattr(module, "TRIED", 1)
            patch.setattr(module._Deviations, "_reached", lambda one, t, solved=solved: (solved.append(t), right(one, t))[1])
            found = gain_gap(model)
        assert len(solved) <= 2  # one by time, one by decisions
        assert 0 < found.bounds[0] <= exact.bounds[0] * (1 + 1e-9) and exact.value <= found.value * (1 + 1e-9) <= 2 * exact.value
        apart += found.bounds[1] > found.bounds[0] * (1 + 1e-6)
    assert apart > 0  # the limit was met


def test_one_sparse_factorization_gives_every_way_back_and_every_hitting_time(random_model):
    for model in (random_model(np.random.default_rng(5), 40, 3, 4), crawl(50)):
        first, cost = model.pair_start[:-1], 1 / model.rate
        dense, sparse = AllTargets(model.matrix[first], cost[first]).hits[0], SparseTargets(model.matrix[first])
        some = np.array([3, 0, 17])
        np.testing.assert_allclose(sparse.hits(cost[first], some), dense[:, some], rtol=1e-9)
        back = cost + (model.matrix @ dense)[np.arange(model.n_pairs), model.pair_state]
        detours = sparse.detours(model.matrix, model.pair_state)
        found = sparse.returns(cost[first], model.matrix, model.pair_state, cost, detours)
        np.testing.assert_allclose(found, back, rtol=1e-9)
        np.testing.assert_allclose(sparse.cycle(cost[first]), back[first], rtol=1e-9)


def test_a_large_slow_model_with_ties_gives_an_attained_gap_and_says_so(monkeypatch):
    model = crawl(120)
    dense = model.dense()
    twin = CTMDP.from_arrays(*(np.repeat(dense[k], 2, axis=1) for k in ("transition", "rate", "reward")), normalize_rows=True)
    monkeypatch.setattr(module, "DENSE_STATES", 100)
    assert gain_gap(twin).exact and gain_gap(twin).value == pytest.approx(gain_gap(model).value, rel=1e-9)
    monkeypatch.setattr(module, "CHEAP", 0)
    found = gain_gap(twin)
    assert not found.exact and found.bounds[0] == 0 and found.value == pytest.approx(gain_gap(model).value, rel=1e-9)


def test_a_target_reached_after_very_many_jumps_is_solved_without_a_factorization(random_model, monkeypatch):
    """Rounding of the values, about 1e5, hides the residual from double precision."""
    model = random_model(np.random.default_rng(6), 60, 1, 6)
    dense = model.dense()
    dense["transition"][:, 0, 7] *= 1e-3
    dense["transition"] /= dense["transition"].sum(axis=2, keepdims=True)
    rare = CTMDP.from_arrays(dense["transition"], dense["rate"], dense["reward"])
    passage = Passage(rare.matrix, rare.pair_state, 1 / rare.rate)
    choice = np.arange(60)
    direct = passage.to_target(choice, 7)
    monkeypatch.setattr(first_passage, "MANY_STATES", 10)
    monkeypatch.setattr(Passage, "_dense_solve", None)
    np.testing.assert_allclose(passage.to_target(choice, 7), direct, rtol=1e-10)
    assert direct.max() > 1e4


def test_a_gap_below_the_floats_that_keep_their_digits_is_not_called_exact():
    found = gain_gap(case(43, 3509).model)  # 2.96e-322: the value has two digits, and the interval once had none to spare
    low, high = found.bounds
    assert low == 0 and found.value <= high <= 1e-290 and not found.exact


def banded(rng, n, actions, width, power=5):
    """Return a model whose jumps go at most `width` states far, some of them seldom."""
    rows = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            near = np.arange(max(0, s - width), min(n, s + width + 1))
            kept = near[(rng.random(len(near)) < 0.5) | (np.abs(near - s) == 1)]
            rows[s, a, kept] = rng.random(len(kept)) ** rng.integers(1, power + 1)
    rows /= rows.sum(axis=-1, keepdims=True)
    return CTMDP.from_arrays(rows, 10.0 ** rng.uniform(-1, 1, (n, actions)), rng.normal(size=(n, actions)), normalize_rows=True)


def test_large_models_with_short_jumps_go_by_a_hub_and_have_the_same_gap(monkeypatch):
    rng = np.random.default_rng(61)
    models = [banded(rng, int(rng.integers(3, 40)), int(rng.integers(2, 4)), int(rng.integers(1, 5))) for _ in range(25)]
    exact = [gain_gap(model) for model in models]
    monkeypatch.setattr("sojourn.instance.deviations.DENSE_STATES", 1)
    for model, known in zip(models, exact, strict=True):
        found = gain_gap(model)
        assert found.value == pytest.approx(known.value, rel=1e-9)
        for mine, true in ((found.bounds, known.bounds), (found.per_decision_bounds, known.per_decision_bounds)):
            assert mine[0] <= true[1] and true[0] <= mine[1] and mine[1] <= mine[0] * (1 + 1e-8)
        gain = evaluate(model, found.policy).gain
        assert solve(model).gain - gain == pytest.approx(found.value, rel=1e-6, abs=1e-12)


def test_a_wrong_visit_count_of_the_hub_is_seen_in_the_gap(monkeypatch):
    """A planted fault: visits a tenth too many move the gap out of the interval that is known to hold it."""
    from sojourn.instance import cycles

    model = banded(np.random.default_rng(62), 20, 2, 2)
    known = gain_gap(model)
    monkeypatch.setattr("sojourn.instance.deviations.DENSE_STATES", 1)
    right = cycles.band_cycles

    def wrong(*given):
        home, rounds, visits, *rest = right(*given)
        return home, rounds, visits * 1.1, *rest

    monkeypatch.setattr(cycles, "band_cycles", wrong)
    found = gain_gap(model)
    assert not (found.bounds[0] <= known.bounds[1] and known.bounds[0] <= found.bounds[1])


def test_above_the_size_at_which_all_are_compared_the_gap_is_attained_and_open_below(random_model, monkeypatch):
    model = random_model(np.random.default_rng(63), 60, 2, 5)
    known = gain_gap(model)
    for name, value in (("DENSE_STATES", 1), ("ALL", 1), ("CANDIDATES", 60)):
        monkeypatch.setattr(f"sojourn.instance.deviations.{name}", value)
    monkeypatch.setattr("sojourn.instance.deviations._by_hub_pays", lambda best: False)
    found = gain_gap(model)
    assert found.bounds[0] == 0 and found.bounds[1] >= known.bounds[0] and found.value >= known.value * (1 - 1e-9)
    assert found.value <= 3 * known.value
    monkeypatch.setattr("sojourn.instance.first_passage.Passage.by_steps", lambda *_: None)
    loose = gain_gap(model)
    assert loose.bounds[0] == 0 and loose.bounds[1] >= known.value and loose.policy is None


def test_g_of_a_large_tree_is_a_number_that_incomes_allow_and_nothing_overflows():
    n = 21_000
    state = np.arange(n)
    child = np.repeat(state, 3) * 3 + np.tile([1, 2, 3], n)
    up, down = np.column_stack([state[1:], (state[1:] - 1) // 3]), np.column_stack([np.repeat(state, 3), child])[child < n]
    jumps = sparse.csr_matrix((np.r_[np.ones(n - 1), np.full(len(down), 0.4)], np.r_[up, down].T), shape=(n, n))
    rate = np.asarray(jumps.sum(axis=1)).ravel()
    rows = (sparse.diags(1 / rate) @ jumps).tocsr()[np.repeat(state, 2)]
    model = CTMDP.from_pairs(np.repeat(state, 2), np.tile([0, 1], n), rows, np.repeat(rate, 2),
                             np.tile([0.0, 0.1], n) * np.repeat(state % 3, 2), np.repeat(state % 5, 2).astype(float),
                             normalize_rows=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gain_gap(model)
    assert 0 <= found.bounds[0] <= float(found) < 10 and found.bounds[1] >= float(found)
