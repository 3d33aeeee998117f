"""What every command shares: the MODEL argument, strict JSON, numbers in words."""

import json
import math
import os
import sys
from typing import Any

import click

from sojourn.errors import ModelError, unknown_name

model_argument = click.argument("model", metavar="MODEL")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")


def read_model(text: str) -> Any:
    """Return the model that MODEL names: a file, or a zoo family with parameters `name:key=value,key=value`."""
    from sojourn.model.files import load
    from sojourn.zoo.catalogue import families, make

    name = text.partition(":")[0]
    if name.replace("_", "-") in families() and not os.path.isfile(text):
        return make(text)
    if os.path.exists(text) or text.endswith((".json", ".npz", ".drn")):
        return load(text)
    raise ModelError(f"{text!r} is neither a file nor a zoo model: {unknown_name('zoo model', name, families())}")


def named_state(model: Any, text: str | None) -> Any:
    """Return the state that a text on the command line means: a state, what it reads as, or else a position."""
    if text is None or text in model.states or text in model.states.labels or not text.lstrip("-").isdigit():
        return text
    return int(text)


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


def policy_object(model: Any, policy: Any) -> dict[str, str]:
    """Return a policy (positions) as {label of the state: label of the action}."""
    return {s: model.actions.label(a) for s, a in zip(model.states.labels, policy)}


def print_json(value: Any) -> None:
    """Print one strict JSON object; where stdout cannot hold every character, those beyond ASCII are escaped."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(plain(value), allow_nan=False, ensure_ascii=not unicode))


def console(stderr: bool = False) -> Any:
    """Return a rich console that respects NO_COLOR and pipes."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)
