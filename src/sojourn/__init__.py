"""Sojourn: continuous-time Markov decision processes, modelled, solved with a proof, and learned online.

Every public name is imported on first use, so `import sojourn` costs next to nothing; `__init__.pyi` has their types.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "CTMDP": "sojourn.model.ctmdp",
    "Choice": "sojourn.model.explore",
    "Rate": "sojourn.model.rates",
    "EventTable": "sojourn.model.events",
    "event_table": "sojourn.model.events",
    "Knowledge": "sojourn.model.knowledge",
    "load": "sojourn.model.files",
    "check": "sojourn.model.checks",
    "make": "sojourn.zoo.catalogue",
    "solve": "sojourn.solving.solve",
    "Solution": "sojourn.solving.solution",
    "evaluate": "sojourn.solving.evaluate",
    "difficulty": "sojourn.instance.difficulty",
    "Difficulty": "sojourn.instance.difficulty",
    "gaps": "sojourn.instance.gaps",
    "diameter": "sojourn.instance.diameter",
    "gain_gap": "sojourn.instance.gain_gap",
    "Plan": "sojourn.learn.learner",
    "History": "sojourn.learn.learner",
    "Learner": "sojourn.learn.learner",
    "learner": "sojourn.learn.catalogue",
    "CTUCRL": "sojourn.learn.ct_ucrl",
    "DoublingCTUCRL": "sojourn.learn.doubling",
    "within": "sojourn.model.closeness",
    "simulate": "sojourn.simulation.simulate",
    "Run": "sojourn.simulation.run",
    "Session": "sojourn.simulation.session",
    "Controller": "sojourn.control.controller",
    "fit": "sojourn.control.fit",
    "Study": "sojourn.study.study",
    "SojournError": "sojourn.errors",
    "ModelError": "sojourn.errors",
}
_MODULES = {"errors", "results", "zoo", "learn", "gym", "model", "solving", "instance", "simulation",
            "control", "study", "report", "testing"}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        # A submodule may carry the function's own name (`sojourn.instance.diameter`); only top-level names must differ.
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"sojourn.{name}")
    from sojourn.errors import unknown_attribute

    raise AttributeError(unknown_attribute("sojourn", name, _HOME))


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
