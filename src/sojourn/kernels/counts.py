"""Counting what was seen: visits, kept holding times, and sparse transition counts that grow as successors appear.

The successors seen from a pair form a linked list in a pool of slots: `head[pair]` is the first slot or -1, `slot_next` the
following one, `slot_state` the successor, `slot_count` how often.  Slots never move, so a walk may remember them.
`used[0]` is the number of slots in use; the pool must have room for one more before each observation.
"""

import numpy as np

from sojourn.kernels.jit import kernel


def keeps_reference(holding_time: float, visit: int, scale: float) -> bool:
    """Return whether the visit-th sample is kept: τ <= sqrt(2 i / scale), scale = λ_min² log(1/δ).  Paper: eq:truncate-mean"""
    return scale == 0.0 or holding_time <= np.sqrt(2.0 * visit / scale)


@kernel
def keeps(holding_time: float, visit: int, scale: float) -> bool:
    if holding_time * holding_time * scale <= 1.999999 * visit:
        return True
    return scale == 0.0 or holding_time <= np.sqrt(2.0 * visit / scale)


def find_slot_reference(pair, next_state, head, slot_state, slot_next, slot_count, used) -> int:
    """Return the slot of (pair, next_state), appended with count 0 at the end of the pair's list if it is new."""
    slot, last = head[pair], -1
    while slot >= 0:
        if slot_state[slot] == next_state:
            return int(slot)
        last, slot = slot, slot_next[slot]
    new = int(used[0])
    slot_state[new], slot_next[new], slot_count[new] = next_state, -1, 0
    if last < 0:
        head[pair] = new
    else:
        slot_next[last] = new
    used[0] += 1
    return new


@kernel
def find_slot(pair, next_state, head, slot_state, slot_next, slot_count, used):
    slot = head[pair]
    last = -1
    while slot >= 0:
        if slot_state[slot] == next_state:
            return slot
        last = slot
        slot = slot_next[slot]
    new = used[0]
    slot_state[new] = next_state
    slot_next[new] = -1
    slot_count[new] = 0
    if last < 0:
        head[pair] = new
    else:
        slot_next[last] = new
    used[0] = new + 1
    return new


def sorted_rows_reference(head, slot_state, slot_next, slot_count):
    """Return (row_start, next_state, count): the observed successors of each pair, in order of the state."""
    start, states, counts = [0], [], []
    for pair in range(len(head)):
        slot, row = head[pair], []
        while slot >= 0:
            row.append((int(slot_state[slot]), int(slot_count[slot])))
            slot = slot_next[slot]
        for state, count in sorted(row):
            states.append(state)
            counts.append(count)
        start.append(len(states))
    return np.array(start, dtype=np.int64), np.array(states, dtype=np.int64), np.array(counts, dtype=np.int64)


@kernel
def sorted_rows(head, slot_state, slot_next, slot_count, used):
    pairs = len(head)
    row_start = np.zeros(pairs + 1, dtype=np.int64)
    next_state = np.empty(used, dtype=np.int64)
    count = np.empty(used, dtype=np.int64)
    n = 0
    for pair in range(pairs):
        slot = head[pair]
        begin = n
        while slot >= 0:
            next_state[n] = slot_state[slot]
            count[n] = slot_count[slot]
            n += 1
            slot = slot_next[slot]
        row_start[pair + 1] = n
        gap = 1  # Shell's sort: rows are short, or full
        while n - begin > 24 and 9 * gap < n - begin:
            gap = 3 * gap + 1
        while gap > 0:
            for k in range(begin + gap, n):
                state = next_state[k]
                many = count[k]
                i = k
                while i >= begin + gap and next_state[i - gap] > state:
                    next_state[i] = next_state[i - gap]
                    count[i] = count[i - gap]
                    i -= gap
                next_state[i] = state
                count[i] = many
            gap //= 3
    return row_start, next_state, count


def count_rows_reference(counts, pair, holding_time, next_state, reward) -> None:
    """Count epochs in order: visits, the holding time if it is kept, the reward, the successor.  Paper: alg: CTUCRL, step 3"""
    slots = counts.head, counts.slot_state, counts.slot_next, counts.slot_count, counts.used
    for i, tau, state, paid in zip(pair, holding_time, next_state, reward):
        counts.visits[i] += 1
        if keeps_reference(tau, counts.visits[i], counts.scale[0]):
            counts.holding_sum[i] += tau
        counts.reward_sum[i] += paid
        counts.slot_count[find_slot_reference(i, state, *slots)] += 1
    counts.epoch[0] += len(pair)


@kernel
def count_rows(counts, pair, holding_time, next_state, reward):
    visits, holding_sum, reward_sum, scale = counts.visits, counts.holding_sum, counts.reward_sum, counts.scale[0]
    head, slot_state, slot_next, slot_count, used = counts.head, counts.slot_state, counts.slot_next, counts.slot_count, counts.used
    for n in range(len(pair)):
        i = pair[n]
        visits[i] += 1
        if keeps(holding_time[n], visits[i], scale):
            holding_sum[i] += holding_time[n]
        reward_sum[i] += reward[n]
        slot_count[find_slot(i, next_state[n], head, slot_state, slot_next, slot_count, used)] += 1
    counts.epoch[0] += len(pair)
