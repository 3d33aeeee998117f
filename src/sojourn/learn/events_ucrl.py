"""events-ucrl: optimism over intervals for the rates of events that hold at all times.

At epoch t every rate lies in its interval of event_belief.py at level log(K t / delta), and every pair is given the ends that
help it most.  As the true rates are among the choices, the planned gain is at least the optimal one; as the pairs may choose
differently, it is slightly larger than the best common choice.
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.event_belief import intervals
from sojourn.learn.event_learner import EventLearner
from sojourn.learn.events_psrl import quota_of
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import is_number, positive


class EventsUCRL(EventLearner):
    """Follows the policy that is best if every event has the rate that helps, among those the data leave open.

    `delta` is the probability with which some interval fails, at all times together, divided by t at epoch t; rates are taken to
    lie within a factor `ratio` of the rate that the first sojourn suggests, where no bounds are told; a plan ends when the
    exposure of an event has grown by `growth` times itself.
    """

    def __init__(self, knowledge: Knowledge, delta: float = 0.1, ratio: float = 1e4, growth: float = 0.1,
                 guard: bool = False, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, guard, seed)
        if not (is_number(delta) and 0 < delta < 1):
            raise ParameterError(f"delta is {delta!r}; it must be a probability strictly between 0 and 1.")
        self.delta = float(delta)
        self.ratio = positive("ratio", ratio)
        self.growth = positive("growth", growth)

    def open_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high): what is left open about every rate."""
        events, table = self.events, self.table
        unit = events.unit or 1.0
        level = log(table.n_events * self.counts.epoch / self.delta)
        low, high = intervals(events.seen, events.exposure, unit, level)
        low = np.maximum(np.maximum(low, unit / self.ratio), table.low)
        high = np.minimum(np.minimum(high, unit * self.ratio), table.high)
        return np.minimum(low, table.high), np.maximum(high, low)

    def plan_events(self) -> Plan:
        """Return the optimistic policy."""
        low, high = self.open_rates()
        self.found = self.planner.best(low, high, self.found, self.reference, 1 / np.sqrt(self.counts.epoch))
        events = self.events
        middle = np.clip((events.seen + 0.5) / (events.exposure + 0.5 / events.typical), low, high)
        quota = quota_of(self, middle, events.exposure + 0.5 / events.typical, self.growth)
        most = max(1, int(self.growth * self.counts.epoch))
        return Plan(self.knowledge.pair_action[self.found.pair], quota, most, {"optimistic_gain": self.found.gain})
