"""What every command shares: the MODEL argument, strict JSON, numbers in words."""

import json
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from sojourn.errors import ModelError, ParameterError, unknown_name

model_argument = click.argument("model", metavar="MODEL")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")


def read_model(text: str) -> Any:
    """Return the model that MODEL names: a file, or a zoo family with parameters `name:key=value,key=value`."""
    from sojourn.model.files import load
    from sojourn.zoo.catalogue import families, family

    name, _, parameters = text.partition(":")
    if name.replace("_", "-") in families() and not os.path.isfile(text):
        found, given = family(name), parse_parameters(parameters)
        for key in given:
            found.parameter(key)
        return found.make(**given)
    if os.path.exists(text) or text.endswith((".json", ".npz", ".drn")):
        return load(text)
    raise ModelError(f"{text!r} is neither a file nor a zoo model: {unknown_name('zoo model', name, families())}")


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


def plain(value: Any) -> Any:
    """Return `value` as what strict JSON can hold: numpy scalars and arrays unwrapped, non-finite numbers as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Any) -> None:
    """Print one strict JSON object; where stdout cannot hold every character, those beyond ASCII are escaped."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(plain(value), allow_nan=False, ensure_ascii=not unicode))


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return a table as aligned lines; the columns listed in `right` are flush right.

    >>> print("\\n".join(columns(("state", "bias"), [("idle", "0.0"), ("busy", "-1.5")], right=[1])))
    state  bias
    idle    0.0
    busy   -1.5
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


def console(stderr: bool = False) -> Any:
    """Return a rich console that respects NO_COLOR and pipes."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)
