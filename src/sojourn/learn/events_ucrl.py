"""events-ucrl: optimism over intervals for the rates of events that hold at all times.

At decision t every rate lies in its interval of event_belief.py at level log(K t / delta), cut to the bounds that are told and to
nothing else, and every pair is given the ends that help it most.  As the true rates are among the choices, the planned gain is at
least the optimal one; as the pairs may choose differently, it is slightly larger than the best common choice.

An event without a told upper bound has no upper end before it was possible once.  So the learner first goes to such events
(event_exposure.py), once to each.  Its regret is O(log N) at all N together: docs/events-proofs.md.
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.ledger import NO_LIMIT
from sojourn.learn.event_belief import intervals
from sojourn.learn.event_exposure import Exposure
from sojourn.learn.event_learner import EventLearner
from sojourn.learn.events_psrl import quota_of
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import is_number, positive

LEAST = 1e-6  # of an event in all of the time so far: a rate is taken to be at least that
HOPED = 1e4  # an untried event that cannot be reached is taken to be this many times as fast as a typical one; no proof rests on it
SURE = 3.0  # a rate is taken for at most this many times its lower end where the length of a plan depends on it


class EventsUCRL(EventLearner):
    """Follows the policy that is best if every event has the rate that helps, among those the data leave open.

    `delta` over t bounds the probability that some interval fails at decision t or later; a plan ends when the exposure of an
    event has grown by `growth` times itself.  `ratio` does nothing: it once cut the intervals and is accepted because saved
    studies, sessions and controllers may name it.
    """

    closes_sets = True
    retired = ("ratio",)

    def __init__(self, knowledge: Knowledge, delta: float = 0.1, ratio: float | None = None, growth: float = 0.1,
                 guard: bool = False, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, guard, seed)
        if not (is_number(delta) and 0 < delta < 1):
            raise ParameterError(f"delta is {delta!r}; it must be a probability strictly between 0 and 1.")
        self.delta = float(delta)
        self.growth = positive("growth", growth)
        self.exposure = Exposure(knowledge, self.table)

    def open_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high): what is left open about every rate; high is infinite where nothing is told and nothing was exposed.

        No lower end is below LEAST events in all of the time so far at the largest coefficient: planning meets no rate of 0.  The
        true rate is above that from time LEAST / rate on.
        """
        events, table = self.events, self.table
        level = log(table.n_events * self.counts.epoch / self.delta)
        low, high = intervals(events.seen, events.exposure, events.unit or 1.0, level)
        low, high = np.minimum(np.maximum(low, table.low), table.high), np.maximum(np.minimum(high, table.high), table.low)
        with np.errstate(divide="ignore"):
            least = LEAST / (events.time.sum() * self.exposure.largest)
        return np.minimum(np.maximum(low, least), high), high

    def plan_events(self) -> Plan:
        """Return the optimistic policy; from where an untried event can be reached, the way there."""
        low, high = self.open_rates()
        most = max(1, int(self.growth * self.counts.epoch))
        untried = np.isinf(high) & (self.exposure.largest > 0)
        way = self.exposure.way(untried, self.events.count, self.likely(low, high)) if untried.any() else None
        if way is not None and way.leads.all():
            return Plan(self.knowledge.pair_action[way.pair], np.where(way.shows, 1, NO_LIMIT), most)
        high = np.where(np.isinf(high), HOPED * self.events.typical, high)
        low = np.minimum(low, high)
        self.found = self.planner.best(low, high, self.found, self.reference, 1 / np.sqrt(self.counts.epoch),
                                       proved=True)
        gain = self.planner.bracket(low, high, self.found)[1] if self.planner.large else self.found.gain
        pair, quota = self.found.pair, self.quota(low, high)
        if way is not None:
            pair, quota = np.where(way.leads, way.pair, pair), np.where(way.shows, 1, quota)
        return Plan(self.knowledge.pair_action[pair], quota, most, {"optimistic_gain": gain})

    def quota(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the visits that a plan may make to each pair: until the exposure of one of its events has grown by `growth`."""
        return quota_of(self, np.minimum(self.likely(low, high), SURE * low), self.events.exposure, self.growth)

    def likely(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return an estimate of each rate within its interval."""
        events = self.events
        return np.clip((events.seen + 0.5) / (events.exposure + 0.5 / events.typical), low, high)
