"""Gaps, gain and bias differences of an optimal policy with proved errors, from about 32 digits.

At any (ρ, u) let ε bound |λ r + c - ρ + λ Σ p (u(j) - u(s))| over the states, at the policy's own pairs.  Then the gain is
off by at most ε, a difference u(s) - u(b) by at most 2 ε T(s), T(s) the policy's expected time from s to a busy state b, and
φ(s, a) by at most ε/λ + 2 ε (Σ p T(y) + T(s)), besides the rounding of the sum itself.  ε is about 1e-30 after refinement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sojourn.errors import ModelError, ToleranceError
from sojourn.instance.first_passage import EPSILON, Passage
from sojourn.instance.one_target import reached
from sojourn.kernels.hitting import band_passage
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.chain import Chain
from sojourn.solving.double_double import Pair, add, generator_values
from sojourn.solving.optimality import best_pairs
from sojourn.solving.solution import Solution
from sojourn.solving.structure import one_class

REFINED_STATES = 3000  # up to here the evaluation is refined; above, the solution's own numbers are judged as they are
ROUNDS = 50
UNIT = 2.0**-98


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
    gain: float
    gain_error: float
    pairs: np.ndarray

    def steps(self, model: CTMDP) -> tuple[np.ndarray, np.ndarray]:
        """Return h(j) - h(s) of every jump and a bound on its error."""
        own = np.repeat(model.pair_state, np.diff(model.row_start))
        j, (high, low) = model.next_state, self.bias
        step = add((high[j], low[j]), (-high[own], -low[own]))
        size = np.abs(high[j]) + np.abs(high[own])
        return step[0], self.bias_error[j] + self.bias_error[own] + UNIT * size + EPSILON * np.abs(step[0])


def proved_gaps(model: CTMDP, solution: Solution) -> Proof:
    """Return the gaps of all pairs and their proved errors, at a policy that is optimal to 32 digits where that can be had."""
    pairs = model.policy_pairs(solution.policy)
    gain: Pair = (np.array(float(solution.gain)), np.array(0.0))
    u: Pair = (np.array(solution.bias, dtype=float), np.zeros(model.n_states))
    refine = model.n_states <= REFINED_STATES
    for _ in range(ROUNDS if refine else 1):
        pairs, chain, recurrent = one_class(model, pairs)
        busy = _busy(chain, recurrent)
        if refine:
            gain, u = _refined(model, pairs, chain, busy, gain, u)
        excess, error = _excess(model, gain, u)
        best = best_pairs(model, excess / model.rate)
        better = excess[best] > error[best] + error[pairs]
        if not better.any():
            break
        if refine:
            pairs = np.where(better & (best != pairs), best, pairs)
    off = float((np.abs(excess[pairs]) + error[pairs]).max())
    if not refine:  # the policy may be improvable by what its numbers do not show
        off = max(off, float((excess + error).max()))
    return _judged(model, pairs, chain, busy, gain, u, (excess, error), off)


def _judged(
    model: CTMDP, pairs: np.ndarray, chain: Chain, busy: int, gain: Pair, u: Pair, values: tuple[np.ndarray, np.ndarray], off: float
) -> Proof:
    excess, rounding = values
    away = _times(chain, busy)
    with np.errstate(invalid="ignore", over="ignore"):
        own = np.nan_to_num(2 * off * away, nan=np.inf)
        around = off / model.rate + model.matrix @ own + own[model.pair_state]
        error = np.nan_to_num(around * (1 + 1e-12) + (rounding + 3 * EPSILON * np.abs(excess)) / model.rate, nan=np.inf)
    spread = off + 2 * EPSILON * abs(float(gain[0]))
    return Proof(-excess / model.rate, error, u, own, float(gain[0]), spread, pairs)


def _excess(model: CTMDP, gain: Pair, u: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Return λ r + c - ρ + λ Σ p (u(j) - u(s)) per pair, and a bound on its rounding error."""
    value, error = generator_values(model, u)
    n = model.n_pairs
    surplus = add(value, (np.full(n, -gain[0]), np.full(n, -gain[1])))
    around = model.rate * (model.matrix @ np.abs(u[0]) + np.abs(u[0])[model.pair_state])
    return surplus[0] + surplus[1], error + UNIT * (around + abs(float(gain[0])) + np.abs(value[0]))


