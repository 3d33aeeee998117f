"""Can some policy lead from every state to every other?  Without copies of the model, for large ones."""

import numpy as np

from sojourn.kernels.jit import kernel

PASSES = 60


@kernel
def reaches_all(pair_start, row_start, next_state):
    """Return whether every state can be reached from state 0."""
    n = pair_start.size - 1
    seen, stack = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    seen[0], stack[0], top, count = True, 0, 1, 1
    while top > 0:
        top -= 1
        s = stack[top]
        for i in range(row_start[pair_start[s]], row_start[pair_start[s + 1]]):
            j = next_state[i]
            if not seen[j]:
                seen[j] = True
                stack[top] = j
                top += 1
                count += 1
        if count == n:
            return True
    return count == n


@kernel
def reached_by_all(pair_start, row_start, next_state):
    """Return whether state 0 can be reached from every state: 1 yes, 0 no, -1 not known after some passes."""
    n = pair_start.size - 1
    can = np.zeros(n, dtype=np.bool_)
    can[0] = True
    count = 1
    for k in range(PASSES):
        before = count
        for step in range(n):
            s = n - 1 - step if k % 2 else step
            if not can[s]:
                for i in range(row_start[pair_start[s]], row_start[pair_start[s + 1]]):
                    if can[next_state[i]]:
                        can[s] = True
                        count += 1
                        break
        if count == n:
            return 1
        if count == before:
            return 0
    return -1


@kernel
def is_wide(row_start, next_state, pairs, narrow):
    """Return whether the chain of a policy is no line: a ball of radius r holds more than 2 narrow (r + 1) states.

    In a line no jump spans more than `narrow` states, so a ball of radius r has at most 2 narrow r + 1.
    """
    n = pairs.size
    seen, queue = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    seen[0], queue[0], first, last, end, radius = True, 0, 0, 1, 1, 0
    while first < last:
        radius += 1
        for at in range(first, last):
            k = pairs[queue[at]]
            for i in range(row_start[k], row_start[k + 1]):
                j = next_state[i]
                if not seen[j]:
                    seen[j] = True
                    queue[end] = j
                    end += 1
        first, last = last, end
        if end > 2 * narrow * (radius + 1):
            return True
    return False
