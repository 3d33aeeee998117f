"""Extended value iteration with fewer Bellman steps: between two of them the greedy optimistic policy is evaluated, roughly.

Actions that cannot be the best for a while are passed over; the step that ends the iteration is a true one, over all actions, so
what it proves is the same.  The reference is the plain iteration (kernels/optimism.py).
"""

import numpy as np

from sojourn.kernels.jit import kernel
from sojourn.kernels.optimism import bellman_step


@kernel
def policy_rows(u, policy_pair, rising, order, problem):
    """Return the chosen rows as they are in the optimistic model, without their self-loops: (start, state, weight, 1/pace).

    With pace(s) the rate over rate_max times the chance to leave, the policy's values solve
    u(s) = (reward per uniformised step - gain)/pace(s) + Σ weight u(state).
    """
    row_start, next_state, probability, reach = problem.row_start, problem.next_state, problem.probability, problem.reach
    slow, fast, supports_known, has_full_rows = problem.slow, problem.fast, problem.supports_known, problem.has_full_rows
    n_states = len(u)
    size = 0
    for s in range(n_states):
        size += row_start[policy_pair[s] + 1] - row_start[policy_pair[s]] + 1
    start = np.zeros(n_states + 1, dtype=np.int64)
    state = np.empty(size, dtype=np.int64)
    weight = np.empty(size)
    slowness = np.empty(n_states)
    top = np.argmax(u)
    n = 0
    for s in range(n_states):
        i = policy_pair[s]
        begin = row_start[i]
        end = row_start[i + 1]
        full = has_full_rows and end - begin == n_states
        left = reach[i]
        total = 0.0
        stay = 0.0
        for k in range(begin, end):
            j = order[k - begin] if full else next_state[k]
            p = probability[begin + j] if full else probability[k]
            kept = max(0.0, p - left)
            left = max(0.0, left - p)
            total += kept
            if j == s:
                stay += kept
            elif kept > 0.0:
                state[n] = j
                weight[n] = kept
                n += 1
        best = next_state[end - 1] if supports_known else top
        if best == s:
            stay += 1.0 - total
        else:
            state[n] = best
            weight[n] = 1.0 - total
            n += 1
        leave = max(1.0 - stay, 1e-300)
        for k in range(start[s], n):
            weight[k] /= leave
        slowness[s] = 1.0 / (leave * max(fast[i] if rising[s] else slow[i], 1e-300))
        start[s + 1] = n
    return start, state, weight, slowness


@kernel
def evaluate_passes(residual, x, y, tolerance, passes, anchor, start, state, weight, slowness):
    """Gauss-Seidel, up and down the states: x, y become the residual and the time expected until the anchor is reached.

    Both count from the state at hand, the anchor's own entries included as 0; returns both for a round trip of the anchor.
    """
    n_states = len(x)
    scale = np.abs(residual).max()
    x[anchor] = 0.0
    y[anchor] = 0.0
    for sweep in range(passes):
        change = 0.0
        for m in range(n_states):
            s = m if sweep % 2 == 0 else n_states - 1 - m
            if s == anchor:
                continue
            new_x = residual[s] * slowness[s]
            new_y = slowness[s]
            for k in range(start[s], start[s + 1]):
                new_x += weight[k] * x[state[k]]
                new_y += weight[k] * y[state[k]]
            change = max(change, abs(new_x - x[s]) + scale * abs(new_y - y[s]))
            x[s] = new_x
            y[s] = new_y
        if change < tolerance:
            break
    at_x = residual[anchor] * slowness[anchor]
    at_y = slowness[anchor]
    for k in range(start[anchor], start[anchor + 1]):
        at_x += weight[k] * x[state[k]]
        at_y += weight[k] * y[state[k]]
    return at_x, at_y


@kernel
def correct(u, u_next, low, high, y, tolerance, passes, rows):
    """Move u towards the values of the chosen policy on its optimistic rows; where that fails, towards u_next.

    With x, y the residual and the time expected until the anchor is reached, u += x - (x/y of a round trip) y.  y is kept
    from call to call.  Returns the span by which u moved.
    """
    n_states = len(u)
    x = np.zeros(n_states)
    anchor = np.argmax(u)
    at_x, at_y = evaluate_passes(u_next - u - 0.5 * (low + high), x, y, tolerance, passes, anchor, *rows)
    move = x - at_x / at_y * y
    span = move.max() - move.min()
    if not span < 1e9 * (high - low):  # the policy never returns to the anchor: a plain step instead
        move = 0.9 * (u_next - u)
        span = 0.9 * (high - low)
        y[:] = 0.0
    u += move
    return span


@kernel
def fast_extended_value_iteration(u, y, tolerance, max_steps, passes, problem):
    """Improve u in place until one full Bellman step has span < tolerance.  Returns (pair, rising, steps, low, high, converged)."""
    n_states = len(u)
    u_next, shortfall, order = np.empty(n_states), np.empty(n_states), np.arange(n_states)
    policy_pair, rising = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.bool_)
    slack, value = np.zeros(len(problem.reward)), np.zeros(len(problem.reward))
    before = np.zeros(n_states, dtype=np.int64)
    low, high = -np.inf, np.inf
    eliminated = False
    for step in range(max_steps):
        low, high = bellman_step(u, u_next, policy_pair, rising, slack, value, shortfall, order, problem)
        if high - low < tolerance:
            if not eliminated:
                return policy_pair, rising, step + 1, low, high, True
            slack[:] = 0.0  # the last step must be over all actions
            eliminated = False
            continue
        rows = policy_rows(u, policy_pair, rising, order, problem)
        moved = correct(u, u_next, low, high, y, max(0.1 * tolerance, 0.01 * (high - low)), passes, rows)
        moved = moved * (1.0 + 1e-9) + 1e-12 * (np.abs(u).max() + 1.0)
        # Passing over actions pays only while the policy still changes: where it has settled, the next step may be the last.
        eliminated = step > 0 and (policy_pair != before).sum() > n_states // 50
        before[:] = policy_pair
        for i in range(len(slack)):
            slack[i] = slack[i] - moved if eliminated else 0.0
    return policy_pair, rising, max_steps, low, high, False
