"""The walk: many epochs of one plan in one call, folding every observation into the learner's counts.

Random numbers, in this order at every epoch: for a randomized plan one uniform of the learner's own stream (the action); one
holding time; one uniform for the jump (none where the row has a single successor), all from the world's stream.
"""

from math import exp

import numpy as np

from sojourn.kernels.alias import jump, jump_reference
from sojourn.kernels.counts import find_slot, find_slot_reference, keeps, keeps_reference
from sojourn.kernels.jit import kernel

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


def walk_plan_reference(world, state, rng, plan, left, fold, max_epochs, max_time, clock, trace):
    """Walk one plan; return (state, epochs, ended, pair, entry), the last two of the last epoch (-1 if there was none).

    Stops after `max_epochs`, or when clock[0] (time) has passed `max_time`, or, `ended`, on arriving at a pair with nothing
    `left` (alg: CTUCRL, step 6).  `clock` collects [time, running and transition reward, last holding time].
    """
    epochs, last, entry = 0, -1, -1
    while epochs < max_epochs and clock[0] <= max_time:
        pair = plan.pair[state]
        if len(plan.cumulative):
            action = np.searchsorted(plan.cumulative[state], plan.rng.random(), side="right")
            pair = plan.pair_table[state, action]
        if left[pair] == 0:
            return state, epochs, True, last, entry
        tau = holding_time_reference(rng, world.law[pair], world.mean[pair], world.first[pair], world.second[pair])
        entry = jump_reference(rng, world.row_start, world.cut, world.own, world.other, pair)
        reward = world.reward[pair] + world.transition_reward[entry]
        last, next_state = pair, int(world.next_state[entry])
        left[pair] -= 1
        fold.visits[pair] += 1
        if keeps_reference(tau, fold.visits[pair], fold.scale):
            fold.holding_sum[pair] += tau
        fold.reward_sum[pair] += reward
        if fold.slot_of[entry] < 0:
            fold.slot_of[entry] = find_slot_reference(pair, next_state, fold.head, fold.slot_state, fold.slot_next,
                                                      fold.slot_count, fold.used)
        fold.slot_count[fold.slot_of[entry]] += 1
        clock[0] += tau
        clock[1] += world.running[pair] * tau + world.transition_reward[entry]
        clock[2] = tau
        if len(trace.state):
            row = state, world.pair_action[pair], tau, next_state, reward
            for column, value in zip(trace, row):
                column[epochs] = value
        state = next_state
        epochs += 1
    return state, epochs, False, last, entry


@kernel
def walk_plan(world, state, rng, plan, left, fold, max_epochs, max_time, clock, trace):
    epochs, last, entry = 0, -1, -1
    law, mean, first, second = world.law, world.mean, world.first, world.second
    row_start, next_states, cut, own, other = world.row_start, world.next_state, world.cut, world.own, world.other
    visits, holding_sum, reward_sum, slot_of, scale = fold.visits, fold.holding_sum, fold.reward_sum, fold.slot_of, fold.scale
    randomized, tracing = len(plan.cumulative) > 0, len(trace.state) > 0
    time, extra, tau = clock[0], clock[1], clock[2]
    ended = False
    while epochs < max_epochs and time <= max_time:
        pair = plan.pair[state]
        if randomized:
            u = plan.rng.random()
            action = 0
            while u >= plan.cumulative[state, action]:
                action += 1
            pair = plan.pair_table[state, action]
        if left[pair] == 0:
            ended = True
            break
        tau = holding_time(rng, law[pair], mean[pair], first[pair], second[pair])
        entry = jump(rng, row_start, cut, own, other, pair)
        reward = world.reward[pair] + world.transition_reward[entry]
        last, next_state = pair, next_states[entry]
        left[pair] -= 1
        visits[pair] += 1
        if keeps(tau, visits[pair], scale):
            holding_sum[pair] += tau
        reward_sum[pair] += reward
        slot = slot_of[entry]
        if slot < 0:
            slot = find_slot(pair, next_state, fold.head, fold.slot_state, fold.slot_next, fold.slot_count, fold.used)
            slot_of[entry] = slot
        fold.slot_count[slot] += 1
        time += tau
        extra += world.running[pair] * tau + world.transition_reward[entry]
        if tracing:
            trace.state[epochs] = state
            trace.action[epochs] = world.pair_action[pair]
            trace.holding_time[epochs] = tau
            trace.next_state[epochs] = next_state
            trace.reward[epochs] = reward
        state = next_state
        epochs += 1
    clock[0], clock[1], clock[2] = time, extra, tau
    return state, epochs, ended, last, entry
