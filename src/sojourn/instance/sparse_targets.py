"""Expected cost of reaching many states under one policy, in blocks, from one sparse factorization: no S x S array is held."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.instance.first_passage import EPSILON, factor

BLOCK = 256


class SparseTargets:
    """One irreducible chain, I - P with one entry raised factorized; Z, its inverse, is solved for in blocks of columns."""

    def __init__(self, chain: Any):
        from scipy.sparse import csc_matrix, identity

        n = chain.shape[0]
        self.n_states, self.chain, reference = n, chain, 0
        for _ in range(2):
            raised = csc_matrix(([1.0], ([reference], [reference])), shape=(n, n))
            self.factors = factor((identity(n, format="csc") - chain + raised).tocsc())
            law = np.maximum(self.factors.solve(np.eye(1, n, reference).ravel(), trans="T"), 0.0)
            self.law = law / law.sum()  # the embedded stationary law
            if self.law[reference] >= 1e-3 * self.law.max():
                break
            reference = int(np.argmax(self.law))

    def cycle(self, cost: np.ndarray) -> np.ndarray:
        """Return the expected cost between two visits of each state; infinite where a state is too rare for floats."""
        with np.errstate(divide="ignore", over="ignore"):
            cycle: np.ndarray = (self.law @ cost) / self.law
            return cycle

    def columns(self, targets: np.ndarray) -> np.ndarray:
        """Return Z[., t] for some targets: expected visits of t before the chain stops."""
        right = np.zeros((self.n_states, len(targets)))
        right[targets, np.arange(len(targets))] = 1.0
        solved: np.ndarray = self.factors.solve(right)
        return solved

    def hits(self, cost: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return H[s, t], the expected cost of reaching some targets; not finite in columns lost to rounding."""
        z, total, cycle = self.columns(targets), self.factors.solve(cost), self.cycle(cost)[targets]
        own = z[targets, np.arange(len(targets))]
        with np.errstate(all="ignore"):
            found: np.ndarray = total[:, None] - total[targets][None, :] + cycle[None, :] * (own[None, :] - z)
        found[targets, np.arange(len(targets))] = 0.0
        return found

    def detours(self, matrix: Any, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return per row (Z[s, s] - Σ_y p(y) Z[y, s], Z[s, s]) with s its state: all that `returns` needs, for any cost."""
        missed, own = np.empty(len(state)), np.empty(len(state))
        targets = np.unique(state)
        for part in np.array_split(targets, max(1, len(targets) // BLOCK)):
            z = self.columns(part)
            for row in np.flatnonzero((state >= part[0]) & (state <= part[-1])):
                at, span = np.searchsorted(part, state[row]), slice(matrix.indptr[row], matrix.indptr[row + 1])
                own[row] = z[state[row], at]
                missed[row] = own[row] - matrix.data[span] @ z[matrix.indices[span], at]
        return missed, own

    def returns(
        self, cost: np.ndarray, matrix: Any, state: np.ndarray, row_cost: np.ndarray, detours: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Return per row its cost plus the expected cost of coming back to its state; NaN where rounding may exceed 1e-9."""
        missed, own = detours
        total, cycle = self.factors.solve(cost), self.cycle(cost)[state]
        with np.errstate(all="ignore"):
            back = row_cost + matrix @ total - total[state] + cycle * missed
            error = 64 * EPSILON * (np.abs(total).max() + cycle * own)
            return np.where(error <= 1e-9 * back, back, np.nan)
