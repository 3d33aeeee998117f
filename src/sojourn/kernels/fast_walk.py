"""The walk of the common case at the speed of its random numbers: an action per state, exponential or constant holding times.

Twin of `walk_plan_reference` (kernels/walk.py), bit for bit.  What one epoch touches lies together: one cache line per state
(a *record* of 8 words, floats and integers over the same memory) and half a line per cell of its row (4 words):

    record  0 visits  1 visits at which the plan ends  2 holding_sum  3 reward_sum  4 first cell (x 4)  5 mean  6 reward  7 cells
            (-mean where the holding time is constant)
    cell    0 cut     1 next state of `own`, and of `other` in the high half        2 times `own`       3 times `other`

Records are filled from the counts before the loop and written back after it; cells are kept between calls with counts at 0.
Indices are unsigned, to avoid negative-index wraparound; bits come from kernels/pcg64.py, held in registers.
"""

import numpy as np

from sojourn.kernels.counts import find_slot, keeps
from sojourn.kernels.jit import inner, kernel
from sojourn.kernels.ledger import LAST, PAID, STATE, TIME, book
from sojourn.kernels.pcg64 import ONE, TOP, ZERO, exponential, next_word, wide_product
from sojourn.kernels.walk import DETERMINISTIC

TWO, THREE, FOUR, FIVE, SIX, SEVEN, HALF = (np.uint64(x) for x in (2, 3, 4, 5, 6, 7, 32))
LOW_HALF = np.uint64(0xFFFFFFFF)


@kernel
def packed_cells(next_state, cut, own, other):
    """Return the cells (4 words each) of a world, counts at 0."""
    packed = np.zeros(4 * len(cut), dtype=np.int64)
    for cell in range(len(cut)):
        packed[4 * cell] = np.int64(cut[cell])
        packed[4 * cell + 1] = next_state[own[cell]] | (next_state[other[cell]] << 32)
    return packed


@inner
def fill(world, counts, policy_pair, left, integers, floats):
    row_start, mean, reward = world.row_start, world.mean, world.reward
    visits, holding_sum, reward_sum = counts.visits, counts.holding_sum, counts.reward_sum
    for state in range(len(policy_pair)):
        pair, at = policy_pair[state], 8 * state
        integers[at] = visits[pair]
        integers[at + 1] = visits[pair] + left[pair]
        floats[at + 2] = holding_sum[pair]
        floats[at + 3] = reward_sum[pair]
        integers[at + 4] = 4 * row_start[pair]
        floats[at + 5] = mean[pair]
        floats[at + 6] = reward[pair]
        integers[at + 7] = row_start[pair + 1] - row_start[pair] - 1


@inner
def write_back(world, counts, policy_pair, left, total, integers, floats):
    row_start, own, other, packed = world.row_start, world.own, world.other, world.cells
    visits, holding_sum, reward_sum, slot_of, slot_count = (counts.visits, counts.holding_sum, counts.reward_sum, counts.slot_of,
                                                            counts.slot_count)
    for state in range(len(policy_pair)):
        pair, at = policy_pair[state], 8 * state
        done = integers[at] - visits[pair]
        if done == 0:
            continue
        visits[pair] += done
        total[pair] += done
        left[pair] -= done
        holding_sum[pair] = floats[at + 2]
        reward_sum[pair] = floats[at + 3]
        for cell in range(row_start[pair], max(row_start[pair + 1] - 1, row_start[pair] + 1)):
            if packed[4 * cell + 2] > 0:
                slot_count[slot_of[own[cell]]] += packed[4 * cell + 2]
                packed[4 * cell + 2] = 0
            if packed[4 * cell + 3] > 0:
                slot_count[slot_of[other[cell]]] += packed[4 * cell + 3]
                packed[4 * cell + 3] = 0


@inner
def entry_of(cell, which, own, other):
    if which == ONE:
        return other[cell >> TWO]
    return own[cell >> TWO]


@inner
def walk_fast(ledger, rng, own, max_epochs, max_time):
    """Walk as `walk_plan` does, but draw from `ledger.words`; the two generators are not used."""
    world, counts, plan, clock, words, integers = (ledger.world, ledger.counts, ledger.plan, ledger.clock, ledger.words,
                                                   ledger.records)
    policy_pair, left, state = plan.pair, plan.left, ledger.at[STATE]
    own_entry, other, next_state, packed = world.own, world.other, world.next_state, world.cells
    running, scale, slot_of, slot_count = world.running, counts.scale[0], counts.slot_of, counts.slot_count
    head, slot_state, slot_next, used = counts.head, counts.slot_state, counts.slot_next, counts.used
    floats = integers.view(np.float64)
    cuts = packed.view(np.uint64)
    fill(world, counts, policy_pair, left, integers, floats)
    pays = False
    for s, pair in enumerate(policy_pair):
        pays = pays or running[pair] != 0.0
        if world.law[pair] == DETERMINISTIC:
            floats[8 * s + 5] = -world.mean[pair]
    high, low, inc_high, inc_low = words[0], words[1], words[2], words[3]
    time, extra, tau = clock[TIME], clock[PAID], clock[LAST]
    here, was, cell, which = np.uint64(state), np.uint64(state), ZERO, ZERO
    epochs, ended = 0, False
    while epochs < max_epochs and time <= max_time:
        at = here << THREE
        visit = integers[at]
        if visit == integers[at + ONE]:
            ended = True
            break
        visit += 1
        integers[at] = visit
        mean = floats[at + FIVE]
        if mean > 0.0:
            high, low, tau = exponential(high, low, inc_high, inc_low)
            tau *= mean
        else:
            tau = -mean
        cell = np.uint64(integers[at + FOUR])
        many = np.uint64(integers[at + SEVEN])
        which = ZERO
        if many > ZERO:
            high, low, bits = next_word(high, low, inc_high, inc_low)
            step, rest = wide_product(bits & TOP, many)
            cell += step << TWO
            which = np.uint64(rest >= cuts[cell])
        if keeps(tau, visit, scale):
            floats[at + TWO] += tau
        floats[at + THREE] += floats[at + SIX]
        times = packed[cell + TWO + which]
        packed[cell + TWO + which] = times + 1
        if times == 0:  # perhaps never seen before: slots are given out in the order of first sight
            entry = entry_of(cell, which, own_entry, other)
            if slot_of[entry] < 0:
                slot_of[entry] = find_slot(policy_pair[here], next_state[entry], head, slot_state, slot_next, slot_count, used)
        time += tau
        if pays:
            extra += running[policy_pair[here]] * tau
        was = here
        here = (cuts[cell + ONE] >> (which << FIVE)) & LOW_HALF
        epochs += 1
    words[0], words[1] = high, low
    clock[TIME], clock[PAID], clock[LAST] = time, extra, tau
    write_back(world, counts, policy_pair, left, ledger.visits, integers, floats)
    book(ledger.at, plan.epochs, counts.epoch, np.int64(here), epochs, policy_pair[was], entry_of(cell, which, own_entry, other))
    return ended
