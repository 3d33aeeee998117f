"""Whether two models may be compared: they may differ in rows and rates only, or in the rates of events that are seen."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ModelError
from sojourn.instance.tilting import written
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.events import EventTable

JUMPS_ONLY = "events=False compares them for learners that see jumps and holding times only"


def require_comparable(model: CTMDP, other: CTMDP, events: bool) -> None:
    """Raise unless the two differ in what is to be learned only, and nothing that is seen tells them apart for certain."""
    require_model(other)
    same = {"states": list(model.states) == list(other.states), "actions": list(model.actions) == list(other.actions),
            "admissible pairs": np.array_equal(model.pair_state, other.pair_state)
            and np.array_equal(model.pair_action, other.pair_action), "laws of holding times": model.holding == other.holding}
    for what in (name for name, equal in same.items() if not equal):
        raise ModelError(f"the other model has different {what}; a learner that may meet either of the two would see that at once. "
                         "Make it with `model.replace(probability=..., rate=...)`.")
    if events:
        require_same_events(model, other)
    else:
        require_same_rewards(model, other)


def require_same_rewards(model: CTMDP, other: CTMDP) -> None:
    """Raise unless rewards are the same, and no jump of the one is impossible in the other or pays something else there."""
    for name in ("reward", "running"):
        off = np.flatnonzero(getattr(model, name) != getattr(other, name))
        if off.size:
            own, theirs = getattr(model, name)[off[0]], getattr(other, name)[off[0]]
            raise ModelError(f"{name} of {pair_label(model, off[0])} is {own:g}, and {theirs:g} in the other model ({off.size} "
                             "differ in all); rewards are known to a learner. Let the other have the same.")
    possible, there = model.matrix.toarray() > 0, other.matrix.toarray() > 0
    paid = [written(one, one.bounds, True).paid for one in (model, other)]
    for pair, state in np.argwhere(possible & (~there | (paid[0] != paid[1])))[:1]:
        why, remedy = "is impossible", "Give it a small chance"
        if there[pair, state]:
            why, remedy = "pays something else", "Let it pay the same"
        raise ModelError(f"the jump to {model.states.label(state)} under {pair_label(model, pair)} {why} in the other model: the "
                         f"first such jump would tell them apart for certain. {remedy} there.")


def require_same_events(model: CTMDP, other: CTMDP) -> None:
    """Raise unless both declare the same events, and differ in the rates of those that are not told only."""
    mine, theirs = model.events, other.events
    assert mine is not None and mine.value is not None
    if theirs is None or theirs.value is None:
        raise ModelError("the other model declares no events, and this one does: a learner that sees which event happened would "
                         f"know them apart at once. Declare the same events there with other rates; or {JUMPS_ONLY}.")
    if mine.names != theirs.names or not all(np.array_equal(getattr(mine, name), getattr(theirs, name))
                                             for name in ("pair", "next_state", "event")):
        raise ModelError("the other model declares other events, or lets them lead elsewhere; what drives what is known to a "
                         f"learner of events. Declare the same events there with other rates; or {JUMPS_ONLY}.")
    for name, of in (("coefficient", "row"), ("payment", "row"), ("reward", "pair"), ("running", "pair"), ("low", "event"),
                     ("high", "event")):
        off = np.flatnonzero(getattr(mine, name) != getattr(theirs, name))
        if off.size:
            own, there = getattr(mine, name)[off[0]], getattr(theirs, name)[off[0]]
            raise ModelError(f"{name} of {row_label(model, mine, of, int(off[0]))} is {own:g}, and {there:g} in the other model "
                             f"({off.size} differ in all); it is known to a learner of events. Let the other have the same.")


def row_label(model: CTMDP, table: EventTable, of: str, at: int) -> str:
    if of == "event":
        return f"the event {table.names[at]!r}"
    if of == "pair":
        return pair_label(model, at)
    return f"the event {table.names[table.event[at]]!r} under {pair_label(model, int(table.pair[at]))}"


def pair_label(model: CTMDP, pair: int) -> str:
    return f"action {model.actions.label(model.pair_action[pair])} in state {model.states.label(model.pair_state[pair])}"
