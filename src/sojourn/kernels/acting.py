"""The driver of learners that choose at every epoch anew and learn from what came of it, in one compiled call.

It has two blanks, which `acting(act, learn)` fills in and compiles:

    act(state, here, own) -> pair                                     the pair to take in the state `here`
    learn(state, pair, holding_time, next_state, lump, running)       what came of it, and where it led

`state` is the learner's own tuple of arrays, `own` its random stream.  Every epoch is walked by `walk_plan` as a plan of one
epoch, so counts, visits, clock and trace are those of every other learner.  The twin is the same function with readable parts
filled in.
"""

from functools import cache
from typing import Any

from sojourn.kernels.driver import filled_with
from sojourn.kernels.jit import kernel
from sojourn.kernels.ledger import BEGUN, DONE, ENTRY, LAST, LEFT, NO_LIMIT, STATE, TIME
from sojourn.kernels.walk import walk_plan

act: Any = None  # the blanks
learn: Any = None
body: Any = None


def walk_acts(state, box, rng, own, max_epochs, max_time):
    """Walk until `max_epochs` epochs, or until the clock has passed `max_time`; return False, as no plan is ever wanted."""
    ledger = box.ledger
    world, at, plan, clock = ledger.world, ledger.at, ledger.plan, ledger.clock
    at[DONE], at[BEGUN] = 0, 0
    while at[DONE] < max_epochs and clock[TIME] <= max_time:
        here = at[STATE]
        pair = act(state, here, own)
        plan.pair[here] = pair
        plan.left[pair] = NO_LIMIT
        plan.epochs[LEFT] = 1
        body(ledger, rng, own, 1, max_time)
        lump = world.reward[pair] + world.transition_reward[at[ENTRY]]
        learn(state, pair, clock[LAST], at[STATE], lump, world.running[pair] * clock[LAST])
    return False


def one_act(state, here, own):
    """Choose once: what Python calls."""
    return act(state, here, own)


def learn_rows(state, pair, holding_time, next_state, lump, running):
    """Learn from some epochs, in order: what Python calls."""
    for n in range(len(pair)):
        learn(state, pair[n], holding_time[n], next_state[n], lump[n], running[n])


@cache
def acting(act: Any, learn: Any) -> Any:
    """Return the compiled driver of this learner."""
    return kernel(filled_with(walk_acts, act=act, learn=learn, body=walk_plan))


@cache
def chooser(act: Any) -> Any:
    """Return `act` as Python may call it."""
    return kernel(filled_with(one_act, act=act))


@cache
def pupil(learn: Any) -> Any:
    """Return `learn` as Python may call it, for arrays of epochs."""
    return kernel(filled_with(learn_rows, learn=learn))
