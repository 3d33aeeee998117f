"""The index N K + log N, and how long the action with the least index keeps it.

K is the least divergence (eq:K) that makes an action as good as the gain and bias at hand ask for.  An action is played while
its index is the least.  With K held fixed that is a known number of visits, so a plan can say it in advance: an action with
K = 0 keeps the lead until log N passes the next index, one with K > 0 until N K + log N does.
"""

import numpy as np

from sojourn.kernels.jit import inner
from sojourn.kernels.least_divergence import least_divergence_row
from sojourn.kernels.planning import worth_of

LONGEST = 0.5  # a lead lasts at most this share of the visits so far: K is not fixed for ever
SHORTEST_GREEDY = 0.1  # two equally good actions take turns at least this share of their visits long
SHORTEST_TRIAL = 0.02  # the same for trying one that looks worse
SMALLEST = 1e-300  # shortfall of a worth: rounding may make it 0
LEEWAY = 2.0  # nats by which an index counts as less or more where a try is cheap or dear
SPARED = 1.5  # nats less than log N are asked for: e^(-N K) overstates the chance that an action is better after all


def skeleton_reference(pair_start, visits):
    """Return which pairs are seen often enough to plan with: N(s,a) >= log²(max_b N(s,b)).  (Burnetas and Katehakis)"""
    allowed = np.zeros(len(visits), dtype=np.bool_)
    for s in range(len(pair_start) - 1):
        row = slice(pair_start[s], pair_start[s + 1])
        most = visits[row].max()
        allowed[row] = (visits[row] >= np.log(max(most, 1)) ** 2) | (visits[row] == most)
    return allowed


@inner
def skeleton(pair_start, visits):
    allowed = np.zeros(len(visits), dtype=np.bool_)
    for s in range(len(pair_start) - 1):
        most = 0
        for i in range(pair_start[s], pair_start[s + 1]):
            most = max(most, visits[i])
        least = np.log(max(most, 1)) ** 2
        for i in range(pair_start[s], pair_start[s + 1]):
            allowed[i] = visits[i] >= least or visits[i] == most
    return allowed


def lead_reference(visits, divergence, index, runner_up):
    """Return how many visits an action keeps the least index, its divergence held fixed."""
    longest = max(1, int(LONGEST * visits))
    if visits == 0:
        return 1
    if divergence == 0:
        lead = longest if runner_up > 40 else min(longest, max(1, int(np.exp(runner_up)) - visits + 1))
        return max(lead, int(SHORTEST_GREEDY * visits))
    lead = longest if runner_up == np.inf else max(1, int((runner_up - index) / (divergence + 1 / visits)))
    return min(longest, max(lead, int(SHORTEST_TRIAL * visits)))


@inner
def lead(visits, divergence, index, runner_up):
    longest = max(1, int(LONGEST * visits))
    if visits == 0:
        return 1
    if divergence == 0.0:
        count = longest
        if runner_up <= 40.0:
            count = min(longest, max(1, int(np.exp(runner_up)) - visits + 1))
        return max(count, int(SHORTEST_GREEDY * visits))
    count = longest
    if runner_up < np.inf:
        count = min(longest, max(1, int((runner_up - index) / (divergence + 1.0 / visits))))
    return min(longest, max(count, int(SHORTEST_TRIAL * visits)))


def index_choice_reference(model, visits, gain, bias, greedy, rate_min, rate_max, divergence_of):
    """Return (pair per state, quota per pair, K per pair): the least N K + log N, ties to the lowest action.

    `divergence_of(p, value, here, rate, reward, running, gain, rate_min, rate_max)` is the least divergence of eq:K.  The greedy
    action has K = 0.  A pair never tried is taken at once if some row and rate could make it good (K < inf), else never.
    """
    pair_start, row_start, next_state, probability, reward, running, rate = model
    chosen, quota = np.array(greedy), np.ones(len(visits), dtype=np.int64)
    divergence = np.zeros(len(visits))
    for s in range(len(pair_start) - 1):
        index = np.full(pair_start[s + 1] - pair_start[s], np.inf)
        for j, i in enumerate(range(pair_start[s], pair_start[s + 1])):
            row = slice(row_start[i], row_start[i + 1])
            if i != greedy[s]:
                divergence[i] = divergence_of(probability[row], bias[next_state[row]], bias[s], rate[i], reward[i], running[i],
                                              gain, rate_min, rate_max)
            if visits[i] > 0:
                index[j] = visits[i] * divergence[i] + np.log(visits[i])
            elif divergence[i] < np.inf:
                index[j] = -1.0
        first = int(np.argmin(index))
        if index[first] < np.inf:
            i = chosen[s] = pair_start[s] + first
            others = np.delete(index, first)
            quota[i] = lead_reference(visits[i], divergence[i], index[first], others.min() if len(others) else np.inf)
    return chosen, quota, divergence


