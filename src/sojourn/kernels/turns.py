"""How values move from one Bellman step of an extended model to the next: values of policies and damped steps, in turns.

The values of the policy that a step chose bring the next step near the end at once, if its states hang together.  Where they
fall apart or are visited in turn, as optimism has it while rows are open, they may lead about in circles.  So there are three ways
on, and each has its turn, twice as long the next time round: values of the policy (of a large model by sweeps); those by damped
sweeps; damped Bellman steps, which always get there, slowly.  A turn goes on from the u of the least span(Tu - u) so far.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.jit import inner
from sojourn.kernels.planning import evaluate_policy
from sojourn.kernels.swept_planning import CLOSER, DENSE, IN_A_ROW, move_swept

POLICY, DAMPED_POLICY, STEPS = range(3)
FIRST, FIRST_DENSE = 16, 100  # steps of the first turn; where policies are solved it seldom needs a second
DAMPED = 0.9
MORE_SWEEPS, STILL_CLOSER = 200, 0.05  # of a policy, where sweeps are damped
APART = 1e7  # values of a policy so many times as large as those before and as what is paid: its states do not hang together


class Course(NamedTuple):
    """Where an iteration stands, from call to call."""

    turn: np.ndarray  # int64[3]: steps taken in this turn, its length, its kind
    span: np.ndarray  # float64[1], the least span(Tu - u) so far
    kept: np.ndarray  # and its u


def first_course(n_states: int) -> Course:
    """Return the course of an iteration that has taken no step."""
    return Course(np.array([0, FIRST if n_states > DENSE else FIRST_DENSE, POLICY]), np.array([np.inf]), np.zeros(n_states))


def advance_reference(u, u_next, course, values):
    """Return the u to go on from after the step from u to `u_next`; `values(kind)`: of its policy, None if it falls apart."""
    step, (taken, length, kind) = u_next - u, course.turn
    if np.ptp(step) < course.span[0]:
        course.span[0], course.kept[:] = np.ptp(step), u
    course.turn[0] += 1
    if taken == length:
        following = DAMPED_POLICY if kind == POLICY and len(u) > DENSE else STEPS
        course.turn[:] = (0, 2 * length, POLICY) if kind == STEPS else (0, length, following)
        return course.kept.copy()
    found = values(kind) if kind != STEPS and taken % 4 < 3 else None
    return u + DAMPED * (step - step.min()) if found is None else found


@inner
def advance(u, u_next, low, high, course, model, pair):
    """Move u on, in place; `low` and `high` are the extremes of u_next - u, `model` has the rows and rates chosen for `pair`."""
    turn = course.turn
    if high - low < course.span[0]:
        course.span[0] = high - low
        course.kept[:] = u
    taken, length, kind = turn[0], turn[1], turn[2]
    turn[0] += 1
    if taken == length:
        turn[0] = 0
        if kind == STEPS:
            turn[1], turn[2] = 2 * length, POLICY
        else:
            turn[2] = DAMPED_POLICY if kind == POLICY and len(u) > DENSE else STEPS
        u[:] = course.kept
    elif kind == STEPS or taken % 4 == 3 or not valued(u, model, pair, kind):
        u += DAMPED * (u_next - u) - DAMPED * low


@inner
def valued(u, model, pair, kind):
    """Move u to the values of the policy `pair` in `model`, nearly if it is large; False, and not moved, if they fall apart."""
    bias = u.copy()
    if len(u) <= DENSE:
        evaluate_policy(model, pair, bias)
    elif kind == POLICY:
        move_swept(model, pair, bias, 1.0, CLOSER, IN_A_ROW)
    else:
        move_swept(model, pair, bias, DAMPED, STILL_CLOSER, MORE_SWEEPS)
    paid = np.abs(model.reward).max() + (model.running.max() - model.running.min()) / model.rate.max()
    if not (np.isfinite(bias).all() and np.abs(bias).max() <= APART * (np.abs(u).max() + paid)):
        return False
    u[:] = bias
    return True
