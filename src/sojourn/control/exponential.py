"""Are holding times exponential?  Two tests of each pair, both exact in the rate: it need not be known.

For n exponential times the total time on test up to the k-th smallest, divided by that up to the largest, is distributed as the
k-th smallest of n - 1 uniform numbers, k = 1 ... n - 1, and for no other law is it so in the long run.  Of these numbers two
things are looked at:

- their mean: 1 minus it is the Gini statistic, mean 1/2 and variance 1 / (12 (n - 1)), close to normal from n = 10 on (M. H. Gail
  and J. L. Gastwirth, Journal of the Royal Statistical Society B 40(3), 1978, 350-357).  Times more regular than exponential
  have a smaller one, times more spread out a larger one;
- how far they are from evenly spread anywhere: Kuiper's statistic V = D+ + D-, with the tail of M. A. Stephens (Journal of the
  Royal Statistical Society B 32(1), 1970, 115-122).  It finds every other law with enough visits, also those whose Gini
  statistic is 1/2.
"""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

LEAST = 10  # times of a pair from which it is tested


def law_tests(pair: np.ndarray, holding_time: np.ndarray, n_pairs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (G, its two-sided p-value, Kuiper's p-value) per pair, NaN where there are fewer than LEAST times."""
    order = np.lexsort((holding_time, pair))
    times, owner = holding_time[order], pair[order]
    count = np.bincount(owner, minlength=n_pairs)
    start = np.cumsum(count) - count
    n, rank = count[owner], np.arange(len(times)) - start[owner] + 1  # rank i of x_(i), from 1
    total = np.bincount(owner, times, minlength=n_pairs)
    below = np.concatenate([[0.0], times[:-1]])
    below[rank == 1] = 0.0
    tested = _summed((n - rank + 1) * (times - below) / np.where(total > 0, total, 1.0)[owner], rank)  # total time on test
    enough = count >= LEAST
    inner = rank < n
    mean = np.bincount(owner, np.where(inner, tested, 0.0), minlength=n_pairs)
    gini = np.full(n_pairs, np.nan)
    gini[enough] = 1.0 - mean[enough] / (count[enough] - 1)
    away = np.abs(gini - 0.5) * np.sqrt(12.0 * np.maximum(1, count - 1))
    above = np.full(n_pairs, -np.inf)
    under = np.full(n_pairs, -np.inf)
    size = np.maximum(1, n - 1)
    np.maximum.at(above, owner[inner], (rank / size - tested)[inner])
    np.maximum.at(under, owner[inner], (tested - (rank - 1) / size)[inner])
    kuiper = np.full(n_pairs, np.nan)
    kuiper[enough] = kuiper_tail(above[enough] + under[enough], count[enough] - 1)
    return gini, np.array([erfc(x / sqrt(2)) if x == x else np.nan for x in away]), kuiper


def _summed(values: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the running sums of `values`, begun anew wherever `rank` is 1."""
    whole = np.cumsum(values)
    first = np.flatnonzero(rank == 1)
    before = (whole - values)[first]
    found: np.ndarray = whole - np.repeat(before, np.diff(np.append(first, len(values))))
    return found


def kuiper_tail(statistic: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the probability that Kuiper's V of n uniform numbers is at least so large.

    >>> kuiper_tail(np.array([0.1716]), np.array([100])).round(2).tolist()  # tabulated as the 5 % point
    [0.05]
    """
    scaled = statistic * (np.sqrt(n) + 0.155 + 0.24 / np.sqrt(n))
    k = np.arange(1, 101)[:, None]
    with np.errstate(under="ignore"):
        terms = 2 * (4 * k**2 * scaled**2 - 1) * np.exp(-2 * k**2 * scaled**2)
    return np.where(scaled < 0.4, 1.0, np.clip(terms.sum(axis=0), 0.0, 1.0))
