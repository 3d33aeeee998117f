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


def bellman_step_reference(u, pair_start, row_start, next_state, probability, reach, slow, fast, reward, running, supports_known):
    """Return (u_next, pair per state, whether it takes its largest rate): one step of eq:EVI; ties go to the lowest action.

    `slow`, `fast` are the ends of the rate intervals over rate_max, `running` is the running reward over rate_max.
    """
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


def extended_value_iteration_reference(u, tolerance, max_sweeps, damping, *problem):
    """Return (u, pair per state, rising, sweeps, low, high, converged) at the first span(Tu - u) < tolerance (eq:stop)."""
    for sweep in range(max_sweeps):
        u_next, pairs, rising = bellman_step_reference(u, *problem)
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
def bellman_step(u, u_next, policy_pair, rising, slack, value, shortfall, order, pair_start, row_start, next_state,
                 probability, reach, slow, fast, reward, running, supports_known, has_full_rows):
    """Fill u_next, policy_pair, rising; put rows in order.  Returns (min, max) of u_next - u.

    Pairs with slack > 0 are known to be worse than the best and are passed over; the slack of the others becomes their
    distance to the best; None means no elimination.  `order`, any permutation of the states, is put worst first where some
    row is full.
    """
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
def extended_value_iteration(u, tolerance, max_sweeps, damping, pair_start, row_start, next_state, probability, reach,
                             slow, fast, reward, running, supports_known, has_full_rows):
    """Iterate in place on u and on the order within rows.  Returns (pair, rising, sweeps, low, high, converged)."""
    n_states = len(u)
    u_next, shortfall, order = np.empty(n_states), np.empty(n_states), np.arange(n_states)
    policy_pair, rising = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.bool_)
    low, high = -np.inf, np.inf
    for sweep in range(max_sweeps):
        low, high = bellman_step(u, u_next, policy_pair, rising, None, None, shortfall, order, pair_start, row_start, next_state,
                                 probability, reach, slow, fast, reward, running, supports_known, has_full_rows)
        if high - low < tolerance:
            return policy_pair, rising, sweep + 1, low, high, True
        for s in range(n_states):
            u[s] = u_next[s] if damping == 1.0 else u[s] + damping * (u_next[s] - u[s])
    return policy_pair, rising, max_sweeps, low, high, False


@kernel
def policy_rows(u, policy_pair, rising, order, row_start, next_state, probability, reach, slow, fast, supports_known,
                has_full_rows):
    """Return the chosen rows as they are in the optimistic model, without their self-loops: (start, state, weight, 1/pace).

    With pace(s) the rate over rate_max times the chance to leave, the policy's values solve
    u(s) = (reward per uniformised step - gain)/pace(s) + Σ weight u(state).
    """
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
def fast_extended_value_iteration(u, y, tolerance, max_steps, passes, pair_start, row_start, next_state, probability, reach,
                                  slow, fast, reward, running, supports_known, has_full_rows):
    """Improve u in place until one full Bellman step has span < tolerance.  Returns (pair, rising, steps, low, high, converged)."""
    n_states = len(u)
    u_next, shortfall, order = np.empty(n_states), np.empty(n_states), np.arange(n_states)
    policy_pair, rising = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.bool_)
    slack, value = np.zeros(len(reward)), np.zeros(len(reward))
    before = np.zeros(n_states, dtype=np.int64)
    low, high = -np.inf, np.inf
    eliminated = False
    for step in range(max_steps):
        low, high = bellman_step(u, u_next, policy_pair, rising, slack, value, shortfall, order, pair_start, row_start, next_state,
                                 probability, reach, slow, fast, reward, running, supports_known, has_full_rows)
        if high - low < tolerance:
            if not eliminated:
                return policy_pair, rising, step + 1, low, high, True
            slack[:] = 0.0  # the last step must be over all actions
            eliminated = False
            continue
        rows = policy_rows(u, policy_pair, rising, order, row_start, next_state, probability, reach, slow, fast, supports_known,
                           has_full_rows)
        moved = correct(u, u_next, low, high, y, max(0.1 * tolerance, 0.01 * (high - low)), passes, rows)
        moved = moved * (1.0 + 1e-9) + 1e-12 * (np.abs(u).max() + 1.0)
        # Passing over actions pays only while the policy still changes: where it has settled, the next step may be the last.
        eliminated = step > 0 and (policy_pair != before).sum() > n_states // 50
        before[:] = policy_pair
        for i in range(len(slack)):
            slack[i] = slack[i] - moved if eliminated else 0.0
    return policy_pair, rising, max_steps, low, high, False
