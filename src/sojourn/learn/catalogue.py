"""The learners by name: one line each, and the contracts, the docs table and the command line pick it up."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sojourn.errors import ParameterError, unknown_name
from sojourn.model.knowledge import Knowledge


@dataclass(frozen=True)
class Entry:
    """One learner: where it lives, and what a table of results must say about it."""

    name: str
    home: str  # "module:Class"
    summary: str
    knows: str
    proved: str
    source: str


_ENTRIES = [
    Entry("ct-ucrl", "sojourn.learn.ct_ucrl:CTUCRL", "optimism over L1 and truncated-mean confidence sets, as printed",
          "rewards, rate bounds", "regret O(log N) with delta = 1/N (thm:UCRL)", "Gao and Zhou, alg: CTUCRL"),
    Entry("ct-ucrl-doubling", "sojourn.learn.doubling:DoublingCTUCRL", "CT-UCRL restarted at 2^(2^i) epochs, any horizon",
          "rewards, rate bounds", "regret O(log N) for every N (thm:UCRL2)", "Gao and Zhou, thm:UCRL2"),
]
LEARNERS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def learner_class(name: str) -> type:
    """Return the class of the learner called `name`."""
    if name not in LEARNERS:
        raise ParameterError(unknown_name("learner", name, LEARNERS))
    module, _, attribute = LEARNERS[name].home.partition(":")
    found: type = getattr(import_module(module), attribute)
    return found


def learner(name: str, knowledge: Knowledge, seed: int = 0, **parameters: Any) -> Any:
    """Return a new learner by name; `seed` is its own stream, `parameters` are its constructor's."""
    kind = learner_class(name)
    try:
        return kind(knowledge, seed=seed, **parameters)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error) and "missing" not in str(error):
            raise
        import inspect

        allowed = [p for p in inspect.signature(kind).parameters if p not in ("knowledge", "seed")]
        wrong = [p for p in parameters if p not in allowed]
        if not wrong:
            raise
        raise ParameterError(f"{name}: " + unknown_name("parameter", wrong[0], allowed)) from None
