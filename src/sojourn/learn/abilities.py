"""What a walker may ask of a learner, looked up once, here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sojourn.learn.counts import Counts
from sojourn.learn.learner import Learner, Plan

if TYPE_CHECKING:
    from sojourn.learn.structure_test import Evidence


class Planning(Protocol):
    """Whatever makes plans: the least that a learner must have, or `act`."""

    def plan(self) -> Plan: ...


class Acting(Protocol):
    """Whatever chooses an action at every epoch anew."""

    def act(self, state: int, /) -> int: ...


@dataclass(frozen=True)
class Abilities:
    """Beside planning, or acting, and observing."""

    acts: bool = False  # act(state) at every epoch, instead of plan()
    folds: bool = False  # kernels may add to its `counts` instead of calling observe(history)
    observes: bool = True
    saves: bool = False  # state() and restore(state)
    shows: bool = False  # snapshot(): tables of what the last plan was based on
    compiled_plan: Any = None  # plan(state, desk, own), see kernels/driver.py
    compiled_act: Any = None  # (act, learn), see kernels/acting.py


def is_learner(value: Any) -> bool:
    """Return whether `value` plans or acts; everything else is taken for a policy."""
    return isinstance(value, Learner) or callable(getattr(value, "plan", None)) or callable(getattr(value, "act", None))


def called(learner: Any) -> str:
    """Return how a learner is called in tables and titles: as whoever asked for it said it, or else by its class."""
    return str(getattr(learner, "called", "") or type(learner).__name__)


def structure_of(learner: Any) -> Evidence | None:
    """Return the evidence against the events that a learner was told, as of now; None where it was told of none."""
    found: Evidence | None = getattr(learner, "structure", None)
    return found


def abilities_of(learner: Any) -> Abilities:
    """Return what `learner` can do: as its class declares it; of an object that is no child of Learner, by the methods it has."""
    own = vars(learner) if hasattr(learner, "__dict__") else {}
    if isinstance(learner, Learner):
        compiled = None if "plan" in own else learner.compiled()  # an object may bring a plan of its own
        folds = learner.folds and "observe" not in own and isinstance(learner.counts, Counts)
        acting = None if {"act", "observe"} & own.keys() else getattr(learner, "compiled_act", None)
        return Abilities(hasattr(learner, "act"), folds, True, True, True, compiled, acting)
    return Abilities(
        acts=hasattr(learner, "act"), folds=isinstance(getattr(learner, "counts", None), Counts),
        observes=hasattr(learner, "observe"), saves=hasattr(learner, "state") and hasattr(learner, "restore"),
        shows=hasattr(learner, "snapshot"))
