"""Many short plans in one call: make a plan from models drawn from the posterior, walk it until it ends, make another.

What CT-PSRL, CT-IMED and CT-BK do when nobody looks at their single epochs.  The plan under way is given by `standing.chosen` (the
pair in each state), `left` and (spent, remaining), the epochs it has taken and may still take; it is over when nothing remains,
or on arriving at a pair with nothing left.  Then `next_plan` begins another one and notes it, as long as there is room for notes.

`ground` is a `Ground` (simulation/shapes.py).  Where it has words, the world is plain and `walk_fast` reads its stream from
them; else `walk_plan` draws from `rng`.  They are twins, so the walk is the same bit for bit.  `own` is the learner's stream.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.fast_walk import walk_fast
from sojourn.kernels.jit import kernel
from sojourn.kernels.posterior import successor_counts, successor_counts_reference
from sojourn.kernels.sampled_plan import sampled_plan, sampled_plan_reference
from sojourn.kernels.walk import walk_plan, walk_plan_reference


class Actions(NamedTuple):
    """An action per state, as `walk_plan` reads a plan: no probabilities."""

    pair: np.ndarray
    cumulative: np.ndarray
    pair_table: np.ndarray
    rng: np.random.Generator


class Notes(NamedTuple):
    """One row per plan begun: epochs of the call before it, state, pair per state, visits of the walk so far, gains."""

    epoch: np.ndarray
    state: np.ndarray
    pair: np.ndarray
    visits: np.ndarray
    estimated_gain: np.ndarray
    sampled_gain: np.ndarray


def notes_of(rows: int, n_states: int, n_pairs: int) -> Notes:
    """Return room for `rows` plans."""
    return Notes(np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64), np.empty((rows, n_states), dtype=np.int64),
                 np.empty((rows, n_pairs), dtype=np.int64), np.empty(rows), np.empty(rows))


@kernel
def next_plan(fold, visits, sampler, own, since, standing, left, notes, row, epoch, state):
    """Begin a plan and note it; return whether one could be made: every successor seen must be a possible one."""
    outside = successor_counts(fold.head, fold.slot_state, fold.slot_next, fold.slot_count, sampler.rows.row_start,
                               sampler.rows.next_state, sampler.counted)
    if outside >= 0:
        return False
    notes.estimated_gain[row], notes.sampled_gain[row] = sampled_plan(sampler, own, since + epoch, fold.visits, fold.holding_sum,
                                                                      standing)
    left[:] = standing.quota
    notes.epoch[row], notes.state[row] = epoch, state
    notes.pair[row] = standing.chosen
    notes.visits[row] = visits
    return True


@kernel
def walk_on(world, fold, visits, rng, state, course, left, max_epochs, max_time, clock, trace):
    """Walk the plan under way as `walk_plan` does, adding to the visits of the walk too."""
    before = fold.visits.copy()
    found = walk_plan(world, state, rng, course, left, fold, max_epochs, max_time, clock, trace)
    for k in range(len(before)):
        visits[k] += fold.visits[k] - before[k]
    return found


def walk_samples_reference(ground, rng, state, max_epochs, max_time, sampler, own, since, standing, left, spent, remaining, notes,
                           **twins):
    """Walk plan after plan; return (state, epochs, pair, entry, spent, remaining, plans begun, stuck).

    Stops after `max_epochs`, or when the clock has passed `max_time`, or when a plan is over and there is no room to note the
    next; `stuck`, where the next cannot be made.  `since` is the number of the first decision.
    """
    fold, q, epochs, begun, last, entry = ground.fold, sampler, 0, 0, -1, -1
    course, over = Actions(standing.chosen, np.empty((0, 0)), np.empty((0, 0)), rng), remaining <= 0
    while epochs < max_epochs and ground.clock[0] <= max_time:
        if over:
            if begun == len(notes.epoch):
                break
            if successor_counts_reference(fold.head, fold.slot_state, fold.slot_next, fold.slot_count, q.rows.row_start,
                                          q.rows.next_state, q.counted) >= 0:
                return state, epochs, last, entry, spent, remaining, begun, True
            gains = sampled_plan_reference(q, own, since + epochs, fold.visits, fold.holding_sum, standing, **twins)
            left[:] = standing.quota
            for column, value in zip(notes, (epochs, state, standing.chosen, ground.visits, *gains)):
                column[begun] = value
            begun, spent, remaining = begun + 1, 0, spent + 1 if q.tsde else 2**62
        before = fold.visits.copy()
        state, walked, over, k, e = walk_plan_reference(ground.world, state, rng, course, left, fold,
                                                        min(max_epochs - epochs, remaining), max_time, ground.clock, ground.trace)
        ground.visits[:] += fold.visits - before
        epochs, spent, remaining = epochs + walked, spent + walked, remaining - walked
        last, entry = (k, e) if walked else (last, entry)
        over = over or remaining <= 0
    return state, epochs, last, entry, spent, remaining, begun, False


@kernel
def walk_samples(ground, rng, state, max_epochs, max_time, sampler, own, since, standing, left, spent, remaining, notes):
    world, words, fold, visits, clock = ground.world, ground.words, ground.fold, ground.visits, ground.clock
    trace, records, cells = ground.trace, ground.records, ground.cells
    chosen = standing.chosen
    course = Actions(chosen, np.empty((0, 0)), np.empty((0, 0), dtype=np.int64), rng)
    epochs, begun, last, entry = np.int64(0), np.int64(0), -1, -1  # a plain 0 would compile `next_plan` twice
    over, stuck = remaining <= 0, False
    while epochs < max_epochs and clock[0] <= max_time:
        if over:
            if begun == len(notes.epoch):
                break
            stuck = not next_plan(fold, visits, sampler, own, since, standing, left, notes, begun, epochs, state)
            if stuck:
                break
            begun += 1
            remaining = spent + 1 if sampler.tsde else 2**62
            spent = 0
        room = min(max_epochs - epochs, remaining)
        if len(words) > 0:
            state, walked, over, k, e = walk_fast(world, state, words, chosen, left, visits, fold, room, max_time, clock, records,
                                                  cells)
        else:
            state, walked, over, k, e = walk_on(world, fold, visits, rng, state, course, left, room, max_time, clock, trace)
        epochs += walked
        spent += walked
        remaining -= walked
        if walked > 0:
            last, entry = k, e
        over = over or remaining <= 0
    return state, epochs, last, entry, spent, remaining, begun, stuck
