"""What a learner made for discrete time counts of a process in continuous time: steps, rows with staying, rewards per step.

Two ways to make steps of time:

- *uniformised*: time passes in ticks of a clock of rate Λ = rate_max.  The time T spent in a pair is counted as Λ T ticks, of which
  the n that ended in a jump led to where it went and the others stayed; the pair's reward per tick is what was paid over Λ T.
- *discretised*: the path is looked at every `step` of time (kernels/gridding.py), as a computer with a fixed sampling time does.

Rewards are put into [0, 1]: 0 and 1 are the least and the largest mean reward of a step that the known rewards and the rate
bounds allow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sojourn.kernels.gridding import count_grid
from sojourn.learn.counts import NO_SLOTS, Counts
from sojourn.learn.learner import History
from sojourn.learn.plausible import over_supports
from sojourn.model.knowledge import Knowledge

MOST_TICKS = 100.0  # of a visit, in units of the most that the rate bounds allow on average: else plans take no end of steps
WHOLE = 2.0**62  # ticks, which are counted in 64 bits


class Steps(NamedTuple):
    """Per pair: how many steps, the empirical row over its possible or seen successors, the mean reward in [0, 1] (0 unseen)."""

    number: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    reward: np.ndarray
    now: float  # all steps so far, and one


def reward_limits(knowledge: Knowledge, step: float) -> tuple[float, float]:
    """Return the least and the largest mean reward of a step of this length, over the pairs and the rate bounds."""
    per_time = np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running
    low, high = float(per_time.min()) * step, float(per_time.max()) * step
    return low, high if high > low else low + 1.0


def uniformised_steps(counts: Counts, knowledge: Knowledge, every: bool = False) -> Steps:
    """Return the ticks of the uniformised process; with `every` rows list all states where the supports are unknown."""
    visits, top = counts.visits, float(knowledge.rate_max)
    most = np.minimum(MOST_TICKS * top / float(knowledge.rate_min) * visits, WHOLE)
    number = np.maximum(np.minimum(top * counts.holding_sum, most), visits)
    row_start, next_state, count = counts.rows()
    if knowledge.supports_known:
        row_start, next_state, count = over_supports(knowledge, row_start, next_state, count)
    paid = counts.reward_sum + knowledge.running * counts.holding_sum
    return _steps(knowledge, number, number - visits, (row_start, next_state, count), paid, 1 / top, 1 + float(number.sum()), every)


def _steps(knowledge: Knowledge, number: np.ndarray, stayed: np.ndarray, rows: tuple[np.ndarray, np.ndarray, np.ndarray],
           paid: np.ndarray, step: float, now: float, every: bool) -> Steps:
    """Put the rows together with what stayed where it was."""
    pairs, size = knowledge.n_pairs, knowledge.n_states
    row_start, next_state, count = rows
    seen_at = np.repeat(np.arange(pairs), np.diff(row_start)) * size + next_state
    key, many = [seen_at, np.arange(pairs) * size + knowledge.pair_state], [count.astype(float), stayed]
    if every and not knowledge.supports_known:
        key.append(np.arange(pairs * size))
        many.append(np.zeros(pairs * size))
    places, at = np.unique(np.concatenate(key), return_inverse=True)
    total = np.bincount(at, np.concatenate(many))
    pair, state = places // size, places % size
    low, high = reward_limits(knowledge, step)
    seen = np.maximum(number, 1e-300)
    return Steps(number, np.searchsorted(pair, np.arange(pairs + 1)), state, total / seen[pair],
                 np.where(number > 0, np.clip((paid / seen - low) / (high - low), 0.0, 1.0), 0.0), now)


def with_a_free_place(steps: Steps) -> Steps:
    """Return rows of what was seen only, with one more place at the end of each for any other state."""
    seen = steps.probability > 0
    start = np.concatenate([[0], np.cumsum(seen)])[steps.row_start]
    return steps._replace(row_start=start + np.arange(len(start)), next_state=np.insert(steps.next_state[seen], start[1:], 0),
                          probability=np.insert(steps.probability[seen], start[1:], 0.0))


class Grid:
    """What was seen at the grid points, with the part of a step under way.

    A lump sum counts as paid when the sojourn ends: at its beginning it would fall into the step of the pair before.
    """

    def __init__(self, knowledge: Knowledge, step: float):
        self.knowledge, self.step = knowledge, step
        self.counts = Counts(knowledge)
        self.memory, self.last = np.zeros(2), np.full(1, -1, dtype=np.int64)
        self.due = np.zeros(1)  # the lump sum of the last sojourn

    def observe(self, history: History, pairs: np.ndarray) -> None:
        """Count the grid points of a chunk of epochs."""
        lump = np.concatenate([self.due, np.asarray(history.lump, dtype=np.float64)])
        self.due[0] = lump[-1]
        self.counts.reserve(min(2 * len(pairs), self.knowledge.n_pairs * self.knowledge.n_states))
        count_grid(self.counts.arrays(NO_SLOTS), self.memory, self.last, self.step, pairs,
                   np.asarray(history.state, dtype=np.int64), np.asarray(history.holding_time, dtype=np.float64), lump[:-1],
                   np.asarray(history.running, dtype=np.float64))

    def steps(self) -> Steps:
        """Return what was counted."""
        number = self.counts.visits.astype(float)
        return _steps(self.knowledge, number, np.zeros(len(number)), self.counts.rows(), self.counts.reward_sum, self.step,
                      1 + float(number.sum()), False)

    def state(self) -> dict[str, Any]:
        return {"counts": self.counts.state(), "memory": self.memory.copy(), "last": self.last.copy(),
                "due": self.due.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.counts.restore(state["counts"])
        self.memory[:], self.last[:], self.due[:] = state["memory"], state["last"], state["due"]
