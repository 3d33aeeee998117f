"""Numbers of about 32 digits as unevaluated sums of two floats, on whole arrays.

Where rates of 1e6 meet biases of 1e6, sixteen digits of bias are not enough to prove nine digits of gain.
"""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.certificate import TINY
from sojourn.solving.chain import row_defect

Pair = tuple[np.ndarray, np.ndarray]
UNIT = 2.0**-98  # relative error of one operation below, generously


def two_sum(a: np.ndarray, b: np.ndarray) -> Pair:
    """Return (a + b rounded, the rounding error), exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: np.ndarray, b: np.ndarray) -> Pair:
    """Return (a * b rounded, the rounding error), exactly unless it over- or underflows."""
    total = a * b
    a1, b1 = _head(a), _head(b)
    a2, b2 = a - a1, b - b1
    return total, ((a1 * b1 - total) + a1 * b2 + a2 * b1) + a2 * b2


def _head(a: np.ndarray) -> np.ndarray:
    scaled = 134217729.0 * a
    high: np.ndarray = scaled - (scaled - a)
    return high


def add(x: Pair, y: Pair) -> Pair:
    """Return x + y."""
    high, low = two_sum(x[0], y[0])
    return two_sum(high, low + (x[1] + y[1]))


def multiply(x: Pair, y: np.ndarray) -> Pair:
    """Return x * y for plain y."""
    high, low = two_product(x[0], y)
    return two_sum(high, low + x[1] * y)


def generator_values(model: CTMDP, u: Pair) -> tuple[Pair, np.ndarray]:
    """Return λ r + c + λ Σ_j p(j) (w(j) + u(j) - u(s)) per pair in double-double, and a bound on its error.

    The stored numbers are taken as exact; a row that does not sum to one exactly stays where it is with the rest.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return _generator_values(model, u)


def _generator_values(model: CTMDP, u: Pair) -> tuple[Pair, np.ndarray]:
    zero = np.zeros(model.n_pairs)
    total: Pair = (model.reward.copy(), zero.copy())
    size, lost = np.abs(model.reward), zero.copy()  # `lost`: absolute, where differences of large biases cancel
    lengths = np.diff(model.row_start)
    paid = model.transition_reward
    for i in range(int(lengths.max())):
        k = np.flatnonzero(lengths > i)
        jump = model.row_start[k] + i
        j, s = model.next_state[jump], model.pair_state[k]
        step = add((u[0][j], u[1][j]), (-u[0][s], -u[1][s]))
        around = np.abs(u[0][j]) + np.abs(u[0][s])
        if paid is not None:
            step = add(step, (paid[jump], np.zeros(len(k))))
            around = around + np.abs(paid[jump])
        term = multiply(step, model.probability[jump])
        new = add((total[0][k], total[1][k]), term)
        total[0][k], total[1][k] = new
        size[k] += np.abs(term[0])
        lost[k] += model.probability[jump] * UNIT * around + TINY
    value = add(multiply(total, model.rate), (model.running, zero))
    error = (lengths + 8) * UNIT * (size * model.rate + np.abs(model.running)) + 2 * model.rate * lost + (lengths + 8) * TINY
    lump = model.rate * model.reward
    jumps = np.abs(value[0] - model.running - lump) + 2.0**-50 * (np.abs(value[0]) + np.abs(model.running) + np.abs(lump))
    return value, error + row_defect(model) * jumps  # what changes where a row is divided by its sum
