"""What a learner of events becomes when its structure is rejected: the tabular default, with everything that was counted.

The default must be told what pairs pay and how fast they can be; both contain rates.  They are taken from the counts of each
cell, drawn towards the common rate as if it had been seen PULL times, and renewed whenever the epochs have doubled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.learn.ct_imed import CTIMED
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge

if TYPE_CHECKING:
    from sojourn.learn.event_learner import EventLearner

PULL = 10.0
MARGIN = 2.0  # by which the range of the estimated rates is widened


class Guard:
    """The tabular default behind a learner of events, made when it is first needed."""

    def __init__(self, learner: EventLearner):
        self.learner = learner
        self.inner: CTIMED | None = None
        self.made_epoch = 0

    def plan(self) -> Plan:
        """Return the default's plan."""
        epoch = self.learner.counts.epoch
        if self.inner is None or epoch >= 2 * self.made_epoch:
            self._take(self._knowledge(), epoch)
        assert self.inner is not None
        return self.inner.plan()

    def _take(self, knowledge: Knowledge, epoch: int) -> None:
        """Begin as a new default that has counted what the learner has."""
        before = self.inner
        self.inner, self.made_epoch = CTIMED(knowledge), epoch
        self.inner.counts, self.inner.rng = self.learner.counts, self.learner.rng
        self.inner.sampler.planned[0] = before.sampler.planned[0] if before is not None else epoch

    def _knowledge(self) -> Knowledge:
        """Return what the counts say about rewards and rates, pair by pair."""
        learner, table, events = self.learner, self.learner.table, self.learner.events
        common = (events.seen + 0.5) / (events.exposure + 0.5 / events.typical)
        theta = np.clip(common, table.low, table.high)[table.event]
        exposure = events.time[table.pair] * table.coefficient
        intensity = table.coefficient * (events.count + PULL) / (exposure + PULL / theta)
        jumps, pairs = table.jumps, table.n_pairs
        rate = np.bincount(table.pair[jumps], intensity[jumps], minlength=pairs)
        paid = np.bincount(table.pair[jumps], (intensity * table.payment)[jumps], minlength=pairs)
        seen = np.bincount(table.pair[~jumps], (intensity * table.payment)[~jumps], minlength=pairs)
        return replace(learner.knowledge, reward=table.reward + paid / rate, running=table.running + seen,
                       rate_min=float(rate.min() / MARGIN), rate_max=float(rate.max() * MARGIN), events=None)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, beside the counts of the learner."""
        if self.inner is None:
            return {"made_epoch": 0}
        known = self.inner.knowledge
        return {"made_epoch": self.made_epoch, "reward": np.array(known.reward), "running": np.array(known.running),
                "rate_min": known.rate_min, "rate_max": known.rate_max, **self.inner.remembered()}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the guard that `state` described."""
        self.inner, self.made_epoch = None, int(state["made_epoch"])
        if self.made_epoch:
            reward, running = (np.array(state[name], dtype=float) for name in ("reward", "running"))
            self._take(replace(self.learner.knowledge, reward=reward, running=running, rate_min=float(state["rate_min"]),
                               rate_max=float(state["rate_max"]), events=None), self.made_epoch)
            assert self.inner is not None
            self.inner.recall(state)
