"""A pass over all states of a large model on both halves at a time, where there are two processors."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
WORTH = 1_000_000  # jumps from which on a second thread pays
MOST = 8  # threads


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parts(pass_over: Callable[[int, int], T], n_states: int, n_jumps: int) -> list[T]:
    """Return what `pass_over(first, last)` gives for consecutive parts of the states; compiled code runs on all at once."""
    count = min(processors(), MOST) if n_jumps >= WORTH else 1
    if count == 1:
        return [pass_over(0, n_states)]
    ends = [n_states * i // count for i in range(count + 1)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(pass_over, ends[:-1], ends[1:]))
