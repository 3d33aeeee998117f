"""The events of a model in its files: one object of columns, with pairs numbered in the order of the file's choices.

    "events": {"names": [...], "value": [...], "low": [...], "high": [... null where open],
               "pair": [...], "next_state": [... -1 where the event leads nowhere], "event": [...], "coefficient": [...],
               "payment": [...], "reward": [... per choice, what no event pays], "running": [...]}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.events import EventTable, event_table
from sojourn.model.numbers import index_array, real_array, shown

COLUMNS = ("pair", "next_state", "event", "coefficient", "payment", "reward", "running", "low", "high", "value")
WHOLE = ("pair", "next_state", "event")


def events_as_columns(table: EventTable) -> dict[str, Any]:
    """Return the table as plain lists; infinity is None."""
    found: dict[str, Any] = {"names": list(table.names)}
    for name in COLUMNS:
        found[name] = [None if value == np.inf else value for value in getattr(table, name).tolist()]
    return found


def events_of_columns(given: Any, order: np.ndarray) -> EventTable:
    """Return the table that columns describe, when choice `order[i]` of the file becomes pair i."""
    if not isinstance(given, dict) or given.keys() != {"names", *COLUMNS}:
        raise ModelError(f"events is {shown(given)}; it must be an object with the keys names, {', '.join(COLUMNS)}.")
    columns = {}
    for name in COLUMNS:
        value = given[name]
        if not isinstance(value, (list, np.ndarray)):
            raise ModelError(f"events.{name} is {shown(value)}; it must be a list.")
        open_ended = name == "high" and isinstance(value, list)
        columns[name] = [np.inf if entry is None else entry for entry in value] if open_ended else value
    names = given["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"events.names is {shown(names)}; it must be a list of texts.")
    for name in ("reward", "running"):
        if len(columns[name]) != len(order):
            raise ModelError(f"events.{name} has {len(columns[name])} entries; it needs one for each of the {len(order)} choices.")
    pair = index_array("events.pair", columns["pair"])
    if pair.min() < 0 or pair.max() >= len(order):
        raise ModelError(f"events.pair is {shown(given['pair'])}; it must hold numbers of choices, from 0 to {len(order) - 1}.")
    for name in ("coefficient", "payment"):
        if len(columns[name]) != len(pair):
            raise ModelError(f"events.{name} has {len(columns[name])} entries, events.pair {len(pair)}; give one of each per row.")
    for name in ("low", "high", "value"):
        if len(columns[name]) != len(names):
            raise ModelError(f"events.{name} has {len(columns[name])} entries; it needs one for each of the {len(names)} events.")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    reward, running = (np.asarray(real(name, columns[name]))[order] for name in ("reward", "running"))
    return event_table(names, place[pair], columns["next_state"], columns["event"], real("coefficient", columns["coefficient"]),
                       real("payment", columns["payment"]), reward=reward, running=running, low=real("low", columns["low"]),
                       high=real("high", columns["high"]), value=columns["value"])


def real(name: str, value: Any) -> np.ndarray:
    """Return a column of numbers, or say which column is none."""
    return real_array(f"events.{name}", value)
