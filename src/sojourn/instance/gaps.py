"""Suboptimality gaps, and which actions are optimal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sojourn.instance.proof import REFINED_STATES, Proof, proved_gaps
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.solving.optimality import advantages, noise
from sojourn.solving.solution import Solution, require_solution_of
from sojourn.solving.solve import solve

PROVED_AT_ONCE = 200  # states up to which the proof costs next to nothing; above, it is made when asked for or needed
RESOLVED = 1e-20  # a gap that is zero to this many digits is zero
TIE = 1e-11  # a gap below TIE times the size of its terms (and above rounding) counts as a tie


@dataclass(frozen=True, eq=False)
class Optimum:
    """Gain, bias, and per pair the gap (0 where optimal) and whether the pair is optimal."""

    model: CTMDP
    gain: float
    bias: np.ndarray
    gap: np.ndarray
    optimal: np.ndarray
    policy: np.ndarray
    gain_bounds: tuple[float, float]
    solution: Solution
    size: np.ndarray
    tie_tolerance: float

    @cached_property
    def proof(self) -> Proof:
        """The gaps with their proved errors."""
        return proved_gaps(self.model, self.solution)

    @cached_property
    def doubtful(self) -> np.ndarray:
        """Which pairs count as optimal although their gap is proved positive: it is within the tolerance of ties."""
        return self.optimal & (self.proof.gap > self.proof.error)

    @cached_property
    def decided(self) -> bool:
        """Whether each pair but the policy's own is proved to fall short, or cannot be told from the best at 20 digits.

        Where it is False, floats do not even know which policies are optimal, and nothing that rests on that is proved.
        """
        proof = self.proof
        clear = (proof.gap > proof.error) | ((proof.error <= RESOLVED * self.size) & (proof.gap >= -proof.error))
        clear[proof.pairs] = True
        return bool(clear.all())


def optimum(model: CTMDP, solution: Solution | None = None, tie_tolerance: float = TIE) -> Optimum:
    """Solve the model (or take `solution`) and return its gaps and optimal pairs.

    An action ties with the best when its gap is below `tie_tolerance` times |r| + |c - ρ|/λ + Σ p |h(j) - h(s)|, or is
    rounding.  The tolerance does not change with the unit of time nor with the unit of reward.  With 0, and up to 3,000 states,
    a gap is 0 only where 32 digits do not prove it to be more; a pair of the given policy that is proved to fall short has its
    gap like any other, and `policy` is the one that is best.
    """
    require_model(model)
    require_solution_of(model, solution)
    found = solution if solution is not None else solve(model)
    row = np.repeat(model.pair_state, np.diff(model.row_start))
    moves = np.add.reduceat(
        model.probability * np.abs(found.bias[model.next_state] - found.bias[row]), model.row_start[:-1]
    )
    size = np.abs(model.expected_reward) + np.abs(model.running - found.gain) / model.rate + moves
    gap, rounding = -advantages(model, found.gain, found.bias), noise(model, found.gain, found.bias)
    own, proof = model.policy_pairs(found.policy), None
    tied = gap <= tie_tolerance * size + rounding
    unclear = tied & (rounding > 0.1 * tie_tolerance * size)
    unclear[own] = ~tied[own] | (tie_tolerance == 0)
    if model.n_states <= PROVED_AT_ONCE or (unclear.any() and model.n_states <= REFINED_STATES):
        proof = proved_gaps(model, found)
        better = proof.error < rounding
        gap, rounding = np.where(better, proof.gap, gap), np.minimum(rounding, proof.error)
    optimal = gap <= tie_tolerance * size + rounding
    if proof is not None:
        optimal[proof.pairs] = True
        own = np.where(optimal[own], own, proof.pairs)
    optimal[own] = True
    best = Optimum(model, found.gain, found.bias, np.where(optimal, 0.0, gap), optimal, model.pair_action[own], found.gain_bounds,
                   found, size, tie_tolerance)
    if proof is not None:
        vars(best)["proof"] = proof
    return best


def gaps(model: CTMDP, solution: Solution | None = None, *, tie_tolerance: float = TIE) -> np.ndarray:
    """Return φ*(s, a), an (S, A) table: the reward that one choice of `a` in `s` costs against playing on optimally.

    Paper: eq:sub-gap   φ*(s,a) = -r(s,a) - (c(s,a) - ρ*)/λ(s,a) - Σ_j p(j|s,a) h*(j) + h*(s); NaN where not admissible.
    A gap below `tie_tolerance` times the size of its terms counts as 0; with 0 each is the difference that is proved.

    >>> model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    >>> gaps(model).round(6).tolist()
    [[3.761905, 0.0], [0.0, 5.959184]]
    """
    require_model(model)
    return model.table(optimum(model, solution, tie_tolerance).gap)
