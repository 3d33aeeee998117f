"""Holding times dealt out into cells, as a median of means needs them: the i-th time of a pair goes into cell i mod (cells)."""

import numpy as np

from sojourn.kernels.jit import kernel


def deal_reference(cells, dealt, pair, holding_time):
    """Add each time to its cell; `dealt` counts the times of each pair so far."""
    for i, tau in zip(pair, holding_time):
        cells[i, dealt[i] % cells.shape[1]] += tau
        dealt[i] += 1


@kernel
def deal(cells, dealt, pair, holding_time):
    size = cells.shape[1]
    for n in range(len(pair)):
        i = pair[n]
        cells[i, dealt[i] % size] += holding_time[n]
        dealt[i] += 1


def median_of_means(cells, number, groups):
    """Return the median of the means of `groups` groups of one pair's times: the cell c belongs to group c mod groups.

    >>> median_of_means(np.array([1.0, 2.0, 3.0, 10.0, 0.0]), 4, 2)  # {1, 3} and {2, 10}
    4.0
    """
    size = len(cells)
    held = number // size + (np.arange(size) < number % size)  # times in each cell
    group = np.arange(size) % groups
    return float(np.median(np.bincount(group, cells, groups) / np.maximum(1, np.bincount(group, held, groups))))
