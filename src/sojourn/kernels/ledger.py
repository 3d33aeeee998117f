"""The ledger: everything that a walk reads and writes, as one named shape of plain arrays.

    Ledger
      world    the model as flat arrays, with tables for drawing holding times and jumps      read
      counts   what the learner has counted; every epoch is added here                        read and written
      visits   decisions per pair of this walk                                                written
      clock    time, running and transition reward, last holding time                         written
      at       where the walk stands and what the call has done (STATE, DONE, ...)            written
      plan     what is left of the plan under way: pair per state, visits and epochs left     read and written
      info     numbers that a compiled planner says about its plan (Plan.info)                written by the planner
      begun    one row per plan that a compiled planner began in the call                     written
      trace    one row per epoch, where somebody listens; empty arrays switch it off          written
      words, records   the world's random stream as raw words, and room to work in (kernels/fast_walk.py)

P pairs, S states, A actions, E entries (possible jumps) as in CTMDP.  Numbers that change are arrays of length 1 or more, so that
a ledger is made once and never rebuilt between calls.  Random generators go beside it: numba takes long to recognize a tuple
that holds one.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.jit import kernel

TIME, PAID, LAST = range(3)  # of `clock`
STATE, DONE, PAIR, ENTRY, BEGUN = range(5)  # of `at`: where it stands; epochs of the call; last pair and entry; plans begun
TAKEN, LEFT = range(2)  # of `plan.epochs`
NO_LIMIT = 2**62  # visits or epochs


class World(NamedTuple):
    """The model as a walk needs it.

    The holding time of pair k has the law `law[k]` (numbers of kernels/walk.py; 0 is exponential) with mean `mean[k]` and
    parameters `first[k]`, `second[k]`.  Jumps are drawn from `cut`, `own`, `other` (kernels/alias.py), which `cells` holds once
    more as the fast walk reads them.
    """

    pair_action: np.ndarray  # int64[P]
    row_start: np.ndarray  # int64[P+1]
    next_state: np.ndarray  # int64[E]
    cut: np.ndarray  # uint64[E]
    own: np.ndarray  # int64[E]
    other: np.ndarray  # int64[E]
    reward: np.ndarray  # float64[P], the lump sum as given
    running: np.ndarray  # float64[P]
    transition_reward: np.ndarray  # float64[E], zeros if the model has none
    mean: np.ndarray  # float64[P], 1 / rate
    law: np.ndarray  # int64[P]
    first: np.ndarray  # float64[P]
    second: np.ndarray  # float64[P]
    cells: np.ndarray  # int64[4 E]


class CountArrays(NamedTuple):
    """The arrays of a learner's Counts (learn/counts.py); `slot_of` is the slot of each entry of the world, -1 if not yet known."""

    epoch: np.ndarray  # int64[1], the number of the next decision
    scale: np.ndarray  # float64[1], of the truncation
    visits: np.ndarray  # int64[P]
    holding_sum: np.ndarray  # float64[P]
    reward_sum: np.ndarray  # float64[P]
    head: np.ndarray  # int64[P], and the slots: see kernels/counts.py
    slot_state: np.ndarray
    slot_next: np.ndarray
    slot_count: np.ndarray
    used: np.ndarray  # int64[1]
    slot_of: np.ndarray  # int64[E]


class PlanLeft(NamedTuple):
    """What is left of a plan.  A randomized one has `cumulative` probabilities and `pair_table` (S, A); else both are (0, 0)."""

    pair: np.ndarray  # int64[S], the pair chosen in each state
    left: np.ndarray  # int64[P], visits that each pair may still take
    epochs: np.ndarray  # int64[2], TAKEN so far and still LEFT
    cumulative: np.ndarray  # float64[S, A]
    pair_table: np.ndarray  # int64[S, A]


class PlansBegun(NamedTuple):
    """One row per plan begun in a call: epochs of the call before it, state, pair per state, visits of the walk, info."""

    epoch: np.ndarray  # int64[K]
    state: np.ndarray  # int64[K]
    pair: np.ndarray  # int64[K, S]
    visits: np.ndarray  # int64[K, P]
    info: np.ndarray  # float64[K, I]


class Trace(NamedTuple):
    """Columns into which a walk writes what happened, one row per epoch."""

    state: np.ndarray
    action: np.ndarray
    holding_time: np.ndarray
    next_state: np.ndarray
    lump: np.ndarray  # the lump sum, with what was paid on the jump
    running: np.ndarray  # what ran up during the holding time


class Ledger(NamedTuple):
    """See the head of this file."""

    world: World
    counts: CountArrays
    visits: np.ndarray  # int64[P]
    clock: np.ndarray  # float64[3]
    at: np.ndarray  # int64[5]
    plan: PlanLeft
    info: np.ndarray  # float64[I]
    begun: PlansBegun
    trace: Trace
    words: np.ndarray  # uint64[6], empty where the generator is in use
    records: np.ndarray  # int64[8 S]


class Desk(NamedTuple):
    """The learner's side of a ledger, which is all that a planner sees: it never sees the world."""

    counts: CountArrays
    plan: PlanLeft
    info: np.ndarray  # float64[I]


def empty_plan(n_states: int, n_pairs: int) -> PlanLeft:
    """Return room for a plan; none of it is left."""
    return PlanLeft(np.zeros(n_states, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64), np.zeros(2, dtype=np.int64),
                    np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64))


def empty_begun(rows: int, n_states: int, n_pairs: int, n_info: int) -> PlansBegun:
    """Return room for `rows` plans."""
    return PlansBegun(np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64), np.zeros((rows, n_states), dtype=np.int64),
                      np.zeros((rows, n_pairs), dtype=np.int64), np.zeros((rows, n_info)))


def empty_trace(rows: int) -> Trace:
    """Return room for `rows` epochs."""
    return Trace(np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64), np.zeros(rows), np.zeros(rows, dtype=np.int64),
                 np.zeros(rows), np.zeros(rows))


def empty_ledger(world: World, counts: CountArrays, begun: PlansBegun, rows: int = 0) -> Ledger:
    """Return a ledger with nothing walked, room for the plans `begun` and for a trace of `rows` epochs."""
    n_states, n_pairs = begun.pair.shape[1], begun.visits.shape[1]
    return Ledger(world, counts, np.zeros(n_pairs, dtype=np.int64), np.zeros(3), np.array([0, 0, -1, -1, 0]),
                  empty_plan(n_states, n_pairs), np.zeros(begun.info.shape[1]), begun, empty_trace(rows),
                  np.zeros(0, dtype=np.uint64), np.zeros(8 * n_states, dtype=np.int64))


def book_reference(ledger: Ledger, state: int, epochs: int, pair: int, entry: int) -> None:
    """Write down that `epochs` epochs of the plan were walked, the last one in `pair` along `entry`, and where that led."""
    if epochs:
        ledger.at[[STATE, PAIR, ENTRY]] = state, pair, entry
        ledger.at[DONE] += epochs
        ledger.plan.epochs[:] += epochs, -epochs
        ledger.counts.epoch[0] += epochs


@kernel
def book(at, plan_epochs, count_epoch, state, epochs, pair, entry):
    if epochs > 0:
        at[STATE] = state
        at[PAIR] = pair
        at[ENTRY] = entry
        at[DONE] += epochs
        plan_epochs[TAKEN] += epochs
        plan_epochs[LEFT] -= epochs
        count_epoch[0] += epochs
