"""Statistics of events: how often each row of the event table was seen, how long each pair was exposed, and the unit of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError, ReportError
from sojourn.kernels.event_counts import UNKNOWN, add_events, find_rows
from sojourn.learn.counts import pairs_of
from sojourn.model.events import NOWHERE, EventTable
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import shown

if TYPE_CHECKING:
    from sojourn.learn.learner import History
    from sojourn.learn.unfinished import Unfinished


MOST_SEEN = 2.0**62  # so that sums stay within whole numbers of 64 bits


class EventCounts:
    """Counts per row and times per pair; per event they add up to n and the exposure X = Σ T_p C_k(p).

    The first sojourn, finished or not, only sets `unit`, the rate that the unit of time suggests (1 over its length and the
    coefficients of its pair), and is not counted otherwise: so priors and tests may be scaled by it and remain fixed before the
    data they judge.
    """

    exposes = True

    def __init__(self, knowledge: Knowledge, table: EventTable):
        self.knowledge, self.table = knowledge, table
        self.time = np.zeros(table.n_pairs)
        self.count = np.zeros(len(table.pair), dtype=np.int64)
        self.unit = 0.0
        self._pair, self._event, self._total = table.exposure_rows
        self._rows = tuple(np.array(array) for array in (table.row_start, table.next_state, table.event))

    @property
    def seen(self) -> np.ndarray:
        """n, how often each event was seen."""
        return np.bincount(self.table.event, self.count, minlength=self.table.n_events)

    @property
    def exposure(self) -> np.ndarray:
        """X, the time of each event's pairs times its coefficients there."""
        return np.bincount(self._event, self.time[self._pair] * self._total, minlength=self.table.n_events)

    @property
    def typical(self) -> float:
        """A typical rate: all events seen over all exposure; `unit` while none was seen, 1 before anything was."""
        seen = float(self.count.sum(dtype=float))
        return seen / float(self.exposure.sum()) if seen else self.unit or 1.0

    def observe(self, history: History) -> None:
        """Count a chunk of epochs; nothing is counted if one of them has no row, or several and no label."""
        pairs = pairs_of(history, self.knowledge)
        rows = self.rows_of(pairs, history)
        silent = self._silent_rows(pairs, history)
        tau = np.asarray(history.holding_time, dtype=np.float64)
        first = 0
        if self.unit == 0.0 and len(pairs):
            self._set_unit(pairs[0], tau[0])
            first = 1
        add_events(pairs[first:], tau[first:], rows[first:], self.time, self.count)
        for found, times in silent:
            np.add.at(self.count, found[first:], times[first:])

    def expose(self, cut: Unfinished) -> None:
        """Count sojourns whose end was not seen: time without a jump, and what was seen in it that led nowhere."""
        silent = self._silent_rows(cut.pair, cut)
        first = 0
        if self.unit == 0.0 and len(cut):
            self._set_unit(cut.pair[0], cut.time[0])
            first = 1
        self.time += np.bincount(cut.pair[first:], cut.time[first:], minlength=len(self.time))
        for found, times in silent:
            np.add.at(self.count, found[first:], times[first:])

    def _set_unit(self, pair: int, time: float) -> None:
        mine = slice(*self.table.row_start[pair:pair + 2])
        self.unit = float(1.0 / (time * self.table.coefficient[mine].sum()))

    def check(self, history: History) -> None:
        """Raise as `observe` would; nothing is counted."""
        pairs = pairs_of(history, self.knowledge)
        self.rows_of(pairs, history)
        self._silent_rows(pairs, history)

    def rows_of(self, pairs: np.ndarray, history: History) -> np.ndarray:
        """Return the row of each epoch, or say which cannot be told."""
        after = np.asarray(history.next_state, dtype=np.int64)
        given = getattr(history, "event", None)
        labels = np.full(len(pairs), UNKNOWN, dtype=np.int64) if given is None else np.asarray(given, dtype=np.int64)
        rows: np.ndarray = find_rows(pairs, after, labels, *self._rows)
        if (rows < 0).any():
            self._refuse(pairs, after, labels, rows)
        return rows

    def paid(self, history: History) -> np.ndarray:
        """Return what the events of each epoch paid."""
        pairs = pairs_of(history, self.knowledge)
        found = self.table.payment[self.rows_of(pairs, history)].copy()
        for rows, times in self._silent_rows(pairs, history):
            found += times * self.table.payment[rows]
        return np.asarray(found)

    def paid_unfinished(self, cut: Unfinished) -> np.ndarray:
        """Return what the events of each unfinished sojourn paid."""
        found = np.zeros(len(cut))
        for rows, times in self._silent_rows(cut.pair, cut):
            found += times * self.table.payment[rows]
        return found

    def _silent_rows(self, pairs: np.ndarray, history: History | Unfinished) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (rows, how often) for each event that leads nowhere somewhere."""
        given = getattr(history, "silent", None)
        found = []
        for column, event in enumerate(self.table.silent.tolist()):
            rows = find_rows(pairs, np.full(len(pairs), NOWHERE), np.full(len(pairs), event), *self._rows)
            here = rows >= 0
            if given is None and here.any():
                raise ReportError(f"{self._called(pairs[here][0])} can see {self.table.names[event]!r} without going anywhere, and "
                                  "nothing says how often it did; report silent={name: times}. Nothing was counted.")
            if given is None:
                continue
            times = np.asarray(given)[:, column]
            if (times[~here] != 0).any():
                odd = int(np.flatnonzero(~here & (times != 0))[0])
                raise ReportError(f"row {odd} reports {self.table.names[event]!r} {times[odd]} times, and "
                                  f"{self._called(pairs[odd])} has no such event that leads nowhere. Nothing was counted.")
            mine = np.maximum(rows, 0)
            if here.any() and float(self.count[mine[here]].max()) + times.sum(dtype=float) >= MOST_SEEN:
                raise ReportError(f"with these rows {self.table.names[event]!r} would have been seen 2^62 times and more, which "
                                  "cannot be counted. Let one event stand for many. Nothing was counted.")
            found.append((mine, times))
        return found

    def _refuse(self, pairs: np.ndarray, after: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> None:
        at = int(np.flatnonzero(rows < 0)[0])
        states = self.knowledge.states
        if rows[at] == -2:
            by = "" if labels[at] == UNKNOWN else f" by event {self.table.names[labels[at]]!r}"
            raise ReportError(f"row {at}: {self._called(pairs[at])} led to {states[after[at]]!r}{by}, which no event of it does. "
                              "Nothing was counted.")
        several = np.unique(pairs[rows == -1])
        mine = slice(*self.table.row_start[pairs[at]:pairs[at] + 2])
        names = [self.table.names[k] for k in self.table.event[mine][self.table.next_state[mine] == after[at]]]
        listed, more = "; ".join(map(self._called, several[:5])), f" and {len(several) - 5} more" if len(several) > 5 else ""
        need = f"{f' (so in {len(several)} pairs: {listed}{more})' if len(several) > 1 else ''}.{self._not_to_be_told(names)}"
        raise ReportError(f"{self._called(pairs[at])} leads to {states[after[at]]!r} by any of {', '.join(names)}: say which, with "
                          f"event=...{need} Nothing was counted.")

    def _not_to_be_told(self, names: list[str]) -> str:
        """Return what to do where nothing but labels can tell some of these events apart."""
        group = next((group for group in self.table.alike if len(set(group) & set(names)) > 1), ())
        return f" Without labels only a sum of {' and '.join(group)} can be learned: then declare it as one rate." if group else ""

    def _called(self, pair: int) -> str:
        known = self.knowledge
        return f"state {known.states[known.pair_state[pair]]!r} with action {known.actions[known.pair_action[pair]]!r}"

    def state(self) -> dict[str, Any]:
        return {"time": self.time.copy(), "count": self.count.copy(), "unit": self.unit}

    def restore(self, state: dict[str, Any]) -> None:
        time, count = np.array(state["time"], dtype=np.float64), np.array(state["count"], dtype=np.int64)
        unit = float(state["unit"])
        for name, values in (("time", time), ("count", count), ("unit", np.array(unit))):
            if not (np.isfinite(values).all() and (values >= 0).all()):
                raise ParameterError(f"the saved {name} of events is {shown(values.tolist())}; it must be finite and at least 0. "
                                     "It is damaged.")
        with np.errstate(over="ignore"):
            exposed = float((time[self._pair] * self._total).sum())
        if not np.isfinite(exposed):
            raise ParameterError(f"the saved time of events is {shown(time.tolist())}; its sum is beyond the largest float. "
                                 "It is damaged.")
        self.time, self.count, self.unit = time, count, unit
