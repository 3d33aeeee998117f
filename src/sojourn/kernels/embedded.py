"""Sweeps at the jumps of a model (its embedded chain), and one Bellman step with what it proves.

A visit to a pair k earns r_k = reward + running/λ and lasts τ_k = 1/λ.  Sweeps of one policy run in place (Gauss-Seidel), for
reward and time together: x <- r + P x and y <- τ + P y.  Both drift upwards; the ratio of the drifts is the gain,
x - gain y the bias.
"""

import numpy as np

from sojourn.kernels.jit import kernel

EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 32 * EPSILON  # of values that are compared
TINY = 5e-324  # what one product may lose to underflow


def chosen_rows_reference(row_start, next_state, probability, rate, visit, pairs):
    """Return (start, next, probability, reward, time) of the chain that chooses `pairs[s]` in state s; indices in 32 bits."""
    lengths = np.array([row_start[k + 1] - row_start[k] for k in pairs])
    jumps = np.concatenate([np.arange(row_start[k], row_start[k + 1]) for k in pairs])
    start = np.concatenate([[0], np.cumsum(lengths)])
    return start, next_state[jumps].astype(np.int32), probability[jumps], visit[pairs], 1.0 / rate[pairs]


@kernel
def chosen_rows(row_start, next_state, probability, rate, visit, pairs):
    """See `chosen_rows_reference`."""
    n = pairs.size
    start = np.empty(n + 1, dtype=np.int64)
    start[0] = 0
    for s in range(n):
        start[s + 1] = start[s] + row_start[pairs[s] + 1] - row_start[pairs[s]]
    to, p = np.empty(start[n], dtype=np.int32), np.empty(start[n])
    reward, time = np.empty(n), np.empty(n)
    at = 0
    for s in range(n):
        k = pairs[s]
        reward[s], time[s] = visit[k], 1.0 / rate[k]
        for i in range(row_start[k], row_start[k + 1]):
            to[at], p[at] = next_state[i], probability[i]
            at += 1
    return start, to, p, reward, time


def sweep_pair_reference(start, to, p, reward, time, xy, backward, stretch=1.0):
    """Sweep (x, y) = `xy` once in place, in ascending or descending order; return (gain, width).

    gain is the mean growth of x over that of y, width the largest less the least growth of x - gain y.  Each change is taken
    `stretch` times (successive over-relaxation).
    """
    before = xy.copy()
    for s in range(len(reward))[:: -1 if backward else 1]:
        row = slice(start[s], start[s + 1])
        mean = p[row] @ xy[to[row]]
        xy[s] += stretch * (np.array([mean[0] + reward[s], mean[1] + time[s]]) - xy[s])
    grown = xy - before
    gain = grown[:, 0].mean() / grown[:, 1].mean()
    off = grown @ np.array([1.0, -gain])
    return gain, off.max() - off.min()


@kernel
def sweep_pair(start, to, p, reward, time, xy, grown, backward, stretch=1.0):
    """See `sweep_pair_reference`; `grown` (as large as `xy`) is scratch."""
    n = reward.size
    total_x, total_y = 0.0, 0.0
    for step in range(n):
        s = n - 1 - step if backward else step
        x, y = reward[s], time[s]
        for i in range(start[s], start[s + 1]):
            j, q = to[i], p[i]
            x += q * xy[j, 0]
            y += q * xy[j, 1]
        dx, dy = x - xy[s, 0], y - xy[s, 1]
        if stretch != 1.0:
            dx *= stretch
            dy *= stretch
            x = xy[s, 0] + dx
            y = xy[s, 1] + dy
        grown[s, 0], grown[s, 1] = dx, dy
        xy[s, 0], xy[s, 1] = x, y
        total_x += dx
        total_y += dy
    gain = total_x / total_y
    least, most = np.inf, -np.inf
    for s in range(n):
        off = grown[s, 0] - gain * grown[s, 1]
        least, most = min(least, off), max(most, off)
    return gain, most - least


@kernel
def sweep_both(start, to, p, reward, time, xy, backward, stretch):
    """As `sweep_pair`, for unsigned indices and without a width: return the total growth of x and of y."""
    n = reward.size
    total_x, total_y = 0.0, 0.0
    for step in range(n):
        s = n - 1 - step if backward else step
        x, y = reward[s] - xy[s, 0], time[s] - xy[s, 1]
        for i in range(start[s], start[s + 1]):
            j, q = to[i], p[i]
            x += q * xy[j, 0]
            y += q * xy[j, 1]
        x *= stretch
        y *= stretch
        xy[s, 0] += x
        xy[s, 1] += y
        total_x += x
        total_y += y
    return total_x, total_y


