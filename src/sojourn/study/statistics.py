"""The statistics of a study: bands for the mean, comparisons of two learners, correction for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.errors import ParameterError

RESAMPLES = 2000
ROUNDING = 1e-12  # a spread below this share of the values is that of their last bits


def mean_band(values: np.ndarray, level: float = 0.95, method: str = "t") -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high) for the mean over replications (axis 0), at each point by itself.

    "t": Student's interval, exact for normal values and close for the means of many.  "bootstrap": the studentised
    bootstrap, which follows skewed values better; its resampling is seeded, so equal data give equal bands.

    >>> low, high = mean_band(np.array([1.0, 2.0, 3.0]))
    >>> round(float(low), 3), round(float(high), 3)
    (-0.484, 4.484)
    """
    values = np.asarray(values, dtype=np.float64)
    if not 0 < level < 1:
        raise ParameterError(f"level is {level!r}; it must be between 0 and 1, such as 0.95.")
    if method not in ("t", "bootstrap"):
        raise ParameterError(f"method is {method!r}; it must be 't' or 'bootstrap'.")
    count = len(values)
    if count < 2:
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing
    from scipy.stats import t

    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(count)
    if method == "bootstrap":
        low, high = _studentised(values, mean, (1 - level) / 2)
        return mean - high * error, mean - low * error
    reach = t.ppf((1 + level) / 2, count - 1) * error
    return mean - reach, mean + reach


def _studentised(values: np.ndarray, mean: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the quantiles of (resampled mean - mean) / its own standard error."""
    rng = np.random.default_rng(np.random.SeedSequence(20_260, spawn_key=(len(values),)))
    count = len(values)
    ratios = np.empty((RESAMPLES, *values.shape[1:]))
    block = max(1, 2_000_000 // values.size)
    for start in range(0, RESAMPLES, block):
        again = values[rng.integers(0, count, (min(block, RESAMPLES - start), count))]
        spread = again.std(axis=1, ddof=1) / np.sqrt(count)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios[start : start + block] = np.where(spread > 0, (again.mean(axis=1) - mean) / spread, 0.0)
    low, high = np.quantile(ratios, [tail, 1 - tail], axis=0)
    return low, high


@dataclass(frozen=True)
class Comparison:
    """Learner `first` against `second` on one model: the mean difference first - second, and how sure it is."""

    model: str
    first: str
    second: str
    difference: float
    low: float  # 95 % interval of the difference
    high: float
    effect: float  # Hedges' g (for pairs: the mean difference over its spread)
    lower_share: float  # the chance that a run of the first has less regret than a run of the second, ties half
    p: float
    p_holm: float
    test: str

    @property
    def verdict(self) -> str:
        """In words, at 5 % after Holm's correction."""
        if not self.p_holm < 0.05:
            return "no difference shown"
        return f"{self.first if self.difference < 0 else self.second} has less regret"


def compare(model: str, first: str, second: str, a: np.ndarray, b: np.ndarray, paired: bool) -> Comparison:
    """Compare two learners by their final values: Welch's t-test, or the paired t-test where runs share their random numbers."""
    from scipy.stats import t

    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    difference = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        nan = float("nan")
        return Comparison(model, first, second, difference, nan, nan, nan, lower_share(a, b), nan, nan, "too few runs")
    if paired:
        gap = a - b
        error, freedom = float(gap.std(ddof=1)) / np.sqrt(len(gap)), float(len(gap) - 1)
        spread, small = float(gap.std(ddof=1)), 1 - 3 / (4 * (len(gap) - 1) - 1)
    else:
        va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
        error = float(np.sqrt(va + vb))
        freedom = float((va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))) if error else len(a) + len(b) - 2.0
        spread = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
        small = 1 - 3 / (4 * (len(a) + len(b)) - 9)
    if spread <= ROUNDING * max(np.abs(a).max(), np.abs(b).max()):  # runs alike but for the last bits: a ratio would be noise
        error = spread = 0.0
        difference = difference if abs(difference) > ROUNDING * np.abs(a).max() else 0.0
    p = float(2 * t.sf(abs(difference) / error, freedom)) if error else (1.0 if difference == 0 else 0.0)
    reach = float(t.ppf(0.975, freedom)) * error
    effect = small * difference / spread if spread else (0.0 if difference == 0 else float(np.copysign(np.inf, difference)))
    return Comparison(
        model,
        first,
        second,
        difference,
        difference - reach,
        difference + reach,
        effect,
        lower_share(a, b),
        p,
        p,
        "paired t" if paired else "Welch t",
    )


def lower_share(a: np.ndarray, b: np.ndarray) -> float:
    """Return the share of pairs (one of a, one of b) in which a is lower, ties counted half.

    >>> lower_share(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.875
    """
    order = np.sort(b)
    above = len(b) - np.searchsorted(order, a, side="right")
    ties = np.searchsorted(order, a, side="right") - np.searchsorted(order, a, side="left")
    return float((above + 0.5 * ties).mean() / len(b))


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method: the chance of any false alarm among all stays below the level.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    out, highest = values.copy(), 0.0
    for rank, i in enumerate(known[np.argsort(values[known], kind="stable")]):
        highest = max(highest, min(1.0, float(values[i]) * (len(known) - rank)))
        out[i] = highest
    return [float(x) for x in out]
