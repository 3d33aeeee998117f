"""The model as the flat arrays of a ledger's world, with tables for drawing holding times and jumps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.kernels.alias import cells
from sojourn.kernels.fast_walk import packed_cells
from sojourn.kernels.ledger import World
from sojourn.kernels.walk import DETERMINISTIC, EXPONENTIAL
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.holding import holding_laws


def world_of(model: CTMDP, holding_times: Any = None) -> World:
    """Return the model as a World; `holding_times` as in `simulate` (None: what the model says)."""
    law, first, second = holding_laws(model, holding_times)
    cut, own, other = cells(model.row_start, model.probability)
    paid = np.zeros(len(model.next_state)) if model.transition_reward is None else np.array(model.transition_reward)
    return World(
        pair_action=np.array(model.pair_action), row_start=np.array(model.row_start), next_state=np.array(model.next_state),
        cut=cut, own=own, other=other,
        reward=np.array(model.reward), running=np.array(model.running), transition_reward=paid,
        mean=1.0 / model.rate, law=law, first=first, second=second,
        cells=packed_cells(np.array(model.next_state), cut, own, other),
    )


def is_plain(world: World) -> bool:
    """Return whether `walk_fast` can walk it: exponential or constant holding times, no transition rewards."""
    simple = (world.law == EXPONENTIAL) | (world.law == DETERMINISTIC)
    return bool(simple.all() and not world.transition_reward.any())
