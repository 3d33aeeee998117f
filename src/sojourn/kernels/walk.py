"""The walk of one plan, for any law of the holding times, randomized plans and a trace of every epoch.

Random numbers, in this order at every epoch: for a randomized plan one uniform of the learner's own stream (the action); one
holding time; one uniform for the jump (none where the row has a single successor), both from the world's stream.
"""

from math import exp

import numpy as np

from sojourn.kernels.alias import jump, jump_reference
from sojourn.kernels.counts import find_slot, find_slot_reference, keeps, keeps_reference
from sojourn.kernels.jit import inner, kernel
from sojourn.kernels.ledger import DONE, LAST, PAID, STATE, TIME, book, book_reference

# Laws of the holding time, scaled to mean 1; `first` and `second` are their parameters.
EXPONENTIAL, DETERMINISTIC, GAMMA, UNIFORM, LOGNORMAL, WEIBULL, HYPEREXPONENTIAL, PARETO = range(8)


def holding_time_reference(rng, law, mean, first, second) -> float:
    """Return one holding time with mean `mean` from the law with that number.  Exponential: paper, eq. of S_n."""
    if law == EXPONENTIAL:
        return rng.standard_exponential() * mean
    if law == DETERMINISTIC:
        return mean
    if law == GAMMA:  # first = shape
        return rng.standard_gamma(first) * (mean / first)
    if law == UNIFORM:  # mean (1 ± first)
        return mean * (1.0 + first * (2.0 * rng.random() - 1.0))
    if law == LOGNORMAL:  # first = sigma, second = sigma² / 2
        return mean * exp(first * rng.standard_normal() - second)
    if law == WEIBULL:  # first = 1 / shape, second = Γ(1 + 1/shape)
        return mean * rng.standard_exponential() ** first / second
    if law == HYPEREXPONENTIAL:  # with probability first the mean is second, else whatever makes the total mean 1
        fast = rng.random() < first
        return mean * rng.standard_exponential() * (second if fast else (1.0 - first * second) / (1.0 - first))
    return mean * exp(rng.standard_exponential() / first) * second  # Pareto: first = shape, second = (shape - 1) / shape


@kernel
def holding_time(rng, law, mean, first, second):
    if law == EXPONENTIAL:
        return rng.standard_exponential() * mean
    if law == DETERMINISTIC:
        return mean
    if law == GAMMA:
        return rng.standard_gamma(first) * (mean / first)
    if law == UNIFORM:
        return mean * (1.0 + first * (2.0 * rng.random() - 1.0))
    if law == LOGNORMAL:
        return mean * exp(first * rng.standard_normal() - second)
    if law == WEIBULL:
        return mean * rng.standard_exponential() ** first / second
    if law == HYPEREXPONENTIAL:
        fast = rng.random() < first
        return mean * rng.standard_exponential() * (second if fast else (1.0 - first * second) / (1.0 - first))
    return mean * exp(rng.standard_exponential() / first) * second


def walk_plan_reference(ledger, rng, own, max_epochs, max_time):
    """Walk the plan under way; return whether it ended by arriving at a pair with no visits left (alg: CTUCRL, step 6).

    Stops after `max_epochs`, or when the clock has passed `max_time`.  `rng` is the world's stream, `own` the learner's.
    """
    world, counts, plan, clock, row = ledger.world, ledger.counts, ledger.plan, ledger.clock, int(ledger.at[DONE])
    state, epochs, last, entry, ended = int(ledger.at[STATE]), 0, -1, -1, False
    while epochs < max_epochs and clock[TIME] <= max_time:
        pair = plan.pair[state]
        if len(plan.cumulative):
            pair = plan.pair_table[state, np.searchsorted(plan.cumulative[state], own.random(), side="right")]
        ended = bool(plan.left[pair] == 0)
        if ended:
            break
        tau = holding_time_reference(rng, world.law[pair], world.mean[pair], world.first[pair], world.second[pair])
        entry = jump_reference(rng, world.row_start, world.cut, world.own, world.other, pair)
        reward = world.reward[pair] + world.transition_reward[entry]
        last, next_state = pair, int(world.next_state[entry])
        plan.left[pair] -= 1
        ledger.visits[pair] += 1
        counts.visits[pair] += 1
        if keeps_reference(tau, counts.visits[pair], counts.scale[0]):
            counts.holding_sum[pair] += tau
        counts.reward_sum[pair] += reward
        if counts.slot_of[entry] < 0:
            counts.slot_of[entry] = find_slot_reference(pair, next_state, counts.head, counts.slot_state, counts.slot_next,
                                                        counts.slot_count, counts.used)
        counts.slot_count[counts.slot_of[entry]] += 1
        clock[TIME] += tau
        clock[PAID] += world.running[pair] * tau + world.transition_reward[entry]
        clock[LAST] = tau
        if len(ledger.trace.state):
            happened = (state, world.pair_action[pair], tau, next_state, reward, world.running[pair] * tau)
            for column, value in zip(ledger.trace, happened):
                column[row + epochs] = value
        state = next_state
        epochs += 1
    book_reference(ledger, state, epochs, last, entry)
    return ended


@inner
def walk_plan(ledger, rng, own, max_epochs, max_time):
    world, counts, plan, total, clock, trace = ledger.world, ledger.counts, ledger.plan, ledger.visits, ledger.clock, ledger.trace
    law, mean, first, second = world.law, world.mean, world.first, world.second
    row_start, next_states, cut, own_entry, other = world.row_start, world.next_state, world.cut, world.own, world.other
    visits, holding_sum, reward_sum, slot_of = counts.visits, counts.holding_sum, counts.reward_sum, counts.slot_of
    scale = counts.scale[0]
    left, cumulative, randomized, tracing = plan.left, plan.cumulative, len(plan.cumulative) > 0, len(trace.state) > 0
    time, extra, tau = clock[TIME], clock[PAID], clock[LAST]
    state, row = ledger.at[STATE], ledger.at[DONE]
    epochs, last, entry, ended = 0, -1, -1, False
    while epochs < max_epochs and time <= max_time:
        pair = plan.pair[state]
        if randomized:
            u = own.random()
            action = 0
            while u >= cumulative[state, action]:
                action += 1
            pair = plan.pair_table[state, action]
        if left[pair] == 0:
            ended = True
            break
        tau = holding_time(rng, law[pair], mean[pair], first[pair], second[pair])
        entry = jump(rng, row_start, cut, own_entry, other, pair)
        reward = world.reward[pair] + world.transition_reward[entry]
        last, next_state = pair, next_states[entry]
        left[pair] -= 1
        total[pair] += 1
        visits[pair] += 1
        if keeps(tau, visits[pair], scale):
            holding_sum[pair] += tau
        reward_sum[pair] += reward
        slot = slot_of[entry]
        if slot < 0:
            slot = find_slot(pair, next_state, counts.head, counts.slot_state, counts.slot_next, counts.slot_count, counts.used)
            slot_of[entry] = slot
        counts.slot_count[slot] += 1
        time += tau
        extra += world.running[pair] * tau + world.transition_reward[entry]
        if tracing:
            trace.state[row + epochs] = state
            trace.action[row + epochs] = world.pair_action[pair]
            trace.holding_time[row + epochs] = tau
            trace.next_state[row + epochs] = next_state
            trace.lump[row + epochs] = reward
            trace.running[row + epochs] = world.running[pair] * tau
        state = next_state
        epochs += 1
    clock[TIME], clock[PAID], clock[LAST] = time, extra, tau
    book(ledger.at, plan.epochs, counts.epoch, state, epochs, last, entry)
    return ended
