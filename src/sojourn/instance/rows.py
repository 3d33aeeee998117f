"""The rows over which an alternative may move its mass: each pair's own support, or all states where supports are unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.kernels.least_divergence import best_outside
from sojourn.model.ctmdp import CTMDP


@dataclass(frozen=True, eq=False)
class Rows:
    """The successors of every pair, laid out as in the model: state, probability (0 where it was never possible), lump sum paid."""

    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    paid: np.ndarray | None


def known_rows(model: CTMDP) -> Rows:
    """Return the supports as they are: what a learner that is told them must reckon with."""
    return Rows(model.row_start, model.next_state, model.probability, model.transition_reward)


def open_rows(model: CTMDP, bias: np.ndarray) -> Rows:
    """Return the supports with one more successor each, of probability 0: the state outside of greatest bias.

    A learner that is not told the supports must reckon with jumps to every state.  Of those outside the support the least
    divergence uses only the best one, since all cost the same.  A jump that the model does not have pays nothing.  Where the
    support is all states, its own best successor is repeated, which changes nothing.
    """
    order = np.argsort(-bias, kind="stable")
    added = best_outside(model.row_start, model.next_state, order)
    at = model.row_start[1:]
    whole = added < 0
    paid = model.transition_reward
    if whole.any():  # the last successor again
        added = np.where(whole, model.next_state[at - 1], added)
    return Rows(
        model.row_start + np.arange(model.n_pairs + 1),
        np.insert(model.next_state, at, added),
        np.insert(model.probability, at, 0.0),
        None if paid is None else np.insert(paid, at, np.where(whole, paid[at - 1], 0.0)),
    )
