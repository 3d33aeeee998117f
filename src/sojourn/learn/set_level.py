"""What ct-kl-ucrl and ct-joint-ucrl share: the level of their confidence sets at each decision, and the length of their plans.

Level.  Sets at the fixed level `delta` all hold, at all times together, with probability 1 - delta.  Told neither `delta` nor
`horizon`, a learner takes the level 1/t at decision t.  Its sets from decision t on contain those at the fixed level 1/t, so from
t on they all hold with probability 1 - 1/t, for every t at once; nobody has to know how many decisions there will be.

Planning.  Plans are made in real time, to a tolerance in the scale of what was seen.  "uniformised" is how they were made before:
in uniformised steps, to a tolerance in the scale of the rate bounds told.  Files of then go on with it.

Length.  A plan ends on arriving at a pair whose visits within the plan are max(1, growth N), N those before it.  growth = 1 is the
doubling of alg: CTUCRL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.ct_ucrl import DELTA, confidence
from sojourn.learn.learner import Learner
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import is_number, one_of, positive

SMALLEST_LEVEL = 1e-300  # of a single set
MOST_DECISIONS = 2.0**62
DOUBLING = 1.0  # growth
REAL_TIME, UNIFORMISED = "real-time", "uniformised"  # planning


class SetLevelLearner(Learner):
    """A learner that is optimistic over `sets_per_pair` confidence sets for each pair, all at one level."""

    sets_per_pair: ClassVar[int]
    always_saved: ClassVar[tuple[str, ...]] = ("growth", "planning")

    def __init__(self, knowledge: Knowledge, delta: float | None, horizon: float | None, radius_scale: float, growth: float,
                 planning: str, seed: int | np.random.SeedSequence):
        super().__init__(knowledge, seed)
        self.delta = None if delta is None and horizon is None else confidence(delta, horizon)
        self.radius_scale = positive("radius_scale", radius_scale)
        if not (is_number(growth) and 0 < growth <= 1):
            raise ParameterError(f"growth is {growth!r}; it must be in (0, 1]: the share of its visits by which a pair may grow "
                                 "within a plan. 1 doubles them.")
        self.growth = float(growth)
        self.planning = one_of("planning", planning, (REAL_TIME, UNIFORMISED))
        if self.planning == UNIFORMISED and not knowledge.rates_told:
            raise ParameterError(f"planning is {UNIFORMISED!r} and no rate bounds are told; it needs them. Tell them, or leave "
                                 "planning out.")
        if self._scaled(1 / MOST_DECISIONS if self.delta is None else self.delta) < SMALLEST_LEVEL:
            said = "1/t" if self.delta is None else f"{self.delta:g}"
            parts = f"{self.sets_per_pair if self.sets_per_pair > 1 else ''}P"
            raise ParameterError(f"radius_scale is {self.radius_scale:g} with delta = {said}; (delta/{parts})^radius_scale must "
                                 f"be at least {SMALLEST_LEVEL:g}{' at t = 2^62' if self.delta is None else ''}. Take a smaller "
                                 "radius_scale.")

    def _scaled(self, total: float) -> float:
        scaled: float = (total / (self.sets_per_pair * self.knowledge.n_pairs)) ** self.radius_scale
        return scaled

    def level(self, total: float | None = None) -> float:
        """Return the level of each single set where all together have the level `total`: the learner's own at this decision.

        `radius_scale` multiplies its logarithm; with 1 all sets hold with probability 1 - total.
        """
        if total is None:
            total = 1 / self.counts.epoch if self.delta is None else self.delta
        elif not (is_number(total) and 0 < total <= 1):
            raise ParameterError(f"the level of all sets together is {total!r}; it must be in (0, 1].")
        return self._scaled(total)

    def quota(self) -> np.ndarray:
        """Return the visits of each pair at which a plan that is made now ends."""
        most: np.ndarray = np.maximum(1, np.floor(self.growth * self.counts.visits).astype(np.int64))
        return most

    @classmethod
    def legacy_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the parameters of a file without `growth` and `planning` mean.

        Plans doubled and were made in uniformised steps, and delta was 0.01 unless told.
        """
        told = given.get("delta") is not None or given.get("horizon") is not None
        return {**given, **({} if told else {"delta": DELTA}), "growth": DOUBLING, "planning": UNIFORMISED}
