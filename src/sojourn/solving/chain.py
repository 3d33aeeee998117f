"""The Markov chain that a policy makes of a model, and its evaluation equations.

All of it is done at the jumps (the embedded chain), where the transition matrix does not depend on the rates: rates from
1e-6 to 1e6 in one model do not spoil the linear systems, as they would after uniformization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import closed_classes

IMBALANCE = 1e-9  # Σ|law P - law| above which a stationary law is not believed
DENSE = 200  # states up to which a dense factorization is faster than a sparse one


@dataclass(frozen=True, eq=False)
class Chain:
    """Embedded chain of a policy: transition matrix (CSR), mean reward and mean holding time of one visit per state."""

    matrix: Any
    reward: np.ndarray
    holding: np.ndarray

    @property
    def n_states(self) -> int:
        return len(self.reward)

    def classes(self) -> list[np.ndarray]:
        """Return the recurrent classes."""
        tail = np.repeat(np.arange(self.n_states), np.diff(self.matrix.indptr))
        return closed_classes(self.n_states, tail, self.matrix.indices)

    def row(self, state: int) -> np.ndarray:
        """Return the transition probabilities out of one state."""
        row = np.zeros(self.n_states)
        part = slice(self.matrix.indptr[state], self.matrix.indptr[state + 1])
        row[self.matrix.indices[part]] = self.matrix.data[part]
        return row

    def restricted(self, states: np.ndarray) -> Chain:
        """Return the chain on a closed set of states."""
        return Chain(self.matrix[states][:, states], self.reward[states], self.holding[states])


def require_scale(model: CTMDP) -> None:
    """Refuse numbers so large or so small that products of rates and rewards leave what floats can hold."""
    rate, size = model.rate, np.maximum(np.abs(model.expected_reward), np.abs(model.running))
    bad = np.flatnonzero((rate < 1e-100) | (rate > 1e100) | (size > 1e100))
    if bad.size:
        k = int(bad[0])
        raise ModelError(
            f"the choice ({model.states[model.pair_state[k]]!r}, {model.actions[model.pair_action[k]]!r}) has rate {rate[k]:g}, "
            f"reward {model.expected_reward[k]:g} and running reward {model.running[k]:g}; to be solved, rates must lie in "
            "[1e-100, 1e100] and rewards below 1e100. Choose other units of time or money.")


def visit_reward(model: CTMDP) -> np.ndarray:
    """Return the mean reward of one visit to each pair, running reward included: r + c/λ."""
    return model.expected_reward + model.running / model.rate


def chain_of(model: CTMDP, pairs: np.ndarray) -> Chain:
    """Return the chain of the deterministic policy that chooses `pairs[s]` in state s."""
    return Chain(model.matrix[pairs], visit_reward(model)[pairs], 1.0 / model.rate[pairs])


def mixed_chain(model: CTMDP, weight: np.ndarray) -> Chain:
    """Return the chain of the randomized policy that chooses pair k of its state with probability `weight[k]`."""
    from scipy.sparse import csr_matrix

    pick = csr_matrix((weight, (model.pair_state, np.arange(model.n_pairs))), shape=(model.n_states, model.n_pairs))
    pick.eliminate_zeros()
    matrix = (pick @ model.matrix).tocsr()
    matrix.sort_indices()
    return Chain(matrix, pick @ visit_reward(model), pick @ (1.0 / model.rate))


class Factors:
    """LU factors of I - P without the row and column of one recurrent state: visits and rewards until it is hit."""

    def __init__(self, chain: Chain, reference: int):
        from scipy.sparse import csc_matrix, identity

        keep = np.flatnonzero(np.arange(chain.n_states) != reference)
        self.chain = chain
        self.keep, self.size, self._dense = keep, len(keep), None
        self._lu: Any = None
        if not self.size:
            return
        if chain.n_states <= DENSE:
            self._dense = np.eye(self.size) - chain.matrix.toarray()[np.ix_(keep, keep)]
        else:
            from scipy.sparse.linalg import splu

            system = csc_matrix(identity(self.size, format="csr") - chain.matrix[keep][:, keep])
            # a diagonally dominant M-matrix: pivots on the diagonal are stable and keep the fill of the ordering
            try:
                self._lu = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
            except RuntimeError:
                raise _singular(chain) from None

    def solve(self, right: np.ndarray, transposed: bool = False) -> np.ndarray:
        """Solve (I - P) x = right (or its transpose) over the states kept."""
        if not self.size:
            return right
        if self._dense is not None:
            try:
                return np.linalg.solve(self._dense.T if transposed else self._dense, right)
            except np.linalg.LinAlgError:
                raise _singular(self.chain) from None
        return self._lu.solve(right, "T" if transposed else "N")


def _singular(chain: Chain) -> ModelError:
    return ModelError(
        f"the evaluation equations are singular in floats: the least probability is {chain.matrix.data.min():g}, so small that "
        "parts of the model look cut off from each other. Leave such jumps out, or give them a probability above 1e-14.")


def gain_and_bias(chain: Chain, recurrent: np.ndarray, often: int = -1) -> tuple[float, np.ndarray, np.ndarray]:
    """Return (gain, bias with 0 in state 0, stationary law of the embedded chain) of a chain with one recurrent class.

    `often` may name a state that is believed to be visited often: it saves a second factorization.
    """
    small = chain.n_states <= DENSE
    law = _exact_law(chain, recurrent) if small else np.zeros(chain.n_states)
    reference = int(np.argmax(law)) if small else often if often in recurrent else int(recurrent[0])
    factors = Factors(chain, reference)
    if not small:
        law = _stationary(chain, factors, reference)
        if law[reference] < 0.1 * law.max():  # hitting times of a rare state are long and would cost digits
            reference = int(np.argmax(law))
            factors = Factors(chain, reference)
            law = _stationary(chain, factors, reference)
        if _imbalance(chain, law) > IMBALANCE:  # the reference is so rare that floats do not see the way back to it
            reference = _busy_state(chain, recurrent)
            factors = Factors(chain, reference)
            law = _stationary(chain, factors, reference)
            if _imbalance(chain, law) > IMBALANCE:
                raise _singular(chain)
    gain, bias = float(law @ chain.reward / (law @ chain.holding)), np.zeros(chain.n_states)
    for _ in range(3):  # the first pass solves, the others take the rounding errors out
        rest = chain.reward - gain * chain.holding + differences(chain.matrix, bias)
        step, change = hitting_correction(chain, factors, reference, rest)
        gain, bias = gain + (0.0 if small else step), bias + change
    return gain, bias - bias[0], law


def _exact_law(chain: Chain, recurrent: np.ndarray) -> np.ndarray:
    """Return the stationary law by elimination without a subtraction (Grassmann, Taksar, Heyman): every entry keeps its digits."""
    p = chain.matrix[recurrent][:, recurrent].toarray()
    n = len(recurrent)
    for k in range(n - 1, 0, -1):
        p[:k, k] /= p[k, :k].sum()
        p[:k, :k] += np.outer(p[:k, k], p[k, :k])
    visits = np.ones(n)
    for k in range(1, n):
        visits[k] = visits[:k] @ p[:k, k]
    law = np.zeros(chain.n_states)
    law[recurrent] = visits / visits.sum()
    return law


def _imbalance(chain: Chain, law: np.ndarray) -> float:
    """Return Σ|law P - law|: about 1e-15 for a stationary law."""
    return float(np.abs(chain.matrix.T @ law - law).sum())


def _busy_state(chain: Chain, recurrent: np.ndarray) -> int:
    """Return a state where the lazy chain spends much time after many steps from anywhere."""
    law = np.zeros(chain.n_states)
    law[recurrent] = 1.0 / len(recurrent)
    back = chain.matrix.T.tocsr()
    for _ in range(int(min(4 * len(recurrent), 200 + 1e9 / chain.matrix.nnz))):
        law = (law + back @ law) / 2
    return int(np.argmax(law))


def _stationary(chain: Chain, factors: Factors, reference: int) -> np.ndarray:
    law = np.zeros(chain.n_states)
    law[reference] = 1.0
    if factors.size:
        law[factors.keep] = np.maximum(factors.solve(chain.row(reference)[factors.keep], transposed=True), 0.0)
    return law / law.sum()


def hitting_correction(chain: Chain, factors: Factors, reference: int, rest: np.ndarray) -> tuple[float, np.ndarray]:
    """Return what to add to (gain, bias) so that a residual `rest` of r - gain τ + P bias - bias becomes 0."""
    change = np.zeros(chain.n_states)
    if not factors.size:
        return float(rest[0] / chain.holding[0]), change
    solved = factors.solve(np.column_stack([rest[factors.keep], chain.holding[factors.keep]]))
    row = chain.row(reference)[factors.keep]
    step = (rest[reference] + row @ solved[:, 0]) / (chain.holding[reference] + row @ solved[:, 1])
    change[factors.keep] = solved[:, 0] - step * solved[:, 1]
    return float(step), change


def differences(matrix: Any, u: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Return Σ_j p(j) (u(j) - u(own)) of each row, summed over differences so that a large common level costs nothing."""
    own = np.arange(matrix.shape[0]) if own is None else own
    lengths = np.diff(matrix.indptr)
    terms = matrix.data * (u[matrix.indices] - np.repeat(u[own], lengths))
    return np.add.reduceat(terms, matrix.indptr[:-1])
