"""events-ce: certainty equivalence over the rates of events, estimate and solve: a yardstick.

It never tries anything for the sake of knowing it, so it may stay wrong for ever.  It is safe where every event is active under all
actions of some state that every policy visits again and again: then all rates are learned whatever is done.  `unsafe` names the
events of which that cannot be said.
"""

from __future__ import annotations

import numpy as np

from sojourn.learn.event_belief import estimated
from sojourn.learn.event_learner import EventLearner
from sojourn.learn.events_psrl import quota_of, tolerance_at
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive


class EventsCE(EventLearner):
    """Follows the best policy at the estimated rates, until the exposure of an event has grown by `growth` times itself."""

    def __init__(self, knowledge: Knowledge, growth: float = 0.05, guard: bool = False,
                 seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, guard, seed)
        self.growth = positive("growth", growth)

    @property
    def unsafe(self) -> tuple[str, ...]:
        """The events that no state shows under all its actions: if there are any, it may stay wrong for ever."""
        known, table = self.knowledge, self.table
        pair, event, _ = table.exposure_rows
        shown = np.bincount(known.pair_state[pair] * table.n_events + event, minlength=known.n_states * table.n_events)
        under_all = shown.reshape(known.n_states, -1) == np.diff(known.pair_start)[:, None]
        return tuple(table.names[k] for k in np.flatnonzero(~under_all.any(axis=0) & ~table.known))

    def plan_events(self) -> Plan:
        """Return the best policy at the estimates."""
        events = self.events
        seen, exposure, typical = events.seen, events.exposure, events.typical
        theta = estimated(self.table, seen, exposure, typical)
        self.found = self.planner.best(theta, theta, self.found, self.reference, tolerance_at(self.counts.epoch))
        quota = quota_of(self, theta, exposure + 0.5 / typical, self.growth)
        most = max(1, int(self.growth * self.counts.epoch))
        return Plan(self.knowledge.pair_action[self.found.pair], quota, most, {"estimated_gain": self.found.gain})
