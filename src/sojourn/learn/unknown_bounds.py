"""CT-UCRL when the rate bounds are unknown: explore first, then plan with bounds read off the estimates.

Paper: the remark after alg: CTUCRL.  Nothing is proved: errors in the bounds enter the truncation, the radii and the
optimistic model, and no regret bound is known for this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counts import Counts
from sojourn.learn.ct_ucrl import CTUCRL, checked_knowledge
from sojourn.learn.learner import Episode, History, Plan
from sojourn.learn.parameters import number
from sojourn.learn.streams import restore_stream, stream, stream_state
from sojourn.model.knowledge import Knowledge


class UnknownRatesCTUCRL:
    """Explores uniformly for `exploration` epochs, then runs CT-UCRL with estimated rate bounds.   Not proved.

    The bounds in `knowledge` are ignored.  After the exploration (50 epochs per pair by default), and again at the start of
    every episode, they are taken as the least estimated rate divided by `margin` and the largest times `margin`, over the
    pairs seen so far.  Exploration data are kept and are not truncated; later samples are truncated with the least rate as
    it is estimated when they arrive.  The other parameters are those of CTUCRL.
    """

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None,
                 exploration: int | None = None, margin: float = 2.0, radius_scale: float = 1.0,
                 reward_range: tuple[float, float] | None = None, stop: str = "printed", planning: str = "printed",
                 unknown_rewards: bool = False, seed: int = 0):
        self.knowledge = checked_knowledge(knowledge)
        self.exploration = 50 * knowledge.n_pairs if exploration is None else exploration
        if not (isinstance(self.exploration, (int, np.integer)) and self.exploration >= 1):
            raise ParameterError(f"exploration is {exploration!r}; it must be a whole number of epochs, at least 1.")
        if not (number(margin) and margin >= 1):
            raise ParameterError(f"margin is {margin!r}; it must be a finite factor of at least 1.")
        self.margin = float(margin)
        self.inner = CTUCRL(knowledge, delta, horizon, radius_scale, reward_range, stop, planning, unknown_rewards)
        self.inner.counts = Counts(knowledge)  # no truncation while nothing is known about the rates
        self.rng = self.inner.rng = stream(seed)
        self.episode: Episode | None = None

    @property
    def counts(self) -> Counts:
        return self.inner.counts

    @property
    def exploring(self) -> bool:
        """Whether some of the exploration is still to come."""
        return self.counts.epoch <= self.exploration

    @property
    def rate_bounds(self) -> tuple[float, float]:
        """The bounds that the last plan used."""
        return self.inner.knowledge.rate_min, self.inner.knowledge.rate_max

    def estimated_bounds(self) -> tuple[float, float]:
        """Return (least, largest) estimated rate over the pairs seen, widened by the margin."""
        mean = self.counts.truncated_mean
        mean = mean[mean > 0]  # a pair whose samples were all truncated says nothing
        return float(1 / mean.max() / self.margin), float(1 / mean.min() * self.margin)

    def plan(self) -> Plan:
        """Return the uniform policy until the exploration is over, then CT-UCRL's plan with the bounds of the day."""
        if self.exploring:
            admissible = self.knowledge.pair_table >= 0
            uniform = admissible / admissible.sum(axis=1, keepdims=True)
            return Plan(uniform, max_epochs=self.exploration - self.counts.epoch + 1, info={"exploring": 1})
        self.use_bounds(*self.estimated_bounds())
        plan = self.inner.plan()
        low, high = self.rate_bounds
        return Plan(plan.policy, plan.quota, plan.max_epochs, {**plan.info, "rate_min": low, "rate_max": high})

    def use_bounds(self, low: float, high: float) -> None:
        """Plan, and truncate from now on, as if the rates were known to lie in [low, high]."""
        self.inner.knowledge = replace(self.knowledge, rate_min=low, rate_max=high)
        self.counts.scale = Counts(self.inner.knowledge, self.inner.delta).scale

    def observe(self, history: History) -> None:
        self.inner.observe(history)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return CT-UCRL's snapshot; while exploring, only the visits and mean holding times."""
        if self.exploring:
            table = self.knowledge.table
            return {"visits": table(self.counts.visits, fill=0), "truncated_mean": table(self.counts.truncated_mean)}
        return self.inner.snapshot()

    def state(self) -> dict[str, Any]:
        low, high = self.rate_bounds
        return {"inner": self.inner.state(), "rate_min": low, "rate_max": high, "rng": stream_state(self.rng),
                "episode": self.episode.state() if self.episode else {}}

    def restore(self, state: dict[str, Any]) -> None:
        self.inner.knowledge = replace(self.knowledge, rate_min=float(state["rate_min"]), rate_max=float(state["rate_max"]))
        self.inner.restore(state["inner"])
        restore_stream(self.rng, state["rng"])
        self.episode = Episode.restored(state["episode"], self.knowledge) if state["episode"] else None