@kernel
def stand_in_rows(start, to):
    """Return whether most states jump to the one before or after them, as on grids, judged by the first thousand."""
    n = min(start.size - 1, 1000)
    found = 0
    for s in range(n):
        for i in range(start[s], start[s + 1]):
            if to[i] == s + 1 or to[i] + 1 == s:
                found += 1
                break
    return 2 * found > n


@kernel
def sweep_rows(start, to, p, reward, time, xy, grown, kept, backward, stretch):
    """As `sweep_both`, where states stand in rows; `grown` is filled if `kept`.

    What comes from the state just swept is added last: a processor can sum up the rest of a row before it knows that.
    """
    n = reward.size
    total_x, total_y, last_x, last_y = 0.0, 0.0, 0.0, 0.0
    first, way = (n - 1, -1) if backward else (0, 1)
    for step in range(n):
        s = first + way * step
        x, y, near, before = reward[s] - xy[s, 0], time[s] - xy[s, 1], 0.0, s - way
        for i in range(start[s], start[s + 1]):
            j, q = to[i], p[i]
            if j == before:
                near += q
            else:
                x += q * xy[j, 0]
                y += q * xy[j, 1]
        near *= stretch
        x *= stretch
        y *= stretch
        from_x, from_y = near * last_x, near * last_y
        last_x, last_y = (xy[s, 0] + x) + from_x, (xy[s, 1] + y) + from_y
        xy[s, 0], xy[s, 1] = last_x, last_y
        x += from_x
        y += from_y
        if kept:
            grown[s, 0], grown[s, 1] = x, y
        total_x += x
        total_y += y
    return total_x, total_y


@kernel
def spread(grown, gain):
    """Return the largest less the least growth of x - gain y."""
    least, most = np.inf, -np.inf
    for s in range(grown.shape[0]):
        off = grown[s, 0] - gain * grown[s, 1]
        least, most = min(least, off), max(most, off)
    return most - least


@kernel
def sweep_on(start, to, p, reward, time, xy, grown, done, most, share, stretch, in_rows):
    """Sweep until the width is `share` of what it was at first, or `most` times; return (gain, sweeps made).

    Every third sweep goes backward, `done` of them were made before: values mostly spread from the first states, which chains come
    back to, to the last.  The width is looked at at the first sweep, the third, the fifth ...
    """
    gain, first = 0.0, 0.0
    for sweep in range(most):
        looked_at, backward = sweep % 2 == 0, (done + sweep) % 3 == 2
        if in_rows:
            total_x, total_y = sweep_rows(start, to, p, reward, time, xy, grown, looked_at, backward, stretch)
            gain = total_x / total_y
            width = spread(grown, gain) if looked_at else 0.0
        elif looked_at:
            gain, width = sweep_pair(start, to, p, reward, time, xy, grown, backward, stretch)
        else:
            total_x, total_y = sweep_both(start, to, p, reward, time, xy, backward, stretch)
            gain = total_x / total_y
        if looked_at:
            if sweep > 0 and width <= share * first:
                return gain, sweep + 1
            first = max(first, width)
    return gain, most


def best_step_reference(pair_start, row_start, next_state, probability, rate, income, gain, u, slack, first, last, choice):
    """Write the best pair of the states `first` to `last` at (gain, u) into `choice`; return (min, max, changes).

    The best is the first that maximizes (income - gain)/λ + Σ_j p(j) (u(j) - u(s)); a pair chosen before is kept unless another one
    is better by more than rounding and more than `slack` times its own distance from 0.  min and max are over states of
    max_a income + λ Σ_j p(j) (u(j) - u(s)): up to rounding, the optimal gain lies between them.
    """
    least, most, changes = np.inf, -np.inf, 0
    for s in range(first, last):
        top, value, size = -np.inf, {}, {}
        for k in range(pair_start[s], pair_start[s + 1]):
            row = slice(row_start[k], row_start[k + 1])
            moves = probability[row] * (u[next_state[row]] - u[s])
            value[k] = (income[k] - gain) / rate[k] + moves.sum()
            size[k] = (abs(income[k]) + abs(gain)) / rate[k] + np.abs(moves).sum()
            top = max(top, income[k] + rate[k] * moves.sum())
        best, old = max(value, key=lambda k: value[k]), choice[s]
        if old in value:
            bar = value[old] + slack * abs(value[old]) + 16 * EPSILON * (size[best] + size[old])
        if best != old and (old not in value or value[best] > bar):
            choice[s] = best
            changes += 1
        least, most = min(least, top), max(most, top)
    return least, most, changes


