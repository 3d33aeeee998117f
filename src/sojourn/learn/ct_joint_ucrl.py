"""CT-Joint-UCRL: CT-UCRL's optimism with one confidence set per pair for its row and its rate together.

Sources: Gao and Zhou (alg: CTUCRL: episodes, optimism); Robbins 1970 (mixtures of likelihoods, Ville's inequality).

The sets (learn/joint_set.py) that are made at decision t all hold with probability 1 - 1/t, or with a fixed `delta` at all times
together with probability 1 - delta (learn/set_level.py); where they hold the planned gain is at least the true one.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sojourn.learn.ct_kl_ucrl import MAX_STEPS, reward_spread
from sojourn.learn.joint_set import JointSet, joint_set
from sojourn.learn.learner import Plan
from sojourn.learn.optimism import extended_iteration
from sojourn.learn.set_level import SetLevelLearner
from sojourn.model.knowledge import Knowledge


class CTJointUCRL(SetLevelLearner):
    """Plans on the best model within joint sets of intensities; replans when a count has grown by a tenth.   Paper: alg: CTUCRL

    At decision t the budget of each set is log(Pt), P the number of pairs.  `delta` in (0, 1] makes it log(P/delta) for good, and
    `horizon` = N epochs means delta = 1/N.  `radius_scale` multiplies the budget; below 1 there is no guarantee left.  `growth` in
    (0, 1] is the share of its visits by which a pair may grow within a plan; 1 doubles them.

    Planning stops at span(Tu - u) < w/t, w the spread of the rewards per uniformised step, so near-ties are told apart as soon as
    the data can.
    """

    exposes: ClassVar[bool] = True
    closes_sets: ClassVar[bool] = True
    memory: ClassVar[tuple[str, ...]] = ("values",)
    sets_per_pair: ClassVar[int] = 1

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 1.0,
                 growth: float = 0.1, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, delta, horizon, radius_scale, growth, seed)
        self.values = np.zeros(knowledge.n_states)
        self.scale = reward_spread(knowledge)

    def known_now(self, total: float | None = None) -> JointSet:
        """Return the confidence sets given everything counted so far; all together at the level `total`, by default its own."""
        return joint_set(self.counts, self.knowledge, self.level(total))

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits have grown by `growth`."""
        tolerance = self.scale / self.counts.epoch
        best = extended_iteration(self.known_now().iteration(), self.knowledge, tolerance, self.values, MAX_STEPS)
        self.values = best.values - best.values.min()
        low, high = best.gain_bounds
        info = {"optimistic_gain": high, "optimistic_gain_low": low, "sweeps": best.sweeps}
        return Plan(best.policy, quota=self.quota(), info=info)

    def contains(self, transition: np.ndarray, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates is in the confidence sets now."""
        return self.known_now().contains(transition, rate)
