"""Expected costs between all pairs of states: right in every entry, whatever the drift, within the error that is said."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sojourn.instance.all_targets import LEAF, AllTargets, band_order
from sojourn.kernels.hitting import hits_reference


def walk(n, up):
    a = np.zeros((n, n))
    for s in range(n):
        a[s, min(s + 1, n - 1)] += up
        a[s, max(s - 1, 0)] += 1 - up
    return a


def scattered(n, seed=0):
    rng = np.random.default_rng(seed)
    a = np.zeros((n, n))
    for s in range(n):
        a[s, rng.choice(n, 4, replace=False)] = np.ceil(rng.random(4) ** 5 * 2**18) / 2**20
        a[s, (s + 1) % n] += 2.0**-12
    return a


def off(a, cost, found, targets):
    """Return the largest relative error over its bound."""
    exact = [[Fraction(float(x)) if i != j else Fraction(0) for j, x in enumerate(row)] for i, row in enumerate(a)]
    worst = 0.0
    for t in targets:
        true = hits_reference(exact, [Fraction(float(c)) for c in cost], t)
        for s in range(len(a)):
            if s != t:
                worst = max(worst, abs(float(Fraction(found.hits[0, s, t]) / true[s] - 1)) / found.error[t])
    return worst


@pytest.mark.parametrize("up", [0.375, 0.9375])
def test_a_long_walk_with_drift_keeps_its_digits(up):
    """The diameter of 150 states with up-probability 0.375 was 9.4e16 for more than 8e33."""
    a, cost = walk(150, up), np.ones(150)
    found = AllTargets(csr_matrix(a), cost)
    assert found.error.max() < 1e-11
    assert off(a, cost, found, (0, 70, 149)) < 1


def test_the_order_of_the_states_does_not_matter():
    p = np.random.default_rng(1).permutation(60)
    a = walk(60, 0.25)[np.ix_(p, p)]
    found = AllTargets(csr_matrix(a), np.ones(60))
    assert off(a, np.ones(60), found, (3, 31)) < 1
    order = band_order(csr_matrix(a))
    assert np.abs(np.subtract(*np.nonzero(a[np.ix_(order, order)]))).max() <= 2  # it is a line again


def test_halves_of_halves_agree_with_exact_arithmetic_for_several_costs():
    n = 2 * LEAF + 7
    a = scattered(n)
    cost = np.random.default_rng(2).integers(1, 9, n) / 4
    found = AllTargets(csr_matrix(a), cost, np.ones(n))
    assert off(a, cost, found, (0, n // 2, n - 1)) < 1
    assert found.error.max() < 1e-10
    np.testing.assert_allclose(found.hits[1], AllTargets(csr_matrix(a), np.ones(n)).hits[0], rtol=1e-12)


def test_panels_of_a_larger_chain_agree_with_a_factorization():
    a = scattered(300, seed=5) + 2.0**-14
    a /= a.sum(axis=1, keepdims=True)
    found = AllTargets(csr_matrix(a), np.ones(300))
    for t in (0, 149, 150, 299):
        keep = np.arange(300) != t
        true = np.linalg.solve(np.eye(299) - a[np.ix_(keep, keep)], np.ones(299))
        np.testing.assert_allclose(found.hits[0, keep, t], true, rtol=1e-8)
        assert found.hits[0, t, t] == 0
    assert found.error.max() < 1e-10


def test_times_beyond_floats_have_an_infinite_error_and_no_nan():
    found = AllTargets(csr_matrix(walk(400, 0.0625)), np.ones(400))
    assert np.isfinite(found.hits).all() and np.isinf(found.error[-1]) and np.isfinite(found.error[:200]).all()
