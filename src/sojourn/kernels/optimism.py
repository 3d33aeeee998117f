"""Extended value iteration: one Bellman step over every plausible model at once, and the iteration to the printed stop.

Rows hold the successors seen from a pair; a pair without data has an empty row and may go anywhere.  The best row in an L1
ball moves `reach` (half the radius) from the worst successors to the best state, so with the shortfall d(j) = max u - u(j)

    max_p Σ_j p(j) u(j)  =  max u  -  Σ_j kept(j) d(j),

where `kept` is the empirical row without the `reach` of mass on its worst successors.  Only the successors seen matter: no
vector over the states is needed per pair.  With known supports rows hold the whole support (zeros included) and the best
state is the best of the row.
"""

import numpy as np

from sojourn.kernels.jit import kernel


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


def bellman_step_reference(u, pair_start, row_start, next_state, probability, reach, rate_low, rate_high, reward, running,
                           rate_max, supports_known):
    """Return (u_next, pair per state, rate per state): one step of eq:EVI; ties go to the lowest action."""
    pairs, rates, u_next = [], [], []
    for s in range(len(u)):
        values, chosen = [], []
        for i in range(pair_start[s], pair_start[s + 1]):
            row = slice(row_start[i], row_start[i + 1])
            q = inner_maximum_reference(u, next_state[row], probability[row], reach[i], supports_known)
            bracket = reward[i] + q - u[s]
            rate = rate_high[i] if bracket >= 0 else rate_low[i]
            values.append(bracket * rate / rate_max + running[i] / rate_max)
            chosen.append(rate)
        a = int(np.argmax(values))
        pairs.append(pair_start[s] + a)
        rates.append(chosen[a])
        u_next.append(values[a] + u[s])
    return np.array(u_next), np.array(pairs), np.array(rates)


def extended_value_iteration_reference(u, tolerance, max_sweeps, damping, *extended):
    """Return (u, pair per state, rate per state, sweeps, low, high, converged) at the first span(Tu - u) < tolerance (eq:stop)."""
    for sweep in range(max_sweeps):
        u_next, pairs, rates = bellman_step_reference(u, *extended)
        step = u_next - u
        low, high = step.min(), step.max()
        if high - low < tolerance:
            return u, pairs, rates, sweep + 1, low, high, True
        u = u + damping * step if damping != 1.0 else u_next
    return u, pairs, rates, max_sweeps, low, high, False


@kernel
def sort_row(begin, end, next_state, probability, shortfall):
    """Order one row worst first, in place; nearly free where the order of the last sweep still holds."""
    budget = 8 * (end - begin)
    for k in range(begin + 1, end):
        j = next_state[k]
        d = shortfall[j]
        if d <= shortfall[next_state[k - 1]]:
            continue
        p = probability[k]
        i = k
        while i > begin and shortfall[next_state[i - 1]] < d:
            next_state[i] = next_state[i - 1]
            probability[i] = probability[i - 1]
            i -= 1
        next_state[i] = j
        probability[i] = p
        budget -= k - i
        if budget < 0:
            order = np.argsort(-shortfall[next_state[begin:end]])
            next_state[begin:end] = next_state[begin:end][order]
            probability[begin:end] = probability[begin:end][order]
            return


@kernel
def kept_shortfall(begin, end, next_state, probability, shortfall, floor, reach):
    """Return Σ kept(j) (d(j) - floor) over a row ordered worst first."""
    total = 0.0
    left = reach
    for k in range(begin, end):
        d = shortfall[next_state[k]] - floor
        if d <= 0.0:
            break
        p = probability[k]
        if left >= p:
            left -= p
        else:
            total += (p - left) * d
            left = 0.0
    return total


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
def bellman_step(u, u_next, policy_pair, chosen_rate, shortfall, pair_start, row_start, next_state, probability, reach,
                 rate_low, rate_high, reward, running, rate_max, supports_known, has_full_rows):
    """Fill u_next, policy_pair and chosen_rate; rows are reordered in place.  Returns (min, max) of u_next - u."""
    n_states = len(u)
    top = u.max()
    for s in range(n_states):
        shortfall[s] = top - u[s]
    order = np.argsort(-shortfall) if has_full_rows else np.empty(0, dtype=np.int64)
    low = np.inf
    high = -np.inf
    for s in range(n_states):
        best = -np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            begin = row_start[i]
            end = row_start[i + 1]
            floor = 0.0
            if has_full_rows and end - begin == n_states:
                q = top - full_row_shortfall(begin, probability, shortfall, order, reach[i])
            else:
                sort_row(begin, end, next_state, probability, shortfall)
                if supports_known:
                    floor = shortfall[next_state[end - 1]]
                lost = kept_shortfall(begin, end, next_state, probability, shortfall, floor, reach[i])
                q = (u[next_state[end - 1]] if supports_known else top) - lost
            bracket = reward[i] + q - u[s]
            rate = rate_high[i] if bracket >= 0.0 else rate_low[i]
            value = bracket * rate / rate_max + running[i] / rate_max
            if value > best:
                best = value
                policy_pair[s] = i
                chosen_rate[s] = rate
        u_next[s] = best + u[s]
        step = u_next[s] - u[s]
        low = min(low, step)
        high = max(high, step)
    return low, high


@kernel
def extended_value_iteration(u, tolerance, max_sweeps, damping, pair_start, row_start, next_state, probability, reach,
                             rate_low, rate_high, reward, running, rate_max, supports_known, has_full_rows):
    """Iterate in place on u and on the order within rows.  Returns (pair, rate, sweeps, low, high, converged)."""
    n_states = len(u)
    u_next = np.empty(n_states)
    shortfall = np.empty(n_states)
    policy_pair = np.zeros(n_states, dtype=np.int64)
    chosen_rate = np.zeros(n_states)
    low = -np.inf
    high = np.inf
    for sweep in range(max_sweeps):
        low, high = bellman_step(u, u_next, policy_pair, chosen_rate, shortfall, pair_start, row_start, next_state, probability,
                                 reach, rate_low, rate_high, reward, running, rate_max, supports_known, has_full_rows)
        if high - low < tolerance:
            return policy_pair, chosen_rate, sweep + 1, low, high, True
        for s in range(n_states):
            u[s] = u_next[s] if damping == 1.0 else u[s] + damping * (u_next[s] - u[s])
    return policy_pair, chosen_rate, max_sweeps, low, high, False
