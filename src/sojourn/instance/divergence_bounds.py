"""Proved bounds of K(s, a) from the proved errors of gaps, bias and gain."""

from __future__ import annotations

import numpy as np

from sojourn.instance.first_passage import EPSILON
from sojourn.instance.gaps import Optimum
from sojourn.instance.rows import Rows
from sojourn.kernels.divergence_bounds import divergence_intervals


def least_divergence_bounds(best: Optimum, rate_bounds: tuple[float, float], rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return proved lower and upper bounds of K per pair, the mean rewards known; (0, inf) where floats prove nothing.

    Both are infinite where a pair is certainly not critical; where that is not certain, only the upper one.
    """
    model, proof = best.model, best.proof
    lengths = np.diff(rows.row_start)
    step, off = proof.steps(np.repeat(model.pair_state, lengths), rows.next_state)
    paid = np.repeat(model.reward, lengths)
    if rows.paid is not None:
        paid = paid + rows.paid
    b = step + paid
    off = off + EPSILON * (np.abs(b) + np.abs(paid))
    drift = model.running - proof.gain
    drift_off = proof.gain_error + EPSILON * (np.abs(model.running) + abs(proof.gain))
    lack = np.abs(1.0 - np.add.reduceat(rows.probability, rows.row_start[:-1])) + lengths * EPSILON
    gap_off = proof.error + lack * np.abs(model.reward)  # K asks for rows that sum to one
    wanted = ~best.optimal | best.doubtful
    wanted &= np.isfinite(proof.error) & np.isfinite(np.maximum.reduceat(off, rows.row_start[:-1]))
    low, high = np.zeros(model.n_pairs), np.full(model.n_pairs, np.inf)
    data = rows.row_start, rows.probability, b, off, model.rate, drift, drift_off, proof.gap, gap_off
    divergence_intervals(*data, float(rate_bounds[0]), float(rate_bounds[1]), wanted, low, high)
    return np.maximum(low, 0.0), high
