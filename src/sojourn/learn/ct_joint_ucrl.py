"""CT-Joint-UCRL: CT-UCRL's optimism with one confidence set per pair for its row and its rate together.

Sources: Gao and Zhou (alg: CTUCRL: episodes, optimism); Robbins 1970 (mixtures of likelihoods, Ville's inequality).

The sets (learn/joint_set.py) that are made at decision t all hold with probability 1 - 1/t, or with a fixed `delta` at all times
together with probability 1 - delta (learn/set_level.py); where they hold the planned gain is at least the true one.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sojourn.learn.counts import pairs_of
from sojourn.learn.ct_kl_ucrl import MAX_STEPS, reward_spread
from sojourn.learn.joint_set import First, JointSet, joint_set
from sojourn.learn.learner import History, Plan, check_supports
from sojourn.learn.optimism import extended_iteration, income_spread, optimistic_plan
from sojourn.learn.set_level import REAL_TIME, UNIFORMISED, SetLevelLearner
from sojourn.learn.untried import trying
from sojourn.model.knowledge import Knowledge


class CTJointUCRL(SetLevelLearner):
    """Plans on the best model within joint sets of intensities; replans when a count has grown by a tenth.   Paper: alg: CTUCRL

    At decision t the budget of each set is log(Pt), P the number of pairs.  `delta` in (0, 1] makes it log(P/delta) for good, and
    `horizon` = N epochs means delta = 1/N.  `radius_scale` multiplies the budget; below 1 there is no guarantee left.  `growth` in
    (0, 1] is the share of its visits by which a pair may grow within a plan; 1 doubles them.

    Planning stops when the optimistic gain is known to W/t, W the spread of the incomes of the pairs tried, so near-ties are told
    apart as soon as the data can.
    `planning="uniformised"` plans as files of before do: in uniformised steps, to the scale of the rate bounds told.

    Without rate bounds (`rate_bounds="unknown"`) the first sojourn of a pair is its unit of time and is not counted, so that a pair
    is untried until its second visit; else as `ct-kl-ucrl` does.
    """

    exposes: ClassVar[bool] = True
    folds = True
    may_lack_rate_bounds: ClassVar[bool] = True
    closes_sets: ClassVar[bool] = True
    memory: ClassVar[tuple[str, ...]] = ("values",)
    sets_per_pair: ClassVar[int] = 1

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 1.0,
                 growth: float = 0.1, planning: str = REAL_TIME, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, delta, horizon, radius_scale, growth, planning, seed)
        self.values = np.zeros(knowledge.n_states)
        self.first = None if knowledge.rates_told else First(knowledge.n_pairs)
        if knowledge.rates_told:
            reward_spread(knowledge)  # refuses rewards that no float can plan with

    def known_now(self, total: float | None = None) -> JointSet:
        """Return the confidence sets given everything counted so far; all together at the level `total`, by default its own."""
        return joint_set(self.counts, self.knowledge, self.level(total), self.first)

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits have grown by `growth`."""
        if self.first is not None:
            self.first.update(self.counts)
        known = self.known_now()
        if known.open.any() and not self.knowledge.rates_told:
            return trying(known.iteration(), self.knowledge, known.open, self.quota(), self.counts, min(0.5, 1 / self.counts.epoch),
                          MAX_STEPS)
        if self.planning == UNIFORMISED:
            tolerance = reward_spread(self.knowledge) / self.counts.epoch
            best = extended_iteration(known.uniformised(), self.knowledge, tolerance, self.values, MAX_STEPS)
        else:
            tolerance = income_spread(self.knowledge, self.counts.visits, known.rate_low) / self.counts.epoch
            best = optimistic_plan(known.iteration(), self.knowledge, tolerance, self.values, MAX_STEPS)
        self.values = best.values - best.values.min()
        low, high = best.gain_bounds
        info = {"optimistic_gain": high, "optimistic_gain_low": low, "sweeps": best.sweeps}
        return Plan(best.policy, quota=self.quota(), info=info)

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
