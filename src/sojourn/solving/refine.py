"""The value of a policy with about 32 digits, and what it proves: where sixteen digits of bias cannot prove the gain."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sojourn.errors import TooLarge
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.certificate import TINY
from sojourn.solving.chain import Chain, reward_size
from sojourn.solving.double_double import Pair, add, generator_values
from sojourn.solving.elimination import OutOfRange
from sojourn.solving.optimality import EPSILON, best_pairs
from sojourn.solving.structure import one_class, restricted
from sojourn.solving.value import PolicyValue, value_of

ROUNDS = 50
ENOUGH = 1e-12  # residual, relative to the gain, from which on 32 digits are not needed for the factors too
NEAR_ZERO = 1e-4  # gain over mean absolute income, below which incomes are said to cancel
STEPS = 12  # corrections at most; each adds as many digits as the first solution had


@dataclass(frozen=True, eq=False)
class Refined:
    """A policy (pair per state) with its gain and bias (0 in a busy state) as sums of two floats, and the floats it began with."""

    pairs: np.ndarray
    chain: Chain
    value: PolicyValue
    gain: Pair
    bias: Pair

    def surplus(self, model: CTMDP) -> tuple[np.ndarray, np.ndarray]:
        """Return λ r + c + λ Σ_j p(j) (w(j) + u(j) - u(s)) - gain of each pair, per unit of time, and a bound on its error."""
        value, error = generator_values(model, self.bias)
        rest = add(value, (np.full(model.n_pairs, -self.gain[0]), np.full(model.n_pairs, -self.gain[1])))
        excess = rest[0] + rest[1]
        return excess, error + EPSILON * np.abs(excess)

    def data_rounding(self, model: CTMDP) -> float:
        """Return how far the gain may move if every probability, rate and reward is off by a rounding, to first order."""
        matrix, bias, law = self.chain.matrix, self.bias[0], self.value.law
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.abs(bias[matrix.indices] - np.repeat(bias, np.diff(matrix.indptr)))
            moves = law @ np.add.reduceat(matrix.data * steps, matrix.indptr[:-1]) / (law @ self.chain.holding)
        return 4 * EPSILON * (float(moves) + self._income(model)) if np.isfinite(moves) else np.inf

    def smallest_width(self, model: CTMDP) -> float:
        """Return the width of an interval that floats can be expected to prove where incomes cancel, or nearly underflow."""
        longest, income = float(np.diff(model.row_start).max()), self._income(model)
        cancelled = 64 * EPSILON * income if abs(float(self.gain[0])) < NEAR_ZERO * income else 0.0
        return cancelled + 8 * (longest + 8) * TINY * (1 + float(model.rate.max()))

    def _income(self, model: CTMDP) -> float:
        """Return the mean absolute income per unit of time."""
        size = reward_size(model)[self.pairs] + np.abs(model.running[self.pairs]) * self.chain.holding
        return float(self.value.law @ size / (self.value.law @ self.chain.holding))


def refined(model: CTMDP, pairs: np.ndarray, known: PolicyValue | None = None) -> Refined:
    """Return the value of a policy with one recurrent class (repaired if it has several) in about 32 digits.

    `known` may be the value of `pairs` itself, with 16 digits.
    """
    given = pairs
    pairs, chain, recurrent = one_class(model, pairs)
    value = known if known is not None and pairs is given else value_of(chain, recurrent)
    part = restricted(model, np.arange(model.n_states), pairs)
    start = Refined(pairs, chain, value, (np.array(value.gain), np.array(0.0)), (value.bias, np.zeros(model.n_states)))
    found = _corrected(part, start, value.correction)
    excess, error = found.surplus(part)
    if not np.abs(excess).max() <= max(2 * error.max(), ENOUGH * abs(value.gain)):
        from sojourn.solving.wide import WideElimination

        assert value.factors is not None
        with suppress(TooLarge):
            found = _corrected(part, found, WideElimination(chain.matrix, value.factors.reference).correction)
    return found


def _corrected(part: CTMDP, found: Refined, correction: Callable[[np.ndarray, np.ndarray], tuple[float, Pair]]) -> Refined:
    """Return the value after corrections by its own residual, as long as each gains a digit."""
    best, worst = found, np.inf
    for _ in range(STEPS):
        excess, error = found.surplus(part)
        off = float(np.abs(excess).max())
        if not off < 0.1 * worst:
            break
        best, worst = found, off
        if (np.abs(excess) <= error).all():
            break
        try:
            step, change = correction(excess * found.chain.holding, found.chain.holding)
        except OutOfRange:
            break
        found = replace(found, gain=add(found.gain, (np.array(step), np.array(0.0))), bias=add(found.bias, change))
    return best


def optimal_refined(model: CTMDP, pairs: np.ndarray, accuracy: float,
                    known: PolicyValue | None = None) -> tuple[Refined, np.ndarray, np.ndarray]:
    """Return (policy, surplus per pair, its error) after taking every pair that would add more than `accuracy` to the gain."""
    for _ in range(ROUNDS):
        found = refined(model, pairs, known)
        known = None
        excess, error = found.surplus(model)
        best = best_pairs(model, excess / model.rate)
        better = excess[best] > accuracy + error[best]
        if not better.any():
            break
        pairs = np.where(better, best, found.pairs)
    return found, excess, error


def bounds_of(model: CTMDP, found: Refined, excess: np.ndarray, error: np.ndarray,
              chosen: np.ndarray | None = None) -> tuple[float, float]:
    """Return the interval of the optimal gain that the surplus of every pair proves, roundings of the data included.

    With `chosen`, a pair per state, the gain of the policy that takes these lies in the interval too.
    """
    start = model.pair_start[:-1]
    low = (np.maximum.reduceat(excess - error, start) if chosen is None else (excess - error)[chosen]).min()
    high = np.maximum.reduceat(excess + error, start).max()
    spread = found.data_rounding(model) + 4 * EPSILON * abs(float(found.gain[0]))
    low, high = found.gain[0] + (low - spread), found.gain[0] + (high + spread)
    return float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))


def evaluated_bounds(model: CTMDP, pairs: np.ndarray, known: PolicyValue) -> tuple[float, float]:
    """Return an interval of the gain of one policy from one step of its own operator, with about 32 digits."""
    found = refined(model, pairs, known)
    part = restricted(model, np.arange(model.n_states), found.pairs)
    return bounds_of(part, replace(found, pairs=np.arange(model.n_states)), *found.surplus(part))


