"""Optimism over KL confidence sets: the exponential-KL interval, and planning over it and the balls of kernels/kl_row.py.

Interval: the rates l with l m - 1 - log(l m) <= x, m the plain mean holding time: between the two roots of y - 1 - log y = x.
"""

from math import lgamma, log
from typing import NamedTuple

import numpy as np

from sojourn.kernels.gain_planning import move_on, proved
from sojourn.kernels.jit import inner, kernel
from sojourn.kernels.kl_row import STEPS, kl_row, kl_row_reference
from sojourn.kernels.planning import Model
from sojourn.kernels.swept_planning import DENSE
from sojourn.kernels.turns import advance


def exponential_interval_reference(x):
    """Return (y1, y2), y1 <= 1 <= y2: the roots of y - 1 - log y = x, by bisection."""
    def root(low, high):
        for _ in range(STEPS):
            middle = (low + high) / 2
            inside = middle - 1 - log(middle) <= x
            low, high = (low, middle) if inside == (middle < 1) else (middle, high)
        return (low + high) / 2

    return root(np.exp(-1 - x) / 2, 1.0), root(1.0, 2 + 2 * x + np.sqrt(2 * x))


@kernel
def exponential_interval(x):
    below = np.exp(-1.0 - x) if x > 1.0 else max(1.0 - np.sqrt(2.0 * x), np.exp(-1.0 - x))
    for _ in range(STEPS):  # from the left of the lower root: y - 1 - log y is convex, Newton climbs to it
        step = (below - 1.0 - np.log(below) - x) / (1.0 - 1.0 / below)
        below -= step
        if abs(step) <= 1e-15 * below:
            break
    above = 1.0 + x + np.sqrt(2.0 * x)
    for _ in range(STEPS):
        step = (above - 1.0 - np.log(above) - x) / (1.0 - 1.0 / above) if above > 1.0 else 0.0
        above -= step
        if abs(step) <= 1e-15 * above:
            break
    return min(below, 1.0), max(above, 1.0)


def row_threshold_reference(count, confidence, successors=0):
    """Return the bound on N KL(p̂ ‖ p) that holds at all times with probability 1 - confidence.

    By Ville's inequality for the Dirichlet(1/k) mixture of likelihoods over the k possible successors:
    log(1/confidence) + Σ n_y log(n_y/N) - log [Γ(1)/Γ(1 + N) Π Γ(1/k + n_y)/Γ(1/k)].  k is `successors`, or if that is 0 the
    length of `count`, which then holds all of them.
    """
    n, a = sum(count), 1 / (successors or len(count))
    likelihood = sum(c * log(c / n) for c in count if c > 0)
    mixture = -lgamma(1 + n) + sum(lgamma(a + c) - lgamma(a) for c in count if c > 0)
    return log(1 / confidence) + likelihood - mixture


@kernel
def row_threshold(count, confidence, successors=0):
    n = 0.0
    for y in range(len(count)):
        n += count[y]
    a = 1.0 / (successors if successors > 0 else len(count))
    total = -np.log(confidence) + lgamma(1.0 + n)
    for y in range(len(count)):
        if count[y] > 0:
            total += count[y] * np.log(count[y] / n) - lgamma(a + count[y]) + lgamma(a)
    return total


def kl_sets_reference(row_start, count, visits, holding_sum, confidence, rate_min, rate_max, successors=0):
    """Return (row radius, rate_low, rate_high, empty): KL radii and rate intervals, each failing ever with at most `confidence`.

    The interval after n visits has y - 1 - log y <= log(2 n (n + 1)/confidence)/n: 2 e^{-x} at each n, and Σ 1/(n (n + 1)) = 1.
    No data: everything; an interval outside the bounds is put at the nearer one and counted in `empty`.
    """
    pairs = len(visits)
    radius, low, high, empty = np.full(pairs, np.inf), np.full(pairs, rate_min), np.full(pairs, rate_max), 0
    for i in np.flatnonzero(visits):
        n = visits[i]
        radius[i] = row_threshold_reference(count[row_start[i]:row_start[i + 1]], confidence, successors) / n
        y1, y2 = exponential_interval_reference(log(2 * n * (n + 1) / confidence) / n)
        ends = y1 * n / holding_sum[i], y2 * n / holding_sum[i]
        empty += ends[1] < rate_min or ends[0] > rate_max
        low[i], high[i] = np.clip(ends, rate_min, rate_max)
    return radius, low, high, empty


