"""Write a study back as TOML, for the studies that were made in Python (the standard library only reads it)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sojourn.errors import ParameterError


def to_toml(study: Mapping[str, Any]) -> str:
    """Return the TOML text of {"study": table, "models": [tables], "learners": [tables]}.

    >>> print(to_toml({"study": {"name": "x", "epochs": 10}, "models": [{"zoo": "two-state"}], "learners": []}), end="")
    [study]
    name = "x"
    epochs = 10
    <BLANKLINE>
    [[models]]
    zoo = "two-state"
    """
    parts = ["[study]\n" + _lines(study["study"])]
    for kind in ("models", "learners"):
        parts += [f"[[{kind}]]\n" + _lines(entry) for entry in study[kind]]
    return "\n".join(parts)


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    raise ParameterError(f"{value!r} is a {type(value).__name__}; a study file can hold numbers, texts, true, false and lists.")
