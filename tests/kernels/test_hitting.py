"""Elimination without a subtraction: the numbers are those of exact arithmetic, within the error that is said."""

from fractions import Fraction

import numpy as np
import pytest

from sojourn.kernels.hitting import band_passage, hits_reference, leaf_hits, passage_advantages


def walk(n, up):
    a = np.zeros((n, n))
    for s in range(n):
        if s < n - 1:
            a[s, s + 1] = up
        if s > 0:
            a[s, s - 1] = 1 - up
    return a


def fractions(array):
    return [[Fraction(float(x)) for x in row] for row in array]


def rows(a):
    start = np.concatenate([[0], np.cumsum((a > 0).sum(axis=1))])
    return start, np.nonzero(a)[1], a[a > 0]


def chains():
    rng = np.random.default_rng(0)
    yield walk(12, 0.125)
    yield walk(20, 0.984375)
    for n in (5, 9):
        a = np.round(rng.random((n, n)) ** 6 * 2**20) / 2**20 / n
        a[np.arange(n), (np.arange(n) + 1) % n] += 2.0**-18
        np.fill_diagonal(a, 0.0)
        yield a


def test_the_reference_solves_its_equations_exactly():
    a, cost = fractions(walk(7, 0.25)), [Fraction(s + 1, 3) for s in range(7)]
    value = hits_reference(a, cost, 4)
    assert value[4] == 0
    for s in (0, 1, 2, 3, 5, 6):
        assert sum(a[s][j] * (value[s] - value[j]) for j in range(7)) == cost[s]


@pytest.mark.parametrize("a", list(chains()))
def test_hits_of_all_targets_agree_with_fractions_within_the_error_that_is_said(a):
    n = len(a)
    cost = np.linspace(1, 3, n)
    hits, error = np.zeros((1, n, n)), np.zeros(n)
    leaf_hits(np.column_stack([cost, a]), 1, hits, error)
    worst = 0.0
    for t in range(n):
        exact = hits_reference(fractions(a), [Fraction(float(c)) for c in cost], t)
        for s in range(n):
            if s != t:
                worst = max(worst, abs(float(Fraction(hits[0, s, t]) / exact[s] - 1)) / error[t])
    assert error.max() < 1e-12 and 1e-4 < worst < 1  # a bound, and not one of a thousand times the truth and more


@pytest.mark.parametrize("a", list(chains()))
def test_one_target_agrees_with_fractions_in_all_its_parts(a):
    n, target, busy = len(a), len(a) - 1, 0
    cost = np.linspace(1, 3, n)
    place = np.arange(n)
    width = int(np.abs(np.subtract(*np.nonzero(a))).max())
    solution, far, error, visits = band_passage(*rows(a), cost, place, place, width, target, busy, np.ones(n))
    exact = hits_reference(fractions(a), [Fraction(float(c)) for c in cost], target)
    assert 0 < error < 1e-12
    assert abs(float(Fraction(far) / exact[busy] - 1)) <= error
    for s in range(n - 1):
        whole = Fraction(far) * Fraction(solution[s, 1]) + Fraction(solution[s, 2])
        assert abs(float(whole / exact[s] - 1)) <= 2 * error
    assert np.allclose(solution[:, 0] + solution[:, 1], 1)
    start = hits_reference(fractions(a), [Fraction(1)] * n, target)
    assert visits.sum() == pytest.approx(float(sum(start)), rel=1e-12)  # as many visits as steps


def test_differences_keep_their_digits_where_the_values_are_huge():
    """Costs of about 1e13: a difference of neighbours far from the target is of order one."""
    n = 20
    a = walk(n, 0.125)
    target = n - 1
    place = np.arange(n)
    solution, far, error, _ = band_passage(*rows(a), np.ones(n), place, place, 1, target, 0, np.ones(n))
    exact = hits_reference(fractions(a), [Fraction(1)] * n, target)
    both = np.zeros((2 * n, n))
    both[::2], both[1::2] = a, walk(n, 0.25)  # a second option in each state
    state = np.repeat(place, 2)
    value, bound, size = passage_advantages(*rows(both), np.ones(2 * n), state, 2 * place, target, solution, far, error)
    for k in range(1, 2 * n - 2, 2):
        s = k // 2
        true = 1 + sum(Fraction(float(p)) * (exact[j] - exact[s]) for j, p in enumerate(both[k]) if p > 0)
        assert abs(float(Fraction(value[k]) - true)) <= bound[k]
        assert bound[k] < 1e-9 * size[k]
    assert (value[::2] == 0).all() and far > 1e13


def test_numbers_beyond_floats_are_said_to_be_and_are_not_nan():
    n = 400
    a = walk(n, 0.0625)
    place = np.arange(n)
    solution, far, error, _ = band_passage(*rows(a), np.ones(n), place, place, 1, n - 1, 0, np.ones(n))
    assert error == np.inf and np.isfinite(far) and np.isfinite(solution).all()
