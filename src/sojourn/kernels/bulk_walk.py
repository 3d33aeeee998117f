"""The walk with holding times drawn in bulk: the same in law as `walk_plan`, not in bits.

A plan ends by visits alone, so the holding times of a pair within one call matter only through their sum as long as none can
be truncated; the sum of n of them is one Gamma(n) draw.  Before `safe_from[pair]` visits each is drawn and tested by itself.
"""

import numpy as np

from sojourn.kernels.alias import jump, jump_reference
from sojourn.kernels.counts import find_slot, find_slot_reference, keeps, keeps_reference
from sojourn.kernels.jit import kernel


def walk_bulk_reference(world, state, rng, policy_pair, left, total, fold, max_epochs, safe_from, clock):
    """Walk one plan; return (state, epochs, ended, pair, entry) as `walk_plan`.  clock[2] is the last holding time.

    The last epoch's holding time is drawn by itself, since the regret at S_N leaves it out.
    """
    pending = dict.fromkeys(policy_pair.tolist(), 0)
    epochs, last, entry, ended, waits = 0, -1, -1, False, False
    while epochs < max_epochs:
        pair = int(policy_pair[state])
        if left[pair] == 0:
            ended = True
            break
        last = pair
        left[pair] -= 1
        total[pair] += 1
        fold.visits[pair] += 1
        waits = fold.visits[pair] >= safe_from[pair]
        if waits:
            pending[pair] += 1
        else:
            clock[2] = rng.standard_exponential() * world.mean[pair]
            if keeps_reference(clock[2], fold.visits[pair], fold.scale):
                fold.holding_sum[pair] += clock[2]
            clock[0] += clock[2]
            clock[1] += world.running[pair] * clock[2]
        fold.reward_sum[pair] += world.reward[pair]
        entry = jump_reference(rng, world.row_start, world.cut, world.own, world.other, pair)
        if fold.slot_of[entry] < 0:
            fold.slot_of[entry] = find_slot_reference(pair, world.next_state[entry], fold.head, fold.slot_state, fold.slot_next,
                                                      fold.slot_count, fold.used)
        fold.slot_count[fold.slot_of[entry]] += 1
        state = int(world.next_state[entry])
        epochs += 1
    for pair, n in pending.items():
        alone = 1 if waits and pair == last else 0
        parts = [rng.standard_gamma(float(n - alone)) * world.mean[pair]] if n > alone else []
        if alone:
            clock[2] = rng.standard_exponential() * world.mean[pair]
            parts.append(clock[2])
        for part in parts:
            fold.holding_sum[pair] += part
            clock[0] += part
            clock[1] += world.running[pair] * part
    return state, epochs, ended, last, entry


@kernel
def walk_bulk(world, state, rng, policy_pair, left, total, fold, max_epochs, safe_from, clock):
    row_start, cut, own, other, next_states = world.row_start, world.cut, world.own, world.other, world.next_state
    mean, running, reward = world.mean, world.running, world.reward
    visits, holding_sum, reward_sum = fold.visits, fold.holding_sum, fold.reward_sum
    slot_of, slot_count = fold.slot_of, fold.slot_count
    pending = np.zeros(len(mean), dtype=np.int64)
    epochs, last, entry = 0, -1, -1
    ended, waits = False, False
    while epochs < max_epochs:
        pair = policy_pair[state]
        if left[pair] == 0:
            ended = True
            break
        last = pair
        left[pair] -= 1
        total[pair] += 1
        visits[pair] += 1
        waits = visits[pair] >= safe_from[pair]
        if waits:
            pending[pair] += 1
        else:
            clock[2] = rng.standard_exponential() * mean[pair]
            if keeps(clock[2], visits[pair], fold.scale):
                holding_sum[pair] += clock[2]
            clock[0] += clock[2]
            clock[1] += running[pair] * clock[2]
        reward_sum[pair] += reward[pair]
        entry = jump(rng, row_start, cut, own, other, pair)
        slot = slot_of[entry]
        if slot < 0:
            slot = find_slot(pair, next_states[entry], fold.head, fold.slot_state, fold.slot_next, slot_count, fold.used)
            slot_of[entry] = slot
        slot_count[slot] += 1
        state = next_states[entry]
        epochs += 1
    for pair in policy_pair:
        n = pending[pair]
        alone = waits and pair == last
        if alone:
            n -= 1
        if n > 0:
            part = rng.standard_gamma(np.float64(n)) * mean[pair]
            holding_sum[pair] += part
            clock[0] += part
            clock[1] += running[pair] * part
        if alone:
            clock[2] = rng.standard_exponential() * mean[pair]
            holding_sum[pair] += clock[2]
            clock[0] += clock[2]
            clock[1] += running[pair] * clock[2]
        pending[pair] = 0
    return state, epochs, ended, last, entry
