"""K(s, a) with its alternative and proved bounds, from gain and bias of about 32 digits and their proved errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.instance.gaps import Optimum
from sojourn.instance.proof import Proof
from sojourn.instance.rows import Rows
from sojourn.kernels.divergence_bounds import proved_divergences
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.chain import row_defect
from sojourn.solving.double_double import UNIT, Pair, add
from sojourn.solving.value import power_near


class Proved(NamedTuple):
    """Per pair: K, bounds of it, the rate and the row that attain it.

    K is no number where nothing is proved: its bounds are then 0 and infinity.
    """

    k: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rate: np.ndarray
    row: np.ndarray


def proved_least_divergences(best: Optimum, rate_bounds: tuple[float, float], rows: Rows) -> Proved:
    """Return K of every pair that is not certainly optimal, the mean rewards known.

    Both bounds are infinite where a pair is certainly not critical; where that is not certain, only the upper one.
    """
    model, proof = best.model, best.proof
    b, off = worths(model, proof, rows)
    drift, drift_off = proof.drift(model.running)
    lost = row_defect(model) * (np.abs(proof.gap) + np.abs(model.reward) + np.abs(drift[0]) / model.rate)  # shared out or not
    wanted = ~best.optimal | best.doubtful
    wanted &= np.isfinite(proof.error) & np.isfinite(np.maximum.reduceat(off, rows.row_start[:-1]))
    k, low, high = np.full(model.n_pairs, np.nan), np.zeros(model.n_pairs), np.full(model.n_pairs, np.inf)
    rate, row = model.rate.copy(), rows.probability.copy()
    unit = unit_of(np.concatenate([b[0], drift[0] / model.rate]))  # products stay in range, in any unit of money
    with np.errstate(under="ignore"):
        high_b, low_b, off, stay = b[0] / unit, b[1] / unit, off / unit, model.reward / unit
        flow, low_flow, flow_off, lost = drift[0] / unit, drift[1] / unit, drift_off / unit, lost / unit
    proved_divergences(rows.row_start, rows.probability, high_b, low_b, off, stay, model.rate, flow, low_flow, flow_off, lost,
                       float(rate_bounds[0]), float(rate_bounds[1]), best.tie_tolerance, wanted, k, low, high, rate, row)
    beyond = wanted & (np.isnan(k) | np.isnan(low) | np.isnan(high))  # numbers beyond floats
    k[beyond], low[beyond], high[beyond] = np.nan, 0.0, np.inf
    return Proved(k, low, high, rate, row)


def worths(model: CTMDP, proof: Proof, rows: Rows) -> tuple[Pair, np.ndarray]:
    """Return b of every jump, r + h(y) - h(s) and what the jump pays, and a bound on its error."""
    lengths = np.diff(rows.row_start)
    b, off = proof.steps(np.repeat(model.pair_state, lengths), rows.next_state)
    for paid in (np.repeat(model.reward, lengths), rows.paid):
        if paid is not None:
            b = add(b, (paid, np.zeros(len(paid))))
            off = off + UNIT * (np.abs(b[0]) + np.abs(paid))
    return b, off


def unit_of(terms: np.ndarray) -> float:
    """Return a power of two near the largest of some terms."""
    most = float(np.abs(terms).max(initial=0.0))
    return power_near(most) if np.isfinite(most) else 1.0


def least_divergence_bounds(best: Optimum, rate_bounds: tuple[float, float], rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return proved lower and upper bounds of K per pair, the mean rewards known; (0, inf) where floats prove nothing."""
    found = proved_least_divergences(best, rate_bounds, rows)
    return found.low, found.high
