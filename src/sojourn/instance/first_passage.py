"""Choices with positive costs, and the least (or the largest) expected cost of reaching a target by them.

A target t is reached at cost V(t) = 0; elsewhere V(s) = cost + Σ p(j) V(j) with the least (or the largest) right-hand side
over the choices of s.  All costs are positive.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.all_targets import band_order
from sojourn.kernels.first_passage import passage_excess, passage_shortfall, passage_sweep

EPSILON = float(np.finfo(float).eps)
DENSE_FILL = 0.1  # above this share of non-zeros in the factors a dense factorization is faster
DENSE_STATES = 5000
FEW_STATES = 300  # up to here always dense
MANY_STATES = 2000  # from here on an iteration is tried first


def factor(system: Any) -> Any:
    """Return sparse LU factors of a diagonally dominant M-matrix: diagonal pivots are stable and keep the fill of the ordering."""
    from scipy.sparse.linalg import splu

    return splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


class Passage:
    """Choices (rows of `matrix`, grouped by `state`) with their positive `cost`; the least cost to a target, or the largest."""

    def __init__(self, matrix: Any, state: np.ndarray, cost: np.ndarray, largest: bool = False):
        self.matrix, self.state, self.cost, self.sign = matrix.tocsr(), state, cost, -1.0 if largest else 1.0
        self.n_states = matrix.shape[1]
        self.start = np.searchsorted(state, np.arange(self.n_states))
        self.length = np.diff(np.append(self.start, len(state)))
        self._dense: bool | None = None if self.n_states > FEW_STATES else True

    # ---- where the jumps are short ---------------------------------------------------------------------------------

    @cached_property
    def place(self) -> np.ndarray:
        """The position of each state in an order in which jumps are short, where there is one."""
        return np.argsort(band_order(self._pattern()))

    @cached_property
    def band(self) -> int:
        """The longest jump in that order."""
        tail = np.repeat(self.state, np.diff(self.matrix.indptr))
        return int(np.abs(self.place[tail] - self.place[self.matrix.indices]).max(initial=0))

    def _pattern(self) -> Any:
        from scipy.sparse import csr_matrix

        tail = np.repeat(self.state, np.diff(self.matrix.indptr))
        return csr_matrix((np.ones(len(tail)), (tail, self.matrix.indices)), shape=(self.n_states, self.n_states))

    # ---- one policy ------------------------------------------------------------------------------------------------

    def to_target(self, choice: np.ndarray, target: int) -> np.ndarray:
        """Return the expected cost of reaching `target` from each state by the policy `choice`, refined once."""
        cost = self.cost[choice]
        cost[target] = 0.0
        x = self.by_steps(choice, target) if self.n_states > MANY_STATES else None
        if x is None:
            dense = self._use_dense(choice, target)
            x = self._dense_solve(choice, cost, target) if dense else self._sparse_solve(choice, cost, target)
        x[target] = 0.0
        others = np.delete(x, target)
        if not (others > 0).all():
            raise ToleranceError(
                f"under some policy state {target} is reached only after about 1e15 jumps or more (least computed cost "
                f"{others.min():.3g}), which double precision cannot resolve. Leave out states that are practically never visited.",
                best=x,
            )
        return x

    def by_steps(self, choice: np.ndarray, target: int) -> np.ndarray | None:
        """Return the costs of a policy by scaled Jacobi steps where the chain mixes fast; None where it does not.

        Where rounding hides the residual (a target reached after 1e5 jumps), the last steps are made in extended precision.
        """
        chain, cost = self.matrix[choice], self.cost[choice]
        others = np.arange(self.n_states) != target
        mean, least = cost[others].mean(), cost[others].min()
        x = np.where(others, mean * self.n_states, 0.0)
        for kind in (np.float64, np.longdouble):
            chain, cost, x = chain.astype(kind), cost.astype(kind), x.astype(kind)
            for step in range(1, 401):
                after = np.where(others, cost + chain @ x, 0.0)
                off = np.abs(after - x)[others].max() if step % 20 == 0 else np.inf
                if off <= 1e-11 * least:
                    return after.astype(np.float64)
                if off <= 8 * EPSILON * x.max() and kind is np.float64:
                    break
                x = after * np.clip(1 + (after - x).mean() / mean, 0.5, 2.0)
            else:
                return None
        return None

    def _dense_solve(self, choice: np.ndarray, cost: np.ndarray, target: int) -> np.ndarray:
        from scipy.linalg import lu_factor, lu_solve

        system = -self._full[choice]
        system[:, target] = 0.0
        system[target] = 0.0
        system[np.diag_indices(self.n_states)] += 1.0
        factors = lu_factor(system, check_finite=False)
        x = lu_solve(factors, cost, check_finite=False)
        return x + lu_solve(factors, cost - system @ x, check_finite=False)

    def _sparse_solve(self, choice: np.ndarray, cost: np.ndarray, target: int) -> np.ndarray:
        system = self._system(choice, target)
        lu = factor(system)
        x = lu.solve(cost)
        refined: np.ndarray = x + lu.solve(cost - system @ x)
        return refined

    def _system(self, choice: np.ndarray, target: int) -> Any:
        from scipy.sparse import csc_matrix, identity

        chain = self.matrix[choice].tocoo()
        inside = (chain.row != target) & (chain.col != target)
        inner = csc_matrix((chain.data[inside], (chain.row[inside], chain.col[inside])), shape=chain.shape)
        return (identity(self.n_states, format="csc") - inner).tocsc()

    @property
    def uses_dense(self) -> bool:
        return bool(self._dense)

    def _use_dense(self, choice: np.ndarray, target: int) -> bool:
        """Decide once: a dense factorization pays for small models and where the sparse factors fill up."""
        if self._dense is None:
            lu = factor(self._system(choice, target))
            self._dense = lu.L.nnz + lu.U.nnz > DENSE_FILL * self.n_states**2 and self.n_states <= DENSE_STATES
        return self._dense

    @cached_property
    def _full(self) -> np.ndarray:
        table: np.ndarray = self.matrix.toarray()
        return table

    # ---- the best policy -------------------------------------------------------------------------------------------

    def ahead(self, value: np.ndarray) -> np.ndarray:
        """Return cost + Σ p V of every choice."""
        next_value: np.ndarray = self.cost + self.matrix @ value
        return next_value

    def chosen(self, ahead: np.ndarray, current: np.ndarray) -> np.ndarray:
        """Return the best choice of each state, the current one unless another is better beyond rounding."""
        signed = self.sign * ahead
        candidate = self.first_least(signed)
        better = signed[candidate] < signed[current] - 1e-13 * np.abs(signed[current])
        return np.where(better, candidate, current)

    def solve(self, target: int, choice: np.ndarray, limit: int = 1000) -> tuple[np.ndarray, np.ndarray]:
        """Return (V, choice per state) of the best policy to `target`, by policy iteration from a policy that gets there."""
        for _ in range(limit):
            value = self.to_target(choice, target)
            better = self.chosen(self.ahead(value), choice)
            better[target] = choice[target]
            if np.array_equal(better, choice):
                return value, choice
            choice = better
        raise ToleranceError(
            f"policy iteration towards state {target} did not settle in {limit} steps; the model is too ill-conditioned.",
            best=value,
        )

    def toward(self, target: int) -> np.ndarray:
        """Return a policy that reaches `target`: each state takes the choice that comes nearer at the least cost per success.

        Nearer is meant in jumps.  States that cannot reach the target keep their first choice.
        """
        from scipy.sparse.csgraph import dijkstra

        depth = dijkstra(self._backward(), indices=np.array([target]), unweighted=True)[0]
        nearer = depth[self.matrix.indices] < np.repeat(depth[self.state], np.diff(self.matrix.indptr))
        success = np.add.reduceat(np.where(nearer, self.matrix.data, 0.0), self.matrix.indptr[:-1])
        with np.errstate(divide="ignore"):
            price = np.where(success > 0, self.cost / success, np.inf)
        return self.first_least(price)

    def first_least(self, values: np.ndarray) -> np.ndarray:
        """Return for each state its first choice with the least value."""
        top = np.minimum.reduceat(values, self.start)
        first = np.where(values <= np.repeat(top, self.length), np.arange(len(values)), len(values))
        return np.minimum.reduceat(first, self.start)

    def _backward(self) -> Any:
        from scipy.sparse import csr_matrix

        if not hasattr(self, "_graph"):
            tail = np.repeat(self.state, np.diff(self.matrix.indptr))
            self._graph = csr_matrix(
                (np.ones(len(tail)), (self.matrix.indices, tail)), shape=(self.n_states, self.n_states)
            )
        return self._graph

    # ---- proofs ----------------------------------------------------------------------------------------------------

    def excess_above(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return δ per column with true V <= value/(1 - δ): `value` pays (1 - δ) of some choice's cost in each state.

        Of every choice's cost when the largest cost is sought.
        """
        excess: np.ndarray = passage_excess(*self._arrays, self.sign, np.ascontiguousarray(value), target, EPSILON)
        return excess

    def excess_below(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return δ per column with true V >= value/(1 + δ): no choice costs less than `value` allows by more than δ."""
        shortfall: np.ndarray = passage_shortfall(*self._arrays, np.ascontiguousarray(value), target, EPSILON)
        return shortfall

    def sweep(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return one Bellman step of the (S, T) values, 0 at the target of each column."""
        out = np.empty(value.shape)
        passage_sweep(*self._arrays, self.sign, np.ascontiguousarray(value), out)
        out[target, np.arange(len(target))] = 0.0
        return out

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return (
            self.matrix.indptr.astype(np.int64),
            self.matrix.indices.astype(np.int64),
            self.matrix.data,
            self.cost,
            np.append(self.start, len(self.state)).astype(np.int64),
        )
