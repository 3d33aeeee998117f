"""The Burnetas-Katehakis index: the largest worth of an action over all rows and rates within N KL <= log t of its data.

U(s,a) = sup { r + (c - ρ)/l + Σ q h - h(s) : N(s,a) KL((p̂,λ̂) ‖ (q,l)) <= log t }.  The least divergence K_v that lifts an action's
worth to v grows with v, so U is the largest v with N K_v <= log t: one root, found with the kernel of eq:K.  The reference halves
a bracket; the kernel draws secants of sqrt(K_v), which is nearly a line in v, and halves only where a secant leaves the bracket.
"""

import numpy as np

from sojourn.kernels.jit import inner
from sojourn.kernels.least_divergence import least_divergence_row

HALVINGS = 40
STEPS = 100
CLOSE = 1e-12  # a step this small, of what the worth may vary by, ends the search


def upper_worth_reference(p, value, here, rate, reward, running, gain, rate_min, rate_max, budget, divergence_of):
    """Return sup { worth : KL <= budget } of one choice by bisection; `divergence_of` is the least divergence of eq:K."""
    drift = running - gain
    low = reward + drift / rate + p @ value - here
    high = reward + max(drift / rate_min, drift / rate_max) + value.max() - here
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = divergence_of(p, value, here + middle, rate, reward, running, gain, rate_min, rate_max) <= budget
        low, high = (middle, high) if inside else (low, middle)
    return low


@inner
def worth_range(p, value, here, rate, reward, running, gain, rate_min, rate_max):
    """Return (worth by the data, largest worth at all, standard deviation of one visit's worth)."""
    drift = running - gain
    mean, square, best = 0.0, 0.0, -np.inf
    for y in range(len(p)):
        mean += p[y] * value[y]
        best = max(best, value[y])
    for y in range(len(p)):
        square += p[y] * (value[y] - mean) ** 2
    return (reward + drift / rate + mean - here, reward + max(drift / rate_min, drift / rate_max) + best - here,
            np.sqrt(square + (drift / rate) ** 2))


@inner
def upper_worth(p, value, here, rate, reward, running, gain, rate_min, rate_max, budget, tilted):
    low, high, deviation = worth_range(p, value, here, rate, reward, running, gain, rate_min, rate_max)
    if budget == np.inf:
        return high
    if not low < high:  # it cannot be worth more: a known rate, or nothing to win by it, and successors all alike
        return low
    target, close = np.sqrt(budget), CLOSE * (high - low)
    last, last_root, worth = low, 0.0, low
    following = low + np.sqrt(2.0) * target * deviation  # as if the law were normal
    for _ in range(STEPS):
        worth = following if low < following and following < high else 0.5 * (low + high)
        divergence, _ = least_divergence_row(p, value, here + worth, rate, reward, running, gain, rate_min, rate_max, tilted)
        root = np.sqrt(divergence)
        if root <= target:
            low = worth
        else:
            high = worth
        following = worth + (target - root) * (worth - last) / (root - last_root)
        if abs(following - worth) <= close or high - low <= close:
            break
        last, last_root = worth, root
    return worth


@inner
def upper_choice(model, visits, gain, bias, greedy, rate_min, rate_max, log_epoch, least):
    """Return the pair with the largest U in each state; one never tried may be worth all.  Of pairs alike the greedy one stays.

    In a state seen fewer than `least` times it is the greedy one.  The greedy action's U is found first: of most others one look at
    the divergence that would lift them as high says that they are below it.
    """
    pair_start, row_start, next_state, probability = model.pair_start, model.row_start, model.next_state, model.probability
    reward, running, rate = model.reward, model.running, model.rate
    chosen = greedy.copy()
    value = np.empty(len(next_state))
    tilted = np.empty(len(next_state))
    for k in range(len(next_state)):
        value[k] = bias[next_state[k]]
    for s in range(len(greedy)):
        total = 0
        for i in range(pair_start[s], pair_start[s + 1]):
            total += visits[i]
        if total < least:
            continue
        i = greedy[s]
        a, b = row_start[i], row_start[i + 1]
        budget = log_epoch / visits[i] if visits[i] > 0 else np.inf
        most = upper_worth(probability[a:b], value[a:b], bias[s], rate[i], reward[i], running[i], gain, rate_min, rate_max, budget,
                           tilted[a:b])
        for i in range(pair_start[s], pair_start[s + 1]):
            if i == greedy[s]:
                continue
            a, b = row_start[i], row_start[i + 1]
            budget = log_epoch / visits[i] if visits[i] > 0 else np.inf
            if budget < np.inf:
                divergence, _ = least_divergence_row(probability[a:b], value[a:b], bias[s] + most, rate[i], reward[i], running[i],
                                                     gain, rate_min, rate_max, tilted[a:b])
                if divergence > budget:  # U is less than the largest so far
                    continue
            upper = upper_worth(probability[a:b], value[a:b], bias[s], rate[i], reward[i], running[i], gain, rate_min, rate_max,
                                budget, tilted[a:b])
            if upper > most:
                most = upper
                chosen[s] = i
    return chosen