@kernel
def size_of(k, row_start, next_state, probability, rate, income, gain, u, own):
    """Return the sum of the sizes of what makes up the value of pair k: what its rounding is measured by."""
    apart = 0.0
    for i in range(row_start[k], row_start[k + 1]):
        apart += abs(probability[i] * (u[next_state[i]] - own))
    return (abs(income[k]) + abs(gain)) / rate[k] + apart


@kernel
def best_step(pair_start, row_start, next_state, probability, rate, income, gain, u, slack, first, last, choice):
    """See `best_step_reference`."""
    least, most, changes = np.inf, -np.inf, 0
    for s in range(first, last):
        top, best, best_pair = -np.inf, -np.inf, -1
        old, old_value = choice[s], -1e300
        own = u[s]
        for k in range(pair_start[s], pair_start[s + 1]):
            total = 0.0
            for i in range(row_start[k], row_start[k + 1]):
                total += probability[i] * (u[next_state[i]] - own)
            top = max(top, income[k] + rate[k] * total)
            value = (income[k] - gain) / rate[k] + total
            if value > best:
                best, best_pair = value, k
            if k == old:
                old_value = value
        if best_pair != old and best > old_value + slack * abs(old_value):
            size = size_of(best_pair, row_start, next_state, probability, rate, income, gain, u, own)
            if old >= 0:
                size += size_of(old, row_start, next_state, probability, rate, income, gain, u, own)
            if best > old_value + slack * abs(old_value) + 16 * EPSILON * size:
                choice[s] = best_pair
                changes += 1
        least, most = min(least, top), max(most, top)
    return least, most, changes


def best_sweep_reference(pair_start, row_start, next_state, probability, rate, income, gain, u, backward, choice):
    """Set u(s) to the best of (income - gain)/λ + Σ_j p(j) u(j) in place, in ascending or descending order; return the changes.

    `choice` takes the pair that is best, and keeps the one it has where that is as good up to rounding: where values are large,
    pairs taken by their rounding undo what the policy was improved by.
    """
    changes = 0
    for s in range(len(u))[:: -1 if backward else 1]:
        value = {}
        for k in range(pair_start[s], pair_start[s + 1]):
            row = slice(row_start[k], row_start[k + 1])
            value[k] = (income[k] - gain) / rate[k] + probability[row] @ u[next_state[row]]
        best = max(value, key=lambda k: value[k])
        old = value.get(choice[s], -np.inf)
        if old < value[best] and not value[best] - old <= ROUNDING * (abs(value[best]) + abs(old)):
            choice[s] = best
            changes += 1
        u[s] = value[best]
    return changes


@kernel
def best_sweep(pair_start, row_start, next_state, probability, rate, income, gain, u, backward, choice):
    """See `best_sweep_reference`."""
    n, changes = u.size, 0
    for step in range(n):
        s = n - 1 - step if backward else step
        best, best_pair, old, old_value = -np.inf, -1, choice[s], -np.inf
        for k in range(pair_start[s], pair_start[s + 1]):
            value = (income[k] - gain) / rate[k]
            for i in range(row_start[k], row_start[k + 1]):
                value += probability[i] * u[next_state[i]]
            if value > best:
                best, best_pair = value, k
            if k == old:
                old_value = value
        if old_value < best and not best - old_value <= ROUNDING * (abs(best) + abs(old_value)):
            choice[s] = best_pair
            changes += 1
        if best_pair >= 0:
            u[s] = best
    return changes


@kernel
def settled(xy, gain, u):
    """Set u = x - gain y, less its value in state 0, and bring (x, y) back to 0 there."""
    x, y = xy[0, 0], xy[0, 1]
    for s in range(u.size):
        time = xy[s, 1] - y
        u[s] = (xy[s, 0] - x) - gain * time
        xy[s, 1] = time
        xy[s, 0] = u[s] + gain * time
