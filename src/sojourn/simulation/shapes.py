"""What a walk hands to its kernels: plain tuples of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.simulation.world import World


class Trace(NamedTuple):
    """Columns into which a kernel writes what happened; empty ones switch it off."""

    state: np.ndarray
    action: np.ndarray
    holding_time: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray


class Fold(NamedTuple):
    """A learner's counts as the kernel needs them, with `slot_of`: the slot of each entry of the world, -1 if not yet known."""

    visits: np.ndarray
    holding_sum: np.ndarray
    reward_sum: np.ndarray
    head: np.ndarray
    slot_state: np.ndarray
    slot_next: np.ndarray
    slot_count: np.ndarray
    used: np.ndarray
    slot_of: np.ndarray
    scale: float


class Course(NamedTuple):
    """A plan as the kernel needs it: the pair in each state; for a randomized one cumulative (S, A) and the learner's rng."""

    pair: np.ndarray
    cumulative: np.ndarray
    pair_table: np.ndarray
    rng: np.random.Generator


class Ground(NamedTuple):
    """Where a learner walks several plans in one call: the world, what is counted, and room to work in.

    The world's generator goes beside it: numba is slow to recognize a tuple that holds one.  Where `words` is not empty, the
    world is plain (exponential or constant holding times, no transition rewards), they are the state of its stream, which
    `walk_fast` advances, and the generator is not to be drawn from.
    """

    world: World
    words: np.ndarray
    fold: Fold
    visits: np.ndarray  # int64[P] of the walk
    clock: np.ndarray
    trace: Trace  # empty
    records: np.ndarray
    cells: np.ndarray


def trace_of(rows: int) -> Trace:
    """Return room for `rows` epochs."""
    whole, real = (lambda: np.zeros(rows, dtype=np.int64)), (lambda: np.zeros(rows))
    return Trace(whole(), whole(), real(), whole(), real())
