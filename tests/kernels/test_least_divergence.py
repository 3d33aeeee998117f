"""The kernel of K and its readable twin agree, also at the ends of the rate interval and with zeros in the row."""

import numpy as np
import pytest

from sojourn.kernels.least_divergence import least_divergence_reference, least_divergence_row, least_divergences


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


def test_the_batch_fills_only_the_pairs_that_are_wanted():
    args = next(rows(False))
    d = len(args[0])
    start, two = np.array([0, d, 2 * d]), np.ones(2)
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
        1.0,
        8.0,
        np.array([False, True]),
        k,
        rate,
        row,
    )
    q = np.empty(d)
    assert (k[1], rate[1]) == least_divergence_row(*args, q)
    assert k[0] == rate[0] == -1.0 and (row[:d] == -1).all() and (row[d:] == q).all()
