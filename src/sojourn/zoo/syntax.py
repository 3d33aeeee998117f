"""The syntax of a model in words, `name:key=value,key=value`, the same on the command line, in Python and in study files."""

from __future__ import annotations

import json
from typing import Any

from sojourn.errors import ParameterError


def parse_parameters(text: str) -> dict[str, Any]:
    """Return {"servers": 5, "rates": [1.0, 2.0]} from `servers=5,rates=[1,2]`: JSON values, bare words are strings.

    >>> parse_parameters("servers=5,reward=lump,rates=[1,2.5],prior=(2,1)")
    {'servers': 5, 'reward': 'lump', 'rates': [1, 2.5], 'prior': [2, 1]}
    """
    found: dict[str, Any] = {}
    for part in _split(text):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f"parameter {part!r} is not of the form key=value; write e.g. `servers=3,capacity=10`, "
                                 "and a list in brackets, `rates=[1,2]`.")
        if key.strip() in found:
            raise ParameterError(f"parameter {key.strip()!r} is given twice ({text!r}); give it once.")
        if value.strip().startswith("(") and value.strip().endswith(")"):
            value = f"[{value.strip()[1:-1]}]"
        try:
            found[key.strip()] = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            found[key.strip()] = value.strip()
    return found


def _no_constant(text: str) -> None:
    raise ParameterError(f"{text} is not a number one can compute with; give a finite value.")


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p for p in parts if p.strip()]
