"""What a report says of events, as a controller takes it: what nobody can understand is refused, what cannot be is an alarm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sojourn.errors import ReportError, unknown_name
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import shown
from sojourn.model.scalars import is_whole


def written_silent(silent: Any) -> str | None:
    """Return how often events were seen that led nowhere, as text, sorted by name; None where nothing was said.

    >>> written_silent({"b": 2, "a": 0})
    '{"a":0,"b":2}'
    """
    if silent is None:
        return None
    if not isinstance(silent, Mapping) or not all(isinstance(k, str) and is_whole(n) and 0 <= n < 2**53 for k, n in silent.items()):
        raise ReportError(f"silent is {shown(silent)}; it must map events that led nowhere to how often they were seen, as in "
                          '{"arrive": 2}. Nothing was counted.')
    return json.dumps({name: int(silent[name]) for name in sorted(silent)}, separators=(",", ":"), ensure_ascii=False)


def read_silent(text: str | None) -> dict[str, int] | None:
    """Return what `written_silent` wrote."""
    return None if text is None else json.loads(text)


def check_names(known: Knowledge, event: Any, silent: Mapping[str, int] | None) -> None:
    """Refuse events that the knowledge does not have; without any in it they are only written down."""
    if known.events is not None:
        for what, name in (*([] if event is None else [("event is", event)]), *(("silent names", name) for name in silent or {})):
            if name not in known.events.names:
                raise ReportError(f"{what} {shown(name)}: {unknown_name('event', str(name), known.events.names)}. "
                                  "Nothing was counted.")
