"""Planning over an event table with very many states: policy iteration from the last plan, policies evaluated by multigrid.

A policy is evaluated only as far as the next improvement needs.  Where multigrid does not help (a graph that does not coarsen, or
rates so far apart that evaluations do not get there), sweeps of value iteration go on from where it was left.
"""

from __future__ import annotations

import numpy as np

from sojourn.kernels.event_planning import EventRows, event_sweeps
from sojourn.kernels.event_steps import event_step, policy_equations
from sojourn.learn.found import Found
from sojourn.solving.multigrid import Multigrid
from sojourn.solving.nested import Evaluation

ROUNDS = 30  # policies in one plan at most
FAILURES = 2  # evaluations that may end for want of cycles
SWEEPS = 300  # of value iteration at a time, where multigrid does not help
DAMPED = 1.1  # the uniform rate over the largest one: so that models of equal rates do not swing between two biases
ROUNDING = 1e-14  # of the largest terms of a value


def large_plan(rows: EventRows, low: np.ndarray, high: np.ndarray, start: Found, tolerance: float, proved: bool = False) -> Found:
    """Return the best policy when every rate lies in [low, high], its gain known to `tolerance` (relative).

    Where multigrid does not help, sweeps end after SWEEPS of them, unless `proved`: then they go on, and multigrid is tried again
    from where they got, until the gain is known so well.  That needs a model in which every state can be reached from every other.
    """
    found, ended = multigrid_plan(rows, low, high, start, tolerance)
    if not ended:
        found, ended = swept(rows, low, high, found, tolerance, SWEEPS)
    sweeps = SWEEPS
    while proved and not ended:
        better, ended = multigrid_plan(rows, low, high, found, tolerance)
        if ended:
            return better
        sweeps *= 2
        found, ended = swept(rows, low, high, found, tolerance, sweeps)
    return found


def multigrid_plan(rows: EventRows, low: np.ndarray, high: np.ndarray, start: Found, tolerance: float) -> tuple[Found, bool]:
    """Return (plan, True) by multigrid alone; where it does not help, (where to go on from, False)."""
    pair, bias, gain, chosen = start.pair.copy(), start.bias.copy(), start.gain, np.zeros(len(rows.event))
    best, failures = np.inf, 0
    for done in range(ROUNDS):
        least, most, _ = event_step(rows, low, high, gain, bias, 1.0 if done else 0.0, pair, chosen)
        start_, to, intensity, out, income = policy_equations(rows, chosen, pair)
        goal = tolerance * min(abs(least + most) / 2, float(np.abs(income - (least + most) / 2).mean()))
        if most - least <= goal:
            event_step(rows, low, high, gain, bias, 0.0, pair, chosen)  # all the best by the last look: no worse than `least`
            return Found((least + most) / 2, bias, pair), True
        best = min(best, most - least)
        levels = Multigrid((start_, to, intensity, out))
        if not levels.usable or failures >= FAILURES:
            break
        evaluation = Evaluation(best, goal / 4)
        found = levels.improve(income, bias, gain, evaluation.enough)
        if not np.isfinite(found) or not np.isfinite(bias).all():
            bias, gain = start.bias.copy(), start.gain
            break
        gain = found
        failures += evaluation.failed
    return Found(gain, bias, pair), False


def swept(rows: EventRows, low: np.ndarray, high: np.ndarray, start: Found, tolerance: float, sweeps: int) -> tuple[Found, bool]:
    """Return (what at most `sweeps` sweeps find, whether its gain is known to `tolerance`, or as well as floats can tell)."""
    jumps = rows.next_state >= 0
    total = np.concatenate([[0.0], np.cumsum(np.where(jumps, rows.coefficient * high[rows.event], 0.0))])
    uniform = DAMPED * float(np.diff(total[rows.row_start]).max())
    found, goal, width = start, tolerance * abs(start.gain), np.inf
    for _ in range(0, sweeps, SWEEPS):  # in parts, so that Ctrl-C is heard
        least, most, bias, pair = event_sweeps(rows, low, high, found.bias, uniform, SWEEPS, goal)
        found, width = Found((least + most) / 2, bias, pair), most - least
        goal = max(tolerance * abs(found.gain), ROUNDING * uniform * float(np.abs(bias).max()))
        if width <= goal:
            break
    return found, bool(width <= goal)
