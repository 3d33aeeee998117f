"""The walk with holding times drawn in bulk: the same in law as `walk_plan`, not in bits.

A plan ends by visits alone, so the holding times of a pair within one call matter only through their sum as long as none can
be truncated; the sum of n of them is one Gamma(n) draw.  Before `safe_from[pair]` visits each is drawn and tested by itself.
Records and cells are those of kernels/fast_walk.py, with word 6 of a record the visit from which times may wait.
"""

import numpy as np

from sojourn.kernels.alias import jump_reference
from sojourn.kernels.counts import find_slot, find_slot_reference, keeps, keeps_reference
from sojourn.kernels.fast_walk import FIVE, FOUR, LOW_HALF, SEVEN, SIX, THREE, TWO, entry_of, fill, write_back
from sojourn.kernels.jit import kernel
from sojourn.kernels.pcg64 import ONE, TOP, ZERO, exponential, next_word, wide_product


def walk_bulk_reference(world, state, rng, policy_pair, left, total, fold, max_epochs, safe_from, clock, pending):
    """Walk one plan; return (state, epochs, ended, pair, entry, waits); `pending[pair]` holding times are still to be drawn.

    `waits` says whether the last epoch's is one of them.  `settle_reference` draws them.
    """
    epochs, last, entry, waits = 0, -1, -1, False
    before = fold.visits.copy()
    while epochs < max_epochs and left[policy_pair[state]] > 0:
        pair = last = int(policy_pair[state])
        left[pair] -= 1
        fold.visits[pair] += 1
        waits = bool(fold.visits[pair] >= safe_from[pair])
        if not waits:
            clock[2] = rng.standard_exponential() * world.mean[pair]
            if keeps_reference(clock[2], fold.visits[pair], fold.scale):
                fold.holding_sum[pair] += clock[2]
            clock[0] += clock[2]
            clock[1] += world.running[pair] * clock[2]
        pending[pair] += waits
        entry = jump_reference(rng, world.row_start, world.cut, world.own, world.other, pair)
        if fold.slot_of[entry] < 0:
            fold.slot_of[entry] = find_slot_reference(pair, world.next_state[entry], fold.head, fold.slot_state, fold.slot_next,
                                                      fold.slot_count, fold.used)
        fold.slot_count[fold.slot_of[entry]] += 1
        state = int(world.next_state[entry])
        epochs += 1
    done = fold.visits - before
    total += done
    fold.reward_sum[:] += done * world.reward
    return state, epochs, epochs < max_epochs, last, entry, waits


@kernel
def walk_bulk(world, state, words, policy_pair, left, total, fold, max_epochs, safe_from, clock, pending, integers, packed):
    row_start, own, other, next_state = world.row_start, world.own, world.other, world.next_state
    running, scale, slot_of, slot_count = world.running, fold.scale, fold.slot_of, fold.slot_count
    head, slot_state, slot_next, used = fold.head, fold.slot_state, fold.slot_next, fold.used
    floats = integers.view(np.float64)
    cuts = packed.view(np.uint64)
    fill(integers, floats, policy_pair, row_start, world.mean, world.reward, left, fold.visits, fold.holding_sum, fold.reward_sum)
    for s in range(len(policy_pair)):
        integers[8 * s + 6] = safe_from[policy_pair[s]]
    high, low, inc_high, inc_low = words[0], words[1], words[2], words[3]
    here, was, cell, which = np.uint64(state), np.uint64(state), ZERO, ZERO
    epochs, ended, waits = 0, False, False
    while epochs < max_epochs:
        at = here << THREE
        visit = integers[at]
        if visit == integers[at + ONE]:
            ended = True
            break
        visit += 1
        integers[at] = visit
        waits = visit >= integers[at + SIX]
        if not waits:
            high, low, tau = exponential(high, low, inc_high, inc_low)
            tau *= floats[at + FIVE]
            if keeps(tau, visit, scale):
                floats[at + TWO] += tau
            clock[0] += tau
            clock[1] += running[policy_pair[here]] * tau
            clock[2] = tau
        cell = np.uint64(integers[at + FOUR])
        many = np.uint64(integers[at + SEVEN])
        which = ZERO
        if many > ZERO:
            high, low, bits = next_word(high, low, inc_high, inc_low)
            step, rest = wide_product(bits & TOP, many)
            cell += step << TWO
            which = np.uint64(rest >= cuts[cell])
        times = packed[cell + TWO + which]
        packed[cell + TWO + which] = times + 1
        if times == 0:
            entry = entry_of(cell, which, own, other)
            if slot_of[entry] < 0:
                slot_of[entry] = find_slot(policy_pair[here], next_state[entry], head, slot_state, slot_next, slot_count, used)
        was = here
        here = (cuts[cell + ONE] >> (which << FIVE)) & LOW_HALF
        epochs += 1
    words[0], words[1] = high, low
    for s in range(len(policy_pair)):
        pair, visits = policy_pair[s], integers[8 * s]
        done = visits - fold.visits[pair]
        pending[pair] += max(0, visits - max(fold.visits[pair], safe_from[pair] - 1))
        floats[8 * s + 3] += done * world.reward[pair]
    write_back(integers, floats, packed, policy_pair, row_start, own, other, left, total, fold.visits, fold.holding_sum,
               fold.reward_sum, slot_of, slot_count)
    if epochs == 0:
        return state, 0, ended, -1, -1, False
    return np.int64(here), epochs, ended, policy_pair[was], entry_of(cell, which, own, other), waits


def settle_reference(rng, world, policy_pair, pending, last, holding_sum, clock):
    """Draw the sums that wait, state by state; the one of the last epoch (pair `last`, -1 if it does not wait) by itself,
    since the regret at S_N leaves it out."""
    for pair in policy_pair.tolist():
        n = int(pending[pair]) - (pair == last)
        parts = [rng.standard_gamma(float(n)) * world.mean[pair]] if n > 0 else []
        if pair == last:
            clock[2] = rng.standard_exponential() * world.mean[pair]
            parts.append(clock[2])
        for part in parts:
            holding_sum[pair] += part
            clock[0] += part
            clock[1] += world.running[pair] * part
        pending[pair] = 0


@kernel
def settle(rng, world, policy_pair, pending, last, holding_sum, clock):
    mean, running = world.mean, world.running
    for pair in policy_pair:
        n = pending[pair]
        if pair == last:
            n -= 1
        if n > 0:
            part = rng.standard_gamma(np.float64(n)) * mean[pair]
            holding_sum[pair] += part
            clock[0] += part
            clock[1] += running[pair] * part
        if pair == last:
            clock[2] = rng.standard_exponential() * mean[pair]
            holding_sum[pair] += clock[2]
            clock[0] += clock[2]
            clock[1] += running[pair] * clock[2]
        pending[pair] = 0
