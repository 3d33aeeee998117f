"""Knowledge as a tree of arrays, numbers and texts, which `model/pack.py` writes: for files that must hold it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from sojourn.errors import FileError
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge
from sojourn.model.names import Names, decoded, encoded


def knowledge_tree(knowledge: Knowledge) -> dict[str, Any]:
    """Return everything in `knowledge`; parts that are None are left out.  States that no file can hold become their labels.

    >>> from sojourn.zoo.catalogue import make
    >>> sorted(knowledge_tree(make("two-state").knowledge()))
    ['actions', 'pair_action', 'pair_start', 'rate_max', 'rate_min', 'reward', 'running', 'states']
    """
    tree: dict[str, Any] = {}
    for part in fields(knowledge):
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
    for name in ("states", "actions"):
        parts[name] = names_from(name.removesuffix("s"), tree[name])
    if "events" in tree:
        parts["events"] = EventTable.from_tree(tree["events"])
    known = {part.name for part in fields(Knowledge)}
    wrong = sorted(set(parts) - known)
    if wrong:
        raise FileError(f"the knowledge has a part {wrong[0]!r}, which this release does not know; upgrade Sojourn.")
    return Knowledge(**parts)


def names_tree(names: Names) -> dict[str, Any]:
    """Return names as numbers, texts and lists; 0 to n-1 as their number."""
    counted = isinstance(names.values, range)
    labels = {} if names.labelled is None else {"labels": list(names.labelled)}
    return {"names": len(names) if counted else encoded(names), **labels}


def names_from(kind: str, tree: dict[str, Any]) -> Names:
    """Return the names that `names_tree` described."""
    given = tree["names"]
    return Names(kind, range(given) if isinstance(given, int) else [decoded(name) for name in given], tree.get("labels"))
