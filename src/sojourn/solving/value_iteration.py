"""Value iteration on the model uniformized above its largest rate, with sweeps of the current policy in between.

One true Bellman step decides when to stop, so the sweeps in between (modified policy iteration) cannot spoil the proof.
"""

from __future__ import annotations

import numpy as np

from sojourn.kernels.bellman import bellman_step, policy_sweeps
from sojourn.model.ctmdp import CTMDP

ABOVE = 1.1  # Λ over the largest rate: every state then stays where it is with positive probability
INNER = 30  # sweeps of the policy between two Bellman steps
WORK = 4_000_000_000  # jumps looked at before giving up: some ten seconds
PATIENCE = 300_000_000  # jumps after which the speed so far must promise an end within the limit
SMALL_WORK = 20_000_000  # the same where the policy's equations can be solved directly
CALL = 3000  # what one round costs besides its jumps, in jumps
EPSILON = float(np.finfo(float).eps)


def iterate_values(model: CTMDP, tolerance: float, work: float) -> tuple[np.ndarray, float, np.ndarray, int, bool]:
    """Return (greedy pair per state, gain, u with 0 in state 0, sweeps, whether the bounds met the tolerance).

    `tolerance` is the width of Λ (min, max)(Tu - u) relative to |gain|, or to the mean distance of incomes from it if that is less:
    a constant income must not hide the rest.  It ends, too, where rounding hides any progress.
    """
    uniform = ABOVE * float(model.rate.max())
    income = model.expected_reward * model.rate + model.running
    rows = (model.row_start, model.next_state, model.probability, model.rate, income, uniform)
    u, out = np.zeros(model.n_states), np.empty(model.n_states)
    choice = np.empty(model.n_states, dtype=np.int64)
    sweeps, inner, narrowest, misses = 0, INNER, np.inf, 0
    width_at: list[tuple[int, float]] = []
    highest = float(np.abs(income).max())
    limit = max(100, int(work / (len(model.next_state) + CALL / INNER)))
    while True:
        least, most = bellman_step(model.pair_start, *rows, u, out, choice)
        sweeps += 1
        gain = (least + most) / 2
        goal = tolerance * min(abs(gain), float(np.abs(income[choice] - gain).mean()))
        met = most - least <= goal
        hidden = most - least <= EPSILON * (highest + uniform * float(np.abs(u).max()))
        width_at.append((sweeps, most - least))
        slow = sweeps * len(model.next_state) > PATIENCE and _expected_end(width_at, goal) > limit
        if met or hidden or slow or sweeps >= limit:
            return choice, gain, u - u[0], sweeps, met
        misses = 0 if most - least < narrowest else misses + 1
        narrowest = min(narrowest, most - least)
        if misses > 3:  # policies that take turns: plain value iteration, which converges wherever the gain is constant
            inner, misses = inner // 2, 0
        u, out = out - out[0], u
        if inner:
            u, _, _ = policy_sweeps(*rows, choice, u, inner)
            sweeps += inner


def _expected_end(width_at: list[tuple[int, float]], target: float) -> float:
    """Return the sweep at which the width reaches `target` if it shrinks on as over the last half; 0 while that is not known."""
    if len(width_at) < 50:
        return 0.0
    (first, before), (last, now) = width_at[len(width_at) // 2], width_at[-1]
    if not 0 < now < before or target <= 0:
        return np.inf
    return last + (last - first) * float(np.log(now / target) / np.log(before / now))


def settle(model: CTMDP, pairs: np.ndarray, u: np.ndarray, sweeps: int) -> tuple[np.ndarray, float]:
    """Return (u, gain) after sweeps of one policy until they stop changing anything, at most `sweeps`."""
    uniform = ABOVE * float(model.rate.max())
    income = model.expected_reward * model.rate + model.running
    rows = (model.row_start, model.next_state, model.probability, model.rate, income, uniform)
    width, done = np.inf, 0
    while True:
        new, least, most = policy_sweeps(*rows, pairs, u, 100)
        done += 100
        if most - least >= 0.9 * width or done >= sweeps:
            return (new if most - least < width else u), (least + most) / 2
        u, width = new, most - least