@inner
def index_choice(model, visits, gain, bias, greedy, rate_min, rate_max):
    pair_start, row_start, next_state, probability = model.pair_start, model.row_start, model.next_state, model.probability
    reward, running, rate = model.reward, model.running, model.rate
    n_states = len(pair_start) - 1
    chosen = greedy.copy()
    quota = np.empty(len(visits), dtype=np.int64)
    divergence = np.empty(len(visits))
    value = np.empty(len(next_state))
    for i in range(len(visits)):
        quota[i], divergence[i] = 1, 0.0
    tilted = np.empty(len(next_state))
    for k in range(len(next_state)):
        value[k] = bias[next_state[k]]
    for s in range(n_states):
        least = np.inf
        runner_up = np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            if i != greedy[s]:
                a = row_start[i]
                b = row_start[i + 1]
                divergence[i], _ = least_divergence_row(probability[a:b], value[a:b], bias[s], rate[i], reward[i], running[i], gain,
                                                        rate_min, rate_max, tilted[a:b])
            index = np.inf
            if visits[i] > 0:
                index = visits[i] * divergence[i] + np.log(visits[i])
            elif divergence[i] < np.inf:
                index = -1.0
            if index < least:
                runner_up = least
                least = index
                chosen[s] = i
            elif index < runner_up:
                runner_up = index
        if least < np.inf:
            i = chosen[s]
            quota[i] = lead(visits[i], divergence[i], least, runner_up)
    return chosen, quota, divergence


def insisted_reference(model, visits, gain, bias, greedy, divergence):
    """Return (pair per state, whether it must be tried): the least index among the actions with 0 < K < inf.

    It must be tried if its index is at most the greedy action's log N, less SPARED.  A nat of evidence about an action costs the
    shortfall of its worth over K.  Where that is more than the mean over all pairs, the index counts as more by the log of the
    ratio, where it is less as less, at most by LEEWAY: tries that cost little are asked for sooner.
    """
    pair_start, n_pairs = model.pair_start, len(visits)
    state = np.repeat(np.arange(len(greedy)), np.diff(pair_start))
    worth = np.array([worth_of(i, model, gain, bias) for i in range(n_pairs)])
    other = (np.arange(n_pairs) != np.asarray(greedy)[state]) & (divergence > 0) & (divergence < np.inf)
    priced = other & (visits > 0)
    shortfall = np.maximum(worth[np.asarray(greedy)[state]] - worth, SMALLEST)
    price = np.array([shortfall[i] / divergence[i] if priced[i] else 0.0 for i in range(n_pairs)])
    mean = price.sum() / max(1, priced.sum())
    pair, trying = np.array(greedy), np.zeros(len(greedy), dtype=np.bool_)
    for s in range(len(greedy)):
        least = np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            index = -1.0
            if priced[i]:
                index = visits[i] * divergence[i] + np.log(visits[i]) + min(max(np.log(price[i] / mean), -LEEWAY), LEEWAY)
            if other[i] and index < least:
                least, pair[s] = index, i
        trying[s] = least <= np.log(max(1, visits[greedy[s]])) - SPARED
    return pair, trying


@inner
def insisted(model, visits, gain, bias, greedy, divergence):
    pair_start, n_states = model.pair_start, len(greedy)
    price = np.zeros(len(visits))
    total = 0.0
    many = 0
    for s in range(n_states):
        best = worth_of(greedy[s], model, gain, bias)
        for i in range(pair_start[s], pair_start[s + 1]):
            if i != greedy[s] and visits[i] > 0 and divergence[i] > 0.0 and divergence[i] < np.inf:
                worth = worth_of(i, model, gain, bias)
                price[i] = max(best - worth, SMALLEST) / divergence[i]
                total += price[i]
                many += 1
    mean = total / max(1, many)
    pair = greedy.copy()
    trying = np.zeros(n_states, dtype=np.bool_)
    for s in range(n_states):
        least = np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            if i == greedy[s] or divergence[i] == 0.0 or divergence[i] == np.inf:
                continue
            index = -1.0
            if visits[i] > 0:
                index = visits[i] * divergence[i] + np.log(visits[i]) + min(max(np.log(price[i] / mean), -LEEWAY), LEEWAY)
            if index < least:
                least = index
                pair[s] = i
        trying[s] = least <= np.log(max(1, visits[greedy[s]])) - SPARED
    return pair, trying
