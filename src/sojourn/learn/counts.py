"""Statistics: what has been counted per pair, namely visits, kept holding times, lump sums, and the successors seen so far."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ReportError
from sojourn.kernels.counts import count_rows, find_slot, keeps, sorted_rows
from sojourn.kernels.ledger import CountArrays
from sojourn.learn.saved_check import check_counts
from sojourn.model.knowledge import Knowledge

if TYPE_CHECKING:
    from sojourn.learn.learner import History
    from sojourn.learn.unfinished import Unfinished

NO_SLOTS = np.zeros(0, dtype=np.int64)
ARRAYS = ("visits", "holding_sum", "reward_sum", "head", "slot_state", "slot_next", "slot_count", "used")


PLACES = ("state", "action", "next_state")  # columns of a history that are positions


def pairs_of(history: History, knowledge: Knowledge) -> np.ndarray:
    """Return the pair of each row, or raise: unknown states, inadmissible actions, holding times and rewards out of range."""
    state, action, after = (np.asarray(x) for x in (history.state, history.action, history.next_state))
    tau, reward = np.asarray(history.holding_time, dtype=np.float64), np.asarray(history.reward, dtype=np.float64)
    lump = np.asarray(history.lump, dtype=np.float64)
    for name, values in (("state", state), ("action", action), ("next_state", after), ("holding_time", tau), ("reward", reward),
                         ("lump", lump)):
        if values.ndim != 1 or len(values) != len(tau) or (values.dtype.kind not in "iu" and name in PLACES and len(tau)):
            raise ReportError(f"{name} is an array of {values.dtype} with shape {values.shape}; a history has one "
                              f"{'whole number' if name in PLACES else 'number'} for each of its {tau.size} rows. Nothing "
                              "was counted.")
    for name, values, limit in (("state", state, knowledge.n_states), ("action", action, knowledge.n_actions),
                                ("next_state", after, knowledge.n_states)):
        wrong = np.flatnonzero((values < 0) | (values >= limit))
        if wrong.size:
            row = int(wrong[0])
            raise ReportError(f"row {row} has {name} {values[row]}; it must be an index below {limit}. Nothing was counted.")
    pairs: np.ndarray = knowledge.pair_table[state, action].astype(np.int64)
    for name, values, fine, rule in (
        ("action", action, pairs >= 0, "admissible in its state"),
        ("holding_time", tau, np.isfinite(tau) & (tau > 0), "finite and above 0"),
        ("reward", reward, np.isfinite(reward), "finite"),
        ("lump", lump, np.isfinite(lump), "finite"),
    ):
        if not fine.all():
            row = int(np.argmin(fine))
            raise ReportError(f"row {row} has {name} {values[row]}; it must be {rule}. Nothing was counted.")
    return pairs


class Counts:
    """Counts per pair.  `epoch` is t, the number of the next decision: 1 + observations.

    `holding_sum` adds the holding times that the truncation keeps (all of them where `delta` is None or 1); the truncated
    mean divides it by all visits.  Paper: alg: CTUCRL, step 3; eq:truncate-mean

    `unfinished` is the part of `holding_sum` (P,) that belongs to sojourns whose end was not seen; None where there were none.
    """

    def __init__(self, knowledge: Knowledge, delta: float | None = None):
        pairs, self.n_states = knowledge.n_pairs, knowledge.n_states
        self.number = np.ones(1, dtype=np.int64)  # arrays, so that kernels may change them
        self.truncation = np.array([0.0 if delta is None else knowledge.rate_min**2 * log(1 / delta)])
        self.visits = np.zeros(pairs, dtype=np.int64)
        self.holding_sum = np.zeros(pairs)
        self.reward_sum = np.zeros(pairs)
        self.head = np.full(pairs, -1, dtype=np.int64)
        self.slot_state = np.zeros(0, dtype=np.int64)
        self.slot_next = np.zeros(0, dtype=np.int64)
        self.slot_count = np.zeros(0, dtype=np.int64)
        self.used = np.zeros(1, dtype=np.int64)
        self.unfinished: np.ndarray | None = None

    @property
    def epoch(self) -> int:
        return int(self.number[0])

    @epoch.setter
    def epoch(self, value: int) -> None:
        self.number[0] = value

    @property
    def scale(self) -> float:
        """λ_min² log(1/δ) of the truncation; 0 keeps every holding time."""
        return float(self.truncation[0])

    @scale.setter
    def scale(self, value: float) -> None:
        self.truncation[0] = value

    def arrays(self, slot_of: np.ndarray) -> CountArrays:
        """Return the arrays as a kernel takes them: what it adds is counted."""
        return CountArrays(self.number, self.truncation, self.visits, self.holding_sum, self.reward_sum, self.head, self.slot_state,
                           self.slot_next, self.slot_count, self.used, slot_of)

    def reserve(self, slots: int) -> None:
        """Make room for `slots` more successors."""
        need = int(self.used[0]) + slots
        if need > len(self.slot_state):
            size = max(need, 2 * len(self.slot_state), 16)
            for name in ("slot_state", "slot_next", "slot_count"):
                old = getattr(self, name)
                new = np.zeros(size, dtype=np.int64)
                new[: len(old)] = old
                setattr(self, name, new)

    def add(self, pair: int, holding_time: float, next_state: int, reward: float = 0.0) -> None:
        """Count one epoch: the pair chosen, how long it held, where it jumped, what it paid."""
        self.reserve(1)
        visit = self.visits[pair] + 1
        self.visits[pair] = visit
        if keeps(holding_time, visit, self.scale):
            self.holding_sum[pair] += holding_time
        self.reward_sum[pair] += reward
        slot = find_slot(pair, next_state, self.head, self.slot_state, self.slot_next, self.slot_count, self.used)
        self.slot_count[slot] += 1
        self.epoch += 1

    def observe(self, history: History, knowledge: Knowledge) -> None:
        """Count a chunk of epochs, in order; nothing is counted if one of them cannot be."""
        pairs, after = pairs_of(history, knowledge), np.asarray(history.next_state, dtype=np.int64)
        tau = np.asarray(history.holding_time, dtype=np.float64)
        self.reserve(min(len(pairs), self.visits.size * knowledge.n_states))
        count_rows(self.arrays(NO_SLOTS), pairs, tau, after, np.asarray(history.lump, dtype=np.float64))

    def expose(self, cut: Unfinished) -> None:
        """Count sojourns whose end was not seen: time without a jump."""
        assert not self.scale, "a truncated mean cannot hold them: join them to complete ones (learn/unfinished.py)"
        more = np.bincount(cut.pair, cut.time, minlength=len(self.visits))
        self.holding_sum += more
        self.unfinished = more if self.unfinished is None else self.unfinished + more

    @property
    def truncated_mean(self) -> np.ndarray:
        """The truncated empirical mean holding time per pair, 0 where nothing was seen."""
        return self.holding_sum / np.maximum(1, self.visits)

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (row_start, next_state, count): the successors seen from each pair, in order of the state."""
        rows: tuple[np.ndarray, np.ndarray, np.ndarray]
        rows = sorted_rows(self.head, self.slot_state, self.slot_next, self.slot_count, int(self.used[0]))
        return rows

    def state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        for name in ("slot_state", "slot_next", "slot_count"):  # without the room reserved for more
            arrays[name] = arrays[name][: int(self.used[0])]
        unfinished = {} if self.unfinished is None else {"unfinished": self.unfinished.copy()}
        return {"epoch": self.epoch, "scale": self.scale, **arrays, **unfinished}

    def restore(self, state: dict[str, Any]) -> None:
        self.epoch = int(state["epoch"])
        self.scale = float(state["scale"])
        found = {name: np.array(state[name], dtype=getattr(self, name).dtype) for name in ARRAYS}
        waiting = np.array(state["unfinished"], dtype=np.float64) if "unfinished" in state else None
        check_counts(found, self.n_states, len(self.visits), waiting)
        for name, array in found.items():
            setattr(self, name, array)
        self.unfinished = waiting
