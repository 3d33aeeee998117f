"""Extended value iteration: one Bellman step over every plausible model at once, and the iteration to the printed stop.

Rows hold the successors seen from a pair; a pair without data has an empty row and may go anywhere.  The best row in an L1
ball moves `reach` (half the radius) from the worst successors to the best state, so with the shortfall d(j) = max u - u(j)

    max_p Σ_j p(j) u(j)  =  max u  -  Σ_j kept(j) d(j),

where `kept` is the empirical row without the `reach` of mass on its worst successors.  Only the successors seen matter: no
vector over the states is needed per pair.  With known supports rows hold the whole support (zeros included) and the best
state is the best of the row.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.jit import kernel


class Extended(NamedTuple):
    """An L1 confidence set as planning needs it, in uniformised units.

    `slow`, `fast` are the ends of the rate intervals over rate_max, `running` is the running reward over rate_max.
    """

    pair_start: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    reach: np.ndarray
    slow: np.ndarray
    fast: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    supports_known: bool
    has_full_rows: bool  # whether some row is over all states, in their order


def inner_maximum_reference(u, next_state, probability, reach, supports_known):
    """Return max Σ p(j) u(j) over ‖p - p̂‖₁ <= 2 reach, p a distribution: add to the best, take from the worst (eq:P-CI)."""
    allowed = next_state if supports_known else np.arange(len(u))
    best = allowed[np.argmax(u[allowed])]
    if probability.sum() == 0:
        return u[best]
    p = np.zeros(len(u))
    p[next_state] = probability
    p[best] = min(1.0, p[best] + reach)
    for worst in np.argsort(u, kind="stable"):
        excess = p.sum() - 1.0
        if excess <= 0:
            break
        if worst != best:
            p[worst] = max(0.0, p[worst] - excess)
    return (p * u).sum()


def bellman_step_reference(u, problem):
    """Return (u_next, pair per state, whether it takes its largest rate): one step of eq:EVI; ties go to the lowest action."""
    pair_start, row_start, next_state, probability, reach, slow, fast, reward, running, supports_known, _ = problem
    u_next, pairs, rising = [], [], []
    for s in range(len(u)):
        values, brackets = [], []
        for i in range(pair_start[s], pair_start[s + 1]):
            row = slice(row_start[i], row_start[i + 1])
            q = inner_maximum_reference(u, next_state[row], probability[row], reach[i], supports_known)
            brackets.append(reward[i] + q - u[s])
            values.append(brackets[-1] * (fast[i] if brackets[-1] >= 0 else slow[i]) + running[i])
        a = int(np.argmax(values))
        u_next.append(values[a] + u[s])
        pairs.append(pair_start[s] + a)
        rising.append(brackets[a] >= 0)
    return np.array(u_next), np.array(pairs), np.array(rising)


def extended_value_iteration_reference(u, tolerance, max_sweeps, damping, problem):
    """Return (u, pair per state, rising, sweeps, low, high, converged) at the first span(Tu - u) < tolerance (eq:stop)."""
    for sweep in range(max_sweeps):
        u_next, pairs, rising = bellman_step_reference(u, problem)
        step = u_next - u
        low, high = step.min(), step.max()
        if high - low < tolerance:
            return u, pairs, rising, sweep + 1, low, high, True
        u = u + damping * step if damping != 1.0 else u_next
    return u, pairs, rising, max_sweeps, low, high, False


@kernel
def sort_row(begin, end, next_state, probability, shortfall):
    """Order one row worst first, in place: Shell's sort, a single pass where the order of the last sweep still holds."""
    gap = 1
    while end - begin > 24 and 9 * gap < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(begin + gap, end):
            j = next_state[k]
            d = shortfall[j]
            i = k
            if shortfall[next_state[i - gap]] < d:
                p = probability[k]
                while i >= begin + gap and shortfall[next_state[i - gap]] < d:
                    next_state[i] = next_state[i - gap]
                    probability[i] = probability[i - gap]
                    i -= gap
                next_state[i] = j
                probability[i] = p
        gap //= 3


@kernel
def kept_shortfall(begin, end, next_state, probability, shortfall, floor, reach):
    """Return Σ kept(j) (d(j) - floor) over a row, or -1 if the successors that lose mass are not the row's worst in order."""
    left = reach
    before = np.inf
    k = begin
    total = 0.0
    while k < end:
        d = shortfall[next_state[k]]
        if d > before:
            return -1.0
        before = d
        p = probability[k]
        k += 1
        if left < p:
            total = (p - left) * (d - floor)
            break
        left -= p
    in_order = True
    for rest in range(k, end):
        d = shortfall[next_state[rest]]
        in_order &= d <= before
        total += probability[rest] * (d - floor)
    return total if in_order else -1.0


