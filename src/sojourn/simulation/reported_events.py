"""What a report to a session says about events: which one ended the sojourn, and which were seen on the way and led nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.errors import ReportError, unknown_name
from sojourn.kernels.event_counts import UNKNOWN
from sojourn.model.events import NOWHERE, EventTable
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import shown
from sojourn.model.rates import Rate
from sojourn.model.scalars import is_whole

SAME_PAY = 1e-9  # relative


class ReportedEvents:
    """The label of the event (UNKNOWN where nothing tells it), the silent ones as in `History.silent`, and what they paid."""

    def __init__(self, knowledge: Knowledge, pair: int, arrived: int, event: Any, silent: Any, extra: float | None):
        table = knowledge.events
        if table is None:
            if event is not None or silent is not None:
                raise ReportError(f"event is {event!r} and silent is {silent!r}, but the learner was not told of events; leave "
                                  "them out, or tell it with model.knowledge(events=True). Nothing was counted.")
            self.label, self.silent, self.paid = None, None, 0.0
            return
        mine = np.arange(table.row_start[pair], table.row_start[pair + 1])
        self.silent, by_the_way = _silent_row(table, mine, silent)
        rows = mine[table.next_state[mine] == arrived]
        if event is not None:
            number = _number(table, event)
            rows = rows[table.event[rows] == number]
            if not len(rows):
                raise ReportError(f"event is {event!r}, which does not lead from {_called(knowledge, pair)} to "
                                  f"{knowledge.states[arrived]!r}. Nothing was counted.")
        if len(rows) > 1 and extra is not None:  # several lead there: does the pay tell which?
            left = extra - by_the_way
            near = np.abs(table.payment[rows] - left) <= SAME_PAY * (np.abs(table.payment[rows]) + abs(extra) + 1e-300)
            rows = rows[near] if near.sum() == 1 else rows
        self.label = np.array([table.event[rows[0]] if len(rows) == 1 else UNKNOWN])
        self.paid = by_the_way + (float(table.payment[rows[0]]) if len(rows) == 1 else 0.0)


def _silent_row(table: EventTable, mine: np.ndarray, silent: Any) -> tuple[np.ndarray | None, float]:
    """Return the row of `History.silent` and what those events paid; None where nothing was said of them."""
    if silent is None:
        return None, 0.0
    if not isinstance(silent, Mapping):
        raise ReportError(f"silent is {shown(silent)}; it must map events that led nowhere to how often they were seen, as in "
                          "{\"arrive\": 2}. Nothing was counted.")
    row, paid = np.zeros((1, len(table.silent)), dtype=np.int64), 0.0
    for name, times in silent.items():
        number = _number(table, name)
        here = mine[(table.event[mine] == number) & (table.next_state[mine] == NOWHERE)]
        if not is_whole(times) or times < 0:
            raise ReportError(f"silent[{name!r}] is {shown(times)}; it must be a whole number of times. Nothing was counted.")
        if times and not len(here):
            raise ReportError(f"silent[{name!r}] is {times}, but in this pair that event always leads somewhere, or cannot happen. "
                              "Nothing was counted.")
        if len(here):
            row[0, np.searchsorted(table.silent, number)] = times
            paid += times * float(table.payment[here[0]])
    return row, paid


def _number(table: EventTable, given: Any) -> int:
    """Return the number of an event, given by its name or as its Rate."""
    name = given.name if isinstance(given, Rate) else given
    if name not in table.names:
        raise ReportError(f"event is {shown(name)}: {unknown_name('event', str(name), table.names)}. Nothing was counted.")
    return table.names.index(name)


def _called(knowledge: Knowledge, pair: int) -> str:
    return f"{knowledge.states[knowledge.pair_state[pair]]!r} with {knowledge.actions[knowledge.pair_action[pair]]!r}"
