"""A path looked at on a grid of times only: what a learner in discrete time sees of a process in continuous time.

From grid point to grid point one counts: the pair at the first, the state at the second, all that was paid in between.  Whatever
happens between two grid points, several jumps or none, is one step.
"""

from math import floor

from sojourn.kernels.counts import find_slot, find_slot_reference
from sojourn.kernels.jit import kernel

PHASE, PAID = range(2)  # of `memory`: time since the last grid point, and what was paid since


def count_grid_reference(counts, memory, last, step, pair, state, holding_time, lump, running):
    """Count the grid points within some epochs, in order, one by one; `last[0]` is the pair at the last grid point, -1 at first."""
    slots = counts.head, counts.slot_state, counts.slot_next, counts.slot_count, counts.used
    for i, s, tau, paid, ran in zip(pair, state, holding_time, lump, running):
        if last[0] < 0:  # the first grid point is at time 0
            last[0] = i
        memory[PAID] += paid
        left = tau
        while left >= step - memory[PHASE]:
            until = step - memory[PHASE]
            memory[PAID] += ran * until / tau
            left -= until
            counts.visits[last[0]] += 1
            counts.reward_sum[last[0]] += memory[PAID]
            counts.slot_count[find_slot_reference(last[0], s, *slots)] += 1
            counts.epoch[0] += 1
            last[0], memory[:] = i, 0.0
        memory[PHASE] += left
        memory[PAID] += ran * left / tau


@kernel
def count_grid(counts, memory, last, step, pair, state, holding_time, lump, running):
    visits, reward_sum, epoch, slot_count = counts.visits, counts.reward_sum, counts.epoch, counts.slot_count
    head, slot_state, slot_next, used = counts.head, counts.slot_state, counts.slot_next, counts.used
    for n in range(len(pair)):
        i = pair[n]
        tau = holding_time[n]
        if last[0] < 0:
            last[0] = i
        memory[PAID] += lump[n]
        until = step - memory[PHASE]
        if tau < until:
            memory[PHASE] += tau
            memory[PAID] += running[n]
            continue
        before = last[0]
        visits[before] += 1
        reward_sum[before] += memory[PAID] + running[n] * until / tau
        slot_count[find_slot(before, state[n], head, slot_state, slot_next, slot_count, used)] += 1
        epoch[0] += 1
        last[0] = i
        whole = floor((tau - until) / step)  # further grid points within the same sojourn
        if whole > 0:
            visits[i] += whole
            reward_sum[i] += whole * running[n] * step / tau
            slot_count[find_slot(i, state[n], head, slot_state, slot_next, slot_count, used)] += whole
            epoch[0] += whole
        memory[PHASE] = max(0.0, tau - until - whole * step)
        memory[PAID] = running[n] * memory[PHASE] / tau