@kernel
def kl_sets(row_start, count, visits, holding_sum, confidence, rate_min, rate_max, successors=0):
    pairs = len(visits)
    radius, low, high = np.full(pairs, np.inf), np.full(pairs, rate_min), np.full(pairs, rate_max)
    empty = 0
    for i in range(pairs):
        n = visits[i]
        if n > 0:
            radius[i] = row_threshold(count[row_start[i]:row_start[i + 1]], confidence, successors) / n
            below, above = exponential_interval(np.log(2.0 * n * (n + 1.0) / confidence) / n)
            below *= n / holding_sum[i]
            above *= n / holding_sum[i]
            if above < rate_min or below > rate_max:
                empty += 1
            low[i] = min(max(below, rate_min), rate_max)
            high[i] = min(max(above, rate_min), rate_max)
    return radius, low, high, empty


class KLProblem(NamedTuple):
    """A KL confidence set as planning needs it; `probability` are the empirical rows.

    With `pooled` rows hold the successors seen, and at their end one place for any other: it is the best state at each step.
    """

    pair_start: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    radius: np.ndarray
    rate_low: np.ndarray
    rate_high: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    top_rate: float
    pooled: bool = False


def kl_bellman_reference(u, problem):
    """Return (Tu, pair, rate, rows q) in uniformised units: T u(s) = u(s) + max (λ/Λ)(r + Σ q u - u(s)) + c/Λ.  Paper: eq:EVI"""
    pair_start, row_start, next_state, probability, radius, rate_low, rate_high, reward, running, top_rate = problem[:10]
    n_states = len(pair_start) - 1
    u_next, pair, rate, rows = np.empty(n_states), np.zeros(n_states, dtype=np.int64), np.zeros(len(reward)), probability.copy()
    for s in range(n_states):
        u_next[s] = -np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            row = slice(row_start[i], row_start[i + 1])
            rows[row], lost = kl_row_reference(probability[row], u.max() - u[next_state[row]], radius[i])
            bracket = reward[i] + u.max() - lost - u[s]
            rate[i] = rate_high[i] if bracket >= 0 else rate_low[i]
            worth = u[s] + bracket * rate[i] / top_rate + running[i] / top_rate
            if worth > u_next[s]:
                u_next[s], pair[s] = worth, i
    return u_next, pair, rate, rows


@kernel
def kl_bellman(u, problem):
    """See `kl_bellman_reference`; the row and the rate of a pair that cannot be the best of its state are not worked out."""
    pair_start, row_start, next_state, probability, radius = (problem.pair_start, problem.row_start, problem.next_state,
                                                              problem.probability, problem.radius)
    rate_low, rate_high, reward, running, top_rate = (problem.rate_low, problem.rate_high, problem.reward, problem.running,
                                                      problem.top_rate)
    n_states = len(pair_start) - 1
    u_next, pair, rate, rows = np.empty(n_states), np.zeros(n_states, dtype=np.int64), np.zeros(len(reward)), probability.copy()
    top = u.max()
    shortfall = np.empty(len(next_state))
    for k in range(len(next_state)):
        shortfall[k] = top - u[next_state[k]]
    for s in range(n_states):
        u_next[s] = -np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            a = row_start[i]
            b = row_start[i + 1]
            most = reward[i] + top - shortfall[a:b].min() - u[s]  # all of the row on its best successor
            rate[i] = rate_high[i] if most >= 0.0 else rate_low[i]
            if u[s] + most * rate[i] / top_rate + running[i] / top_rate <= u_next[s]:
                continue
            lost = kl_row(probability[a:b], shortfall[a:b], radius[i], rows[a:b], n_states > DENSE)
            bracket = reward[i] + top - lost - u[s]
            rate[i] = rate_high[i] if bracket >= 0.0 else rate_low[i]
            worth = u[s] + bracket * rate[i] / top_rate + running[i] / top_rate
            if worth > u_next[s]:
                u_next[s] = worth
                pair[s] = i
    return u_next, pair, rate, rows


