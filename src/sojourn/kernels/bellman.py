"""Sweeps of the model uniformized at a rate above all of its own, hence aperiodic.   Paper: eq:uniform-eqn

`income` is λ r + c, the reward per unit of time of a pair; sums run over differences u(j) - u(s), so that a large common
level of u costs no digits.
"""

import numpy as np

from sojourn.kernels.jit import kernel


def bellman_step_reference(pair_start: np.ndarray, row_start: np.ndarray, next_state: np.ndarray, probability: np.ndarray,
                           rate: np.ndarray, income: np.ndarray, uniform: float, u: np.ndarray,
                           out: np.ndarray, choice: np.ndarray) -> tuple[float, float]:
    """Write Tu into `out` and the lowest best pair of each state into `choice`; return min and max of Λ (Tu - u).

    (Tu)(s) = u(s) + max_a [λ r + c + λ Σ_j p(j) (u(j) - u(s))] / Λ
    """
    least, most = np.inf, -np.inf
    for s in range(len(u)):
        value = np.empty(pair_start[s + 1] - pair_start[s])
        for i, k in enumerate(range(pair_start[s], pair_start[s + 1])):
            row = slice(row_start[k], row_start[k + 1])
            total = 0.0
            for p, j in zip(probability[row], next_state[row]):
                total += p * (u[j] - u[s])
            value[i] = income[k] + rate[k] * total
        choice[s] = pair_start[s] + int(np.argmax(value))
        out[s] = u[s] + value.max() / uniform
        least, most = min(least, value.max()), max(most, value.max())
    return least, most


@kernel
def bellman_step(pair_start: np.ndarray, row_start: np.ndarray, next_state: np.ndarray, probability: np.ndarray,
                 rate: np.ndarray, income: np.ndarray, uniform: float, u: np.ndarray,
                 out: np.ndarray, choice: np.ndarray) -> tuple[float, float]:
    """See `bellman_step_reference`."""
    least, most = np.inf, -np.inf
    for s in range(u.size):
        best, best_pair = -np.inf, pair_start[s]
        for k in range(pair_start[s], pair_start[s + 1]):
            total = 0.0
            for i in range(row_start[k], row_start[k + 1]):
                total += probability[i] * (u[next_state[i]] - u[s])
            value = income[k] + rate[k] * total
            if value > best:
                best, best_pair = value, k
        choice[s] = best_pair
        out[s] = u[s] + best / uniform
        least, most = min(least, best), max(most, best)
    return least, most


def policy_sweeps_reference(row_start: np.ndarray, next_state: np.ndarray, probability: np.ndarray, rate: np.ndarray,
                            income: np.ndarray, uniform: float, pairs: np.ndarray, u: np.ndarray,
                            sweeps: int) -> tuple[np.ndarray, float, float]:
    """Return u after `sweeps` (at least 1) steps of the policy `pairs`, 0 in state 0; min and max of the last Λ (T_π u - u)."""
    for _ in range(sweeps):
        value = np.empty(len(u))
        for s, k in enumerate(pairs):
            total = 0.0
            for i in range(row_start[k], row_start[k + 1]):
                total += probability[i] * (u[next_state[i]] - u[s])
            value[s] = income[k] + rate[k] * total
        u = u + value / uniform
        u = u - u[0]
    return u, value.min(), value.max()


@kernel
def policy_sweeps(row_start: np.ndarray, next_state: np.ndarray, probability: np.ndarray, rate: np.ndarray,
                  income: np.ndarray, uniform: float, pairs: np.ndarray, u: np.ndarray,
                  sweeps: int) -> tuple[np.ndarray, float, float]:
    """See `policy_sweeps_reference`."""
    u = u.copy()
    new = np.empty_like(u)
    least, most = np.inf, -np.inf
    for _ in range(sweeps):
        least, most = np.inf, -np.inf
        for s in range(u.size):
            k = pairs[s]
            total = 0.0
            for i in range(row_start[k], row_start[k + 1]):
                total += probability[i] * (u[next_state[i]] - u[s])
            value = income[k] + rate[k] * total
            new[s] = u[s] + value / uniform
            least, most = min(least, value), max(most, value)
        level = new[0]
        for s in range(u.size):
            u[s] = new[s] - level
    return u, least, most
