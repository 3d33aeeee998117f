"""Sojourns whose end was not seen: time without a jump.

Jumps out of a pair are a Poisson process of its rate in the time spent there, and remain one whoever decides when to look away,
as long as he does not look ahead.  So this time counts in one of two ways:

- as exposure: n jumps in the time T, that of unfinished sojourns included.  A learner of which this is all that its belief needs
  says so (`exposes = True`) and is told by `expose`;
- added to the next complete sojourn of the same pair: the time spent in a pair between two of its jumps is exponential and
  independent of what was before, however often it was interrupted.  So every guarantee about single holding times stays true,
  be they truncated, put into groups or learned from one by one.  What came behind the last jump of each pair waits for the next
  log, if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.learn.learner import History
from sojourn.model.knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Per unfinished sojourn: its pair, how long it was watched, how many rows of a history came `before` it (in order), and how
    often each event that leads nowhere was seen (rows, silent events), where there are such events."""

    pair: np.ndarray
    time: np.ndarray
    before: np.ndarray
    silent: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.pair)

    def some(self, which: np.ndarray | slice) -> Unfinished:
        """Return some of them."""
        silent = None if self.silent is None else self.silent[which]
        return Unfinished(self.pair[which], self.time[which], self.before[which], silent)


def carried(pair: np.ndarray, cut: Unfinished) -> np.ndarray:
    """Return how much time is added to each complete sojourn: that of the unfinished ones of its pair since the pair's last jump.

    >>> cut = Unfinished(np.array([0, 1, 0]), np.array([5.0, 7.0, 3.0]), np.array([0, 0, 2]))
    >>> carried(np.array([0, 0, 1]), cut).tolist()
    [5.0, 0.0, 7.0]
    """
    rows, extra = len(pair), len(cut)
    owner = np.concatenate([pair, cut.pair])
    place = np.concatenate([np.arange(rows) + 0.5, cut.before])
    order = np.lexsort((place, owner))
    complete = order < rows
    following = np.minimum.accumulate(np.where(complete, np.arange(len(order)), len(order))[::-1])[::-1]
    at = np.minimum(following, len(order) - 1)
    found = ~complete & (following < len(order)) & (owner[order[at]] == owner[order])
    added: np.ndarray = np.bincount(order[at[found]], cut.time[order[found] - rows], minlength=rows) if extra else np.zeros(rows)
    return added


def joined(history: History, cut: Unfinished, knowledge: Knowledge, waiting: np.ndarray) -> History:
    """Return the history in which every complete sojourn has the unfinished time of its pair before it.

    `waiting` is the unfinished time of each pair from earlier logs; it becomes what now came behind the last jump of each.
    """
    pair = knowledge.pair_table[history.state, history.action].astype(np.int64)
    earlier = np.flatnonzero(waiting)
    all_cut = Unfinished(np.concatenate([earlier, cut.pair]), np.concatenate([waiting[earlier], cut.time]),
                         np.concatenate([np.zeros_like(earlier), cut.before]))
    more = carried(pair, all_cut)
    last = np.full(len(waiting), -1)
    last[pair] = np.arange(len(pair))  # where a pair stands several times, its last row stays
    behind = all_cut.before > last[all_cut.pair]
    waiting[:] = np.bincount(all_cut.pair[behind], all_cut.time[behind], minlength=len(waiting))
    running = knowledge.running[pair] * more
    return replace(history, holding_time=history.holding_time + more, reward=history.reward + running, lump=history.lump,
                   running=history.running + running)


def tell(learner: Any, history: History, cut: Unfinished, knowledge: Knowledge, waiting: np.ndarray | None = None) -> None:
    """Tell a learner of complete and of unfinished sojourns; `waiting` (P,) is the time that earlier logs left, and this leaves."""
    if waiting is None:
        waiting = np.zeros(knowledge.n_pairs)
    parts: list[Any] = [history]
    if getattr(learner, "exposes", False):
        early = cut.before == 0  # a learner of events takes its unit of time from what came first
        parts = [cut.some(early), history, cut.some(~early)]
    elif len(cut) or waiting.any():
        parts = [joined(history, cut, knowledge, waiting)]
    for part in parts:
        if len(part):
            (learner.expose if isinstance(part, Unfinished) else learner.observe)(part)
