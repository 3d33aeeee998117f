"""Uncertainty as one set per pair for its row and its rate together, in intensities Q_y = rate x probability.

The jumps out of a pair are Poisson processes of intensities Q_y run for the time T spent in it.  With n_y jumps to y, and a
mixture of the likelihoods over independent Gamma laws, Ville's inequality gives a set that holds the true intensities *at all
times* with probability 1 - delta/P, so all P of them together with probability 1 - delta, whatever the policy (1 - 1/t from
decision t on, where the level is 1/t there: learn/set_level.py):

    Σ_y [n_y log(n_y/(Q_y T)) - n_y + Q_y T] <= x(n, T)        (kernels/joint_optimism.py: joint_threshold)

A successor that was never seen adds Q_y T, whichever it is: where the supports are unknown, all that is not seen costs one
coordinate, not one for each state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.kernels.joint_optimism import JointProblem, joint_optimism, joint_sets
from sojourn.learn.counts import Counts
from sojourn.learn.optimism import TurnIteration
from sojourn.model.knowledge import Knowledge

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class JointSet:
    """Per pair: the successors seen with their counts, the time spent in it, and the bound x on what an alternative may lack."""

    problem: JointProblem

    def iteration(self) -> TurnIteration:
        """Return how extended iteration (learn/optimism.py) plans over this set."""
        return TurnIteration(joint_optimism, self.problem)

    def only(self, pairs: np.ndarray) -> JointSet:
        """Return the set in which these pairs, at least one in each state, are all that can be played."""
        p = self.problem
        start, entries = _rows_of(p.row_start, pairs)
        support_start, supports = _rows_of(p.support_start, pairs) if len(p.support_start) else (NONE, NONE)
        return JointSet(p._replace(
            pair_start=np.searchsorted(pairs, p.pair_start), row_start=start, next_state=p.next_state[entries],
            jumps=p.jumps[entries], time=p.time[pairs], bound=p.bound[pairs], support_start=support_start,
            support_state=p.support_state[supports], reward=p.reward[pairs], running=p.running[pairs]))

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


def joint_set(counts: Counts, knowledge: Knowledge, level: float) -> JointSet:
    """Return the set after `counts`; each of its P parts fails ever with probability at most `level`."""
    row_start, next_state, count = counts.rows()
    pairs = knowledge.n_pairs
    known = knowledge.support_start is not None and knowledge.support_state is not None
    support_start = np.array(knowledge.support_start) if known else NONE
    successors = np.diff(support_start) if known else np.full(pairs, knowledge.n_states)
    time, bound = joint_sets(row_start, count, counts.visits, counts.holding_sum, successors, level, float(knowledge.rate_min),
                             float(knowledge.rate_max))
    at, seen = row_start + np.arange(pairs + 1), np.ones(len(count) + pairs, dtype=bool)
    seen[at[1:] - 1] = False  # the place for an unseen successor
    after, jumps = np.zeros(len(seen), dtype=np.int64), np.zeros(len(seen))
    after[seen], jumps[seen] = next_state, count
    return JointSet(JointProblem(
        np.array(knowledge.pair_start), at, after, jumps,
        time, bound, support_start, np.array(knowledge.support_state) if known else NONE,
        np.array(knowledge.reward), np.array(knowledge.running), float(knowledge.rate_min), float(knowledge.rate_max)))

