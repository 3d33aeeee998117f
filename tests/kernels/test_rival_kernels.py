"""Kernels of the rivals equal their readable twins: grids of times, cells, planning under a bound of the span."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.kernels.cells import deal, deal_reference, median_of_means
from sojourn.kernels.gridding import count_grid, count_grid_reference
from sojourn.kernels.optimism import Extended, extended_value_iteration
from sojourn.kernels.span_optimism import span_value_iteration, span_value_iteration_reference
from sojourn.learn.counts import NO_SLOTS, Counts
from sojourn.model.knowledge import Knowledge

seeds = st.integers(0, 10**6)


@settings(max_examples=60)
@given(seed=seeds, step=st.sampled_from([0.05, 0.7, 4.0]))
def test_counting_grid_points_in_any_pieces_equals_counting_them_one_by_one(seed, step):
    rng = np.random.default_rng(seed)
    known = Knowledge.from_arrays(np.zeros((3, 2)), (0.1, 10.0))
    n = 60
    pair, tau = rng.integers(0, 6, n), rng.exponential(1.0, n)
    columns = pair, pair // 2, tau, rng.normal(size=n), rng.normal(size=n)
    fast, slow = Counts(known), Counts(known)
    memory, last = [np.zeros(2), np.zeros(2)], [np.full(1, -1), np.full(1, -1)]
    for counts in (fast, slow):
        counts.reserve(100)
    for part in np.array_split(np.arange(n), [1, 20]):
        count_grid(fast.arrays(NO_SLOTS), memory[0], last[0], step, *(c[part] for c in columns))
    count_grid_reference(slow.arrays(NO_SLOTS), memory[1], last[1], step, *columns)
    assert np.array_equal(fast.visits, slow.visits) and fast.epoch == slow.epoch
    assert np.allclose(fast.reward_sum, slow.reward_sum) and np.allclose(*memory, atol=1e-9) and last[0] == last[1]
    assert all(np.array_equal(a, b) for a, b in zip(fast.rows(), slow.rows()))


@given(seed=seeds)
def test_dealing_equals_the_reference_and_a_single_group_is_the_mean(seed):
    rng = np.random.default_rng(seed)
    pair, tau = rng.integers(0, 3, 200), rng.exponential(1.0, 200)
    one, two = (np.zeros((3, 16)), np.zeros(3, dtype=np.int64)), (np.zeros((3, 16)), np.zeros(3, dtype=np.int64))
    deal(*one, pair, tau)
    deal_reference(*two, pair, tau)
    assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])
    assert median_of_means(one[0][0], int(one[1][0]), 1) == pytest.approx(tau[pair == 0].mean())


def problem(seed: int, supports: bool) -> Extended:
    rng = np.random.default_rng(seed)
    n, actions = int(rng.integers(2, 6)), 2
    rows = rng.dirichlet(np.ones(n), n * actions)
    one = np.ones(n * actions)
    return Extended(np.arange(n + 1) * actions, np.arange(n * actions + 1) * n, np.tile(np.arange(n), n * actions), rows.ravel(),
                    rng.uniform(0, 0.3, n * actions), one, one, rng.random(n * actions), 0 * one, supports, False)


@settings(max_examples=30)
@given(seed=seeds, span=st.sampled_from([0.05, 0.5, 100.0]), supports=st.booleans())
def test_planning_under_a_span_equals_the_reference_and_keeps_the_span(seed, span, supports):
    given_u = np.zeros(len(problem(seed, supports).pair_start) - 1)
    u = given_u.copy()
    pair, worst, weight, sweeps, low, high, done = span_value_iteration(u, span, 1e-2, 300, 0.9, problem(seed, supports))
    there = span_value_iteration_reference(given_u, span, 1e-2, 300, 0.9, problem(seed, supports))
    assert done == there[7] and sweeps == there[4] and np.allclose(u, there[0]) and np.allclose([low, high], there[5:7])
    assert np.array_equal(pair, there[1]) and np.allclose(weight, there[3])
    assert np.array_equal(worst // 2, np.arange(len(u)))  # of equals either may be the worst: all of a row may be open
    assert np.ptp(u) <= span + 1e-9 and ((weight >= 0) & (weight <= 1)).all()
    if span == 100.0:
        free = np.zeros(len(u))
        *_, high_free, _ = extended_value_iteration(free, 1e-2, 300, 0.9, problem(seed, supports))
        assert high == pytest.approx(high_free) and (weight == 1).all()
