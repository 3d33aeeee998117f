"""Beliefs about rows and rates: Dirichlet for rows, Gamma for rates, within the known rate bounds.

A row of k possible successors with counts n_y and prior weight a each has the posterior Dirichlet(a + n_y).  A rate seen n times
for a total time T has the posterior Gamma(shape + n, time + T) cut to the bounds; with shape = time = 0 the prior is uniform in
log λ over the bounds.

Where any state may follow, a prior that stays says after N visits that the next jump goes somewhere new with chance about 1/N.
In a large model with a few dreadful states that fear alone decides what is planned.  A belief that `fades` gives each successor
the weight a/(1 + N): that some further successor exists at all is then the less likely the longer none was seen.
"""

import numpy as np

from sojourn.kernels.jit import inner, kernel

TRIES = 10  # draws of a rate before the last one is put at the nearer bound: a cut law's tail, shortened


def successor_counts_reference(head, slot_state, slot_next, slot_count, row_start, next_state, count):
    """Fill `count`, laid out as `next_state`, from the slots of the counts; return the first pair with an unlisted successor."""
    count[:] = 0
    for pair in range(len(head)):
        slot = head[pair]
        while slot >= 0:
            row = next_state[row_start[pair]:row_start[pair + 1]]
            place = np.flatnonzero(row == slot_state[slot])
            if not len(place):
                return pair
            count[row_start[pair] + place[0]] = slot_count[slot]
            slot = slot_next[slot]
    return -1


@kernel
def successor_counts(head, slot_state, slot_next, slot_count, row_start, next_state, count):
    count[:] = 0
    for pair in range(len(head)):
        slot = head[pair]
        while slot >= 0:
            low = row_start[pair]
            high = row_start[pair + 1]
            while low < high:  # rows are in order of the state
                middle = (low + high) // 2
                if next_state[middle] < slot_state[slot]:
                    low = middle + 1
                else:
                    high = middle
            if low >= row_start[pair + 1] or next_state[low] != slot_state[slot]:
                return pair
            count[low] = slot_count[slot]
            slot = slot_next[slot]
    return -1


def weights_now_reference(weight, visits, fades):
    """Return the weight of each of a pair's successors besides their counts: a, or a/(1 + N) where it fades."""
    return weight / (1.0 + visits) if fades else np.array(weight)


@kernel
def weights_now(weight, visits, fades):
    found = np.empty(len(weight))
    for i in range(len(weight)):
        found[i] = weight[i] / (1.0 + visits[i]) if fades else weight[i]
    return found


def rows_as_seen_reference(row_start, count, visits, probability):
    """Return the shares in which successors were seen; `probability` where a pair was never tried."""
    found = np.array(probability)
    for i in np.flatnonzero(visits):
        found[row_start[i]:row_start[i + 1]] = count[row_start[i]:row_start[i + 1]] / visits[i]
    return found


@inner
def rows_as_seen(row_start, count, visits, probability):
    found = probability.copy()
    for i in range(len(visits)):
        if visits[i] > 0:
            for k in range(row_start[i], row_start[i + 1]):
                found[k] = count[k] / visits[i]
    return found


def posterior_mean_reference(row_start, count, visits, holding_sum, weight, rate_min, rate_max):
    """Return (probability, rate): the Dirichlet mean (a + n_y)/(k a + N); N/T within the bounds, their geometric mean if N = 0."""
    size = np.diff(row_start)
    probability = (count + np.repeat(weight, size)) / np.repeat(weight * size + visits, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(visits > 0, visits / holding_sum, np.sqrt(rate_min * rate_max))
    return probability, np.clip(rate, rate_min, rate_max)


@kernel
def posterior_mean(row_start, count, visits, holding_sum, weight, rate_min, rate_max):
    probability = np.empty(len(count))
    rate = np.empty(len(visits))
    for i in range(len(visits)):
        total = weight[i] * (row_start[i + 1] - row_start[i]) + visits[i]
        for k in range(row_start[i], row_start[i + 1]):
            probability[k] = (count[k] + weight[i]) / total
        rate[i] = visits[i] / holding_sum[i] if visits[i] > 0 else np.sqrt(rate_min * rate_max)
        rate[i] = min(max(rate[i], rate_min), rate_max)
    return probability, rate


def posterior_sample_reference(rng, row_start, count, visits, holding_sum, weight, shape, time, rate_min, rate_max):
    """Return (probability, rate): one model drawn from the posterior, pair by pair, row before rate."""
    probability, rate = np.empty(len(count)), np.empty(len(visits))
    for i in range(len(visits)):
        begin, end = row_start[i], row_start[i + 1]
        total = 0.0
        for k in range(begin, end):
            probability[k] = rng.standard_gamma(weight[i] + count[k])
            total += probability[k]
        if total <= 0.0:  # every draw underflowed
            probability[begin + int(rng.random() * (end - begin))] = total = 1.0
        probability[begin:end] /= total
        if rate_min == rate_max:  # known: nothing to draw
            rate[i] = rate_min
            continue
        if visits[i] + shape == 0:
            rate[i] = rate_min * (rate_max / rate_min) ** rng.random()
            continue
        for _ in range(TRIES):
            drawn = rng.standard_gamma(visits[i] + shape) / (holding_sum[i] + time)
            if rate_min <= drawn <= rate_max:
                break
        rate[i] = min(max(drawn, rate_min), rate_max)
    return probability, rate


@inner
def posterior_sample(rng, row_start, count, visits, holding_sum, weight, shape, time, rate_min, rate_max):
    probability = np.empty(len(count))
    rate = np.empty(len(visits))
    for i in range(len(visits)):
        begin = row_start[i]
        end = row_start[i + 1]
        total = 0.0
        for k in range(begin, end):
            probability[k] = rng.standard_gamma(weight[i] + count[k])
            total += probability[k]
        if total <= 0.0:
            probability[begin + int(rng.random() * (end - begin))] = 1.0
            total = 1.0
        for k in range(begin, end):
            probability[k] /= total
        if rate_min == rate_max:  # known: nothing to draw
            rate[i] = rate_min
            continue
        if visits[i] + shape == 0:
            rate[i] = rate_min * (rate_max / rate_min) ** rng.random()
            continue
        drawn = 0.0
        for _ in range(TRIES):
            drawn = rng.standard_gamma(visits[i] + shape) / (holding_sum[i] + time)
            if rate_min <= drawn and drawn <= rate_max:
                break
        rate[i] = min(max(drawn, rate_min), rate_max)
    return probability, rate
