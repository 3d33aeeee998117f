"""Are holding times exponential?  The Gini test, pair by pair.

For n exponential times the Gini statistic G = sum_i i (n - i) (x_(i+1) - x_(i)) / ((n - 1) sum x) does not depend on the rate,
has mean 1/2 and variance 1 / (12 (n - 1)), and is close to normal from n = 10 on (M. H. Gail and J. L. Gastwirth, A scale-free
goodness-of-fit test for the exponential distribution based on the Gini statistic, Journal of the Royal Statistical Society B
40(3), 1978,
350-357).  Times more regular than exponential have a smaller G, times more spread out a larger one.
"""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

LEAST = 10  # times of a pair from which it is tested


def gini_tests(pair: np.ndarray, holding_time: np.ndarray, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (G, two-sided p-value) per pair, NaN where there are fewer than LEAST times."""
    order = np.lexsort((holding_time, pair))
    times, owner = holding_time[order], pair[order]
    count = np.bincount(owner, minlength=n_pairs)
    start = np.cumsum(count) - count
    rank = np.arange(len(times)) - start[owner] + 1  # i of x_(i), from 1
    n = count[owner]
    inside = rank < n
    step = np.zeros(len(times))
    step[:-1] = np.diff(times)
    weight = np.where(inside, rank * (n - rank), 0.0)
    top = np.bincount(owner, weight * np.where(inside, step, 0.0), minlength=n_pairs)
    total = np.bincount(owner, times, minlength=n_pairs)
    enough = count >= LEAST
    gini = np.full(n_pairs, np.nan)
    gini[enough] = top[enough] / ((count[enough] - 1) * total[enough])
    away = np.abs(gini - 0.5) * np.sqrt(12.0 * np.maximum(1, count - 1))
    return gini, np.array([erfc(x / sqrt(2)) if x == x else np.nan for x in away])
