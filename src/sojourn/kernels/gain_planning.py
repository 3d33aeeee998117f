"""How values move from one look at an extended model to the next, in real time: no rate in it is larger than those of the plan.

A look at values u finds, for each state, the largest drift over the choices and over all that the sets leave open:

    drift(s) = max  r λ + c + Σ Q_y (u(y) - u(s)),        Q_y = λ q_y the intensities chosen.

The least and the largest drift over the states enclose the best gain.  Drifts are convex in u, and the values of the policy that a
look chose, with its rates and rows, are Newton's step towards constant drifts (policy iteration).  They are solved for by
elimination without subtraction, which keeps its digits however far apart rates lie; of a large model by sweeps.
Nothing is uniformised, so bounds of rates that are told far too wide cost nothing.

The turns are those of kernels/turns.py: values of policies; of a large model once more, by elimination or by damped sweeps; and
steps of single states.
"""

import numpy as np

from sojourn.kernels.elimination import take_out
from sojourn.kernels.jit import inner
from sojourn.kernels.swept_planning import CLOSER, DENSE, IN_A_ROW, move_swept
from sojourn.kernels.turns import DAMPED, DAMPED_POLICY, MORE_SWEEPS, POLICY, STEPS, STILL_CLOSER

ELIMINATED = 1000  # states up to which a policy is eliminated, in some 0.1 s, where sweeps of it did not lead to an end
LEAK = 1e-12  # jumps to the anchor per jump of a policy, so that the values of every policy can be solved for
SELDOM = 1e-3  # an anchor less often visited than this share of the most visited state makes way for that one
ROUNDING = 1e-12  # of the terms of a drift: to so much it is known


def policy_move_reference(drift, generator, speed, anchor):
    """Return the change x of u, 0 in `anchor`, after which all drifts of one policy are equal: drift + (generator) x = gain.

    `generator` holds its intensities, rows summing to 0; each state leaks to the anchor with LEAK of its `speed`.
    """
    leaking = generator - LEAK * np.diag(speed)
    leaking[:, anchor] += LEAK * speed
    leaking[:, anchor] = -1.0  # the gain in the place of x(anchor)
    found = np.linalg.solve(leaking, -drift)
    found[anchor] = 0.0
    return found


@inner
def policy_move(drift, model, pair, anchor, move):
    """Fill `move` (see the reference) and return the most visited state, where the anchor is seldom visited; else the anchor."""
    n, last = len(pair), len(pair) - 1
    front, total = np.zeros((n, n)), np.ones(n)
    earned, time, share = np.empty(n), np.ones(n), np.zeros(n)
    place = np.arange(n)
    place[anchor], place[last] = last, anchor  # the state that is eliminated last
    for s in range(n):
        i, row = pair[s], place[s]
        earned[row] = drift[s]
        for k in range(model.row_start[i], model.row_start[i + 1]):
            y = model.next_state[k]
            if y != s:
                front[row, place[y]] += model.rate[i] * model.probability[k]
        if s != anchor:
            front[row, last] += LEAK * model.rate[i]
    take_out(front, last, total)
    for k in range(last):
        for i in range(k + 1, n):
            if front[i, k] != 0.0:
                earned[i] += front[i, k] * earned[k]
                time[i] += front[i, k] * time[k]
    gain = earned[last] / time[last]
    x = np.zeros(n)
    share[last] = 1.0
    for k in range(last - 1, -1, -1):
        x[k] = earned[k] - gain * time[k]
        for j in range(k + 1, n):
            x[k] += front[k, j] * x[j]
            share[k] += share[j] * front[j, k]
        x[k] /= total[k]
    for s in range(n):
        move[s] = x[place[s]]
    most = np.argmax(share)
    return anchor if share[most] * SELDOM <= 1.0 else place[most]


@inner
def moved_by_policy(u, drift, model, pair, kind):
    """Move u to the values of the policy `pair`, nearly if the model is large; False, and not moved, where they overflow."""
    moved = u.copy()
    if len(u) <= DENSE or (kind == DAMPED_POLICY and len(u) <= ELIMINATED):
        move, anchor = np.empty(len(u)), np.argmax(u)
        better = policy_move(drift, model, pair, anchor, move)
        if better != anchor:
            policy_move(drift, model, pair, better, move)
        moved += move
    elif kind == POLICY:
        move_swept(model, pair, moved, 1.0, CLOSER, IN_A_ROW)
    else:
        move_swept(model, pair, moved, DAMPED, STILL_CLOSER, MORE_SWEEPS)
    if not np.isfinite(moved).all():
        return False
    u[:] = moved - moved.max()
    return True


@inner
def move_on(u, drift, low, high, course, model, pair, fastest):
    """Move u on, in place, after a look that found `drift` between `low` and `high` and chose the rates and rows of `model`.

    A step of single states moves each by DAMPED of its drift over one rate, the largest that the sets of the chosen pairs hold.
    """
    turn, n = course.turn, len(u)
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
            turn[2] = DAMPED_POLICY if kind == POLICY and n > DENSE else STEPS
        u[:] = course.kept
    elif kind == STEPS or (n > DENSE and taken % 4 == 3) or not moved_by_policy(u, drift, model, pair, kind):
        rate = fastest[pair].max()
        u += DAMPED * (drift - high) / rate


@inner
def proved(u, drift, low, high, tolerance, model, pair):
    """Return whether the drifts differ by no more than `tolerance`, each taken as exact up to the rounding of its own terms.

    A state that is left 10^12 times faster than another has a drift that no float can tell; it says nothing about the others'.
    The leak to an anchor, which may be any state, changes a drift by as much.
    """
    if high - low <= tolerance:
        return True
    spread, least, most = u.max() - u.min(), np.inf, -np.inf
    for s in range(len(u)):
        i = pair[s]
        size = model.rate[i] * (abs(model.reward[i]) + spread) + abs(model.running[i])
        if not size < np.inf:
            return False
        least, most = min(least, drift[s] + ROUNDING * size), max(most, drift[s] - ROUNDING * size)
    return most - least <= tolerance
