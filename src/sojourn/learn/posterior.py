"""Uncertainty as a posterior: what the counts leave open about rows and rates, as a Dirichlet and a Gamma law per pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.planning import Model, best_policy
from sojourn.kernels.pooled_plan import PairRows, pooled_mean
from sojourn.kernels.posterior import posterior_mean, successor_counts, weights_now
from sojourn.kernels.swept_planning import DENSE
from sojourn.learn.counts import Counts
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive


class Posterior:
    """Dirichlet rows over the possible successors (the known supports, else all states) and Gamma rates, given counts.

    `prior` is the Dirichlet weight of each possible successor; None means 1/k each, k of them: together one observation.
    `rate_prior` = (shape, time) of the Gamma prior, cut to the rate bounds; (0, 0) is uniform in log rate over them.
    `fades`: where the supports are not known, the weight is divided by 1 + the visits of the pair (kernels/posterior.py).

    In a large model with unknown supports it is `pooled`: rows hold the successors seen by the last `update`, and at their end one
    place for any other (next_state 0, count 0), so that memory grows with what was observed and not with pairs times states.
    """

    def __init__(self, knowledge: Knowledge, prior: float | None = None, rate_prior: tuple[float, float] = (0.0, 0.0),
                 fades: bool = False):
        self.knowledge = knowledge
        self.fades = fades and not knowledge.supports_known
        n_states, n_pairs = knowledge.n_states, knowledge.n_pairs
        # Own copies, which are writable: a kernel is compiled once for writable arrays and once more for read-only ones.
        self.pair_start = np.array(knowledge.pair_start)
        self.reward, self.running = np.array(knowledge.reward), np.array(knowledge.running)
        self.rate_min, self.rate_max = float(knowledge.rate_min), float(knowledge.rate_max)
        self.pooled = not knowledge.supports_known and n_states > DENSE
        if knowledge.support_start is not None and knowledge.support_state is not None:
            self.row_start, self.next_state = np.array(knowledge.support_start), np.array(knowledge.support_state)
        elif self.pooled:
            self.row_start, self.next_state = np.arange(n_pairs + 1), np.zeros(n_pairs, dtype=np.int64)
        else:
            self.row_start = np.arange(n_pairs + 1, dtype=np.int64) * n_states
            self.next_state = np.tile(np.arange(n_states, dtype=np.int64), n_pairs)
        self.size = np.full(n_pairs, n_states) if self.pooled else np.diff(self.row_start)  # possible successors per pair
        self.every = np.ones(n_pairs, dtype=np.bool_)
        self.weight = (1.0 / self.size if prior is None
                       else np.full(n_pairs, positive("prior", prior, ", or None for 1/k on each of k successors")))
        self.shape, self.time = _rate_prior(rate_prior)
        self.count = np.zeros(len(self.next_state), dtype=np.int64)
        self.visits = np.zeros(n_pairs, dtype=np.int64)
        self.holding_sum = np.zeros(n_pairs)

    def update(self, counts: Counts) -> None:
        """Take over what has been counted."""
        self.visits, self.holding_sum = counts.visits, counts.holding_sum
        if self.pooled:
            start, state, count = counts.rows()
            self.row_start = start + np.arange(len(start))
            self.next_state, self.count = np.insert(state, start[1:], 0), np.insert(count, start[1:], 0)
            return
        pair = successor_counts(counts.head, counts.slot_state, counts.slot_next, counts.slot_count, self.row_start,
                                self.next_state, self.count)
        if pair >= 0:
            s, a = self.knowledge.pair_state[pair], self.knowledge.pair_action[pair]
            raise ParameterError(f"state {self.knowledge.states[s]!r} with action {self.knowledge.actions[a]!r} (pair {pair}) led "
                                 "outside its known support; give the true supports, or leave them out.")

    def mean(self) -> Model:
        """Return the model of the posterior mean rows and the empirical rates within the bounds.

        Where rows are pooled it has one state and pair more: see kernels/pooled_plan.py.
        """
        weight = weights_now(self.weight, self.visits, self.fades)
        if self.pooled:
            ends = self.row_start[1:] - 1
            found: Model = pooled_mean(
                PairRows(self.pair_start, self.reward, self.running), self.row_start - np.arange(len(self.row_start)),
                np.delete(self.next_state, ends), np.delete(self.count, ends), self.visits, self.holding_sum, weight,
                self.rate_min, self.rate_max)
            return found
        probability, rate = posterior_mean(self.row_start, self.count, self.visits, self.holding_sum, weight, self.rate_min,
                                           self.rate_max)
        return Model(self.pair_start, self.row_start, self.next_state, probability, self.reward, self.running, rate)

    def best_of_mean(self, start: np.ndarray, low: Any = 0.0, high: Any = np.inf) -> tuple[float, np.ndarray]:
        """Return (gain, pair per state) of the best policy of the mean model, its rates put into [low, high], from `start`."""
        model = self.mean()
        model = model._replace(rate=np.clip(model.rate, low, high))
        if self.pooled:
            start = np.append(start, len(self.every))
        gain, _, pair = best_policy(model, np.ones(len(model.rate), dtype=np.bool_), start)
        return float(gain), pair[: len(self.pair_start) - 1]


def _rate_prior(value: tuple[float, float]) -> tuple[float, float]:
    try:
        shape, time = (float(part) for part in value)
    except (TypeError, ValueError):
        raise ParameterError(f"rate_prior is {value!r}; it must be a pair (shape, time) of the Gamma prior of a rate.") from None
    if not (0 <= shape < np.inf and 0 <= time < np.inf and (shape > 0) == (time > 0)):
        raise ParameterError(f"rate_prior is ({shape:g}, {time:g}); shape and time must both be positive, or both 0 "
                             "(uniform in log rate).")
    return shape, time
