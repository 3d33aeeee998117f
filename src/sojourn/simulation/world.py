"""The world a walk runs in: the model as flat arrays, with tables for drawing holding times and jumps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.holding import holding_laws


class World(NamedTuple):
    """Flat arrays, all a compiled walk needs.  P pairs, S states, E entries (possible jumps), as in CTMDP.

    The holding time of pair k has the law `law[k]` (numbers of kernels/walk.py; 0 is exponential) with mean `mean[k]` and
    parameters `first[k]`, `second[k]`.  `cumulative` is the running sum within each row, infinite at its end.
    """

    pair_start: np.ndarray  # int64[S+1]
    pair_action: np.ndarray  # int64[P]
    row_start: np.ndarray  # int64[P+1]
    next_state: np.ndarray  # int64[E]
    cumulative: np.ndarray  # float64[E]
    guide: np.ndarray  # int64[E]
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
    cumulative = _cumulative(model)
    paid = np.zeros(len(model.next_state)) if model.transition_reward is None else np.array(model.transition_reward)
    return World(
        pair_start=np.array(model.pair_start), pair_action=np.array(model.pair_action), row_start=np.array(model.row_start),
        next_state=np.array(model.next_state), cumulative=cumulative, guide=_guide(model.row_start, cumulative),
        reward=np.array(model.reward), running=np.array(model.running), transition_reward=paid,
        mean=1.0 / model.rate, law=law, first=first, second=second,
    )


def _cumulative(model: CTMDP) -> np.ndarray:
    """Running sums within each row; the last is infinite, so that rounding never lets a draw fall off the end."""
    total = np.array(model.probability)
    for start, end in pairwise(model.row_start):
        np.cumsum(total[start:end], out=total[start:end])
        total[end - 1] = np.inf
    return total


def _guide(row_start: np.ndarray, cumulative: np.ndarray) -> np.ndarray:
    """Return, for a uniform u in [k/n, (k+1)/n) of a row with n entries, where the search for it may begin.

    The start is the first entry whose cumulative exceeds k/n less a little, so it is never beyond the answer.
    """
    guide = np.empty(len(cumulative), dtype=np.int64)
    for start, end in pairwise(row_start):
        levels = np.arange(end - start) / (end - start) * (1 - 1e-12)
        guide[start:end] = start + np.searchsorted(cumulative[start:end], levels, side="right")
    return guide
