"""Extended value iteration under a bound on the span of the values: u <- min(Tu, min Tu + c).

Where a state's value is cut, the policy mixes its best action with its worst, so that the value is just what is left.
"""

import numpy as np

from sojourn.kernels.jit import kernel
from sojourn.kernels.optimism import bellman_step, bellman_step_reference, inner_maximum_reference


def span_value_iteration_reference(u, span, tolerance, max_sweeps, damping, problem):
    """Return (u, best pair, worst pair, weight of the best, sweeps, low, high, converged); low and high are of the cut Tu - u.

    The worst pair is that of the least value when it pays nothing (rewards are in [0, 1]): the copies with reward 0 of SCAL.
    """
    for sweep in range(max_sweeps):
        u_next, pair, _ = bellman_step_reference(u, problem)
        limit = u_next.min() + span
        worst, weight = [], []
        for s in range(len(u)):
            bare = [inner_maximum_reference(u, problem.next_state[problem.row_start[i]:problem.row_start[i + 1]],
                                            problem.probability[problem.row_start[i]:problem.row_start[i + 1]], problem.reach[i],
                                            problem.supports_known)
                    for i in range(problem.pair_start[s], problem.pair_start[s + 1])]
            worst.append(problem.pair_start[s] + int(np.argmin(bare)))
            above = u_next[s] > limit
            weight.append(max(0.0, (limit - min(bare)) / (u_next[s] - min(bare))) if above else 1.0)
        step = np.minimum(u_next, limit) - u
        low, high = step.min(), step.max()
        if high - low < tolerance:
            return u, pair, np.array(worst), np.array(weight), sweep + 1, low, high, True
        u = u + damping * step
    return u, pair, np.array(worst), np.array(weight), max_sweeps, low, high, False


@kernel
def span_value_iteration(u, span, tolerance, max_sweeps, damping, problem):
    """Iterate in place on u and on the order within rows."""
    n_states, n_pairs = len(u), len(problem.reward)
    u_next, shortfall, order = np.empty(n_states), np.empty(n_states), np.arange(n_states)
    pair, rising = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.bool_)
    slack, value = np.zeros(n_pairs), np.zeros(n_pairs)
    worst, weight = np.zeros(n_states, dtype=np.int64), np.ones(n_states)
    low, high = -np.inf, np.inf
    for sweep in range(max_sweeps):
        slack[:] = 0.0
        bellman_step(u, u_next, pair, rising, slack, value, shortfall, order, problem)
        limit = u_next.min() + span
        low, high = np.inf, -np.inf
        for s in range(n_states):
            least = np.inf
            for i in range(problem.pair_start[s], problem.pair_start[s + 1]):
                bare = value[i] - problem.reward[i] + u[s]
                if bare < least:
                    least = bare
                    worst[s] = i
            weight[s] = 1.0
            if u_next[s] > limit:
                weight[s] = max(0.0, (limit - least) / (u_next[s] - least))
            step = min(u_next[s], limit) - u[s]
            low = min(low, step)
            high = max(high, step)
        if high - low < tolerance:
            return pair, worst, weight, sweep + 1, low, high, True
        for s in range(n_states):
            u[s] += damping * (min(u_next[s], limit) - u[s])
    return pair, worst, weight, max_sweeps, low, high, False
