"""Gaps, gain and bias differences of an optimal policy with proved errors, from about 32 digits.

At any (ρ, u) let ε bound |λ r + c - ρ + λ Σ p (u(j) - u(s))| over the states, at the policy's own pairs.  Then the gain is
off by at most ε, a difference u(s) - u(b) by at most 2 ε T(s), T(s) the policy's expected time from s to a busy state b, and
φ(s, a) by at most ε/λ + 2 ε (Σ p T(y) + T(s)), besides the rounding of the sum itself.  ε is about 1e-30 after refinement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.errors import TooLarge
from sojourn.instance.first_passage import Passage
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.certificate import generator_step
from sojourn.solving.double_double import Pair, add
from sojourn.solving.optimality import EPSILON
from sojourn.solving.refine import optimal_refined
from sojourn.solving.solution import Solution

UNIT = 2.0**-98
NARROW = 3e9  # multiplications that may be spent on more than 3,000 states
MIXING = 200  # lazy steps after which a state where much mass lies is taken to be busy
REFINED_STATES = 3000  # up to here the evaluation is refined; above, the solution's own numbers are judged as they are


@dataclass(frozen=True, eq=False)
class Proof:
    """Per pair the gap φ* and its error, per state the bias (two floats) and its error, the gain and its error.

    `bias_error` bounds the error of differences to one busy state; errors are infinite where floats prove nothing.  Pairs
    whose gap is within its error of zero count as ties: at 32 digits they cannot be told from the policy's own.
    """

    gap: np.ndarray
    error: np.ndarray
    bias: Pair
    bias_error: np.ndarray
    gain: Pair
    gain_error: float
    pairs: np.ndarray

    def steps(self, own: np.ndarray, j: np.ndarray) -> tuple[Pair, np.ndarray]:
        """Return h(j) - h(own) of every jump from a state `own` to a state j, and a bound on its error."""
        high, low = self.bias
        step = add((high[j], low[j]), (-high[own], -low[own]))
        size = np.abs(high[j]) + np.abs(high[own])
        return step, self.bias_error[j] + self.bias_error[own] + UNIT * size

    def drift(self, running: np.ndarray) -> tuple[Pair, np.ndarray]:
        """Return c - ρ of every running reward c, and a bound on its error."""
        found = add((running, np.zeros(len(running))), (-self.gain[0], -self.gain[1]))
        return found, self.gain_error + UNIT * (np.abs(running) + abs(float(self.gain[0])))


def proved_gaps(model: CTMDP, solution: Solution) -> Proof:
    """Return the gaps of all pairs and their proved errors, at a policy that is optimal to 32 digits where that can be had."""
    pairs = model.policy_pairs(solution.policy)
    if model.n_states > REFINED_STATES and not _narrow(model, pairs):
        return _as_solved(model, pairs, solution)
    try:
        found, excess, error = optimal_refined(model, pairs, 0.0)
    except TooLarge:
        return _as_solved(model, pairs, solution)
    off = float((np.abs(excess[found.pairs]) + error[found.pairs]).max())
    factors = found.value.factors
    assert factors is not None
    slow = 1 + 2 * (factors.error + factors.forward_error + factors.backward_error)
    return _judged(model, found.pairs, found.gain, found.bias, excess, error, off, found.value.time * slow)


def _narrow(model: CTMDP, pairs: np.ndarray) -> bool:
    """Return whether the policy's chain is a line, or a grid so narrow, that eliminating its states costs little."""
    passage = Passage(model.matrix[pairs], np.arange(model.n_states), 1.0 / model.rate[pairs])
    return float(model.n_states) * (passage.band + 1.0) ** 2 <= NARROW


def _as_solved(model: CTMDP, pairs: np.ndarray, solution: Solution) -> Proof:
    """Return the solution's own numbers, judged as they are, where the chain is too large to be evaluated anew."""
    excess, error = generator_step(model, solution.bias)
    gain: Pair = (np.array(float(solution.gain)), np.array(0.0))
    left = excess - solution.gain  # what the policy's own pairs lack, and what others would add
    off = max(float((np.abs(left[pairs]) + error[pairs]).max()), float((left + error).max()))
    away = _times(model, pairs)
    return _judged(model, pairs, gain, (solution.bias, np.zeros(model.n_states)), left, error, off, away)


def _times(model: CTMDP, pairs: np.ndarray) -> np.ndarray:
    """Return upper bounds of a policy's expected times to a busy state, by Bellman steps; infinite if they do not converge."""
    n, matrix = model.n_states, model.matrix[pairs]
    law, back = np.full(n, 1.0 / n), matrix.T.tocsr()
    for _ in range(MIXING):
        law = (law + back @ law) / 2
    busy, unit = int(np.argmax(law)), 1.0 / model.rate.min()
    passage = Passage(matrix, np.arange(n), 1.0 / (model.rate[pairs] * unit))
    found = passage.by_steps(np.arange(n), busy)
    if found is None or not (np.delete(found, busy) > 0).all():
        return np.where(np.arange(n) == busy, 0.0, np.inf)
    off = float(passage.excess_above(found[:, None], np.array([busy]))[0])
    return found * (unit / (1 - off) * (1 + 8 * EPSILON)) if off < 1 else np.where(np.arange(n) == busy, 0.0, np.inf)


def _judged(model: CTMDP, pairs: np.ndarray, gain: Pair, u: Pair, excess: np.ndarray, rounding: np.ndarray, off: float,
            away: np.ndarray) -> Proof:
    """Return the proof that a residual of at most `off` gives, with the expected times `away` from a busy state."""
    with np.errstate(invalid="ignore", over="ignore"):
        own = np.nan_to_num(2 * off * away, nan=np.inf)
        around = off / model.rate + model.matrix @ own + own[model.pair_state]
        error = np.nan_to_num(around * (1 + 1e-12) + (rounding + 3 * EPSILON * np.abs(excess)) / model.rate, nan=np.inf)
    return Proof(-excess / model.rate, error, u, own, gain, off, pairs)
