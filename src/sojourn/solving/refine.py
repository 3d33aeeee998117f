"""Take the last rounding errors out of an answer, where sixteen digits of bias cannot prove the gain."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.chain import Factors, chain_of, gain_and_bias, hitting_correction
from sojourn.solving.double_double import Pair, add, generator_values
from sojourn.solving.optimality import EPSILON, best_pairs
from sojourn.solving.structure import one_class, restricted

ROUNDS = 50


def refined(model: CTMDP, pairs: np.ndarray,
            accuracy: float) -> tuple[float, np.ndarray, tuple[float, float], np.ndarray, np.ndarray]:
    """Return (gain, bias, gain bounds, advantages per pair, their errors), computed with about 32 digits.

    `pairs` is an optimal or nearly optimal policy; pairs that would still add more than `accuracy` to the gain are taken.
    """
    for _ in range(ROUNDS):
        pairs, gain, u, law = _evaluated(model, pairs)
        value, error = generator_values(model, u)
        surplus = add(value, (np.full(model.n_pairs, -gain[0]), np.full(model.n_pairs, -gain[1])))
        excess = surplus[0] + surplus[1]
        best = best_pairs(model, excess / model.rate)
        better = excess[best] > accuracy / 100 + error[best]
        if not better.any():
            break
        pairs = np.where(better, best, pairs)
    start = model.pair_start[:-1]
    low = np.maximum.reduceat(excess - error, start).min()
    high = np.maximum.reduceat(excess + error, start).max()
    spread = _data_rounding(model, pairs, u[0], law) + 4 * EPSILON * abs(gain[0])
    bounds = (float(gain[0] + (low - spread)), float(gain[0] + (high + spread)))
    return float(gain[0]), u[0] - u[0][0], bounds, excess / model.rate, (error + EPSILON * np.abs(excess)) / model.rate


def _evaluated(model: CTMDP, pairs: np.ndarray) -> tuple[np.ndarray, Pair, Pair, np.ndarray]:
    """Return (pairs, gain, bias, embedded stationary law) of a policy, the first two in double-double."""
    pairs, chain, recurrent = one_class(model, pairs)
    first, bias, law = gain_and_bias(chain, recurrent)
    reference = int(np.argmax(law))
    factors = Factors(chain, reference)
    gain: Pair = (np.array(first), np.array(0.0))
    u: Pair = (bias, np.zeros(model.n_states))
    part = restricted(model, np.arange(model.n_states), pairs)
    for _ in range(3):
        value, _ = generator_values(part, u)
        rest = add(value, (np.full(model.n_states, -gain[0]), np.full(model.n_states, -gain[1])))
        step, change = hitting_correction(chain, factors, reference, (rest[0] + rest[1]) / part.rate)
        gain = add(gain, (np.array(step), np.array(0.0)))
        u = add(u, (change, np.zeros(model.n_states)))
    return pairs, gain, u, law


def _data_rounding(model: CTMDP, pairs: np.ndarray, bias: np.ndarray, law: np.ndarray) -> float:
    """Return how far the gain may move if every probability and reward is off by a rounding."""
    chain = chain_of(model, pairs)
    lengths = np.diff(chain.matrix.indptr)
    steps = np.abs(bias[chain.matrix.indices] - np.repeat(bias, lengths))
    size = np.abs(chain.reward) + np.add.reduceat(chain.matrix.data * steps, chain.matrix.indptr[:-1])
    return float(4 * EPSILON * (law @ size) / (law @ chain.holding))
