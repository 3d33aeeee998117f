"""UCRL2 on a process in continuous time: uniformised, or looked at on a grid of times.

Source: Jaksch, Ortner, Auer 2010 (JMLR 11).  Proved there, in discrete time and with the printed radii (radius_scale = 1): regret
at most 34 D S sqrt(A T log(T/delta)) with probability 1 - delta, and O(log T) with gaps.  On the uniformised process that carries
over where ticks are seen; here ticks are counted in the mean, and nothing is proved.  With `step` the discretised process is not
even Markov, and its best policy another one: see the study `discretisation`.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from sojourn.learn.counts import pairs_of
from sojourn.learn.ct_ucrl import confidence
from sojourn.learn.learner import History, Learner, Plan
from sojourn.learn.optimism import Optimistic, extended_iteration
from sojourn.learn.plausible import PlausibleSet
from sojourn.learn.uniformised import Grid, Steps, reward_limits, uniformised_steps
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive


class UCRL2(Learner):
    """Optimism over L1 balls for the rows of one time step and intervals for its rewards.   Source: Jaksch, Ortner, Auer 2010

    `step=None` uniformises at rate_max; a number looks at the path every `step` of time, and supports that are known do not help
    then. `delta` is 0.01 unless told, `horizon` = N epochs instead means delta = 1/N.  `radius_scale` multiplies both radii: 1 is
    as printed, with which small models ask for 10^6 decisions and more before anything is ruled out; the default is mended to
    0.1, which proves nothing and beats playing at random.  Episodes end when a pair's visits double.
    """

    folds = True

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, step: float | None = None,
                 radius_scale: float = 0.1, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.delta = confidence(delta, horizon)
        self.radius_scale = positive("radius_scale", radius_scale)
        self.grid = None if step is None else Grid(knowledge, positive("step", step, ", or None to uniformise"))
        self.folds = type(self).folds and self.grid is None
        self.length = 1 / float(knowledge.rate_max) if self.grid is None else self.grid.step  # of a step, in units of time

    def observe(self, history: History) -> None:
        """Count a chunk of epochs, and the grid points in it."""
        if self.grid is None:
            super().observe(history)
            return
        pairs = pairs_of(history, self.knowledge)
        self.counts.observe(history, self.knowledge)
        self.grid.observe(history, pairs)

    def steps(self) -> Steps:
        """Return what was counted in steps."""
        return uniformised_steps(self.counts, self.knowledge) if self.grid is None else self.grid.steps()

    def doubt(self, steps: Steps) -> np.ndarray:
        """Return how much the mean reward of a step may be larger than seen: sqrt(7 log(2 S A t/δ)/(2 N)), theirs (3)."""
        known = self.knowledge
        logarithm = log(2 * known.n_states * known.max_choices * steps.now / self.delta)
        radius: np.ndarray = np.sqrt(7 * logarithm / (2 * np.maximum(1, steps.number)))
        return radius

    def radius(self, steps: Steps) -> np.ndarray:
        """Return the L1 radius of each row: sqrt(14 S log(2 A t/δ)/N), theirs (4)."""
        known = self.knowledge
        logarithm = log(2 * known.max_choices * steps.now / self.delta)
        found: np.ndarray = np.sqrt(14 * known.n_states * logarithm / np.maximum(1, steps.number))
        return found

    def reward(self, steps: Steps) -> np.ndarray:
        """Return the largest plausible mean reward of a step, in [0, 1]."""
        hopeful = np.minimum(1.0, steps.reward + self.radius_scale * self.doubt(steps))
        return np.where(steps.number > 0, hopeful, 1.0)

    def plausible(self, steps: Steps) -> PlausibleSet:
        """Return the plausible models of a step: the rate of every pair is one per step."""
        one, top = np.ones(len(steps.number)), float(self.knowledge.rate_max)
        return PlausibleSet(np.ceil(steps.number).astype(np.int64), steps.row_start, steps.next_state, steps.probability,
                            self.radius_scale * self.radius(steps), one / top, 0 * one, one * top, one * top, self.reward(steps), 0,
                            self.knowledge.supports_known and self.grid is None)

    def optimistic(self, steps: Steps) -> Optimistic:
        """Return the best policy over the plausible models; what runs is part of the rewards of a step already."""
        still = without_running(self.knowledge)
        return extended_iteration(self.plausible(steps).iteration(still), still, 1 / sqrt(steps.now))

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits double."""
        best = self.optimistic(self.steps())
        gain = self.gain_of(best.gain_bounds[1])
        return Plan(best.policy, quota=np.maximum(1, self.counts.visits), info={"optimistic_gain": gain, "sweeps": best.sweeps})

    def gain_of(self, bound: float) -> float:
        """Return a gain in units of `extended_iteration` (rewards in [0, 1] per step, times rate_max) as reward per time."""
        low, high = reward_limits(self.knowledge, self.length)
        return (low + (high - low) * bound / float(self.knowledge.rate_max)) / self.length

    def remembered(self) -> dict[str, Any]:
        """Return what was seen on the grid."""
        return {} if self.grid is None else {"grid": self.grid.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        if self.grid is not None:
            self.grid.restore(state["grid"])


def without_running(knowledge: Knowledge) -> Knowledge:
    """Return the same knowledge of a world where nothing runs."""
    from dataclasses import replace

    return replace(knowledge, running=np.zeros(knowledge.n_pairs))
