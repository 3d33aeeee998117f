"""The compact file: the model's own arrays in a zip, and one JSON header.

Never pickle; a declared size is never believed (npz_guard.py).
"""

from __future__ import annotations

import json
import zipfile
from functools import partial
from typing import IO, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.hidden_characters import visible
from sojourn.model.ctmdp import CTMDP
from sojourn.model.event_file import COLUMNS, WHOLE, events_of_columns
from sojourn.model.json_file import FORMAT, VERSION, header, label_keys, parse, read_names
from sojourn.model.names import Names, encoded
from sojourn.model.npz_guard import BROKEN, Guard
from sojourn.model.numbers import shown

TYPES = {
    "header": "|u1", "pair_start": "<i8", "pair_action": "<i8", "row_start": "<i8", "next_state": "<i8",
    "probability": "<f8", "rate": "<f8", "reward": "<f8", "running": "<f8", "transition_reward": "<f8",
}
EVENTS = {f"event_{name}": "<i8" if name in WHOLE else "<f8" for name in COLUMNS}  # with `event_names` in the header
TYPES |= EVENTS
OPTIONAL = {"transition_reward", *EVENTS}
HEADER_KEYS = {"format", "version", "name", "holding", "rate_bounds", "states", "actions"}
LABEL_KEYS = {"state_labels", "action_labels"}
MAX_HEADER_RATIO = 100  # of the labels, which take much more memory once they are parsed


def write_npz(model: CTMDP, stream: IO[bytes]) -> None:
    """Write the arrays of a model and its labels; the same model gives the same bytes."""
    top: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": model.name, "holding": model.holding,
                           "rate_bounds": model.rate_bounds}
    for key, names in (("states", model.states), ("actions", model.actions)):
        counted = isinstance(names.values, range) and names.labelled is None and len(names) <= model.n_pairs
        top[key] = len(names) if counted else encoded(names)
    top |= label_keys(model)
    if model.events is not None:
        top["event_names"] = list(model.events.names)
    arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(top).encode(), dtype=np.uint8)}
    arrays |= {name: getattr(model, name) for name in TYPES if name != "header" and name not in EVENTS}
    if model.events is not None:
        arrays |= {name: getattr(model.events, name.removeprefix("event_")) for name in EVENTS}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            if array is not None:
                entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(entry, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array.astype(TYPES[name]), version=(1, 0), allow_pickle=False)


def read_npz(stream: IO[bytes], max_bytes: int | None = None, stored: bool = False) -> CTMDP:
    """Return the model in an open `.npz` file; ModelError names the array, its value and the rule.

    `max_bytes` may be unpacked (npz_guard.py says how many otherwise).  Of a model that is a part of another file, and so was
    admitted before, the labels are taken as they are: `stored`.
    """
    try:
        guard = Guard(stream, max_bytes, remedy="Save the model again with `model.save`.")
        _check_names(guard.names)
        check = partial(_check_header, guard.packed) if max_bytes is None else None
        arrays: dict[str, Any] = {name: guard.read(name, TYPES[name], check if name == "header" else None) for name in guard.names}
    except BROKEN as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"it is not a whole .npz file ({shown(str(error), 100)}). Is the file complete?") from None
    top = header(parse(arrays.pop("header").tobytes()))
    columns = {name: arrays.pop(f"event_{name}") for name in COLUMNS if f"event_{name}" in arrays}
    names = top.pop("event_names", None)
    if names is not None or columns:
        arrays["events"] = events_of_columns({"names": names, **columns}, np.arange(len(arrays["pair_action"])))
    if top.keys() - LABEL_KEYS != HEADER_KEYS:
        raise ModelError(f"header has the keys {shown(sorted(top))}; it must have {sorted(HEADER_KEYS)}.")
    arrays["states"] = _names("state", top, len(arrays["pair_action"]), stored)
    arrays["actions"] = _names("action", top, len(arrays["pair_action"]), stored)
    name = visible(top["name"]) if stored and isinstance(top["name"], str) else top["name"]
    return CTMDP(**arrays, name=name, holding=top["holding"], rate_bounds=top["rate_bounds"])


def _check_names(names: list[str]) -> None:
    """Raise unless these are the arrays of a model."""
    if "whole" in names:
        raise ModelError(f"it has the arrays {shown(names)}: it holds a run, not a model; read it with `sojourn.Run.load`.")
    for name in names:
        if name not in TYPES:
            raise ModelError(f"it holds an array {shown(f'{name}.npy')}, unknown or twice; known: {', '.join(TYPES)}.")
    for name in TYPES:
        if name not in names and name not in OPTIONAL:
            raise ModelError(f"it holds the arrays {shown(sorted(names))} and lacks {name!r}; save the model again.")


def _check_header(packed: int, size: int) -> None:
    """Refuse labels that shrank too much: they take much more memory once they are parsed."""
    if size > MAX_HEADER_RATIO * max(packed, 2**14):
        raise ModelError(f"header.npy declares {size} bytes in a file of {packed}; labels shrink less than "
                         f"{MAX_HEADER_RATIO}-fold. Save the model again with `model.save`.")


def _names(kind: str, top: dict[str, Any], pairs: int, stored: bool) -> Names:
    """Return the names; a count n (no larger than the number of pairs) stands for 0, ..., n-1, in version 1 for these as texts."""
    key = f"{kind}s"
    value = top[key]
    if type(value) is int and 0 < value <= pairs:
        return Names(kind, tuple(map(str, range(value))) if top["version"] == 1 else range(value))
    if not isinstance(value, list):
        raise ModelError(f"header: {key} is {shown(value)}; it must be a list of names, or a count of 1 to {pairs}.")
    return read_names(kind, top, value, stored)
