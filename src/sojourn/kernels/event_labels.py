"""Which event was it, given where a pair jumped: one uniform number per epoch."""

import numpy as np

from sojourn.kernels.jit import kernel


def draw_labels_reference(pairs, next_states, uniform, row_start, row_next, row_event, intensity):
    """Return an event for each epoch, in proportion to the intensities of the rows that lead where it went."""
    found = np.empty(len(pairs), dtype=np.int64)
    for n, (pair, arrived, u) in enumerate(zip(pairs, next_states, uniform)):
        rows = [r for r in range(row_start[pair], row_start[pair + 1]) if row_next[r] == arrived]
        total = 0.0
        for r in rows:
            total += intensity[r]
        left = u * total
        for r in rows:
            found[n] = row_event[r]
            left -= intensity[r]
            if left < 0:
                break
    return found


@kernel
def draw_labels(pairs, next_states, uniform, row_start, row_next, row_event, intensity):
    found = np.empty(len(pairs), dtype=np.int64)
    for n in range(len(pairs)):
        pair, arrived, total = pairs[n], next_states[n], 0.0
        for r in range(row_start[pair], row_start[pair + 1]):
            if row_next[r] == arrived:
                total += intensity[r]
        left = uniform[n] * total
        for r in range(row_start[pair], row_start[pair + 1]):
            if row_next[r] == arrived:
                found[n] = row_event[r]
                left -= intensity[r]
                if left < 0:
                    break
    return found
