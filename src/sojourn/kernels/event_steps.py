"""Steps of policy iteration over an event table with too many states to eliminate: one Bellman step, and a policy's equations."""

import numpy as np

from sojourn.kernels.event_planning import pair_value, pair_value_reference
from sojourn.kernels.jit import kernel

ROUNDING = 1e-12  # an improvement must be larger than this share of the values


def event_step_reference(rows, low, high, gain, bias, slack, pair, chosen):
    """Improve `pair` in place where that pays at (gain, bias); return (least, most, changes), write the best rates into `chosen`.

    A pair chosen before is kept unless another one is better by more than `slack` times its own distance from the gain.  least
    and most are over states of the best value of a unit of time: the optimal gain lies between them.
    """
    n, tops, changes = len(rows.pair_start) - 1, [], 0
    for s in range(n):
        value = {i: pair_value_reference(i, s, rows, low, high, bias, chosen)
                 for i in range(rows.pair_start[s], rows.pair_start[s + 1])}
        best, old = max(value, key=lambda i: value[i]), value[pair[s]]
        if value[best] > old + slack * abs(old - gain) + ROUNDING * abs(old):
            pair[s] = best
            changes += 1
        tops.append(value[best])
    return min(tops), max(tops), changes


@kernel
def event_step(rows, low, high, gain, bias, slack, pair, chosen):
    """See `event_step_reference`."""
    n, changes = len(rows.pair_start) - 1, 0
    least, most = np.inf, -np.inf
    for s in range(n):
        top, best, old = -np.inf, pair[s], 0.0
        for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
            value = pair_value(i, s, rows, low, high, bias, chosen)
            if value > top:
                top, best = value, i
            if i == pair[s]:
                old = value
        if top > old + slack * abs(old - gain) + ROUNDING * abs(old):
            pair[s] = best
            changes += 1
        least, most = min(least, top), max(most, top)
    return least, most, changes


def policy_equations_reference(rows, chosen, pair):
    """Return (start, to, intensity, out, income) of the policy `pair` at the intensities `chosen`, self-jumps left out."""
    start, to, intensity, out, income = [0], [], [], [], []
    for s, i in enumerate(pair):
        mine = range(rows.row_start[i], rows.row_start[i + 1])
        jumps = [r for r in mine if rows.next_state[r] >= 0 and rows.next_state[r] != s]
        to += [rows.next_state[r] for r in jumps]
        intensity += [chosen[r] for r in jumps]
        out.append(sum(chosen[r] for r in jumps))
        income.append(rows.running[i] + sum(chosen[r] * (rows.payment[r] + (rows.reward[i] if rows.next_state[r] >= 0 else 0.0))
                                            for r in mine))
        start.append(len(to))
    return np.array(start), np.array(to, dtype=np.int32), np.array(intensity), np.array(out), np.array(income)


@kernel
def policy_equations(rows, chosen, pair):
    """See `policy_equations_reference`."""
    n, room = len(pair), 0
    for s in range(n):
        room += rows.row_start[pair[s] + 1] - rows.row_start[pair[s]]
    start, out, income = np.empty(n + 1, dtype=np.int64), np.zeros(n), np.empty(n)
    to, intensity = np.empty(room, dtype=np.int32), np.empty(room)
    at = 0
    start[0] = 0
    for s in range(n):
        i = pair[s]
        income[s] = rows.running[i]
        for r in range(rows.row_start[i], rows.row_start[i + 1]):
            y = rows.next_state[r]
            income[s] += chosen[r] * rows.payment[r]
            if y >= 0:
                income[s] += chosen[r] * rows.reward[i]
                if y != s:
                    to[at], intensity[at] = y, chosen[r]
                    out[s] += chosen[r]
                    at += 1
        start[s + 1] = at
    return start, to[:at], intensity[:at], out, income
