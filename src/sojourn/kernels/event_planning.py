"""The best policy where every rate lies between two ends, by policy iteration from a given policy: how event learners plan.

In pair p a unit of time is worth  running + Σ_k θ_k b_k(p),  b_k(p) = Σ_y c_k(p,y) (pay + [jump] (r(p) + h(y) - h(s))): linear in
the rates, so that the best θ_k within [low_k, high_k] is one of the ends, by the sign of b_k(p).  With low = high this is an
ordinary policy iteration; otherwise an optimistic one, in which every pair may have its own rates.

A policy's gain g and bias h solve  value(p) = g  in every state, with h = 0 in a reference state.  The matrix is an M-matrix, and
banded when the states are taken in the order `place`, so it is eliminated without exchanges and without a subtraction.  Every state
restarts in the reference state at a tiny rate, so that the equations of every policy can be solved.  Digits of the bias are lost
where the reference state is hardly ever met; so a state in which the policy spends most time takes its place.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.jit import inner, kernel

RESTART = 1e-20  # of the mean rate of jumps: so slow that no policy whose states hang together is valued otherwise
BETTER = 10.0  # times the time spent in the reference state: from there on a state in which more is spent takes its place
IMPROVEMENTS = 100  # from there on an improvement must also raise the gain, so that rounding cannot go round in circles
NEGLIGIBLE = 1e-10  # an improvement must be larger than this, times the size of the terms of the two values that are compared
ROUNDING = 1e-14  # of all incomes, and all time at the gain, that make up a bias: digits that it does not have


class EventRows(NamedTuple):
    """An event table as kernels take it: rows of pair i from row_start[i], sorted by event; next_state -1 leads nowhere."""

    pair_start: np.ndarray  # int64[S+1]
    row_start: np.ndarray  # int64[P+1]
    next_state: np.ndarray  # int64[R]
    event: np.ndarray  # int64[R]
    coefficient: np.ndarray  # float64[R]
    payment: np.ndarray  # float64[R]
    reward: np.ndarray  # float64[P]
    running: np.ndarray  # float64[P]


def pair_value_reference(i, s, rows, low, high, bias, chosen):
    """Return the largest value of a unit of time in pair i of state s; write the intensities that give it into `chosen`."""
    mine = np.arange(rows.row_start[i], rows.row_start[i + 1])
    total = rows.running[i]
    for k in dict.fromkeys(rows.event[mine].tolist()):
        of_k = mine[rows.event[mine] == k]
        worth = 0.0
        for r in of_k:
            y = rows.next_state[r]
            worth += rows.coefficient[r] * (rows.payment[r] + (rows.reward[i] + bias[y] - bias[s] if y >= 0 else 0.0))
        theta = high[k] if worth > 0 else low[k]
        chosen[of_k] = theta * rows.coefficient[of_k]
        total += theta * worth
    return total


@inner
def pair_value(i, s, rows, low, high, bias, chosen):
    next_state, event, coefficient, payment, reward = rows.next_state, rows.event, rows.coefficient, rows.payment, rows.reward[i]
    total, here = rows.running[i], bias[s]
    r, end = rows.row_start[i], rows.row_start[i + 1]
    while r < end:
        k, first, worth = event[r], r, 0.0
        while r < end and event[r] == k:
            y = next_state[r]
            if y >= 0:
                worth += coefficient[r] * (payment[r] + (reward + bias[y] - here))
            else:
                worth += coefficient[r] * payment[r]
            r += 1
        theta = high[k] if worth > 0 else low[k]
        total += theta * worth
        for q in range(first, r):
            chosen[q] = theta * coefficient[q]
    return total


@inner
def value_as_chosen(i, s, rows, bias, doubt, chosen):
    """Return the value of a unit of time in pair i at the intensities `chosen`, and its doubt, where biases have theirs."""
    next_state, payment, reward = rows.next_state, rows.payment, rows.reward[i]
    total, size = rows.running[i], NEGLIGIBLE * abs(rows.running[i])
    for r in range(rows.row_start[i], rows.row_start[i + 1]):
        y = next_state[r]
        term = payment[r]
        if y >= 0:
            move = reward + bias[y] - bias[s]
            term += move
            size += chosen[r] * (NEGLIGIBLE * abs(move) + doubt[y] + doubt[s])
        total += chosen[r] * term
        size += NEGLIGIBLE * abs(chosen[r] * payment[r])
    return total, size


def evaluate_reference(pair, rows, chosen, reference):
    """Return (gain, bias) of the policy `pair` at the intensities `chosen`, bias 0 in the reference state."""
    n = len(pair)
    flow, income = np.zeros((n, n)), np.zeros(n)
    for s in range(n):
        i = pair[s]
        income[s] = rows.running[i]
        for r in range(rows.row_start[i], rows.row_start[i + 1]):
            y = rows.next_state[r]
            income[s] += chosen[r] * (rows.payment[r] + (rows.reward[i] if y >= 0 else 0.0))
            if y >= 0 and y != s:
                flow[s, y] += chosen[r]
    restart = RESTART * flow.sum() / n + 1e-300
    matrix = np.diag(flow.sum(axis=1) + restart) - flow
    matrix[:, reference] = 1.0  # the gain in the place of the reference state's bias, which is 0
    matrix[reference, np.arange(n) != reference] = -flow[reference, np.arange(n) != reference]
    solution = np.linalg.solve(matrix, income)
    gain = solution[reference]
    solution[reference] = 0.0
    return gain, solution


@inner
def eliminate(matrix, width, leak, one, two, three):
    """Solve the banded system for three right sides in place, without exchanges; column j of row i is matrix[i, j - i + width].

    Columns beside the diagonal hold minus the intensities, and `leak` what leaves all of these states.  The diagonal, their sum, is
    worked out when it is needed: a sum of positive numbers (Grassmann, Taksar and Heyman), so that no digits are lost where
    a part of the states is hardly ever left.
    """
    n = len(one)
    for k in range(n):
        pivot = leak[k]
        for j in range(1, min(width, n - 1 - k) + 1):
            pivot -= matrix[k, width + j]
        matrix[k, width] = pivot
        for i in range(k + 1, min(k + width + 1, n)):
            lead = matrix[i, k - i + width]
            if lead != 0.0:
                factor = lead / pivot
                shift = k - i
                for j in range(width + 1, 2 * width + 1):
                    matrix[i, j + shift] -= factor * matrix[k, j]
                leak[i] -= factor * leak[k]
                one[i] -= factor * one[k]
                two[i] -= factor * two[k]
                three[i] -= factor * three[k]
    for k in range(n - 1, -1, -1):
        first, second, third = one[k], two[k], three[k]
        for j in range(1, min(width, n - 1 - k) + 1):
            first -= matrix[k, width + j] * one[k + j]
            second -= matrix[k, width + j] * two[k + j]
            third -= matrix[k, width + j] * three[k + j]
        one[k] = first / matrix[k, width]
        two[k] = second / matrix[k, width]
        three[k] = third / matrix[k, width]


@inner
def time_spent(matrix, width, flow):
    """Return the time spent in each place before the first state is met again, per unit of time there; `flow` is the way out of it.

    The transposed system, with what `eliminate` left in `matrix`; sums of positive numbers only.
    """
    n, time = len(flow), flow.copy()
    for k in range(n):
        time[k] /= matrix[k, width]
        for j in range(1, min(width, n - 1 - k) + 1):
            time[k + j] -= matrix[k, width + j] * time[k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, min(k + width + 1, n)):
            time[k] -= matrix[i, k - i + width] / matrix[k, width] * time[i]
    return time


@inner
def evaluate(pair, rows, chosen, reference, place, width, bias, doubt):
    """Return (gain, the state in which most time is spent, its time over that of the reference state); fill `bias` and `doubt`.

    `doubt` is how much of a bias counts as nothing.  States are eliminated in the order `place`, in which no jump is longer than
    `width`.
    """
    row_start, next_state, payment, reward, running = rows.row_start, rows.next_state, rows.payment, rows.reward, rows.running
    n = len(pair)
    matrix, leak, flow, mean = np.zeros((n, 2 * width + 1)), np.zeros(n), np.zeros(n), 0.0
    one, two, three = np.zeros(n), np.zeros(n), np.zeros(n)  # until the reference state is met: income, time, size of the incomes
    for s in range(n):
        for r in range(row_start[pair[s]], row_start[pair[s] + 1]):
            if next_state[r] >= 0 and next_state[r] != s:
                mean += chosen[r]
    restart = RESTART * mean / n + 1e-300
    income = 0.0
    for s in range(n):
        i, at, total, size = pair[s], place[s], running[pair[s]], abs(running[pair[s]])
        for r in range(row_start[i], row_start[i + 1]):
            y = next_state[r]
            total += chosen[r] * payment[r]
            size += chosen[r] * abs(payment[r])
            if y >= 0:
                total += chosen[r] * reward[i]
                size += chosen[r] * abs(reward[i])
                if y != s:
                    if s == reference:
                        flow[place[y]] += chosen[r]
                    elif y == reference:
                        leak[at] += chosen[r]
                    else:
                        matrix[at, place[y] - at + width] -= chosen[r]
        if s == reference:
            income = total
            leak[at] = 1.0
        else:
            leak[at] += restart
            one[at], two[at], three[at] = total, 1.0, size
    eliminate(matrix, width, leak, one, two, three)
    weight = 1.0
    for k in range(n):
        income += flow[k] * one[k]
        weight += flow[k] * two[k]
    gain = income / weight
    time = time_spent(matrix, width, flow)
    longest, most = reference, 1.0
    for s in range(n):
        at = place[s]
        bias[s] = 0.0 if s == reference else one[at] - gain * two[at]
        doubt[s] = 0.0 if s == reference else ROUNDING * (three[at] + abs(gain) * two[at])
        if time[at] > most:
            longest, most = s, time[at]
    return gain, longest, most


def best_event_policy_reference(rows, low, high, start, bias, reference):
    """Return (gain, bias, pair per state, policies evaluated): policy iteration from `start`, rates first chosen by `bias`."""
    n = len(rows.pair_start) - 1
    pair, bias, chosen = np.array(start), np.array(bias, dtype=float), np.zeros(len(rows.event))
    for s in range(n):
        pair_value_reference(pair[s], s, rows, low, high, bias, chosen)
    gain, done, changed = -np.inf, 0, True
    while changed:
        before = gain
        gain, bias = evaluate_reference(pair, rows, chosen, reference)
        done += 1
        changed = False
        for s in range(n):
            best, size = value_as_chosen_reference(pair[s], s, rows, bias, chosen)
            best += size
            for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
                value = pair_value_reference(i, s, rows, low, high, bias, chosen)
                if value > best and value > best + value_as_chosen_reference(i, s, rows, bias, chosen)[1]:
                    best, changed = value, True
                    pair[s] = i
        if done >= IMPROVEMENTS and not gain > before:
            break
    return gain, bias, pair, done


def value_as_chosen_reference(i, s, rows, bias, chosen):
    """Return the value of a unit of time in pair i at the intensities `chosen`, and how much of it counts as nothing."""
    total, size = rows.running[i], NEGLIGIBLE * abs(rows.running[i])
    for r in range(rows.row_start[i], rows.row_start[i + 1]):
        y = rows.next_state[r]
        move = rows.reward[i] + bias[y] - bias[s] if y >= 0 else 0.0
        total += chosen[r] * (rows.payment[r] + move)
        size += NEGLIGIBLE * chosen[r] * (abs(rows.payment[r]) + abs(move))
        size += ROUNDING * chosen[r] * (abs(bias[y]) + abs(bias[s])) if y >= 0 else 0.0
    return total, size


@kernel
def best_event_policy(rows, low, high, start, bias, reference, place, width):
    n = len(rows.pair_start) - 1
    pair, bias, doubt, chosen = start.copy(), bias.copy(), np.zeros(n), np.zeros(len(rows.event))
    for s in range(n):
        pair_value(pair[s], s, rows, low, high, bias, chosen)
    gain, done, changed = -np.inf, 0, True
    while changed:
        before = gain
        gain, longest, most = evaluate(pair, rows, chosen, reference, place, width, bias, doubt)
        if most > BETTER:
            reference = longest
            gain, _, _ = evaluate(pair, rows, chosen, reference, place, width, bias, doubt)
        done += 1
        changed = False
        for s in range(n):
            value, off = value_as_chosen(pair[s], s, rows, bias, doubt, chosen)
            best = value + off
            for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
                value = pair_value(i, s, rows, low, high, bias, chosen)
                if value > best and value > best + value_as_chosen(i, s, rows, bias, doubt, chosen)[1]:
                    best = value
                    pair[s] = i
                    changed = True
        if done >= IMPROVEMENTS and not gain > before:
            break
    return gain, bias, pair, done


def event_sweeps_reference(rows, low, high, bias, uniform, sweeps, tolerance):
    """Return (least, most, bias, pair): value iteration at the uniform rate from `bias`, until most - least <= tolerance.

    The optimal gain lies in [least, most].
    """
    n, chosen = len(rows.pair_start) - 1, np.zeros(len(rows.event))
    bias, pair = np.array(bias, dtype=float), np.zeros(n, dtype=np.int64)
    least, most = -np.inf, np.inf
    for _ in range(sweeps):
        best = np.empty(n)
        for s in range(n):
            mine = range(rows.pair_start[s], rows.pair_start[s + 1])
            values = [pair_value_reference(i, s, rows, low, high, bias, chosen) for i in mine]
            best[s], pair[s] = max(values), mine[int(np.argmax(values))]
        least, most = best.min(), best.max()
        bias = bias + best / uniform
        bias = bias - bias[0]
        if most - least <= tolerance:
            break
    return least, most, bias, pair


@kernel
def event_sweeps(rows, low, high, bias, uniform, sweeps, tolerance):
    n, chosen = len(rows.pair_start) - 1, np.zeros(len(rows.event))
    bias, new, pair = bias.copy(), np.empty(n), np.zeros(n, dtype=np.int64)
    least, most = -np.inf, np.inf
    for _ in range(sweeps):
        least, most = np.inf, -np.inf
        for s in range(n):
            best, choice = -np.inf, rows.pair_start[s]
            for i in range(rows.pair_start[s], rows.pair_start[s + 1]):
                value = pair_value(i, s, rows, low, high, bias, chosen)
                if value > best:
                    best, choice = value, i
            pair[s] = choice
            new[s] = bias[s] + best / uniform
            least, most = min(least, best), max(most, best)
        level = new[0]
        for s in range(n):
            bias[s] = new[s] - level
        if most - least <= tolerance:
            break
    return least, most, bias, pair
