"""How fast a regret grows against log N: the number that the lower bound speaks of, and what it says and does not say."""

from __future__ import annotations

import numpy as np

DECADES = 2  # a slope is taken from N / 100 to N

WHAT_IT_EXCLUDES = (
    "C(M) is a slope in the long run, not a floor at every N. It excludes that the mean regret of a uniformly fast learner "
    "(one whose regret stays below every power of N on every model of this kind) grows in the end by less than C(M) per unit of "
    "log N. It does not exclude less regret than C(M) log N at a given N, nor in a single run: the first decades, in which little "
    "is paid yet, count there for ever. So compare C(M) with the slope over the last decades."
)

WHO_IS_TOLD = (
    "The more a learner is told, the less it must try. C(M) is for learners that are told the supports (which jumps are possible); "
    "C_u(M) >= C(M) is the same for those that are not. Each learner is set against the bound for what it was told."
)


def slopes(epochs: np.ndarray, values: np.ndarray, decades: float = DECADES) -> np.ndarray:
    """Return (R(N) - R(N / 100)) / log 100 for every run and checkpoint N; NaN where N / 100 lies before the first one.

    Between checkpoints the regret is taken as straight against log N.

    >>> slopes(np.array([1.0, 10.0, 100.0, 1000.0]), 5 * np.log([[1.0, 10.0, 100.0, 1000.0]])).round(9).tolist()
    [[nan, nan, 5.0, 5.0]]
    """
    x = np.log(np.maximum(epochs, 1.0))
    span = decades * np.log(10.0)
    before = np.array([np.interp(x - span, x, run) for run in values])
    return np.where(x - span >= x[0] - 1e-9, (values - before) / span, np.nan)
