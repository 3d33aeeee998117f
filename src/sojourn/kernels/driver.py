"""The driver: walks plan after plan in one call and asks a planner for the next one.

There is one driver, `walk_plans` below, with two blanks: `body` walks the plan under way (`walk_plan` or `walk_fast`), `plan`
makes the next one.  `driver(plan, body)` fills them in and compiles.  A planner is a compiled function

    plan(state, desk, own) -> bool

of the learner's own `state` (a tuple of arrays and numbers), the learner's side of the ledger (`Desk`) and its random stream.  It
reads `desk.counts` and writes the plan: `desk.plan.pair` (the pair chosen in each state), `desk.plan.left` (the visits that each
pair may take, at least 1), `desk.plan.epochs[LEFT]` (the most epochs it may last, or NO_LIMIT), and `desk.info`.  It returns False
to leave the next plan to Python; `in_python`, which always does, serves the learners that plan there.

Python hands a ledger over as `boxed(ledger)`: at every call numba takes some 15 us to recognize and unpack a tuple of so many
arrays, and 1 us for a box that it made itself.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numba
from numba.experimental import structref

from sojourn.kernels.jit import inner, kernel
from sojourn.kernels.ledger import BEGUN, DONE, LEFT, STATE, TAKEN, TIME, Desk, Ledger

plan: Any = None  # the two blanks
body: Any = None


class PlainBox(NamedTuple):
    """A ledger as a driver that is not compiled takes it."""

    ledger: Ledger


@structref.register
class BoxType(numba.types.StructRef):  # type: ignore[misc]
    """What numba calls a Box."""


class Box(structref.StructRefProxy):  # type: ignore[misc]
    """A ledger as a compiled driver takes it: unpacked once, over the same arrays."""


structref.define_proxy(Box, BoxType, ["ledger"])


@kernel
def _boxed(ledger):
    return Box(ledger)


boxed = PlainBox if numba.config.DISABLE_JIT else _boxed


def walk_plans(state, box, rng, own, max_epochs, max_time):
    """Walk until `max_epochs` epochs, or until the clock has passed `max_time`; return whether Python must plan first.

    Stops also when there is no room to note another plan.  `box` is `boxed(ledger)`, `rng` the world's stream, `own`
    the learner's.
    """
    ledger = box.ledger
    at, left, clock, begun = ledger.at, ledger.plan.epochs, ledger.clock, ledger.begun
    desk = Desk(ledger.counts, ledger.plan, ledger.info)
    at[DONE], at[BEGUN] = 0, 0
    over = left[LEFT] <= 0
    while at[DONE] < max_epochs and clock[TIME] <= max_time:
        if over:
            row = at[BEGUN]
            if row == len(begun.epoch):
                return False
            if not plan(state, desk, own):
                return True
            left[TAKEN] = 0
            begun.epoch[row] = at[DONE]
            begun.state[row] = at[STATE]
            for s in range(len(ledger.plan.pair)):  # loops: numba takes seconds to compile assignments of whole rows
                begun.pair[row, s] = ledger.plan.pair[s]
            for k in range(len(ledger.visits)):
                begun.visits[row, k] = ledger.visits[k]
            for i in range(len(ledger.info)):
                begun.info[row, i] = ledger.info[i]
            at[BEGUN] = row + 1
        ended = body(ledger, rng, own, min(max_epochs - at[DONE], left[LEFT]), max_time)
        over = ended or left[LEFT] <= 0
    return False


@inner
def in_python(state, desk, own):
    """Leave every plan to Python."""
    return False


def one_plan(state, desk, own):
    """Make one plan: what Python calls, so that a planner need not be callable from there."""
    return plan(state, desk, own)


def filled_in(form: Callable[..., Any], plan: Any, body: Any = None) -> FunctionType:
    """Return `walk_plans` or `one_plan` with the blanks filled in, not compiled."""
    return filled_with(form, plan=plan, body=body)


def filled_with(form: Callable[..., Any], **parts: Any) -> FunctionType:
    """Return `form` with its blanks filled in, not compiled.

    It passes for a function of the file of the first part, because numba keeps compiled code by file and name.
    """
    source = getattr(next(iter(parts.values())), "py_func", next(iter(parts.values())))
    name = "_".join(getattr(part, "py_func", part).__name__ for part in (form, *parts.values()) if part is not None)
    code = form.__code__.replace(co_filename=source.__code__.co_filename, co_name=name, co_qualname=name)
    made = FunctionType(code, {**form.__globals__, **parts}, name)
    made.__module__, made.__qualname__ = source.__module__, name
    return made


@cache
def driver(plan: Any, body: Any) -> Any:
    """Return the compiled driver of this planner and this body; the same one when asked again."""
    return kernel(filled_in(walk_plans, plan, body))


@cache
def planner(plan: Any) -> Any:
    """Return `plan` as Python may call it."""
    return kernel(filled_in(one_plan, plan))
