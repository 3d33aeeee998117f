"""Which events happened in a simulated walk: a label for every jump, and the events that were seen and led nowhere.

The jumps are those of the walk, whose random numbers are not touched: given that pair p jumped to y after τ, it was event k with
probability proportional to θ_k c_k(p, y), and an event that leads nowhere happened a Poisson number of times with mean θ_k c_k(p)
τ. Two streams of their own, each drawn epoch by epoch, so that labels do not depend on how a walk is cut into pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.kernels.event_labels import draw_labels
from sojourn.learn.streams import restore_stream, stream, stream_state
from sojourn.model.ctmdp import CTMDP
from sojourn.model.events import EventTable, events_of
from sojourn.model.knowledge import Knowledge

MOST = 2.0**53  # of one event in a sojourn, as in reports
LABEL_STREAM, SILENT_STREAM = 2, 3  # beside the world's and the learner's


class Labels:
    """Draws the labels of a model's walk, as numbers of the events that `told` speaks of (by name)."""

    def __init__(self, model: CTMDP, told: EventTable | None, seed: Any):
        table = self.table = events_of(model)
        assert table.value is not None
        self.model, self.told = model, told if told is not None else table
        self.numbers = numbers_in(table, self.told)
        self.width = len(self.told.silent)
        self.label_stream, self.silent_stream = stream(seed, LABEL_STREAM), stream(seed, SILENT_STREAM)
        self._intensity = table.intensity(table.value)
        self._rows = tuple(np.array(array) for array in (table.row_start, table.next_state, table.event, self._intensity))
        self._silent = np.zeros((table.n_pairs, self.width))
        rows = np.flatnonzero(~table.jumps)
        columns = np.searchsorted(self.told.silent, self.numbers[table.event[rows]])
        np.add.at(self._silent, (table.pair[rows], columns), self._intensity[rows])

    def draw(self, pairs: np.ndarray, holding_time: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (event of each jump, times each silent event happened) for the next epochs of the walk."""
        uniform = self.label_stream.random(len(pairs))
        event = draw_labels(pairs, next_state, uniform, *self._rows)
        mean = self._silent[pairs] * holding_time[:, None]
        if mean.max(initial=0.0) >= MOST:
            self._refuse(pairs, holding_time, mean)
        return self.numbers[event], self.silent_stream.poisson(mean)

    def _refuse(self, pairs: np.ndarray, holding_time: np.ndarray, mean: np.ndarray) -> None:
        """Raise: so many events in one sojourn cannot be counted."""
        epoch, column = np.unravel_index(int(mean.argmax()), mean.shape)
        name, state = self.told.names[self.told.silent[column]], self.model.states.label(self.model.pair_state[pairs[epoch]])
        raise ModelError(f"{name!r} would be seen some {mean[epoch, column]:.3g} times in one sojourn of {holding_time[epoch]:.3g} "
                         f"in {state}; from 2^53 on counts are not exact. Let one event stand for many: divide its rate and "
                         "multiply what it pays.")

    def named(self, pair: int, holding_time: float, next_state: int) -> dict[str, Any]:
        """Return the event of the next epoch by name, and how often events that led nowhere were seen, as {name: times}."""
        event, silent = self.draw(np.array([pair]), np.array([holding_time]), np.array([next_state]))
        names = self.table.names
        seen = {names[k]: int(times) for k, times in zip(self.table.silent, silent[0]) if times}
        return {"event": names[int(event[0])], "silent": seen}

    def state(self) -> dict[str, np.ndarray]:
        return {"labels": stream_state(self.label_stream), "silent": stream_state(self.silent_stream)}

    def restore(self, state: dict[str, Any]) -> None:
        restore_stream(self.label_stream, state["labels"])
        restore_stream(self.silent_stream, state["silent"])


def numbers_in(table: EventTable, told: EventTable) -> np.ndarray:
    """Return the number in `told` of each event of `table`, or raise where it has no such name."""
    if table.names == told.names:
        return np.arange(table.n_events)
    known = {name: k for k, name in enumerate(told.names)}
    for name in table.names:
        if name not in known:
            raise ModelError(f"the model has an event {name!r}, of which the learner was not told; tell it this model's events, or "
                             "give the events of the model the names that the learner knows.")
    return np.array([known[name] for name in table.names], dtype=np.int64)


def labels_for(model: CTMDP, knowledge: Knowledge, seed: Any) -> Labels | None:
    """Return the labels of a walk, or None where successors tell everything: nobody was told of events, or none is declared."""
    if knowledge.events is None:
        return None
    if model.events is None and knowledge.events.n_events == len(model.next_state):
        return None
    return Labels(model, knowledge.events, seed)
