"""Tilted rows and rates: the kernel is its readable twin, and both keep what they promise."""

import numpy as np
import pytest

from sojourn.kernels.tilting import intensities, intensities_reference


def drawn(rng, bounds, n_rows=40, n_states=6):
    """Return rows with zeros in them, rates within the bounds, and slopes from faint to steep: some lead out of the bounds."""
    row = rng.dirichlet(np.full(n_states, 0.5), n_rows) * (rng.random((n_rows, n_states)) < 0.7)
    row[:, 0] += 0.1
    row /= row.sum(axis=1)[:, None]
    rate = np.exp(rng.uniform(*np.log(bounds), n_rows))
    return row, rate, rng.standard_normal((n_rows, n_states)) * 10.0 ** rng.uniform(-6, 4, (n_rows, 1)) / rate[:, None], *bounds


@pytest.mark.parametrize("bounds", [(0.5, 4.0), (1e-6, 1e6), (1.0, 1.0), (2.0**20, 2.0**21)])
def test_it_equals_the_reference_and_is_the_tilted_row(bounds):
    row, rate, slope, low, high = given = drawn(np.random.default_rng(7), bounds)
    found = intensities(*given)
    np.testing.assert_allclose(found, intensities_reference(*given), rtol=1e-9)
    total = found.sum(axis=1)
    assert ((found > 0) == (row > 0)).all() and (total >= low * (1 - 1e-12)).all() and (total <= high * (1 + 1e-12)).all()
    several = (row > 0).sum(axis=1) > 1
    for p, q, c, lam in zip(row[several], found[several], slope[several], rate[several]):
        seen = p > 0
        a = p[seen] / q[seen] + c[seen]  # one number per row ...
        assert np.ptp(a) <= 1e-9 * (np.abs(p[seen] / q[seen]).max() + np.abs(c[seen]).max())
        if low * (1 + 1e-9) < q.sum() < high * (1 - 1e-9):  # ... and the old 1/λ where no bound is met
            assert a[0] == pytest.approx(1 / lam, rel=1e-9)
    if low < high:
        assert (np.isclose(total, low) | np.isclose(total, high)).any() and ((total > 1.01 * low) & (total < 0.99 * high)).any()
