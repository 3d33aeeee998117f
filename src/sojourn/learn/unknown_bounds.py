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
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.learner import Plan
from sojourn.learn.wrapper import Wrapper
from sojourn.model.knowledge import UNTOLD, Knowledge
from sojourn.model.scalars import at_least, whole


class UnknownRatesCTUCRL(Wrapper):
    """Explores uniformly for `exploration` epochs, then runs CT-UCRL with estimated rate bounds.   Not proved.

    The bounds in `knowledge` are ignored.  After the exploration (50 epochs per pair by default), and again at the start of
    every episode, they are taken as the least estimated rate divided by `margin` and the largest times `margin`, over the
    pairs seen so far.  Exploration data are kept and are not truncated; later samples are truncated with the least rate as
    it is estimated when they arrive.  The other parameters are those of CTUCRL, but `radius_scale` is 0.05: nothing is proved here
    that the printed radii, 1, would keep, and with them it is worse than playing at random for long.
    """

    inner: CTUCRL
    needs_rate_bounds = False

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None,
                 exploration: int | None = None, margin: float = 2.0, radius_scale: float = 0.05,
                 reward_range: tuple[float, float] | str | None = None, stop: str = "printed", planning: str = "printed",
                 unknown_rewards: bool = False, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        usual = 50 * knowledge.n_pairs
        self.exploration = usual if exploration is None else whole("exploration", exploration, 1, note=" of epochs")
        self.margin = at_least("margin", margin, 1)
        if reward_range == "auto" and knowledge.running.any():
            raise ParameterError("reward_range is 'auto' and some rewards run with time, so that the range depends on the rates, "
                                 "which this learner does not know; give (low, high).")
        inner = knowledge if knowledge.rates_told else replace(knowledge, rate_min=UNTOLD[0], rate_max=UNTOLD[1])
        self.inner = CTUCRL(inner, delta, horizon, radius_scale, reward_range, stop, planning, unknown_rewards)
        self.inner.counts = Counts(knowledge)  # no truncation while nothing is known about the rates
        self.inner.rng = self.rng

    @property
    def delta(self) -> float:
        return self.inner.delta

    @property
    def exploring(self) -> bool:
        """Whether some of the exploration is still to come."""
        return self.inner.counts.epoch <= self.exploration

    @property
    def rate_bounds(self) -> tuple[float, float]:
        """The bounds that the last plan used."""
        return self.inner.knowledge.rate_min, self.inner.knowledge.rate_max

    def estimated_bounds(self) -> tuple[float, float]:
        """Return (least, largest) estimated rate over the pairs seen, widened by the margin."""
        mean = self.inner.counts.truncated_mean
        mean = mean[mean > 0]  # a pair whose samples were all truncated says nothing
        return float(1 / mean.max() / self.margin), float(1 / mean.min() * self.margin)

    def plan(self) -> Plan:
        """Return the uniform policy until the exploration is over, then CT-UCRL's plan with the bounds of the day."""
        if self.exploring:
            admissible = self.knowledge.pair_table >= 0
            uniform = admissible / admissible.sum(axis=1, keepdims=True)
            return Plan(uniform, max_epochs=self.exploration - self.inner.counts.epoch + 1, info={"exploring": 1})
        self.use_bounds(*self.estimated_bounds())
        plan = self.inner.plan()
        low, high = self.rate_bounds
        return Plan(plan.policy, plan.quota, plan.max_epochs, {**plan.info, "rate_min": low, "rate_max": high})

    def use_bounds(self, low: float, high: float) -> None:
        """Plan, and truncate from now on, as if the rates were known to lie in [low, high]."""
        self.inner.knowledge = replace(self.knowledge, rate_min=low, rate_max=high)
        self.inner.counts.scale = Counts(self.inner.knowledge, self.inner.delta).scale

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return CT-UCRL's snapshot; while exploring, only the visits and mean holding times."""
        if self.exploring:
            table = self.knowledge.table
            return {"visits": table(self.inner.counts.visits, fill=0), "truncated_mean": table(self.inner.counts.truncated_mean)}
        return self.inner.snapshot()

    def remembered(self) -> dict[str, Any]:
        """Return the bounds that the last plan used."""
        low, high = self.rate_bounds
        return {"rate_min": low, "rate_max": high}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        self.inner.knowledge = replace(self.knowledge, rate_min=float(state["rate_min"]), rate_max=float(state["rate_max"]))
