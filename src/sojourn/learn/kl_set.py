"""Uncertainty as KL balls: around each empirical row a KL ball, for each rate an exponential-KL interval.

With P pairs, each of the 2P sets holds *at all times* with probability 1 - delta/(2P), so all of them together with probability
1 - delta, whatever the policy (1 - 1/t from decision t on, where the level is 1/t there: learn/set_level.py):

- rows: N KL(p̂ ‖ p) <= log(2P/delta) + log of (largest likelihood / Dirichlet(1/k) mixture of likelihoods) (Ville's inequality);
- holding times: n (m̂/m - 1 - log(m̂/m)) <= log(4 P n (n + 1)/delta), m̂ the plain mean of n.  At a fixed n an exponential sample
  leaves {n (...) <= x} with probability at most 2 e^{-x}; the union over n costs Σ 1/(n (n + 1)) = 1.

Unfinished sojourns: in the time spent in a pair its jumps are a Poisson process, so the time S_n of its n-th jump is a sum of n
exponential times whatever was cut short in between, and a_n <= λ S_n <= b_n at all n together by the same bounds.  After n jumps in
the time T, S_n <= T <= S_(n+1), so that a_n/T <= λ <= b_(n+1)/T: at all times, also where no jump was seen yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.kernels.kl_optimism import KLProblem, exponential_interval, kl_optimism, kl_plan, kl_sets
from sojourn.learn.counts import Counts
from sojourn.learn.optimism import DriftIteration, TurnIteration
from sojourn.learn.posterior import Posterior


@dataclass(frozen=True, eq=False)
class KLSet:
    """Per pair: the counts it was made from, the KL radius of the row, and the interval of the rate."""

    rows: Posterior  # what is possible and paid
    row_start: np.ndarray  # the possible successors of each pair, as they were then
    next_state: np.ndarray
    visits: np.ndarray
    count: np.ndarray  # laid out as next_state
    row_radius: np.ndarray
    rate_low: np.ndarray
    rate_high: np.ndarray
    empty_intervals: int

    def iteration(self) -> DriftIteration:
        """Return how `optimistic_plan` (learn/optimism.py) plans over this set."""
        return DriftIteration(kl_plan, self.problem())

    def uniformised(self) -> TurnIteration:
        """Return how `extended_iteration` plans over this set."""
        return TurnIteration(kl_optimism, self.problem())

    def problem(self) -> KLProblem:
        """Return the set as planning needs it."""
        rows = self.rows
        empirical = self.count / np.repeat(np.maximum(1, self.visits), np.diff(self.row_start))
        after = self.next_state.copy() if rows.pooled else self.next_state
        return KLProblem(rows.pair_start, self.row_start, after, empirical, self.row_radius, self.rate_low, self.rate_high,
                         rows.reward, rows.running, rows.rate_max, rows.pooled)

    def contains(self, transition: np.ndarray, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates per pair is in the set."""
        pair = np.repeat(np.arange(len(self.visits)), np.diff(self.row_start))
        seen = self.count > 0
        p = self.count[seen] / self.visits[pair[seen]]
        q = np.asarray(transition)[pair[seen], self.next_state[seen]]
        with np.errstate(divide="ignore"):
            divergence = np.bincount(pair[seen], p * np.log(p / q), minlength=len(self.visits))
        inside = (self.rate_low <= rate * (1 + 1e-12)) & (rate <= self.rate_high * (1 + 1e-12))
        return bool((divergence <= self.row_radius).all() and inside.all())


def kl_set(counts: Counts, rows: Posterior, level: float) -> KLSet:
    """Return the set after `counts`; each of its 2P parts fails ever with probability at most `level`."""
    rows.update(counts)
    radius, low, high, empty = kl_sets(rows.row_start, rows.count, counts.visits, counts.holding_sum, level, rows.rate_min,
                                       rows.rate_max, len(rows.pair_start) - 1 if rows.pooled else 0)
    if counts.unfinished is not None:
        low, high, empty = told_intervals(counts, level, rows.rate_min, rows.rate_max)
    return KLSet(rows, rows.row_start, rows.next_state, counts.visits.copy(), rows.count.copy(), radius, low, high, int(empty))


def rate_sets(visits: np.ndarray, time: np.ndarray, unfinished: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high) of each rate after `visits` jumps in `time`; each fails ever with probability at most `level`.

    `unfinished` says of which pairs some of the time belongs to sojourns whose end was not seen.  All of [0, inf] without time.

    >>> low, high = rate_sets(np.array([10, 10, 0]), np.full(3, 5.0), np.array([False, True, True]), 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.386, 0.386, 0.0], [5.811, 6.19, 1.476])
    """
    def ends(n: np.ndarray) -> np.ndarray:
        n = np.maximum(n, 1).astype(float)
        return np.array([exponential_interval(x) for x in np.log(2.0 * n * (n + 1.0) / level) / n]).reshape(-1, 2)

    last = visits + np.asarray(unfinished, dtype=np.int64)  # the number of the jump that may come next
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = ends(visits)[:, 0] * (visits / time), ends(last)[:, 1] * (last / time)
    return np.where(visits > 0, low, 0.0), np.where((last > 0) & (time > 0), high, np.inf)


def told_intervals(counts: Counts, level: float, rate_min: float, rate_max: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (low, high, empty): the intervals of the rates within the bounds that are told, and how many missed them."""
    assert counts.unfinished is not None
    low, high = rate_sets(counts.visits, counts.holding_sum, counts.unfinished > 0, level)
    empty = int(((high < rate_min) | (low > rate_max)).sum())
    return np.clip(low, rate_min, rate_max), np.clip(high, rate_min, rate_max), empty
