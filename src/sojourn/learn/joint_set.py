"""Uncertainty as one set per pair for its row and its rate together, in intensities Q_y = rate x probability.

The jumps out of a pair are Poisson processes of intensities Q_y run for the time T spent in it.  With n_y jumps to y, and a
mixture of the likelihoods over independent Gamma laws, Ville's inequality gives a set that holds the true intensities *at all
times* with probability 1 - delta/P, so all P of them together with probability 1 - delta, whatever the policy (1 - 1/t from
decision t on, where the level is 1/t there: learn/set_level.py):

    Σ_y [n_y log(n_y/(Q_y T)) - n_y + Q_y T] <= x(n, T)        (kernels/joint_optimism.py: joint_threshold)

The laws need a unit of time, b: one mean holding time between the rate bounds.  Where none are told it is the time spent in a
pair until its first jump, which is not counted then.  This time is exponential with the pair's own rate: it is x times too small
with probability about 1/x, which costs log x nats, and x times too large with probability e^-x, which costs x nats.

A successor that was never seen adds Q_y T, whichever it is: where the supports are unknown, all that is not seen costs one
coordinate, not one for each state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.kernels.joint_optimism import JointProblem, joint_bounds, joint_optimism, joint_plan, joint_sets
from sojourn.learn.counts import Counts
from sojourn.learn.optimism import DriftIteration, TurnIteration
from sojourn.model.knowledge import Knowledge

NONE = np.zeros(0, dtype=np.int64)
SHORTEST = 1e-300  # a time below is this one


@dataclass(frozen=True, eq=False)
class JointSet:
    """Per pair: the successors seen with their counts, the time spent in it, and the bound x on what an alternative may lack."""

    problem: JointProblem

    def iteration(self) -> DriftIteration:
        """Return how `optimistic_plan` (learn/optimism.py) plans over this set."""
        return DriftIteration(joint_plan, self.problem)

    def uniformised(self) -> TurnIteration:
        """Return how `extended_iteration` plans over this set."""
        return TurnIteration(joint_optimism, self.problem)

    @property
    def open(self) -> np.ndarray:
        """Which pairs nothing is known of."""
        found: np.ndarray = np.isinf(self.problem.bound)
        return found

    @property
    def rate_low(self) -> np.ndarray:
        """The least rate of each pair that the set can hold, or a little less: 0 where it was never tried."""
        p = self.problem
        return rate_ends(np.add.reduceat(p.jumps, p.row_start[:-1]), p.time, p.bound, p.rate_min, p.rate_max)[0]

    def only(self, pairs: np.ndarray) -> JointSet:
        """Return the set in which these pairs, at least one in each state, are all that can be played."""
        p = self.problem
        start, entries = _rows_of(p.row_start, pairs)
        support_start, supports = _rows_of(p.support_start, pairs) if len(p.support_start) else (NONE, NONE)
        return JointSet(p._replace(
            pair_start=np.searchsorted(pairs, p.pair_start), row_start=start, next_state=p.next_state[entries],
            jumps=p.jumps[entries], time=p.time[pairs], bound=p.bound[pairs], rate_high=p.rate_high[pairs],
            support_start=support_start, support_state=p.support_state[supports], reward=p.reward[pairs],
            running=p.running[pairs]))

    def as_costs(self) -> JointSet:
        """Return the set in which every payment is a cost."""
        return JointSet(self.problem._replace(reward=-self.problem.reward, running=-self.problem.running))

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


def _rows_of(row_start: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (row_start, entries) of the rows of some pairs, put one behind the other."""
    size = np.diff(row_start)[pair]
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return start, np.repeat(row_start[pair] - start[:-1], size) + np.arange(start[-1])


def joint_set(counts: Counts, knowledge: Knowledge, level: float, first: First | None = None) -> JointSet:
    """Return the set after `counts`; each of its P parts fails ever with probability at most `level`.

    Where no rate bounds are told, `first` holds the first sojourn of each pair: its time is the unit, and it is not counted.
    """
    row_start, next_state, count = counts.rows()
    pairs = knowledge.n_pairs
    known = knowledge.support_start is not None and knowledge.support_state is not None
    support_start = np.array(knowledge.support_start) if known else NONE
    successors = np.diff(support_start) if known else np.full(pairs, knowledge.n_states)
    if first is None:
        time, bound = joint_sets(row_start, count, counts.visits, counts.holding_sum, successors, level, float(knowledge.rate_min),
                                 float(knowledge.rate_max))
        visits = counts.visits
    else:
        row_start, next_state, count, visits, time = first.without(row_start, next_state, count, counts)
        bound = joint_bounds(row_start, count, time, successors, np.maximum(first.time, SHORTEST), level)
    _, high = rate_ends(visits, time, bound, knowledge.rate_min, knowledge.rate_max)
    at, seen = row_start + np.arange(pairs + 1), np.ones(len(count) + pairs, dtype=bool)
    seen[at[1:] - 1] = False  # the place for an unseen successor
    after, jumps = np.zeros(len(seen), dtype=np.int64), np.zeros(len(seen))
    after[seen], jumps[seen] = next_state, count
    return JointSet(JointProblem(
        np.array(knowledge.pair_start), at, after, jumps,
        time, bound, high, support_start, np.array(knowledge.support_state) if known else NONE,
        np.array(knowledge.reward), np.array(knowledge.running), float(knowledge.rate_min), float(knowledge.rate_max)))


class First:
    """The first sojourn of each pair, with the time without a jump before it: how long it was, and where it led (-1: none yet)."""

    def __init__(self, pairs: int):
        self.time, self.next_state = np.zeros(pairs), np.full(pairs, -1, dtype=np.int64)

    def observe(self, pairs: np.ndarray, holding_time: np.ndarray, next_state: np.ndarray, counts: Counts) -> None:
        """Take over the first sojourns among these, before they are counted."""
        new, at = np.unique(pairs, return_index=True)
        fresh = self.next_state[new] < 0
        new, at = new[fresh], at[fresh]
        self.time[new] = counts.holding_sum[new] + np.asarray(holding_time, dtype=np.float64)[at]
        self.next_state[new] = np.asarray(next_state, dtype=np.int64)[at]

    def update(self, counts: Counts) -> None:
        """Take over the pairs that were visited once since the last plan: a plan ends before the second visit of a new pair."""
        new = np.flatnonzero((self.next_state < 0) & (counts.visits > 0))
        if len(new):
            start, after, _ = counts.rows()
            self.time[new], self.next_state[new] = counts.holding_sum[new], after[start[new]]

    def without(self, row_start: np.ndarray, next_state: np.ndarray, count: np.ndarray, counts: Counts) \
            -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (row_start, next_state, count, visits, time) with the first sojourns taken out."""
        pair = np.repeat(np.arange(len(self.time)), np.diff(row_start))
        left = count - (next_state == self.next_state[pair])
        keep = left > 0
        start = np.concatenate([[0], np.cumsum(np.bincount(pair[keep], minlength=len(self.time)))]).astype(np.int64)
        visits = counts.visits - (self.next_state >= 0)
        time = np.where(visits > 0, np.maximum(counts.holding_sum - self.time, SHORTEST), 0.0)
        return start, next_state[keep], left[keep], visits, time

    def state(self) -> dict[str, np.ndarray]:
        return {"first_time": self.time.copy(), "first_next": self.next_state.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.time[:], self.next_state[:] = state["first_time"], state["first_next"]


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
