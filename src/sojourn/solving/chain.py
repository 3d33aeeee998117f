"""The Markov chain that a policy makes of a model, seen at its jumps (the embedded chain).

There the transition matrix does not depend on the rates: rates from 1e-6 to 1e6 in one model do not spoil anything, as they would
after uniformization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import closed_classes
from sojourn.solving.elimination import UNIT


@dataclass(frozen=True, eq=False)
class Chain:
    """Transition matrix (CSR), mean reward and mean holding time of one visit per state, and how exact these floats are.

    `reward_error` is absolute, `holding_error` relative, `matrix_error` bounds the relative error of the probabilities, `row_error`
    how far rows are from summing to one.
    """

    matrix: Any
    reward: np.ndarray
    holding: np.ndarray
    reward_error: np.ndarray
    holding_error: float
    matrix_error: float
    row_error: float

    @property
    def n_states(self) -> int:
        return len(self.reward)

    def pays(self, states: np.ndarray) -> bool:
        """Return whether there is any reward other than 0 in some of `states`."""
        return bool(self.reward[states].any() or self.reward_error[states].any())

    def classes(self) -> list[np.ndarray]:
        """Return the recurrent classes."""
        tail = np.repeat(np.arange(self.n_states), np.diff(self.matrix.indptr))
        return closed_classes(self.n_states, tail, self.matrix.indices, neat=True)

    def restricted(self, states: np.ndarray) -> Chain:
        """Return the chain on a closed set of states."""
        return Chain(self.matrix[states][:, states], self.reward[states], self.holding[states], self.reward_error[states],
                     self.holding_error, self.matrix_error, self.row_error)


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
    reward: np.ndarray = model.expected_reward + model.running / model.rate
    return reward


def reward_size(model: CTMDP) -> np.ndarray:
    """Return the mean of the absolute lump sums and transition rewards of each pair."""
    size: np.ndarray = np.abs(model.reward)
    if model.transition_reward is not None:
        size = size + np.add.reduceat(model.probability * np.abs(model.transition_reward), model.row_start[:-1])
    return size


def _visit_error(model: CTMDP) -> np.ndarray:
    """Return a bound on the errors of `visit_reward`, of rounding, underflow and rows; 0 where nothing is ever paid."""
    terms = 4 if model.transition_reward is None else np.diff(model.row_start) + 4
    lost = np.where(_pays(model), terms * 5e-324, 0.0) + row_defect(model) * np.abs(model.expected_reward - model.reward)
    error: np.ndarray = 1.01 * UNIT * terms * (reward_size(model) + np.abs(model.running) / model.rate) + lost
    return error


def row_defect(model: CTMDP) -> np.ndarray:
    """Return how far each row is from summing to one, beyond rounding: whether the rest stays or is shared out is left open."""
    off = np.abs(np.add.reduceat(model.probability, model.row_start[:-1]) - 1.0)
    return np.where(off > np.diff(model.row_start) * 2 * UNIT, off, 0.0)


def _pays(model: CTMDP) -> np.ndarray:
    """Return whether a pair has any reward that is not 0."""
    pays: np.ndarray = (model.reward != 0) | (model.running != 0)
    if model.transition_reward is None:
        return pays
    return pays | np.logical_or.reduceat(model.transition_reward != 0, model.row_start[:-1])


def chain_of(model: CTMDP, pairs: np.ndarray) -> Chain:
    """Return the chain of the deterministic policy that chooses `pairs[s]` in state s."""
    matrix = model.matrix[pairs]
    reward, error = visit_reward(model)[pairs], _visit_error(model)[pairs]
    return Chain(matrix, reward, 1.0 / model.rate[pairs], error, UNIT, 0.0, _row_error(matrix))


def mixed_chain(model: CTMDP, weight: np.ndarray) -> Chain:
    """Return the chain of the randomized policy that chooses pair k of its state with probability `weight[k]`."""
    from scipy.sparse import csr_matrix

    pick = csr_matrix((weight, (model.pair_state, np.arange(model.n_pairs))), shape=(model.n_states, model.n_pairs))
    pick.eliminate_zeros()
    matrix = (pick @ model.matrix).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    most = 2 + int(np.diff(pick.indptr).max())
    lost = np.where(pick @ _pays(model).astype(float) > 0, most * 5e-324, 0.0)
    error = pick @ (_visit_error(model) + most * 1.01 * UNIT * np.abs(visit_reward(model))) + lost
    holding = pick @ (1.0 / model.rate)
    blur = 1.01 * UNIT * most
    return Chain(matrix, pick @ visit_reward(model), holding, error, blur, blur, _row_error(matrix) + blur)


def _row_error(matrix: Any) -> float:
    """Return how far a row is from summing to one, at most."""
    sums = np.add.reduceat(matrix.data, matrix.indptr[:-1])
    return float(np.abs(sums - 1.0).max() + UNIT * np.diff(matrix.indptr).max())


def differences(matrix: Any, u: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Return Σ_j p(j) (u(j) - u(own)) of each row, summed over differences so that a large common level costs nothing."""
    own = np.arange(matrix.shape[0]) if own is None else own
    lengths = np.diff(matrix.indptr)
    terms = matrix.data * (u[matrix.indices] - np.repeat(u[own], lengths))
    return np.add.reduceat(terms, matrix.indptr[:-1])
