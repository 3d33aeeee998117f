"""Proved bounds of K(s, a) from the proved errors of gaps, bias and gain."""

from __future__ import annotations

import numpy as np

from sojourn.instance.first_passage import EPSILON
from sojourn.instance.gaps import Optimum
from sojourn.kernels.divergence_bounds import divergence_intervals


def least_divergence_bounds(best: Optimum, rate_bounds: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return proved lower and upper bounds of K per pair, the mean rewards known; (0, inf) where floats prove nothing.

    Both are infinite where a pair is certainly not critical; where that is not certain, only the upper one.
    """
    model, proof = best.model, best.proof
    step, off = proof.steps(model)
    lengths = np.diff(model.row_start)
    paid = np.repeat(model.reward, lengths)
    if model.transition_reward is not None:
        paid = paid + model.transition_reward
    b = step + paid
    off = off + EPSILON * (np.abs(b) + np.abs(paid))
    drift = model.running - proof.gain
    drift_off = proof.gain_error + EPSILON * (np.abs(model.running) + abs(proof.gain))
    lack = np.abs(1.0 - np.add.reduceat(model.probability, model.row_start[:-1])) + lengths * EPSILON
    gap_off = proof.error + lack * np.abs(model.reward)  # K asks for rows that sum to one
    wanted = ~best.optimal | best.doubtful
    wanted &= np.isfinite(proof.error) & np.isfinite(np.maximum.reduceat(off, model.row_start[:-1]))
    low, high = np.zeros(model.n_pairs), np.full(model.n_pairs, np.inf)
    data = model.row_start, model.probability, b, off, model.rate, drift, drift_off, proof.gap, gap_off
    divergence_intervals(*data, float(rate_bounds[0]), float(rate_bounds[1]), wanted, low, high)
    return np.maximum(low, 0.0), high
