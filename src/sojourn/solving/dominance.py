"""A policy is optimal if every choice it does not make is worse, judged by its own exact bias; then its gain is the optimal gain.

One Bellman step at a computed bias u needs so many digits of u that the policy's own choices balance to 1e-9 of the gain. With
rates over many decades 32 digits may not do. But against the policy's exact bias h its own choices balance exactly, so only the
others are to be judged, and these often lose by far more than u is off. How far u - h can be is the expected total of what
remains in the equations until the reference is reached, and comes from the same elimination, without a subtraction.
"""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.certificate import TINY
from sojourn.solving.elimination import OutOfRange
from sojourn.solving.optimality import EPSILON
from sojourn.solving.refine import Refined
from sojourn.solving.value import power_near

SOUND = 1e-3  # relative error of the expected totals, up to which they are used
FLOOR = 1e-250  # added to what is totalled, relative to its largest, so that nothing is lost to underflow


def highest_gain(model: CTMDP, found: Refined, own: tuple[float, float], excess: np.ndarray, error: np.ndarray) -> float:
    """Return an upper bound on the optimal gain: the policy's own, which lies within `own`, and what the best other pair adds.

    `excess` and `error` are what `found.surplus(model)` says of every pair.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gain = float(found.gain[0])
        off = (1 + 8 * EPSILON) * max(own[1] - gain, gain - own[0]) + 2 * abs(float(found.gain[1])) + TINY
        far = _bias_error(found, off, excess, error)
        lengths = np.diff(model.row_start)
        apart = np.where(model.next_state == np.repeat(model.pair_state, lengths), 0.0, far[model.next_state])
        moved = np.add.reduceat(model.probability * apart, model.row_start[:-1]) + far[model.pair_state]
        rise = excess + error + off + (1 + (lengths + 8) * EPSILON) * model.rate * moved
        rise[found.pairs] = 0.0
        highest = own[1] + max(0.0, float(rise.max()) * (1 + 4 * EPSILON))
    return float(np.nextafter(highest, np.inf)) if np.isfinite(highest) else np.inf


def _bias_error(found: Refined, off: float, excess: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return how far each computed bias is from the exact one, both 0 at the reference, if the gain is off by at most `off`."""
    factors, chain, own = found.value.factors, found.chain, found.pairs
    unknown = np.full(chain.n_states, np.inf)
    if factors is None:
        return unknown
    relative = factors.error + factors.forward_error + factors.backward_error + chain.holding_error + 2 * chain.row_error
    rest = (np.abs(excess[own]) + error[own] + off) * chain.holding
    scale = power_near(float(rest.max()))
    if not (relative < SOUND and np.isfinite(rest).all()):
        return unknown
    try:
        totals = factors.totals(rest[:, None] / scale + FLOOR)
    except OutOfRange:
        return unknown
    far: np.ndarray = (1 + 4 * SOUND) * np.ldexp(totals.until[:, 0], totals.until_power) * scale + TINY
    return far
