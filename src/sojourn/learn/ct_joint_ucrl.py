"""CT-Joint-UCRL: CT-UCRL's optimism and episodes with one confidence set per pair for its row and its rate together.

Sources: Gao and Zhou (alg: CTUCRL: episodes, optimism); Robbins 1970 (mixtures of likelihoods, Ville's inequality).

The sets (learn/joint_set.py) hold at all times with probability 1 - delta; then the planned gain is at least the true one.  A
regret bound of its own is not proved here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counts import pairs_of
from sojourn.learn.ct_kl_ucrl import MAX_STEPS, SMALLEST, reward_spread
from sojourn.learn.ct_ucrl import confidence
from sojourn.learn.joint_set import First, JointSet, joint_set
from sojourn.learn.learner import History, Learner, Plan, check_supports
from sojourn.learn.optimism import income_spread, optimistic_plan
from sojourn.learn.untried import trying
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive


class CTJointUCRL(Learner):
    """Plans on the best model within joint sets of intensities; replans when a count doubles.   Paper: alg: CTUCRL

    `delta` in (0, 1] is 0.01 unless told; `horizon` = N epochs instead of it means delta = 1/N.  `radius_scale` multiplies
    log(P/delta); below 1 there is no guarantee left.  A plan ends when the optimistic gain is known to W/t, W the spread of the
    incomes of the pairs tried, so near-ties are told apart as soon as the data can.

    Without rate bounds (`rate_bounds="unknown"`) the first sojourn of a pair is its unit of time and is not counted, so that a pair
    is untried until its second visit; else as `ct-kl-ucrl` does.
    """

    exposes: ClassVar[bool] = True
    folds = True
    may_lack_rate_bounds: ClassVar[bool] = True
    memory: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 1.0,
                 seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.delta = confidence(delta, horizon)
        self.radius_scale = positive("radius_scale", radius_scale)
        self.values = np.zeros(knowledge.n_states)
        self.first = None if knowledge.rates_told else First(knowledge.n_pairs)
        if knowledge.rates_told:
            reward_spread(knowledge)  # refuses rewards that no float can plan with
        self.level = (self.delta / knowledge.n_pairs) ** self.radius_scale  # of each single set
        if self.level < SMALLEST:
            raise ParameterError(f"radius_scale is {self.radius_scale:g} with delta = {self.delta:g}; (delta/P)^radius_scale must "
                                 f"be at least {SMALLEST:g}. Take a smaller radius_scale.")

    def known_now(self) -> JointSet:
        """Return the confidence sets given everything counted so far."""
        return joint_set(self.counts, self.knowledge, self.level, self.first)

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits double."""
        if self.first is not None:
            self.first.update(self.counts)
        known = self.known_now()
        if known.open.any() and not self.knowledge.rates_told:
            return trying(known.iteration(), self.knowledge, known.open, self.counts, 1 / self.counts.epoch, MAX_STEPS)
        tolerance = income_spread(self.knowledge, self.counts.visits, known.rate_low) / self.counts.epoch
        best = optimistic_plan(known.iteration(), self.knowledge, tolerance, self.values, MAX_STEPS)
        self.values = best.values - best.values.min()
        low, high = best.gain_bounds
        info = {"optimistic_gain": high, "optimistic_gain_low": low, "sweeps": best.sweeps}
        return Plan(best.policy, quota=np.maximum(1, self.counts.visits), info=info)

    def contains(self, transition: np.ndarray, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates is in the confidence sets now."""
        return self.known_now().contains(transition, rate)

    def observe(self, history: History) -> None:
        """Count a chunk of epochs, and keep the first sojourn of each pair where the unit of time is not told."""
        if self.first is not None:
            check_supports(history, self.knowledge)
            self.first.observe(pairs_of(history, self.knowledge), history.holding_time, history.next_state, self.counts)
        super().observe(history)

    def remembered(self) -> dict[str, Any]:
        """Return the values of the last plan, and the first sojourns where they are kept."""
        return {**super().remembered(), **({} if self.first is None else self.first.state())}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        super().recall(state)
        if self.first is not None:
            self.first.restore(state)
