"""Knowledge as a tree of arrays, numbers and texts, which `model/pack.py` writes: for files that must hold it."""

from __future__ import annotations

from dataclasses import fields
from math import inf
from typing import Any

import numpy as np

from sojourn.errors import FileError, ModelError
from sojourn.model.events import EventTable
from sojourn.model.knowledge import UNKNOWN, Knowledge
from sojourn.model.names import Names, decoded, encoded
from sojourn.model.numbers import shown

MAX_TABLE = 1000  # entries of a (states, actions) table per pair that there is


def knowledge_tree(knowledge: Knowledge) -> dict[str, Any]:
    """Return everything in `knowledge`; parts that are None are left out.  States that no file can hold become their labels.

    >>> from sojourn.zoo.catalogue import make
    >>> sorted(knowledge_tree(make("two-state").knowledge()))
    ['actions', 'pair_action', 'pair_start', 'rate_max', 'rate_min', 'reward', 'running', 'states']
    """
    tree: dict[str, Any] = {} if knowledge.rates_told else {"rate_bounds": UNKNOWN}
    for part in fields(knowledge):
        if part.name in ("rate_min", "rate_max") and not knowledge.rates_told:
            continue
        value = getattr(knowledge, part.name)
        if isinstance(value, Names):
            tree[part.name] = names_tree(value)
        elif isinstance(value, EventTable):
            tree[part.name] = value.as_tree()
        elif isinstance(value, (np.ndarray, float, int)):
            tree[part.name] = value
        elif value is not None:
            raise FileError(f"{part.name} of the knowledge is {value!r} (a {type(value).__name__}), which no file can hold.")
    return tree


def knowledge_from(tree: dict[str, Any]) -> Knowledge:
    """Return the knowledge that `knowledge_tree` described."""
    parts: dict[str, Any] = dict(tree)
    if parts.get("rate_bounds") == UNKNOWN and not {"rate_min", "rate_max"} & parts.keys():
        del parts["rate_bounds"]
        parts |= {"rate_min": 0.0, "rate_max": inf}
    for name in ("states", "actions"):
        parts[name] = names_from(name.removesuffix("s"), tree[name])
    if "events" in tree:
        parts["events"] = EventTable.from_tree(tree["events"])
    known = {part.name for part in fields(Knowledge)}
    wrong = sorted(set(parts) - known)
    if wrong:
        raise ModelError(f"the knowledge has a part {wrong[0]!r}, which this release does not know; upgrade Sojourn.")
    found = Knowledge(**parts)
    check_layout(found)
    return found


def check_layout(known: Knowledge) -> None:
    """Raise unless every index in `known` points to something: compiled code follows them without looking."""
    _check_starts("pair_start", known.pair_start, known.n_pairs, least=1)
    _check_places("pair_action", known.pair_action, known.n_pairs, known.n_actions)
    for name in ("reward", "running"):
        values = getattr(known, name)
        if not isinstance(values, np.ndarray) or values.shape != (known.n_pairs,) or values.dtype != float \
                or not np.isfinite(values).all():
            raise ModelError(f"{name} of the knowledge is {shown(values)}; it must be {known.n_pairs} finite numbers.")
    if known.n_states * known.n_actions > MAX_TABLE * known.n_pairs + 10**7:
        raise ModelError(f"the knowledge names {known.n_states} states and {known.n_actions} actions for {known.n_pairs} pairs.")
    if (known.support_start is None) != (known.support_state is None):
        raise ModelError(f"the knowledge has support_start {shown(known.support_start)} and support_state "
                         f"{shown(known.support_state)}; it must have both or neither.")
    if known.support_start is not None and known.support_state is not None:
        if len(known.support_start) != known.n_pairs + 1:
            raise ModelError(f"support_start of the knowledge has {len(known.support_start)} entries for {known.n_pairs} pairs.")
        _check_starts("support_start", known.support_start, len(known.support_state), least=1)
        _check_places("support_state", known.support_state, len(known.support_state), known.n_states)
    if known.events is not None:
        if known.events.n_pairs != known.n_pairs:
            raise ModelError(f"the events are of {known.events.n_pairs} pairs, and the knowledge has {known.n_pairs}.")
        if known.events.next_state.size and known.events.next_state.max() >= known.n_states:
            raise ModelError(f"an event leads to state {known.events.next_state.max()}, and there are {known.n_states}.")


def _check_starts(name: str, values: Any, end: int, least: int) -> None:
    fine = isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim == 1 and len(values) > 1
    if not fine or values[0] != 0 or values[-1] != end or (np.diff(values) < least).any():
        raise ModelError(f"{name} of the knowledge is {shown(values)}; it must rise from 0 to {end}.")


def _check_places(name: str, values: Any, size: int, limit: int) -> None:
    fine = isinstance(values, np.ndarray) and values.dtype == np.int64 and values.shape == (size,)
    if not fine or (size and not 0 <= values.min() <= values.max() < limit):
        raise ModelError(f"{name} of the knowledge is {shown(values)}; it must hold {size} positions from 0 to {limit - 1}.")


def names_tree(names: Names) -> dict[str, Any]:
    """Return names as numbers, texts and lists; 0 to n-1 as their number."""
    counted = isinstance(names.values, range)
    labels = {} if names.labelled is None else {"labels": list(names.labelled)}
    return {"names": len(names) if counted else encoded(names), **labels}


def names_from(kind: str, tree: dict[str, Any]) -> Names:
    """Return the names that `names_tree` described."""
    given = tree["names"]
    names = range(given) if isinstance(given, int) else [decoded(name) for name in given]
    return Names(kind, names, tree.get("labels"), stored=True)
