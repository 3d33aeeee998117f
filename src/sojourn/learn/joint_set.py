"""Uncertainty as one set per pair for its row and its rate together, in intensities Q_y = rate x probability.

The jumps out of a pair are Poisson processes of intensities Q_y run for the time T spent in it.  With n_y jumps to y, and a
mixture of the likelihoods over independent Gamma laws, Ville's inequality gives a set that holds the true intensities *at all
times* with probability 1 - delta/P, so all P of them together with probability 1 - delta, whatever the policy:

    Σ_y [n_y log(n_y/(Q_y T)) - n_y + Q_y T] <= x(n, T)        (kernels/joint_optimism.py: joint_threshold)

A successor that was never seen adds Q_y T, whichever it is: where the supports are unknown, all that is not seen costs one
coordinate, not one for each state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.kernels.joint_optimism import JointProblem, joint_bounds, joint_plan
from sojourn.learn.counts import Counts
from sojourn.learn.optimism import DriftIteration
from sojourn.model.knowledge import Knowledge

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class JointSet:
    """Per pair: the successors seen with their counts, the time spent in it, and the bound x on what an alternative may lack."""

    problem: JointProblem

    def iteration(self) -> DriftIteration:
        """Return how `optimistic_plan` (learn/optimism.py) plans over this set."""
        return DriftIteration(joint_plan, self.problem)

    @property
    def rate_low(self) -> np.ndarray:
        """The least rate of each pair that the set can hold, or a little less: 0 where it was never tried."""
        p = self.problem
        return rate_ends(np.add.reduceat(p.jumps, p.row_start[:-1]), p.time, p.bound, p.rate_min, p.rate_max)[0]

    def lacks(self, transition: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return per pair D(Q) - x of a model with this (P, S) matrix of transitions and these rates: the set holds it if <= 0."""
        p = self.problem
        pair = np.repeat(np.arange(len(p.time)), np.diff(p.row_start))
        seen = np.ones(len(pair), dtype=bool)
        seen[p.row_start[1:] - 1] = False  # the place for an unseen successor
        n, at = p.jumps[seen], pair[seen]
        with np.errstate(divide="ignore"):
            part = n * np.log(n / (p.time[at] * np.asarray(transition)[at, p.next_state[seen]] * rate[at])) - n
        found: np.ndarray = np.bincount(at, part, minlength=len(p.time)) + rate * p.time - p.bound
        return np.where(p.time > 0, found, -np.inf)

    def contains(self, transition: np.ndarray, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates per pair is in the set."""
        return bool((self.lacks(transition, rate) <= 0).all())


def joint_set(counts: Counts, knowledge: Knowledge, level: float) -> JointSet:
    """Return the set after `counts`; each of its P parts fails ever with probability at most `level`."""
    row_start, next_state, count = counts.rows()
    pairs = knowledge.n_pairs
    known = knowledge.support_start is not None and knowledge.support_state is not None
    support_start = np.array(knowledge.support_start) if known else NONE
    successors = np.diff(support_start) if known else np.full(pairs, knowledge.n_states)
    units = np.full((pairs, 1), 1.0 / np.sqrt(knowledge.rate_min * knowledge.rate_max))
    bound = joint_bounds(row_start, count, counts.holding_sum, successors, units, level)
    time = allowed_times(counts.visits, counts.holding_sum, knowledge, bound)
    if not np.array_equal(time, counts.holding_sum):
        bound = joint_bounds(row_start, count, time, successors, units, level)
    at = row_start[1:]
    _, high = rate_ends(counts.visits, time, bound, knowledge.rate_min, knowledge.rate_max)
    return JointSet(JointProblem(
        np.array(knowledge.pair_start), row_start + np.arange(pairs + 1), np.insert(next_state, at, 0),
        np.insert(count, at, 0).astype(np.float64),
        time, bound, high, support_start, np.array(knowledge.support_state) if known else NONE,
        np.array(knowledge.reward), np.array(knowledge.running), float(knowledge.rate_min), float(knowledge.rate_max)))


def rate_ends(visits: np.ndarray, time: np.ndarray, bound: np.ndarray, rate_min: float, rate_max: float) \
        -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high): no rate of a set of `visits` jumps in `time` lies outside, and hardly any number is left out.

    Σ n_y log(n_y/(Q_y T)) - n_y + Q_y T >= n (y - 1 - log y) with y = ΣQ T/n (the log-sum inequality).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        depth, mean = bound / visits, visits / time
        low = np.maximum(1 - np.sqrt(2 * depth), np.exp(-1 - depth)) * mean
        high = (1 + depth + np.sqrt(2 * depth)) * mean
    return (np.where(visits > 0, np.clip(low, rate_min, rate_max), rate_min),
            np.where(visits > 0, np.clip(high, rate_min, rate_max), rate_max))


def allowed_times(visits: np.ndarray, time: np.ndarray, knowledge: Knowledge, bound: np.ndarray) -> np.ndarray:
    """Return `time`; of a pair none of whose rates within the bounds lacks at most `bound`, the nearest at which one lacks nothing.

    Times that contradict the bounds (in another unit, say) leave an empty set; a plan needs one, and the row is known all the same.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        nearest = np.clip(time, visits / knowledge.rate_max, visits / knowledge.rate_min)
        ratio = time / nearest
        found: np.ndarray = np.where(visits * (ratio - 1 - np.log(ratio)) > bound, nearest, time)
    return found