@kernel
def full_row_shortfall(begin, probability, shortfall, order, reach):
    """The same for a row over all states in their natural order; `order` lists the states worst first."""
    n = len(shortfall)
    a = 0.0
    b = 0.0
    c = 0.0
    e = 0.0
    whole = n - n % 4
    row = probability[begin : begin + n]
    for j in range(0, whole, 4):
        a += row[j] * shortfall[j]
        b += row[j + 1] * shortfall[j + 1]
        c += row[j + 2] * shortfall[j + 2]
        e += row[j + 3] * shortfall[j + 3]
    for j in range(whole, n):
        a += row[j] * shortfall[j]
    taken = 0.0
    left = reach
    for i in range(n):
        j = order[i]
        d = shortfall[j]
        if d <= 0.0:
            return 0.0
        p = row[j]
        if left < p:
            return max(0.0, (a + b) + (c + e) - (taken + left * d))
        left -= p
        taken += p * d
    return 0.0


@kernel
def sorted_shortfall(begin, end, next_state, probability, shortfall, supports_known, reach):
    """Put a row in order and return the shortfall of its best plausible mean (known supports: the best is the row's own)."""
    sort_row(begin, end, next_state, probability, shortfall)
    floor = shortfall[next_state[end - 1]] if supports_known else 0.0
    return floor + kept_shortfall(begin, end, next_state, probability, shortfall, floor, reach)


@kernel
def bellman_step(u, u_next, policy_pair, rising, slack, value, shortfall, order, problem):
    """Fill u_next, policy_pair, rising; put rows in order.  Returns (min, max) of u_next - u.

    Pairs with slack > 0 are known to be worse than the best and are passed over; the slack of the others becomes their
    distance to the best; None means no elimination.  `order`, any permutation of the states, is put worst first where some
    row is full.
    """
    pair_start, row_start, next_state, probability, reach = (problem.pair_start, problem.row_start, problem.next_state,
                                                             problem.probability, problem.reach)
    slow, fast, reward, running = problem.slow, problem.fast, problem.reward, problem.running
    supports_known, has_full_rows = problem.supports_known, problem.has_full_rows
    n_states = len(u)
    top = u.max()
    for s in range(n_states):
        shortfall[s] = top - u[s]
    if has_full_rows:
        sort_row(0, n_states, order, np.empty(n_states), shortfall)
    low = np.inf
    high = -np.inf
    for s in range(n_states):
        best = -np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            if slack is not None and slack[i] > 0.0:
                continue
            begin = row_start[i]
            end = row_start[i + 1]
            if has_full_rows and end - begin == n_states:
                lost = full_row_shortfall(begin, probability, shortfall, order, reach[i])
            else:
                lost = -1.0 if supports_known else kept_shortfall(begin, end, next_state, probability, shortfall, 0.0, reach[i])
                if lost < 0.0:
                    lost = sorted_shortfall(begin, end, next_state, probability, shortfall, supports_known, reach[i])
            bracket = reward[i] + (top - lost) - u[s]
            worth = bracket * (fast[i] if bracket >= 0.0 else slow[i]) + running[i]
            if slack is not None:
                value[i] = worth
            if worth > best:
                best = worth
                policy_pair[s] = i
                rising[s] = bracket >= 0.0
        if slack is not None:
            for i in range(pair_start[s], pair_start[s + 1]):
                if slack[i] <= 0.0:
                    slack[i] = best - value[i]
        u_next[s] = best + u[s]
        step = u_next[s] - u[s]
        low = min(low, step)
        high = max(high, step)
    return low, high


@kernel
def extended_value_iteration(u, tolerance, max_sweeps, damping, problem):
    """Iterate in place on u and on the order within rows.  Returns (pair, rising, sweeps, low, high, converged)."""
    n_states = len(u)
    u_next, shortfall, order = np.empty(n_states), np.empty(n_states), np.arange(n_states)
    policy_pair, rising = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.bool_)
    low, high = -np.inf, np.inf
    for sweep in range(max_sweeps):
        low, high = bellman_step(u, u_next, policy_pair, rising, None, None, shortfall, order, problem)
        if high - low < tolerance:
            return policy_pair, rising, sweep + 1, low, high, True
        for s in range(n_states):
            u[s] = u_next[s] if damping == 1.0 else u[s] + damping * (u_next[s] - u[s])
    return policy_pair, rising, max_sweeps, low, high, False
