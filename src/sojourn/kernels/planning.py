"""The best policy of a small known model, by policy iteration from a given policy: what learners plan with.

Above NARROW states policies are solved within a band (kernels/banded_planning.py) where jumps are short; else above DENSE states
the model goes to kernels/swept_planning.py.

A policy's gain and bias solve h(s) + ρ/λ = r + c/λ + Σ p h with h(0) = 0.  Every row restarts in state 0 with probability
RESTART, so that the equations of *every* policy can be solved, even of one under which the states fall apart; it moves a gain
by at most RESTART times the span of the bias, far below anything a learner can tell.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.banded_planning import BAND, evaluate_banded, reach
from sojourn.kernels.jit import inner, kernel
from sojourn.kernels.swept_planning import DENSE, WORK, best_policy_swept

RESTART = 1e-9
NARROW = 100  # states from which on it is worth looking for a band
IMPROVEMENTS = 200
NEGLIGIBLE = 1e-10  # a change of action must gain more than this, times the largest bias and reward of a decision


class Model(NamedTuple):
    """A known model: pairs of state s from pair_start[s], successors of pair i from row_start[i]."""

    pair_start: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    rate: np.ndarray


def best_policy_reference(model, allowed, policy_pair):
    """Return (gain, bias, pair per state): policy iteration over the `allowed` pairs, starting from `policy_pair`."""
    pair_start, row_start, next_state, probability, reward, running, rate = model
    n_states, n_pairs = len(pair_start) - 1, len(rate)
    row = np.zeros((n_pairs, n_states))
    for i in range(n_pairs):
        np.add.at(row[i], next_state[row_start[i]:row_start[i + 1]], probability[row_start[i]:row_start[i + 1]])
    pair = np.array(policy_pair)
    for s in range(n_states):
        if not allowed[pair[s]]:
            pair[s] = pair_start[s] + np.argmax(allowed[pair_start[s]:pair_start[s + 1]])
    for _ in range(IMPROVEMENTS):
        matrix = np.eye(n_states) - (1 - RESTART) * row[pair]
        matrix[:, 0] = 1 / rate[pair]
        solution = np.linalg.solve(matrix, reward[pair] + running[pair] / rate[pair])
        gain, bias = solution[0], np.concatenate([[0.0], solution[1:]])
        worth = reward + (running - gain) / rate + row @ bias
        margin = NEGLIGIBLE * (np.abs(bias).max() + np.abs(reward[pair] + running[pair] / rate[pair]).max())
        changed = False
        for s in range(n_states):
            best = worth[pair[s]] + margin
            for i in range(pair_start[s], pair_start[s + 1]):
                if allowed[i] and worth[i] > best:
                    pair[s], best, changed = i, worth[i], True
        if not changed:
            break
    return gain, bias, pair


@inner
def solve_in_place(matrix, right):
    """Solve matrix x = right by elimination with row exchanges; x replaces `right`, the matrix is destroyed."""
    n = len(right)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
            right[k], right[pivot] = right[pivot], right[k]
        for i in range(k + 1, n):
            if matrix[i, k] != 0.0:
                factor = matrix[i, k] / matrix[k, k]
                for j in range(k + 1, n):
                    matrix[i, j] -= factor * matrix[k, j]
                right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        total = right[k]
        for j in range(k + 1, n):
            total -= matrix[k, j] * right[j]
        right[k] = total / matrix[k, k]


@kernel
def worth_of(i, model, gain, bias):
    """Return r + (c - ρ)/λ + Σ p h of pair i."""
    next_state, probability = model.next_state, model.probability
    total = model.reward[i] + (model.running[i] - gain) / model.rate[i]
    for k in range(model.row_start[i], model.row_start[i + 1]):
        total += probability[k] * bias[next_state[k]]
    return total


@inner
def evaluate_policy(model, pair, bias):
    """Fill `bias` (0 in state 0) and return the gain of the policy `pair`."""
    row_start, next_state, probability, reward, running, rate = (model.row_start, model.next_state, model.probability, model.reward,
                                                                 model.running, model.rate)
    n = len(pair)
    matrix = np.zeros((n, n))
    for s in range(n):
        i = pair[s]
        matrix[s, s] = 1.0
        for k in range(row_start[i], row_start[i + 1]):
            matrix[s, next_state[k]] -= probability[k] * (1 - RESTART)
        matrix[s, 0] = 1.0 / rate[i]
        bias[s] = reward[i] + running[i] / rate[i]
    solve_in_place(matrix, bias)
    gain = bias[0]
    bias[0] = 0.0
    return gain


@kernel
def best_policy(model, allowed, policy_pair):
    pair_start, reward, running, rate = model.pair_start, model.reward, model.running, model.rate
    n_states = len(pair_start) - 1
    pair = policy_pair.copy()
    for s in range(n_states):
        if not allowed[pair[s]]:
            for i in range(pair_start[s], pair_start[s + 1]):
                if allowed[i]:
                    pair[s] = i
                    break
    below, above = reach(model) if n_states > NARROW else (n_states, n_states)
    steps = n_states * (below + 1) * (above + 1)
    banded = steps <= min(BAND, n_states**3 // 4)
    if n_states > DENSE and not banded:
        return best_policy_swept(model, allowed, pair)
    bias = np.empty(n_states)
    gain = 0.0
    for _ in range(min(IMPROVEMENTS, max(2, WORK // (steps + len(model.next_state)))) if banded else IMPROVEMENTS):
        gain = evaluate_banded(model, pair, bias, below, above, RESTART) if banded else evaluate_policy(model, pair, bias)
        largest, size = 0.0, 0.0
        for s in range(n_states):
            largest = max(largest, abs(reward[pair[s]] + running[pair[s]] / rate[pair[s]]))
            if abs(bias[s]) > size or bias[s] != bias[s]:  # nan stays
                size = abs(bias[s])
        margin = NEGLIGIBLE * (size + largest)
        changed = False
        for s in range(n_states):
            best = worth_of(pair[s], model, gain, bias) + margin
            for i in range(pair_start[s], pair_start[s + 1]):
                if allowed[i]:
                    worth = worth_of(i, model, gain, bias)
                    if worth > best:
                        best = worth
                        pair[s] = i
                        changed = True
        if not changed:
            break
    return gain, bias, pair