@inner
def aim(row_start, next_state, best):
    """Let the last place of every row be the state `best`."""
    for i in range(len(row_start) - 1):
        next_state[row_start[i + 1] - 1] = best


@inner
def chosen(problem, next_state, rows, rate):
    """Return the model that a Bellman step chose out of the sets."""
    return Model(problem.pair_start, problem.row_start, next_state, rows, problem.reward, problem.running, rate)


@kernel
def kl_optimism(u, tolerance, max_steps, problem, course):
    """Iterate over the extended model until one Bellman step has span(Tu - u) < tolerance; u and `course` are changed in place.

    Returns (pair, rate, low, high, steps, converged), low and high the extremes of Tu - u.  How u moves: kernels/turns.py.
    """
    low, high = -np.inf, np.inf
    pair, rate = np.zeros(len(u), dtype=np.int64), np.zeros(len(problem.reward))
    for step in range(max_steps):
        if problem.pooled:
            aim(problem.row_start, problem.next_state, np.argmax(u))
        u_next, pair, rate, rows = kl_bellman(u, problem)
        low = (u_next - u).min()
        high = (u_next - u).max()
        if high - low < tolerance:
            return pair, rate[pair], low, high, step + 1, True
        advance(u, u_next, low, high, course, chosen(problem, problem.next_state, rows, rate), pair)
    return pair, rate[pair], low, high, max_steps, False


def kl_drift_reference(u, problem):
    """Return (drift, pair, rate, rows q): the largest λ (r + Σ q u - u(s)) + c of each state, in real time."""
    u_next, pair, rate, rows = kl_bellman_reference(u, problem._replace(top_rate=1.0))
    return u_next - u, pair, rate, rows


@kernel
def kl_drift(u, problem):
    """See `kl_drift_reference`; the row of a pair that cannot be the best of its state is not worked out."""
    pair_start, row_start, next_state, probability, radius = (problem.pair_start, problem.row_start, problem.next_state,
                                                              problem.probability, problem.radius)
    rate_low, rate_high, reward, running = problem.rate_low, problem.rate_high, problem.reward, problem.running
    n_states = len(pair_start) - 1
    drift, pair, rate = np.full(n_states, -np.inf), np.zeros(n_states, dtype=np.int64), rate_low.copy()
    rows, shortfall, top = probability.copy(), np.empty(len(next_state)), u.max()
    for k in range(len(next_state)):
        shortfall[k] = top - u[next_state[k]]
    for s in range(n_states):
        below = top - u[s]
        for i in range(pair_start[s], pair_start[s + 1]):
            a, b = row_start[i], row_start[i + 1]
            most = reward[i] + (below - shortfall[a:b].min())  # all of the row on its best successor
            if most * (rate_high[i] if most >= 0.0 else rate_low[i]) + running[i] <= drift[s]:
                continue
            lost = kl_row(probability[a:b], shortfall[a:b], radius[i], rows[a:b], n_states > DENSE)
            bracket = reward[i] + (below - lost)
            rate[i] = rate_high[i] if bracket >= 0.0 else rate_low[i]
            worth = bracket * rate[i] + running[i]
            if worth > drift[s]:
                drift[s], pair[s] = worth, i
    return drift, pair, rate, rows


@kernel
def kl_plan(u, tolerance, max_steps, problem, course):
    """Look at the extended model in real time until the drifts prove the gain to `tolerance`; u and `course` change in place.

    Returns (pair, rate, low, high, looks, converged), low and high the extremes of the drifts.  How u moves: gain_planning.py.
    """
    low, high = -np.inf, np.inf
    pair, rate = np.zeros(len(u), dtype=np.int64), np.zeros(len(problem.reward))
    for step in range(max_steps):
        if problem.pooled:
            aim(problem.row_start, problem.next_state, np.argmax(u))
        drift, pair, rate, rows = kl_drift(u, problem)
        low, high = drift.min(), drift.max()
        model = chosen(problem, problem.next_state, rows, rate)
        if proved(u, drift, low, high, tolerance, model, pair):
            return pair, rate[pair], low, high, step + 1, True
        move_on(u, drift, low, high, course, model, pair, problem.rate_high)
    return pair, rate[pair], low, high, max_steps, False
