"""Optimism over joint confidence sets: one set per pair for all its intensities Q_y = rate x probability, and planning over them.

With n_y jumps to y in a time T spent in the pair, D(Q) = Σ n_y log(n_y/(Q_y T)) - n_y + Q_y T is the log-likelihood that Q
lacks against the best fit; the set is D(Q) <= x with rate_min <= ΣQ <= rate_max.  The maximum of Σ Q_y b_y over it, with
b_y = r + h(y) - h(s), has one multiplier: Q_y = (n_y/T) (1 + z_y), z_y = b_y/(w + max b - b_y), where
D = Σ n_y (z_y - log(1 + z_y)) falls in w and must be x.  A successor that was never seen costs Q_y T; only the best of them can
help, and only at w = 0.  Where ΣQ leaves the rate bounds, the rate is that bound l, and the row the best one of the KL ball that D
leaves at l (kernels/kl_optimism.py).
"""

from math import lgamma, log
from typing import NamedTuple

import numpy as np

from sojourn.kernels.gain_planning import move_on, proved
from sojourn.kernels.jit import inner, kernel
from sojourn.kernels.kl_optimism import chosen
from sojourn.kernels.kl_row import kl_row, kl_row_reference
from sojourn.kernels.least_divergence import excess
from sojourn.kernels.turns import advance

STEPS = 200


def joint_threshold_reference(count, time, successors, prior_time, level):
    """Return x: D(Q) <= x holds at all times with probability 1 - level, Q the true intensities.

    By Ville's inequality for the mixture of likelihoods over independent Gamma(1/k, prior_time) laws of the intensities of all k
    possible successors; `count` holds those that were seen.
    """
    a = 1 / successors
    seen = sum(lgamma(a) - lgamma(n + a) + n * log(n / time * (prior_time + time)) - n for n in count)
    return log(1 / level) + log(1 + time / prior_time) + seen


@kernel
def joint_threshold(count, time, successors, prior_time, level):
    a = 1.0 / successors
    total = -np.log(level) + np.log1p(time / prior_time)
    for n in count:
        total += lgamma(a) - lgamma(n + a) + n * np.log(n / time * (prior_time + time)) - n
    return total


def allowed_time_reference(visits, time, bound, rate_min, rate_max):
    """Return `time`; or, where every rate within the bounds lacks more than `bound`, the nearest at which one lacks nothing.

    Times that contradict the bounds (in another unit, say) leave an empty set; a plan needs one, and the row is known all the same.
    """
    nearest = min(max(time, visits / rate_max), visits / rate_min)
    ratio = time / nearest
    return nearest if visits * (ratio - 1 - log(ratio)) > bound else time


@inner
def allowed_time(visits, time, bound, rate_min, rate_max):
    nearest = min(max(time, visits / rate_max), visits / rate_min)
    ratio = time / nearest
    return nearest if visits * (ratio - 1.0 - np.log(ratio)) > bound else time


def joint_sets_reference(row_start, count, visits, holding_sum, successors, level, rate_min, rate_max):
    """Return (time, bound) of the set of every pair, each failing ever with at most `level`; without data the bound is inf."""
    pairs, prior_time = len(visits), 1 / np.sqrt(rate_min * rate_max)
    time, bound = holding_sum.copy(), np.full(pairs, np.inf)
    for i in np.flatnonzero(visits):
        seen = count[row_start[i]:row_start[i + 1]]
        bound[i] = joint_threshold_reference(seen, time[i], successors[i], prior_time, level)
        nearest = allowed_time_reference(visits[i], time[i], bound[i], rate_min, rate_max)
        if nearest != time[i]:
            time[i], bound[i] = nearest, joint_threshold_reference(seen, nearest, successors[i], prior_time, level)
    return time, bound


@kernel
def joint_sets(row_start, count, visits, holding_sum, successors, level, rate_min, rate_max):
    pairs, prior_time = len(visits), 1.0 / np.sqrt(rate_min * rate_max)
    time, bound = holding_sum.copy(), np.full(pairs, np.inf)
    for i in range(pairs):
        if visits[i] > 0:
            seen = count[row_start[i]:row_start[i + 1]]
            bound[i] = joint_threshold(seen, time[i], successors[i], prior_time, level)
            nearest = allowed_time(visits[i], time[i], bound[i], rate_min, rate_max)
            if nearest != time[i]:
                time[i] = nearest
                bound[i] = joint_threshold(seen, nearest, successors[i], prior_time, level)
    return time, bound


