"""States and actions as the user has them (numbers, strings, tuples of these), written as JSON and read back the same."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, SojournError
from sojourn.model.numbers import shown

MAX_BITS = 4096  # Python writes out no integer that is much longer


def written(value: Any, name: str = "state", error: type[SojournError] = ParameterError) -> str:
    """Return a state or an action as JSON; a tuple becomes a list, since nothing else can.

    >>> written((1, "up")), written("up"), written(np.int64(3)), written(None)
    ('[1,"up"]', '"up"', '3', 'null')
    """
    text = json.dumps(_plain(value, name, error), separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as wrong:
        raise error(f"{name} is {value!r}, which is no text that a file can hold ({wrong.reason}); say it otherwise.") from None
    return text


def _plain(value: Any, name: str, error: type[SojournError]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise error(f"{name} is {shown(value)}; a controller's file holds integers of {MAX_BITS} bits at most. Say it otherwise.")
    if type(value) in (str, int, bool, type(None)) or (type(value) is float and isfinite(value)):
        return value
    if type(value) is tuple:
        return [_plain(part, name, error) for part in value]
    raise error(f"{name} is {value!r} (a {type(value).__name__}); a controller's file holds numbers, strings and tuples of these. "
                "Report it as one of them.")


def read(text: str | None) -> Any:
    """Return what `written` wrote.

    >>> read('[1,"up",[2]]')
    (1, 'up', (2,))
    """
    return None if text is None else tuples(json.loads(text))


def tuples(value: Any) -> Any:
    """Return lists, in which tuples were written, as tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value
