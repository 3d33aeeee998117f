"""The world a walk runs in: the model as flat arrays, with tables for drawing holding times and jumps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sojourn.kernels.alias import cells
from sojourn.kernels.walk import DETERMINISTIC, EXPONENTIAL
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.holding import holding_laws


class World(NamedTuple):
    """Flat arrays, all a compiled walk needs.  P pairs, S states, E entries (possible jumps), as in CTMDP.

    The holding time of pair k has the law `law[k]` (numbers of kernels/walk.py; 0 is exponential) with mean `mean[k]` and
    parameters `first[k]`, `second[k]`.  Jumps are drawn from the cells `cut`, `own`, `other`.
    """

    pair_start: np.ndarray  # int64[S+1]
    pair_action: np.ndarray  # int64[P]
    row_start: np.ndarray  # int64[P+1]
    next_state: np.ndarray  # int64[E]
    cut: np.ndarray  # uint64[E], the cells of kernels/alias.py
    own: np.ndarray  # int64[E]
    other: np.ndarray  # int64[E]
    reward: np.ndarray  # float64[P], the lump sum as given
    running: np.ndarray  # float64[P]
    transition_reward: np.ndarray  # float64[E], zeros if the model has none
    mean: np.ndarray  # float64[P], 1 / rate
    law: np.ndarray  # int64[P]
    first: np.ndarray  # float64[P]
    second: np.ndarray  # float64[P]


def world_of(model: CTMDP, holding_times: Any = None) -> World:
    """Return the model as a World; `holding_times` as in `simulate` (None: what the model says)."""
    law, first, second = holding_laws(model, holding_times)
    cut, own, other = cells(model.row_start, model.probability)
    paid = np.zeros(len(model.next_state)) if model.transition_reward is None else np.array(model.transition_reward)
    return World(
        pair_start=np.array(model.pair_start), pair_action=np.array(model.pair_action), row_start=np.array(model.row_start),
        next_state=np.array(model.next_state), cut=cut, own=own, other=other,
        reward=np.array(model.reward), running=np.array(model.running), transition_reward=paid,
        mean=1.0 / model.rate, law=law, first=first, second=second,
    )


def is_plain(world: World) -> bool:
    """Return whether `walk_fast` can walk it: exponential or constant holding times, no transition rewards."""
    simple = (world.law == EXPONENTIAL) | (world.law == DETERMINISTIC)
    return bool(simple.all() and not world.transition_reward.any())
