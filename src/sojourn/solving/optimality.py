"""The optimality equation at a guess (gain, bias): what each pair gains on it, and which actions attain the maximum."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.chain import differences, visit_reward

EPSILON = float(np.finfo(float).eps)


def advantages(model: CTMDP, gain: float, bias: np.ndarray) -> np.ndarray:
    """Return r + (c - ρ)/λ + Σ_j p(j) h(j) - h(s) of each pair: 0 at best when (ρ, h) is optimal.   Paper: eq:opt-eqn"""
    advantage: np.ndarray = visit_reward(model) - gain / model.rate + differences(model.matrix, bias, model.pair_state)
    return advantage


def noise(model: CTMDP, gain: float, bias: np.ndarray) -> np.ndarray:
    """Return the size of rounding errors in `advantages`, per pair."""
    around = model.matrix @ np.abs(bias) + np.abs(bias)[model.pair_state]
    error: np.ndarray = 32 * EPSILON * (np.abs(model.expected_reward) + (np.abs(model.running) + abs(gain)) / model.rate + around)
    return error


def best_pairs(model: CTMDP, values: np.ndarray, slack: np.ndarray | float = 0.0) -> np.ndarray:
    """Return for each state its first pair whose value is within `slack` of the state's best."""
    top = np.maximum.reduceat(values, model.pair_start[:-1])
    good = values >= top[model.pair_state] - slack
    pair = np.where(good, np.arange(model.n_pairs), model.n_pairs)
    first = np.minimum.reduceat(pair, model.pair_start[:-1])
    return np.where(first < model.n_pairs, first, model.pair_start[:-1])  # values that are no numbers: the first pair


def better_pairs(model: CTMDP, pairs: np.ndarray, values: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the best pairs where they beat those of the policy beyond their errors, and the policy's elsewhere."""
    best = best_pairs(model, values)
    better = values[best] > values[pairs] + error[best] + error[pairs]
    return np.where(better, best, pairs)


def tied_pairs(model: CTMDP, values: np.ndarray, error: np.ndarray, accuracy: float) -> np.ndarray:
    """Return the lowest optimal action's pair of each state, from advantages and their errors.

    A tie is a difference that costs at most `accuracy` of gain (and is small beside its terms), or that is rounding.
    """
    return best_pairs(model, values, _slack(model, error, accuracy))


def several_tie(model: CTMDP, values: np.ndarray, error: np.ndarray, accuracy: float) -> bool:
    """Return whether some state has more than one pair that `tied_pairs` could take."""
    top = np.maximum.reduceat(values, model.pair_start[:-1])
    good = values >= top[model.pair_state] - _slack(model, error, accuracy)
    return bool(good.sum() > model.n_states)


def _slack(model: CTMDP, error: np.ndarray, accuracy: float) -> np.ndarray:
    slack: np.ndarray = np.minimum(1e5 * error, np.maximum(2 * error, accuracy / model.rate))
    return slack
