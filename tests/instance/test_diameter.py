"""The diameter against all policies, against value iteration, and its proof against wrong values."""

import itertools

import numpy as np
import pytest

from sojourn.instance import diameter as module
from sojourn.instance.all_targets import AllTargets
from sojourn.instance.diameter import diameter
from sojourn.instance.first_passage import Passage
from sojourn.model.ctmdp import CTMDP


def by_enumeration(model):
    n = model.n_states
    best = np.full((n, n), np.inf)
    for pairs in itertools.product(*[range(model.pair_start[s], model.pair_start[s + 1]) for s in range(n)]):
        matrix, time = model.matrix[list(pairs)].toarray(), 1 / model.rate[list(pairs)]
        for t in range(n):
            keep = [s for s in range(n) if s != t]
            system = np.eye(n - 1) - matrix[np.ix_(keep, keep)]
            if abs(np.linalg.det(system)) > 1e-12:
                hits = np.linalg.solve(system, time[keep])
                best[keep, t] = np.minimum(best[keep, t], np.where(hits > 0, hits, np.inf))
    np.fill_diagonal(best, 0)
    return best


def test_diameter_is_the_longest_of_the_shortest_times_over_all_policies(random_model):
    rng = np.random.default_rng(7)
    for i in range(40):
        model = random_model(rng, int(rng.integers(2, 5)), 2, 2 if i % 2 else 3)
        times = by_enumeration(model)
        found = diameter(model)
        assert found.value == pytest.approx(times.max(), rel=1e-10)
        assert times[found.pair] == pytest.approx(found.value, rel=1e-10)
        assert found.bounds[0] <= times.max() * (1 + 1e-12) and times.max() <= found.bounds[1] * (1 + 1e-12)
        assert found.bounds[1] - found.bounds[0] <= 1e-10 * found.value


def shortest_times(model, sweeps=40_000):
    """All targets by plain value iteration."""
    n = model.n_states
    value = np.zeros((n, n))
    for _ in range(sweeps):
        after = np.minimum.reduceat(1 / model.rate[:, None] + model.matrix @ value, model.pair_start[:-1], axis=0)
        np.fill_diagonal(after, 0.0)
        if np.abs(after - value).max() <= 1e-13 * after.max():
            break
        value = after
    return value


def line(n, up=1.0, down=(0.9, 1.0, 1.1)):
    """Birth and death on a line with three speeds of death."""
    generators = np.zeros((len(down), n, n))
    for a, d in enumerate(down):
        for s in range(n):
            if s < n - 1:
                generators[a, s, s + 1] = up
            if s > 0:
                generators[a, s, s - 1] = d
            generators[a, s, s] = -generators[a, s].sum()
    return CTMDP.from_generators(generators)