def _refined(model: CTMDP, pairs: np.ndarray, chain: Chain, busy: int, gain: Pair, u: Pair) -> tuple[Pair, Pair]:
    """Return (gain, bias) of a policy in double-double, by steps of iterative refinement; the best seen."""
    solve = _factorized(chain, busy)
    best, least = (gain, u), np.inf
    keep = np.arange(chain.n_states) != busy
    row = chain.row(busy)
    away = solve(chain.holding)
    cycle = chain.holding[busy] + row[keep] @ away[keep]
    for _ in range(8):
        excess, error = _excess(model, gain, u)
        rest = excess[pairs] / model.rate[pairs]
        size = float((np.abs(excess[pairs]) + error[pairs]).max())
        if not size < 0.5 * least:
            break
        best, least = (gain, u), size
        change = solve(rest)
        step = (rest[busy] + row[keep] @ change[keep]) / cycle
        change = change - step * away
        change[busy] = 0.0
        gain = add(gain, (np.array(step), np.array(0.0)))
        u = add(u, (change, np.zeros(chain.n_states)))
    return best


def _factorized(chain: Chain, busy: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves x = right + P x with x = 0 in the busy state."""
    n = chain.n_states
    keep = np.flatnonzero(np.arange(n) != busy)
    out = np.zeros(n)
    if n == 1:
        return lambda right: out.copy()
    inner = chain.matrix[keep][:, keep]
    passage = Passage(chain.matrix, np.arange(n), chain.holding)
    if n > 200 and float(n) * (passage.band + 1.0) ** 2 < n**3 / 50:
        from scipy.sparse import identity
        from scipy.sparse.linalg import splu

        try:
            lu = splu(
                (identity(n - 1, format="csc") - inner).tocsc(),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # singular in floats: nothing is refined, and the errors say so
            return lambda right: out.copy()
        solver: Callable[..., np.ndarray] = lu.solve
    else:
        from scipy.linalg import lu_factor, lu_solve

        factors = lu_factor(np.eye(n - 1) - inner.toarray(), check_finite=False)
        solver = partial(lu_solve, factors, check_finite=False)

    def solve(right: np.ndarray) -> np.ndarray:
        x = np.zeros(n)
        x[keep] = solver(right[keep])
        return x if np.isfinite(x).all() else out.copy()

    return solve


def _busy(chain: Chain, recurrent: np.ndarray) -> int:
    """Return a state of the recurrent class that is visited often."""
    n = chain.n_states
    if len(recurrent) == 1:
        return int(recurrent[0])
    inside = chain.restricted(recurrent)
    passage = Passage(inside.matrix, np.arange(len(recurrent)), inside.holding)
    if float(len(recurrent)) * (passage.band + 1.0) ** 2 > 3e8:
        law = np.full(n, 1.0 / n)
        back = chain.matrix.T.tocsr()
        for _ in range(200):
            law = (law + back @ law) / 2
        return int(recurrent[np.argmax(law[recurrent])])
    pick, target = np.arange(len(recurrent)), 0
    arrays, best, least = passage._arrays[:4], 0, np.inf
    for _ in range(5):  # of the states that hold the chain up on its way to another, the one that is soonest reached from all
        other = 1 if target == 0 else 0
        solution, far, _, visits = band_passage(
            *arrays, pick, passage.place, passage.band, target, other, inside.holding
        )
        longest = float((far * solution[:, 1] + solution[:, 2]).max())
        if longest < least:
            best, least = target, longest
        target = int(np.argmax(np.nan_to_num(visits, posinf=np.finfo(float).max)))
        if target == best:
            break
    return int(recurrent[best])


def _times(chain: Chain, busy: int) -> np.ndarray:
    """Return proved upper bounds of the expected times to the busy state; infinite where there are none."""
    n = chain.n_states
    if n == 1:
        return np.zeros(1)
    unit = 2.0 ** np.floor(np.log2(chain.holding.max()))
    try:
        found = reached(Passage(chain.matrix, np.arange(n), chain.holding / unit), busy, np.arange(n))
    except (ToleranceError, ModelError):
        return np.where(np.arange(n) == busy, 0.0, np.inf)
    with np.errstate(over="ignore"):
        return found.high() * unit
