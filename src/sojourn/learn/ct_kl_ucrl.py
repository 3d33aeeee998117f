"""CT-KL-UCRL: CT-UCRL's optimism with Kullback-Leibler confidence sets, at a level and in plans of its own (learn/set_level.py).

Sources: Filippi, Cappe, Garivier 2010 (KL balls for rows); Gao and Zhou (alg: CTUCRL: episodes, optimism).

The sets (learn/kl_set.py) that are made at decision t all hold with probability 1 - 1/t, or with a fixed `delta` at all times
together with probability 1 - delta; where they hold the planned gain is at least the true one.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.kl_set import KLSet, kl_set
from sojourn.learn.learner import Plan
from sojourn.learn.optimism import Optimistic, extended_iteration, income_spread, optimistic_plan
from sojourn.learn.posterior import Posterior
from sojourn.learn.set_level import REAL_TIME, UNIFORMISED, SetLevelLearner
from sojourn.learn.untried import trying
from sojourn.model.knowledge import Knowledge

MAX_STEPS = 20_000


class CTKLUCRL(SetLevelLearner):
    """Plans on the best model within KL balls and exponential-KL intervals; replans when a count has grown by a tenth.

    At decision t the budget of each set is log(2Pt), P the number of pairs.  `delta` in (0, 1] makes it log(2P/delta) for good, and
    `horizon` = N epochs means delta = 1/N.  `radius_scale` multiplies the budget; below 1 there is no guarantee left.  `growth` in
    (0, 1] is the share of its visits by which a pair may grow within a plan; 1 doubles them (alg: CTUCRL).

    Planning stops when the optimistic gain is known to W/sqrt(t), W the spread of the incomes of the pairs tried
    (learn/optimism.py: income_spread): neither the rate bounds told, however wide, nor a constant running reward change it.
    (eq:stop has rate_max, for rewards in [0, 1].)
    `planning="uniformised"` plans as files of before do: in uniformised steps, to the scale of the rate bounds told.

    Without rate bounds (`rate_bounds="unknown"`) rates lie in (0, inf): after one visit an interval is finite.  Untried actions are
    taken when met, and sought in the least time that the sets allow; every state must be reachable from every other.
    """

    exposes: ClassVar[bool] = True
    sets_per_pair: ClassVar[int] = 2
    closes_sets: ClassVar[bool] = True
    may_lack_rate_bounds: ClassVar[bool] = True

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 1.0,
                 growth: float = 0.1, planning: str = REAL_TIME, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, delta, horizon, radius_scale, growth, planning, seed)
        self.belief = Posterior(knowledge)
        self.values = np.zeros(knowledge.n_states)
        if knowledge.rates_told:
            reward_spread(knowledge)  # refuses rewards that no float can plan with
        self.known = self.known_now()  # as it was when the last plan was made

    def known_now(self, total: float | None = None) -> KLSet:
        """Return the confidence sets given everything counted so far; all together at the level `total`, by default its own."""
        return kl_set(self.counts, self.belief, self.level(total))

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits have grown by `growth`."""
        self.known = self.known_now()
        if not self.knowledge.rates_told and not self.counts.visits.all():
            return self.trial()
        best = self.optimistic(sqrt(self.counts.epoch))
        self.values = best.values - best.values.min()
        low, high = best.gain_bounds
        info = {"optimistic_gain": high, "optimistic_gain_low": low, "sweeps": best.sweeps,
                "empty_intervals": self.known.empty_intervals}
        return Plan(best.policy, quota=self.quota(), info=info)

    def optimistic(self, precision: float) -> Optimistic:
        """Return the optimistic policy, its gain known to W over `precision`."""
        if self.planning == UNIFORMISED:
            told = reward_spread(self.knowledge)
            return extended_iteration(self.known.uniformised(), self.knowledge, told / precision, self.values, MAX_STEPS)
        scale = income_spread(self.knowledge, self.known.visits, self.known.rate_low)
        return optimistic_plan(self.known.iteration(), self.knowledge, scale / precision, self.values, MAX_STEPS)

    def trial(self) -> Plan:
        """Return the plan that takes and seeks untried actions (learn/untried.py)."""
        return trying(self.known.iteration(), self.knowledge, self.counts.visits == 0, self.quota(), self.counts,
                      min(0.5, 1 / sqrt(self.counts.epoch)), MAX_STEPS)

    def contains(self, transition: np.ndarray, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates is in the confidence sets."""
        return self.known.contains(transition, rate)

    def remembered(self) -> dict[str, Any]:
        """Return the values of the last plan and the sets it was made from."""
        known = self.known
        rows = {"planned_row_start": known.row_start.copy(), "planned_next": known.next_state.copy()} if self.belief.pooled else {}
        return {"values": self.values.copy(), "row_radius": known.row_radius.copy(), "rate_low": known.rate_low.copy(),
                "rate_high": known.rate_high.copy(), "planned_visits": known.visits.copy(), "planned_count": known.count.copy(),
                "empty_intervals": known.empty_intervals, **rows}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        self.values = np.array(state["values"], dtype=np.float64)
        radius, low, high = (np.array(state[name], dtype=np.float64) for name in ("row_radius", "rate_low", "rate_high"))
        visits, count = (np.array(state[name], dtype=np.int64) for name in ("planned_visits", "planned_count"))
        start, after = (np.array(state.get(name, rows), dtype=np.int64) for name, rows in (
            ("planned_row_start", self.belief.row_start), ("planned_next", self.belief.next_state)))
        self.known = KLSet(self.belief, start, after, visits, count, radius, low, high, int(state.get("empty_intervals", 0)))

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return (S, A) tables of visits, mean holding times, KL radii and rate intervals of the last plan."""
        table = self.knowledge.table
        return {**super().snapshot(), "transition_radius": table(self.known.row_radius),
                "rate_interval": table(np.stack([self.known.rate_low, self.known.rate_high], axis=1))}


def reward_spread(knowledge: Knowledge) -> float:
    """Return how far the rewards of a uniformised step, r λ/λ_max + c/λ_max, lie apart over the rate bounds; 1 if they do not."""
    with np.errstate(over="ignore", invalid="ignore"):
        step = np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running
        spread = float(np.ptp(step)) / knowledge.rate_max
    if not np.isfinite(spread):
        raise ParameterError(f"rewards up to {np.abs(knowledge.reward).max():g} at rates up to {knowledge.rate_max:g} are beyond "
                             "every float; choose another unit of reward or of time.")
    return spread or 1.0