@pytest.mark.parametrize("n", [30, 61])
def test_diameter_of_larger_models_agrees_with_value_iteration(random_model, n):
    for model in (random_model(np.random.default_rng(n), n, 3, 4, ring=False), line(n // 2)):
        times = shortest_times(model)
        assert diameter(model).value == pytest.approx(times.max(), rel=1e-9)


def test_diameter_of_a_line_is_the_classical_birth_and_death_formula():
    """Up at rate 1, down at the slowest speed 0.9 on the way up: the passage times add up."""
    model = line(400)
    step, total = 1.0, 1.0  # from 0 to 1
    for _ in range(1, 399):
        step = 1.0 + 0.9 * step
        total += step
    found = diameter(model)
    assert found.value == pytest.approx(total, rel=1e-10) and found.pair == (0, 399)
    assert found.bounds[1] - found.bounds[0] <= 1e-6 * found.value


def test_large_models_are_bracketed_without_a_square_array(random_model, monkeypatch):
    model = random_model(np.random.default_rng(8), 120, 3, 5)
    exact = diameter(model)
    monkeypatch.setattr(module, "EXACT_STATES", 100)
    found = diameter(model)
    assert found.bounds[0] <= exact.value * (1 + 1e-9) and exact.value <= found.bounds[1] * (1 + 1e-9)
    assert found.value == pytest.approx(exact.value, rel=1e-6)
    slow = diameter(line(110))  # does not mix: one target at a time
    assert slow.value == pytest.approx(slow.bounds[0], rel=1e-6)
    monkeypatch.undo()
    assert slow.value == pytest.approx(diameter(line(110)).value, rel=1e-9)
    assert slow.value <= slow.bounds[1] < 10 * slow.value


def test_the_proof_does_not_accept_wrong_values(random_model):
    model = random_model(np.random.default_rng(9), 12, 2, 3)
    passage = Passage(model.matrix, model.pair_state, 1 / model.rate)
    value, choice = passage.solve(3, passage.toward(3))
    target = np.array([3])
    assert (
        passage.excess_above(value[:, None], target)[0] < 1e-12 and passage.excess_below(value[:, None], target)[0] < 1e-12
    )
    low, high = value.copy(), value.copy()
    low[5], high[5] = value[5] * 0.999, value[5] * 1.001
    off = passage.excess_above(low[:, None], target)[0]
    assert off > 1e-4 and low[5] / (1 - off) >= value[5]
    off = passage.excess_below(high[:, None], target)[0]
    assert off > 1e-4 and high[5] / (1 + off) <= value[5]
    hits = AllTargets(model.matrix[choice], passage.cost[choice]).hits[0]
    np.testing.assert_allclose(hits[:, 3], value, rtol=1e-10)


def test_a_state_that_cannot_be_reached_makes_the_diameter_infinite():
    model = CTMDP.from_arrays([[[0, 1.0]], [[0, 1.0]]], [[1.0], [1.0]])
    found = diameter(model)
    assert found.value == np.inf and found.pair == (1, 0)
    assert diameter(CTMDP.from_arrays([[[1.0]]], [[1.0]])).value == 0.0


def short_jumps(rng, n, actions, width):
    """Return a model whose jumps go at most `width` states far, some of them seldom."""
    rows = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            near = np.arange(max(0, s - width), min(n, s + width + 1))
            kept = near[(rng.random(len(near)) < 0.5) | (np.abs(near - s) == 1)]
            rows[s, a, kept] = rng.random(len(kept)) ** rng.integers(1, 6)
    rows /= rows.sum(axis=-1, keepdims=True)
    return CTMDP.from_arrays(rows, 10.0 ** rng.uniform(-1, 1, (n, actions)), normalize_rows=True)


def test_large_models_with_short_jumps_are_bracketed_by_a_net_of_policies(monkeypatch):
    rng = np.random.default_rng(5)
    models = [short_jumps(rng, int(rng.integers(2, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 5))) for _ in range(30)]
    exact = [diameter(model) for model in models]
    monkeypatch.setattr(module, "EXACT_STATES", 1)
    for model, known in zip(models, exact, strict=True):
        low, high = diameter(model).bounds
        assert low <= known.bounds[1] and known.bounds[0] <= high <= 1.01 * known.value


def test_one_policy_alone_bounds_the_diameter_from_above_and_says_so_when_floats_do_not_reach(monkeypatch):
    """With a single target the bracket is wide and still holds; a net whose visits are miscounted does not hold."""
    rng = np.random.default_rng(8)
    models = [short_jumps(rng, 30, 2, 2) for _ in range(12)]
    exact = [diameter(model) for model in models]
    monkeypatch.setattr(module, "EXACT_STATES", 1)
    monkeypatch.setattr("sojourn.instance.diameter_net.WORK", -1.0)
    for model, known in zip(models, exact, strict=True):
        low, high = diameter(model).bounds
        assert low <= known.bounds[1] and known.bounds[0] <= high < np.inf
    from sojourn.instance import cycles

    right = cycles.band_cycles

    def wrong(*given):
        home, rounds, visits, own, *rest = right(*given)
        return home, rounds, visits * 1e3, own, *rest

    monkeypatch.setattr(cycles, "band_cycles", wrong)
    assert any(diameter(model).bounds[1] < known.bounds[0] for model, known in zip(models, exact, strict=True))
    monkeypatch.setattr(cycles, "band_cycles", lambda *given: (*right(*given)[:-1], np.inf))
    open_end = diameter(models[0])
    assert open_end.bounds[1] == np.inf and open_end.value == open_end.bounds[0]


def test_where_jumps_are_long_a_very_large_model_has_a_lower_end_only(random_model, monkeypatch):
    model = random_model(np.random.default_rng(9), 60, 2, 5)
    known = diameter(model)
    monkeypatch.setattr(module, "EXACT_STATES", 1)
    monkeypatch.setattr(module, "NETTED", 0.0)
    assert diameter(model).value == pytest.approx(known.value, rel=1e-8)
    monkeypatch.setattr("sojourn.instance.diameter_bracket.Bracket.ALL", 1)
    open_end = diameter(model)
    low, high = open_end.bounds
    assert 0.5 * known.value <= low <= known.bounds[1] and high == np.inf
    assert open_end.value == low  # attained for certain, not what sweeps came to
    monkeypatch.setattr("sojourn.instance.diameter_bracket.Bracket.WORK", 0.0)  # eight sweeps do not converge on a slow line
    slow = line(80)
    found = diameter(slow)
    assert found.value == found.bounds[0] and found.value <= shortest_times(slow).max()
