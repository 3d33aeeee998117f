"""How sure a mean holding time is: the estimate and the interval of rates, by four estimators.

With L = log(2 A S t/δ) each interval fails at a given number of visits with probability at most 2 e^{-7L}, the level of the
paper's radii (eq:rate-CI), for exponential times whose rate is at least λ_min:

- truncated: |m - mean| <= (4/λ_min) sqrt(14 L/n), m the truncated mean (eq:truncate-mean); the paper's, which CT-UCRL uses as it
  is;
- mean: |m - mean| <= (1/λ_min) max(sqrt(56 L/n), 28 L/n), m the plain mean: an exponential time less its mean is sub-exponential
  with both parameters 2/λ (Bernstein);
- median-of-means: |m - mean| <= (1/λ_min) sqrt(192 (7L + 1/8)/n), m the median of the means of 8 (7L + 1/8) groups, once n is
  twice as many (Bubeck, Cesa-Bianchi, Lugosi 2013, lemma 2); it needs nothing but a variance;
- kl: n (m̂/m - 1 - log(m̂/m)) <= 7 L, m̂ the plain mean: Chernoff's bound for exponential times itself.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from sojourn.kernels.cells import deal, median_of_means
from sojourn.kernels.kl_optimism import exponential_interval
from sojourn.learn.counts import Counts
from sojourn.learn.plausible import rate_interval
from sojourn.model.knowledge import Knowledge

ESTIMATORS = ("truncated", "mean", "median-of-means", "kl")
CELLS = 2048  # of each pair, at most so many groups
LEVEL = 7.0  # intervals fail with probability at most 2 exp(-LEVEL log(2 A S t/δ))


class HoldingSet(NamedTuple):
    """Per pair: the estimated mean, its radius, the interval of rates, and how many intervals missed the rate bounds."""

    mean: np.ndarray
    radius: np.ndarray
    rate_low: np.ndarray
    rate_high: np.ndarray
    empty: int


def logarithm(counts: Counts, knowledge: Knowledge, delta: float) -> float:
    """Return log(2 A S t/δ)."""
    return log(2 * knowledge.max_choices * knowledge.n_states * counts.epoch / delta)


def _within(counts: Counts, knowledge: Knowledge, mean: np.ndarray, radius: np.ndarray) -> HoldingSet:
    low, high, empty = rate_interval(counts.visits, mean, radius, knowledge.rate_min, knowledge.rate_max)
    return HoldingSet(mean, radius, low, high, int(empty.sum()))


def mean_radius(n: np.ndarray, x: float) -> np.ndarray:
    """Return how far, in units of 1/λ, the plain mean of n exponential times may lie from its mean but for probability 2 e^{-x}."""
    radius: np.ndarray = np.maximum(np.sqrt(8 * x / n), 4 * x / n)
    return radius


def mean_set(counts: Counts, knowledge: Knowledge, delta: float, scale: float) -> HoldingSet:
    """Return the set of the plain mean."""
    n, x = np.maximum(1, counts.visits), LEVEL * logarithm(counts, knowledge, delta)
    radius = scale * mean_radius(n, x) / knowledge.rate_min
    return _within(counts, knowledge, counts.truncated_mean, radius)  # nothing is truncated


def kl_holding_set(counts: Counts, knowledge: Knowledge, delta: float, scale: float) -> HoldingSet:
    """Return the set of Chernoff's bound; `scale` multiplies its exponent's root, as a radius, so twice."""
    n, mean = counts.visits, counts.truncated_mean
    x = scale**2 * LEVEL * logarithm(counts, knowledge, delta)
    pairs = len(n)
    low, high, empty = np.full(pairs, float(knowledge.rate_min)), np.full(pairs, float(knowledge.rate_max)), 0
    for i in np.flatnonzero(n):
        least, most = (y / mean[i] for y in exponential_interval(x / n[i]))
        empty += most < knowledge.rate_min or least > knowledge.rate_max
        low[i], high[i] = np.clip((least, most), knowledge.rate_min, knowledge.rate_max)
    return HoldingSet(mean, np.maximum(1 / low - mean, mean - 1 / high), low, high, int(empty))


class Cells:
    """The holding times of each pair in cells, of which a median of means is made."""

    def __init__(self, knowledge: Knowledge):
        self.sums, self.dealt = np.zeros((knowledge.n_pairs, CELLS)), np.zeros(knowledge.n_pairs, dtype=np.int64)

    def add(self, pairs: np.ndarray, holding_time: Any) -> None:
        """Deal out some times."""
        deal(self.sums, self.dealt, pairs, np.asarray(holding_time, dtype=np.float64))

    def set(self, counts: Counts, knowledge: Knowledge, delta: float, scale: float) -> HoldingSet:
        """Return the set of the median of means; without enough times nothing is ruled out."""
        x = LEVEL * logarithm(counts, knowledge, delta) + 1 / 8
        groups = min(int(np.ceil(8 * x)), CELLS)
        n = counts.visits
        enough = n >= 2 * groups
        mean = counts.truncated_mean.copy()
        for i in np.flatnonzero(enough):
            mean[i] = median_of_means(self.sums[i], int(n[i]), groups)
        radius = np.where(enough, scale * np.sqrt(192 * x / np.maximum(1, n)) / knowledge.rate_min, np.inf)
        return _within(counts, knowledge, mean, radius)

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums.copy(), "dealt": self.dealt.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.sums[:], self.dealt[:] = state["sums"], state["dealt"]
