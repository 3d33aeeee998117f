"""Rounds from a hub: the numbers are those of exact arithmetic, within the error that is said."""

from fractions import Fraction

import numpy as np
import pytest

from sojourn.kernels.cycles import band_cycles, cycles_reference


def chain_of(rng, n, width):
    """Return an irreducible chain of multiples of 1/1024 whose jumps go at most `width` far."""
    rows = np.zeros((n, n))
    for s in range(n):
        for j in range(max(0, s - width), min(n, s + width + 1)):
            if abs(j - s) == 1 or rng.random() < 0.6:
                rows[s, j] = rng.integers(1, 64)
        rows[s] = np.floor(rows[s] / rows[s].sum() * 1023) / 1024
        rows[s, s - 1 if s else 1] += 1 - rows[s].sum()
    return rows


def rows_of(a):
    return np.concatenate([[0], np.cumsum((a > 0).sum(axis=1))]), np.nonzero(a)[1], a[a > 0]


def exact(numbers):
    return [[Fraction(float(x)) for x in row] for row in numbers]


@pytest.mark.parametrize("seed, n, width", [(1, 5, 4), (2, 9, 2), (3, 12, 3), (4, 20, 1), (5, 2, 1)])
def test_visits_costs_and_ways_back_are_those_of_fractions_within_the_error_that_is_said(seed, n, width):
    rng = np.random.default_rng(seed)
    a, costs = chain_of(rng, n, width), np.vstack([rng.integers(1, 9, n) / 4, np.ones(n)])
    hub, place = int(rng.integers(n)), rng.permutation(n) if width >= n - 1 else np.arange(n)
    home, rounds, visits, own, miss, hit, error = band_cycles(*rows_of(a), place, width, hub, costs, np.arange(n), *rows_of(a))
    known = cycles_reference(exact(a), exact(costs), hub)
    assert 0 < error < 1e-12
    for mine, true in ((home[0], known[0][0]), (home[1], known[0][1]), (rounds, known[1]), (visits, known[2]), (own, known[3])):
        for x, y in zip(mine, true, strict=True):
            assert abs(Fraction(float(x)) - y) <= y * Fraction(np.expm1(error))
    others = np.arange(n) != hub
    np.testing.assert_allclose(miss[others], 1 / own[others], rtol=1e-12)  # the chain's own rows leave for the hub once in `own`
    np.testing.assert_allclose(miss + hit, 1.0, rtol=1e-12)


def test_what_floats_cannot_hold_is_not_trusted():
    n = 3000  # a walk that drifts to 0: the far end is met once in 3^3000 rounds
    a = np.zeros((n, n))
    a[np.arange(n - 1), np.arange(1, n)] = 0.25
    a[np.arange(1, n), np.arange(n - 1)] = 0.75
    a[0, 0], a[-1, -1] = 0.75, 0.25
    none = (np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))
    _, _, visits, _, _, _, error = band_cycles(*rows_of(a), np.arange(n), 1, 0, np.ones((1, n)), *none)
    assert np.isfinite(error) and visits[-1] == 0 and visits[300] == pytest.approx(3.0**-300 * visits[0], rel=1e-9)
    back = a[::-1, ::-1].copy()  # and seen from the end that it drifts away from, home takes longer than floats can tell
    *_, error = band_cycles(*rows_of(back), np.arange(n), 1, 0, np.ones((1, n)), *none)
    assert error == np.inf