@kernel
def joint_bounds(row_start, count, time, successors, prior_time, level):
    """Return the threshold x of each pair, inf without data, at a `prior_time` of its own."""
    bound = np.full(len(prior_time), np.inf)
    for i in range(len(prior_time)):
        if row_start[i + 1] > row_start[i]:
            bound[i] = joint_threshold(count[row_start[i]:row_start[i + 1]], time[i], successors[i], prior_time[i], level)
    return bound


class JointProblem(NamedTuple):
    """The sets as planning needs them: the successors seen from each pair with their counts, and one place more for an unseen one.

    Row i has its seen successors in row_start[i] .. row_start[i + 1] - 2.  `support_start` and `support_state` list the possible
    ones where they are known; where they are not, support_start has no entries and every state is possible.  No rate in a set is
    above its `rate_high`.
    """

    pair_start: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    jumps: np.ndarray
    time: np.ndarray
    bound: np.ndarray
    rate_high: np.ndarray
    support_start: np.ndarray
    support_state: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    rate_min: float
    rate_max: float


def joint_flow_reference(count, worth, unseen, time, bound, rate_min, rate_max):
    """Return (ΣQ b, rate, row): the best intensities of one set; the row has one entry more, for the unseen successor.

    `worth` are b of the seen successors, `unseen` the best b of the others (-inf if there are none).  By bisection on w.
    """
    n, b = np.asarray(count, float), np.append(worth, unseen)
    last = np.eye(len(b))[int(np.argmax(b))]
    if not n.sum() or bound == np.inf:
        rate = rate_max if b.max() >= 0 else rate_min
        return rate * b.max(), rate, last
    top, floor = b.max(), max(0.0, -b.max())

    def tilted(w):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(b[:-1] == 0, 0.0, b[:-1] / (w + top - b[:-1]))

    def spent(w):
        z = tilted(w)
        return np.inf if np.isinf(z).any() or (z <= -1).any() else float(n @ (z - np.log1p(z)))

    extra = 0.0
    if not (b[:-1] != 0).any():
        z, extra = np.zeros(len(n)), bound if top > 0 else 0.0
    elif spent(floor) <= bound:
        z, extra = tilted(floor), bound - spent(floor)
    else:
        low, high = floor, floor + 1.0
        while spent(high) > bound:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if spent(middle) > bound else (low, middle)
        z = tilted(high)
    flow = np.append(n * (1 + z), extra) / time
    if rate_min <= flow.sum() <= rate_max:
        return float(flow @ np.where(flow > 0, b, 0.0)), float(flow.sum()), flow / flow.sum()
    rate = rate_max if flow.sum() > rate_max else rate_min
    left = bound / n.sum() - float(excess(rate * time / n.sum() - 1))
    possible = np.isfinite(b)
    row = np.zeros(len(b))
    row[possible], lost = kl_row_reference((np.append(n, 0.0) / n.sum())[possible], top - b[possible], max(left, 0.0))
    return float(rate * (top - lost)), float(rate), row


@inner
def joint_spent(count, worth, top, w):
    """Return (D, dD/dw) at the multiplier w."""
    total, slope = 0.0, 0.0
    for y in range(len(count)):
        if worth[y] != 0.0:
            room = w + (top - worth[y])
            if room <= 0.0 or w + top <= 0.0:
                return np.inf, -np.inf
            z = worth[y] / room
            total += count[y] * excess(z)
            slope -= count[y] * z * worth[y] / (room * (w + top))
    return total, slope


@inner
def joint_multiplier(count, worth, top, bound):
    """Return w with D(w) = bound, by Newton's method on 1/D, nearly a line next to the pole, kept within a bracket."""
    low, high = max(0.0, -top), np.inf
    square = 0.0
    for y in range(len(count)):
        square += count[y] * worth[y] * worth[y]
    w = max(np.sqrt(square / (2.0 * bound)) - top, 1.5 * low + 1e-6 * top)
    for _ in range(STEPS):
        value, slope = joint_spent(count, worth, top, w)
        if value > bound:
            low = w
        else:
            high = w
        new = w - value / bound * (value - bound) / slope if slope < 0.0 and value < np.inf else np.inf
        if not (new > low and new < high):
            new = 2.0 * w if high == np.inf else 0.5 * (low + high)
        if abs(new - w) <= 1e-13 * abs(w) or new == w:
            return new
        w = new
    return w


