"""The kernel of K and its readable twin agree, also at the ends of the rate interval and with zeros in the row."""

import numpy as np
import pytest

from sojourn.kernels.least_divergence import (
    least_divergence_of_gap,
    least_divergence_of_gap_reference,
    least_divergence_reference,
    least_divergence_row,
    least_divergences,
)


def rows(zeros):
    rng = np.random.default_rng(11)
    for _ in range(300):
        d = int(rng.integers(1, 9))
        p = rng.dirichlet(np.full(d, rng.choice([0.3, 1.0, 5.0]))) + 1e-6
        if zeros and d > 1:
            p[rng.integers(d)] = 0.0
        gain = float(rng.uniform(0.5, 3))
        running = float(rng.choice([0.0, gain, gain + 1.3]))
        yield (
            p / p.sum(),
            rng.normal(size=d),
            float(rng.normal()),
            float(rng.uniform(1, 8)),
            float(rng.random()),
            running,
            gain,
            1.0,
            8.0,
        )


@pytest.mark.parametrize("zeros", [False, True])
def test_the_kernel_finds_the_root_that_bisection_finds(zeros):
    finite = 0
    for args in rows(zeros):
        q = np.empty(len(args[0]))
        k, rate = least_divergence_row(*args, q)
        with np.errstate(all="ignore"):
            expected, expected_rate, expected_q = least_divergence_reference(*args)
        assert np.isinf(k) == np.isinf(expected)
        if np.isfinite(k):
            finite += k > 0
            assert k == pytest.approx(expected, rel=1e-8, abs=1e-12)
            assert rate == pytest.approx(expected_rate, rel=1e-6)
            np.testing.assert_allclose(q, expected_q, atol=1e-6)
    assert finite >= 60


def worthless_best(rng):
    """A choice whose best successor is worth exactly nothing: it pays only while it lasts."""
    d = int(rng.integers(2, 5))
    p = rng.integers(1, 9, d) * 10.0 ** -rng.integers(0, 8, d)
    value = rng.integers(-6, 0, d) * 1.0
    value[rng.integers(d)] = 0.0
    rate = 10.0 ** float(rng.integers(-2, 4))
    return p / p.sum(), value, 0.0, rate, 0.0, float(rng.integers(-2, 1)), -3.0, rate * 10.0 ** -float(rng.integers(1, 5)), rate


def test_a_best_successor_worth_nothing_is_no_pole():
    known = np.array([0.5, 1e-6, 0.499999]), np.array([-1.0, -4.0, 0.0]), 0.0, 60000.0, 0.0, -2.0, -3.0, 0.006, 60000.0
    assert least_divergence_row(*known, np.zeros(3))[0] == pytest.approx(4.654504692, rel=1e-9)
    rng = np.random.default_rng(3)
    for _ in range(300):
        args = worthless_best(rng)
        q = np.empty(len(args[0]))
        expected, expected_rate, expected_q = least_divergence_reference(*args)
        assert least_divergence_row(*args, q) == pytest.approx((expected, expected_rate), rel=1e-6, abs=1e-9)
        np.testing.assert_allclose(q, expected_q, atol=1e-6)


def gap_of(p, value, here, rate, reward, running, gain, *_):
    return -float(p @ (reward + value - here) + (running - gain) / rate)


def test_a_gap_that_is_given_takes_the_place_of_the_sum_of_its_terms():
    for args in rows(True):
        q, other, gap = np.empty(len(args[0])), np.empty(len(args[0])), gap_of(*args)
        found = least_divergence_of_gap(*args[:7], gap, *args[7:], q)
        np.testing.assert_allclose(found, least_divergence_row(*args, other), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(q, other, rtol=1e-9, atol=1e-12)
        with np.errstate(all="ignore"):
            expected = least_divergence_of_gap_reference(*args[:7], gap * (1 + 1e-9), *args[7:])
        found = least_divergence_of_gap(*args[:7], gap * (1 + 1e-9), *args[7:], q)
        np.testing.assert_allclose(found, expected[:2], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(q, expected[2], atol=1e-6)


def test_next_to_a_tie_the_digits_are_those_of_the_gap():
    p, value, gap = np.array([0.5, 0.5]), np.array([-1.0, 1.0]), 1e-14
    k, _ = least_divergence_of_gap(p, value, 0.0, 0.7, 0.1, 0.23, 0.3, gap, 0.7, 0.7, np.empty(2))  # 0.1 = 0.07/0.7, nearly
    assert k == pytest.approx(gap**2 / 2, rel=1e-12)


def test_the_batch_fills_only_the_pairs_that_are_wanted():
    args = next(rows(False))
    d = len(args[0])
    start, two = np.array([0, d, 2 * d]), np.ones(2)
    gap = gap_of(*args)
    k, rate, row = np.full(2, -1.0), np.full(2, -1.0), np.full(2 * d, -1.0)
    least_divergences(
        start,
        np.tile(args[0], 2),
        np.tile(args[1], 2),
        args[2] * two,
        args[3] * two,
        args[4] * two,
        args[5] * two,
        args[6],
        gap * two,
        1.0,
        8.0,
        np.array([False, True]),
        k,
        rate,
        row,
    )
    q = np.empty(d)
    assert (k[1], rate[1]) == least_divergence_of_gap(*args[:7], gap, *args[7:], q)
    assert k[0] == rate[0] == -1.0 and (row[:d] == -1).all() and (row[d:] == q).all()
