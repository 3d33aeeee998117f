"""Uncertainty about the rates of events, given how often each was seen (n) and how long it was exposed (X).

Seen n times in exposure X, a rate θ has the log-likelihood n log θ - θ X of a Poisson count, whatever was decided when.

- Posterior: Gamma(a + n, b + X) with the weak prior a = b·typical = 1/2, so that b is in the unit of time of the data.
- Intervals valid at all times at once: averaging the likelihood over a Gamma(a, b) prior gives a martingale of mean 1 under θ, so
  by Ville's inequality  a log b + lnΓ(n+a) - lnΓ(a) - (n+a) log(b+X) - n log θ + θ X <= log(1/δ)  at all times, but with
  probability δ. The prior must be fixed before the data, when the unit of time is known from one sojourn only, and one with b far
  too large leaves the interval wide for long; so b is averaged too, over nine powers of ten around that unit.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, lambertw

from sojourn.model.events import EventTable

SHAPE = 0.5  # a; b is SHAPE over a typical rate
MANY = 1e4  # events from which on Stirling's formula has every digit
NEAR = 1e-3  # of a series in p, whose terms beyond p⁴ are left out
SCALES = 10.0 ** np.arange(-4, 5)  # by which b is multiplied, in the average over priors


def posterior(seen: np.ndarray, exposure: np.ndarray, typical: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the shape and the rate parameter of the Gamma posterior of each event."""
    return SHAPE + seen, SHAPE / typical + exposure


def within(theta: np.ndarray, table: EventTable) -> np.ndarray:
    """Return the rates put into the bounds that are told; known ones are what they are known to be."""
    return np.asarray(np.clip(theta, table.low, table.high))


def drawn(rng: np.random.Generator, table: EventTable, seen: np.ndarray, exposure: np.ndarray, typical: float) -> np.ndarray:
    """Return rates drawn from the posterior, one per event."""
    shape, time = posterior(seen, exposure, typical)
    return within(rng.standard_gamma(shape) / time, table)


def estimated(table: EventTable, seen: np.ndarray, exposure: np.ndarray, typical: float) -> np.ndarray:
    """Return the posterior means."""
    shape, time = posterior(seen, exposure, typical)
    return within(shape / time, table)


def log_mixture(seen: np.ndarray, exposure: np.ndarray, unit: float) -> np.ndarray:
    """Return the log of the average of θ^n e^(-θ X) over the Gamma(a, b) priors of θ, b around SHAPE / unit."""
    a, b = SHAPE, SHAPE / unit * SCALES
    n, x = np.asarray(seen, dtype=float)[..., None], np.asarray(exposure, dtype=float)[..., None]
    parts = a * np.log(b) + gammaln(n + a) - gammaln(a) - (n + a) * np.log(b + x)
    top = parts.max(axis=-1)
    return np.asarray(top + np.log(np.exp(parts - top[..., None]).mean(axis=-1)))


def intervals(seen: np.ndarray, exposure: np.ndarray, unit: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high): the rates that the data leave open, where `level` is log(1/δ) and 1/unit the unit of time.

    All of [0, inf] where nothing was exposed.

    >>> low, high = intervals(np.array([0.0, 100.0]), np.array([0.0, 100.0]), 1.0, 3.0)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.662], [inf, 1.437])
    """
    n, x = np.asarray(seen, dtype=float), np.asarray(exposure, dtype=float)
    low, high = np.zeros(len(n)), np.full(len(n), np.inf)
    never = (n == 0) & (x > 0)
    high[never] = (level - log_mixture(n[never], x[never], unit)) / x[never]
    some = (n > 0) & (x > 0)
    n, x = n[some], x[some]
    depth = np.maximum((level + shortfall(n, x, unit)) / n, 0.0)  # y - 1 - log y <= depth for y = θ X / n
    least, most = levels(depth)
    low[some], high[some] = least * n / x, most * n / x
    return low, high


def shortfall(n: np.ndarray, x: np.ndarray, unit: float) -> np.ndarray:
    """Return by how much `log_mixture` is less than the log-likelihood of the rate n / x, for n, x > 0.

    That is n log(n/x) - n - log_mixture, of which no digits are lost where n is large.
    """
    a, b = SHAPE, SHAPE / unit * SCALES
    size = np.where(n > MANY, np.log(2 * np.pi) / 2 - 1 / (24 * n), gammaln(n + a) - n * np.log(n) + n)  # ln Γ(n+1/2) - n ln n + n
    apart = np.logaddexp(0.0, np.log(b) - np.log(x)[:, None])  # log(1 + b/x)
    parts = a * (np.log(b) - np.log(x)[:, None]) - (n[:, None] + a) * apart
    top = parts.max(axis=1)
    return np.asarray(gammaln(a) - size - top - np.log(np.exp(parts - top[:, None]).mean(axis=1)))


def levels(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two solutions y of y - 1 - log y = depth."""
    inner = -np.exp(-1.0 - depth)
    far = depth > 600  # beyond floats: y = depth + 1 + log y
    p = np.sqrt(-2 * np.expm1(-depth))  # y = 1 ∓ p + p²/3 ∓ ..., where p is small and Lambert's function loses digits
    near = p < NEAR
    p = np.where(near, p, 0.0)
    with np.errstate(invalid="ignore"):
        most = np.where(far, depth + 1 + np.log(depth + 1 + np.log1p(depth)), -lambertw(np.minimum(inner, -1e-300), -1).real)
        least = -lambertw(inner, 0).real
    even, odd = 1 + p**2 / 3 + 43 * p**4 / 540, p + 11 * p**3 / 72
    return np.where(near, even - odd, least), np.where(near, even + odd, most)