@inner
def joint_flow(count, worth, unseen, time, bound, rate_min, rate_max, row):
    """Return (ΣQ b, rate) of the best intensities of one set and fill `row`; see the reference."""
    k = len(count)
    total, top, varied = 0.0, unseen, False
    best = k
    for y in range(k):
        total += count[y]
        varied = varied or worth[y] != 0.0
        if worth[y] > top:
            top, best = worth[y], y
    row[:] = 0.0
    if total == 0.0 or bound == np.inf:
        row[best] = 1.0
        rate = rate_max if top >= 0.0 else rate_min
        return rate * top, rate
    extra, w, tilted = 0.0, max(0.0, -top), varied
    if varied:
        spent, _ = joint_spent(count, worth, top, w)
        if spent <= bound:
            extra = bound - spent
        else:
            w = joint_multiplier(count, worth, top, bound)
    elif top > 0.0:
        extra = bound
    flow, gain = extra, 0.0
    for y in range(k):
        z = worth[y] / (w + (top - worth[y])) if tilted and worth[y] != 0.0 else 0.0
        row[y] = count[y] * (1.0 + z)
        flow += row[y]
        gain += row[y] * worth[y]
    row[k] = extra
    if extra > 0.0:
        gain += extra * top
    rate = flow / time
    if rate_min <= rate <= rate_max:
        for y in range(k + 1):
            row[y] /= flow
        return gain / time, rate
    rate = rate_max if rate > rate_max else rate_min
    left = max(bound / total - excess(rate * time / total - 1.0), 0.0)
    p, shortfall = np.zeros(k + 1), np.empty(k + 1)
    for y in range(k):
        p[y] = count[y] / total
        shortfall[y] = top - worth[y]
    shortfall[k] = top - unseen if unseen > -np.inf else 1e300
    lost = kl_row(p, shortfall, left, row)
    return rate * (top - lost), rate


@inner
def best_unseen(i, u, order, seen, problem):
    """Return the possible successor of pair i of greatest u that was not seen, or -1; `seen` is all False, and is left so."""
    begin, end = problem.row_start[i], problem.row_start[i + 1] - 1
    for k in range(begin, end):
        seen[problem.next_state[k]] = True
    found = -1
    if len(problem.support_start) == 0:
        for y in order:
            if not seen[y]:
                found = y
                break
    else:
        for k in range(problem.support_start[i], problem.support_start[i + 1]):
            y = problem.support_state[k]
            if not seen[y] and (found < 0 or u[y] > u[found]):
                found = y
    for k in range(begin, end):
        seen[problem.next_state[k]] = False
    return found


def joint_drift_reference(u, problem):
    """Return (drift, pair, rate, rows, next_state): the largest ΣQ b + c of each state, in real time.  Paper: eq:EVI"""
    p = problem
    n_states = len(p.pair_start) - 1
    drift, pair, rate = np.full(n_states, -np.inf), np.zeros(n_states, dtype=np.int64), np.zeros(len(p.reward))
    rows, next_state = np.zeros(len(p.next_state)), p.next_state.copy()
    for s in range(n_states):
        for i in range(p.pair_start[s], p.pair_start[s + 1]):
            begin, end = p.row_start[i], p.row_start[i + 1]
            seen = p.next_state[begin:end - 1]
            possible = range(n_states) if not len(p.support_start) else p.support_state[p.support_start[i]:p.support_start[i + 1]]
            others = sorted((y for y in possible if y not in seen), key=lambda y: (-u[y], y))
            unseen = -np.inf if not others else p.reward[i] + u[others[0]] - u[s]
            next_state[end - 1] = others[0] if others else s
            gain, rate[i], rows[begin:end] = joint_flow_reference(
                p.jumps[begin:end - 1], p.reward[i] + u[seen] - u[s], unseen, p.time[i], p.bound[i], p.rate_min, p.rate_max)
            if gain + p.running[i] > drift[s]:
                drift[s], pair[s] = gain + p.running[i], i
    return drift, pair, rate, rows, next_state


