"""The kernels of joint confidence sets against their readable twins."""

from itertools import pairwise

import numpy as np
import pytest

from sojourn.kernels.jit import from_python
from sojourn.kernels.joint_optimism import (
    JointProblem,
    joint_bellman,
    joint_bellman_reference,
    joint_bounds,
    joint_drift,
    joint_drift_reference,
    joint_flow,
    joint_flow_reference,
    joint_sets,
    joint_sets_reference,
    joint_threshold,
    joint_threshold_reference,
)


def sets(seed, many):
    """Random sets: counts, worths (zeros and signs mixed), the best unseen one, time, bound and rate bounds."""
    rng = np.random.default_rng(seed)
    for _ in range(many):
        k = int(rng.integers(0, 5))
        count = rng.integers(1, 60, k).astype(float)
        worth = np.where(rng.random(k) < 0.15, 0.0, rng.normal(rng.choice([-1.5, 0.0, 1.5]), 1.0, k))
        unseen = -np.inf if k and rng.random() < 0.3 else float(rng.normal(rng.choice([-1.0, 1.0])))
        rate = float(rng.uniform(1, 5))
        time = count.sum() / rate * float(rng.uniform(0.7, 1.4))
        low, high = rate * float(rng.uniform(0.3, 1)), rate * float(rng.uniform(1, 3))
        yield count, worth, unseen, time, float(rng.uniform(0.5, 12)) if k else np.inf, low, high


def test_the_best_intensities_are_those_that_bisection_finds():
    kernel, unseen_used, at_bound = from_python(joint_flow), 0, 0
    for count, worth, unseen, time, bound, low, high in sets(1, 600):
        row = np.empty(len(count) + 1)
        gain, rate = kernel(count, worth, unseen, time, bound, low, high, row)
        expected, expected_rate, expected_row = joint_flow_reference(count, worth, unseen, time, bound, low, high)
        assert gain == pytest.approx(expected, rel=1e-8, abs=1e-9)
        assert rate == pytest.approx(expected_rate, rel=1e-6) and row.sum() == pytest.approx(1)
        np.testing.assert_allclose(row, expected_row, atol=1e-6)
        unseen_used += row[-1] > 0
        at_bound += rate in (low, high)
    assert unseen_used > 60 and at_bound > 60


def test_no_intensities_of_the_set_are_worth_more():
    """Against a generic convex solver."""
    import cvxpy

    kernel, checked = from_python(joint_flow), 0
    for count, worth, unseen, time, bound, low, high in sets(2, 60):
        if not len(count) or unseen == -np.inf:
            continue
        q = cvxpy.Variable(len(count) + 1, nonneg=True)
        lack = cvxpy.sum(cvxpy.kl_div(count, q[:-1] * time)) + q[-1] * time
        total = cvxpy.sum(q)
        problem = cvxpy.Problem(cvxpy.Maximize(q @ np.append(worth, unseen)), [lack <= bound, total >= low, total <= high])
        problem.solve(solver="CLARABEL")
        if problem.status == "optimal":
            row = np.empty(len(count) + 1)
            gain, _ = kernel(count, worth, unseen, time, bound, low, high, row)
            assert gain == pytest.approx(problem.value, rel=1e-5, abs=1e-5)
            checked += 1
    assert checked > 25


def problem_of(rng, supports):
    n = int(rng.integers(2, 5))
    pair_start = np.arange(n + 1) * 2
    rows, counts, start = [], [], [0]
    support, support_start = [], [0]
    for _ in range(2 * n):
        possible = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
        seen = possible[rng.random(len(possible)) < 0.6]
        rows += [*seen, 0]
        counts += [*rng.integers(1, 30, len(seen)), 0]
        start.append(len(rows))
        support += list(possible)
        support_start.append(len(support))
    row_start, count = np.array(start), np.array(counts, dtype=float)
    total = np.add.reduceat(count, row_start[:-1])
    none = np.zeros(0, dtype=np.int64)
    time, bound = total / rng.uniform(1, 3, 2 * n), np.where(total > 0, rng.uniform(1, 9, 2 * n), np.inf)
    known = (np.array(support_start), np.array(support)) if supports else (none, none)
    pay = rng.random(2 * n), rng.random(2 * n)
    return JointProblem(pair_start, row_start, np.array(rows), count, time, bound, np.full(2 * n, 4.0), *known, *pay, 0.5, 4.0)


@pytest.mark.parametrize("supports", [True, False])
def test_a_look_at_drifts_over_joint_sets_is_the_one_written_plainly(supports):
    rng = np.random.default_rng(7)
    for _ in range(60):
        problem = problem_of(rng, supports)
        u = rng.normal(size=len(problem.pair_start) - 1)
        for kernel, reference in ((joint_drift, joint_drift_reference), (joint_bellman, joint_bellman_reference)):
            for found, expected in zip(kernel(u, problem), reference(u, problem)):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_the_threshold_is_the_one_written_plainly():
    rng = np.random.default_rng(8)
    for _ in range(40):
        count = rng.integers(1, 500, int(rng.integers(1, 5)))
        time, prior_time, level = (float(rng.uniform(*ends)) for ends in ((0.1, 50), (0.1, 2), (1e-6, 0.5)))
        args = time, len(count) + int(rng.integers(0, 3)), prior_time, level
        assert joint_threshold(count, *args) == pytest.approx(joint_threshold_reference(count, *args), rel=1e-10)


def test_the_thresholds_of_all_pairs_are_those_written_plainly():
    """Pairs without data have inf."""
    rng = np.random.default_rng(9)
    start, count, time, unit = np.array([0, 2, 2, 5]), rng.integers(1, 90, 5), np.array([3.0, 0.0, 7.0]), np.array([0.01, 1.0, 9.0])
    found = joint_bounds(start, count, time, np.array([2, 3, 4]), unit, 0.05)
    for i, k in ((0, 2), (2, 4)):
        expected = joint_threshold_reference(count[start[i]:start[i + 1]], time[i], k, unit[i], 0.05)
        assert found[i] == pytest.approx(expected, rel=1e-12)
    assert found[1] == np.inf


def test_the_sets_of_all_pairs_are_those_written_plainly():
    """A third of the pairs without data, a third with times that contradict the rate bounds (1 to 4)."""
    rng, pairs, moved = np.random.default_rng(9), 30, 0
    for level in (1e-6, 0.3, 1.0):
        row_start = np.concatenate([[0], np.cumsum(np.where(np.arange(pairs) % 3 == 0, 0, rng.integers(1, 5, pairs)))])
        count = rng.integers(1, 300, row_start[-1])
        visits = np.array([count[a:b].sum() for a, b in pairwise(row_start)])
        time = visits / rng.uniform(1, 4, pairs) * np.where(np.arange(pairs) % 3 == 2, 10.0 ** rng.choice([-3, 3], pairs), 1.0)
        given = row_start, count, visits, time, rng.integers(4, 9, pairs), level, 1.0, 4.0
        for found, expected in zip(joint_sets(*given), joint_sets_reference(*given)):
            np.testing.assert_allclose(found, expected, rtol=1e-10)
        moved += (joint_sets(*given)[0] != time).sum()
    assert moved == 30
