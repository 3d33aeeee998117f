"""Counting events: which row of the event table each epoch belongs to, and the time spent in each pair."""

import numpy as np

from sojourn.kernels.jit import kernel

UNKNOWN = -1  # the label of an epoch of which nobody said which event ended it


def find_rows_reference(pairs, next_states, labels, row_start, row_next, row_event):
    """Return the row of each epoch: the only one that leads there (by that event, where it is labelled).

    -1 where several rows lead there and no label says which, -2 where none does.
    """
    found = np.empty(len(pairs), dtype=np.int64)
    for n, (pair, arrived, label) in enumerate(zip(pairs, next_states, labels)):
        rows = [r for r in range(row_start[pair], row_start[pair + 1])
                if row_next[r] == arrived and (label == UNKNOWN or row_event[r] == label)]
        found[n] = rows[0] if len(rows) == 1 else (-1 if rows else -2)
    return found


@kernel
def find_rows(pairs, next_states, labels, row_start, row_next, row_event):
    found = np.empty(len(pairs), dtype=np.int64)
    for n in range(len(pairs)):
        row, many = -2, 0
        for r in range(row_start[pairs[n]], row_start[pairs[n] + 1]):
            if row_next[r] == next_states[n] and (labels[n] == UNKNOWN or row_event[r] == labels[n]):
                row = r
                many += 1
        found[n] = -1 if many > 1 else row
    return found


def add_events_reference(pairs, holding_times, rows, time, count):
    """Add each epoch: its holding time to its pair, 1 to its row; in the order of the epochs."""
    for pair, tau, row in zip(pairs, holding_times, rows):
        time[pair] += tau
        count[row] += 1


@kernel
def add_events(pairs, holding_times, rows, time, count):
    for n in range(len(pairs)):
        time[pairs[n]] += holding_times[n]
        count[rows[n]] += 1