@kernel
def joint_drift(u, problem):
    n_states, n_pairs = len(problem.pair_start) - 1, len(problem.reward)
    drift, pair, rate = np.full(n_states, -np.inf), np.zeros(n_states, dtype=np.int64), np.zeros(n_pairs)
    rows, next_state, worth = np.zeros(len(problem.next_state)), problem.next_state.copy(), np.zeros(len(problem.next_state))
    order, seen = np.argsort(-u, kind="mergesort"), np.zeros(n_states, dtype=np.bool_)
    for s in range(n_states):
        for i in range(problem.pair_start[s], problem.pair_start[s + 1]):
            begin, end = problem.row_start[i], problem.row_start[i + 1] - 1
            other = best_unseen(i, u, order, seen, problem)
            next_state[end] = other if other >= 0 else s
            unseen = problem.reward[i] + (u[other] - u[s]) if other >= 0 else -np.inf
            for k in range(begin, end):
                worth[k] = problem.reward[i] + (u[next_state[k]] - u[s])
            gain, rate[i] = joint_flow(problem.jumps[begin:end], worth[begin:end], unseen, problem.time[i], problem.bound[i],
                                       problem.rate_min, problem.rate_max, rows[begin:end + 1])
            if gain + problem.running[i] > drift[s]:
                drift[s], pair[s] = gain + problem.running[i], i
    return drift, pair, rate, rows, next_state


@kernel
def joint_plan(u, tolerance, max_steps, problem, course):
    """Look at the extended model until the drifts prove the gain to `tolerance`; as kl_plan."""
    low, high = -np.inf, np.inf
    pair, rate = np.zeros(len(u), dtype=np.int64), np.zeros(len(problem.reward))
    for step in range(max_steps):
        drift, pair, rate, rows, next_state = joint_drift(u, problem)
        low, high = drift.min(), drift.max()
        model = chosen(problem, next_state, rows, rate)
        if proved(u, drift, low, high, tolerance, model, pair):
            return pair, rate[pair], low, high, step + 1, True
        move_on(u, drift, low, high, course, model, pair, problem.rate_high)
    return pair, rate[pair], low, high, max_steps, False


def joint_bellman_reference(u, problem):
    """Return (Tu, pair, rate, rows, next_state): T u(s) = u(s) + max (ΣQ b + c)/Λ.  Paper: eq:EVI"""
    drift, *rest = joint_drift_reference(u, problem)
    return u + drift / problem.rate_max, *rest


@kernel
def joint_bellman(u, problem):
    """See `joint_bellman_reference`; the order of its sums is the one that saved sessions and studies began with."""
    n_states, n_pairs = len(problem.pair_start) - 1, len(problem.reward)
    u_next, pair, rate = np.full(n_states, -np.inf), np.zeros(n_states, dtype=np.int64), np.zeros(n_pairs)
    rows, next_state, worth = np.zeros(len(problem.next_state)), problem.next_state.copy(), np.zeros(len(problem.next_state))
    order, seen = np.argsort(-u, kind="mergesort"), np.zeros(n_states, dtype=np.bool_)
    for s in range(n_states):
        for i in range(problem.pair_start[s], problem.pair_start[s + 1]):
            begin, end = problem.row_start[i], problem.row_start[i + 1] - 1
            other = best_unseen(i, u, order, seen, problem)
            next_state[end] = other if other >= 0 else s
            unseen = problem.reward[i] + u[other] - u[s] if other >= 0 else -np.inf
            for k in range(begin, end):
                worth[k] = problem.reward[i] + u[next_state[k]] - u[s]
            gain, rate[i] = joint_flow(problem.jumps[begin:end], worth[begin:end], unseen, problem.time[i], problem.bound[i],
                                       problem.rate_min, problem.rate_max, rows[begin:end + 1])
            value = u[s] + (gain + problem.running[i]) / problem.rate_max
            if value > u_next[s]:
                u_next[s] = value
                pair[s] = i
    return u_next, pair, rate, rows, next_state


@kernel
def joint_optimism(u, tolerance, max_steps, problem, course):
    """Iterate over the extended model until one Bellman step has span(Tu - u) < tolerance; as kl_optimism."""
    low, high = -np.inf, np.inf
    pair, rate = np.zeros(len(u), dtype=np.int64), np.zeros(len(problem.reward))
    for step in range(max_steps):
        u_next, pair, rate, rows, next_state = joint_bellman(u, problem)
        low = (u_next - u).min()
        high = (u_next - u).max()
        if high - low < tolerance:
            return pair, rate[pair], low, high, step + 1, True
        advance(u, u_next, low, high, course, chosen(problem, next_state, rows, rate), pair)
    return pair, rate[pair], low, high, max_steps, False
