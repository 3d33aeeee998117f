"""events-psrl: posterior sampling over the rates of events.

Sources: Thompson 1933; Ouyang, Gagrani, Nayyar, Jain 2017 (episodes one epoch longer than the last); Agrawal and Jia 2017 (the
best of several draws).  Nothing is proved for it here.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sojourn.learn.event_belief import drawn
from sojourn.learn.event_learner import EventLearner
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive, whole

LARGE = 0.1  # where plans are dear, a plan may last for this share of all epochs so far


class EventsPSRL(EventLearner):
    """Draws the rates of all events from their Gamma posteriors, `samples` times, and follows the best policy of the best draw.

    An episode is at most one epoch longer than the last (on large models, where plans are dear, a tenth of all epochs so far if
    that is more), and ends when a pair's visits would add `growth` times what is known of one of its events.
    """

    memory: ClassVar[tuple[str, ...]] = (*EventLearner.memory, "planned_epoch")

    def __init__(self, knowledge: Knowledge, samples: int = 5, growth: float = 0.25, guard: bool = False,
                 seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, guard, seed)
        self.samples = whole("samples", samples, 1)
        self.growth = positive("growth", growth)
        self.planned_epoch = 1

    def plan_events(self) -> Plan:
        """Return the best policy of the best draw."""
        events, table = self.events, self.table
        seen, exposure, typical = events.seen, events.exposure, events.typical
        best = None
        for _ in range(self.samples):
            theta = drawn(self.rng, table, seen, exposure, typical)
            found = self.planner.best(theta, theta, self.found, self.reference, tolerance_at(self.counts.epoch))
            if best is None or found.gain > best[0].gain:
                best = found, theta
        assert best is not None
        self.found, theta = best
        length = self.counts.epoch - self.planned_epoch + 1
        if self.planner.large:
            length = max(length, int(LARGE * self.counts.epoch))
        self.planned_epoch = self.counts.epoch
        quota = quota_of(self, theta, exposure + 0.5 / typical, self.growth)
        return Plan(self.knowledge.pair_action[self.found.pair], quota, length, {"sampled_gain": self.found.gain})


def tolerance_at(epoch: int) -> float:
    """Return how closely, relatively, a large model is solved: to 1 % at first, then so that all plans together lose little."""
    return float(np.clip(1 / epoch, 1e-6, 0.01))


def quota_of(learner: EventLearner, theta: np.ndarray, exposure: np.ndarray, growth: float) -> np.ndarray:
    """Return how many visits each pair may take before it adds `growth` times the exposure of one of its events."""
    pair, event, total = learner.table.exposure_rows
    rate = learner.table.rate(theta)
    open_ = ~learner.table.known[event]
    time = growth * exposure[event[open_]] / total[open_]
    least = np.full(learner.table.n_pairs, np.inf)
    np.minimum.at(least, pair[open_], time)
    return np.asarray(np.clip(least * rate, 1, 2**40), dtype=np.int64)
