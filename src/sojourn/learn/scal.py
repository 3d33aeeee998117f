"""SCAL: UCRL2 that believes no model whose values lie further apart than a given span.

Sources: Fruit, Pirotta, Lazaric, Ortner 2018 (ICML: SCAL, its operator and its randomized policies); Bartlett and Tewari 2009
(REGAL). Proved there, in discrete time, with Bernstein sets, perturbed models and c >= sp(h*): regret O(min(c, D) sqrt(S Γ A T)).
Here the sets are UCRL2's on the uniformised process, and nothing is proved.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.kernels.span_optimism import span_value_iteration
from sojourn.learn.learner import Plan
from sojourn.learn.optimism import MAX_STEPS, TOO_FAR_APART
from sojourn.learn.plausible import CHUNK_ENTRIES
from sojourn.learn.ucrl2 import UCRL2, without_running
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive

DAMPING = 0.9  # the cut operator contracts only where rows are lazy


class SCAL(UCRL2):
    """UCRL2 on the uniformised process with u <- min(Tu, min Tu + c) in its planning.   Source: Fruit et al. 2018

    `span` is c, in rewards of one step put into [0, 1]: an upper bound of the span of the true bias that somebody must know.
    Where it is None, the number of states times rate_max/rate_min is taken, which seldom binds.  The other parameters are those
    of `ucrl2`.
    """

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, span: float | None = None,
                 radius_scale: float = 0.1, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, delta, horizon, None, radius_scale, seed)
        usual = knowledge.n_states * float(knowledge.rate_max) / float(knowledge.rate_min)
        self.span = usual if span is None else positive("span", span)

    def plan(self) -> Plan:
        """Return the optimistic policy under the bound on the span, randomized where the bound binds."""
        known, steps = self.knowledge, self.steps()
        iteration = self.plausible(steps).iteration(without_running(known))
        u, sweeps, done, tolerance = np.zeros(known.n_states), 0, False, 1 / sqrt(steps.now)
        while not done and sweeps < MAX_STEPS:
            pair, worst, weight, taken, _, high, done = span_value_iteration(
                u, self.span, tolerance, max(1, CHUNK_ENTRIES // iteration.entries), DAMPING, iteration.problem)
            sweeps += taken
        if not done:
            raise ToleranceError(f"planning under span {self.span:g} did not settle in {sweeps} steps. If some bias may have a "
                                 f"larger span, give that. {TOO_FAR_APART}", u)
        info = {"optimistic_gain": self.gain_of(float(high * known.rate_max)), "sweeps": sweeps, "cut": int((weight < 1).sum())}
        policy = known.pair_action[pair]
        if (weight < 1).any():
            policy = np.zeros((known.n_states, known.n_actions))
            states = np.arange(known.n_states)
            np.add.at(policy, (states, known.pair_action[pair]), weight)
            np.add.at(policy, (states, known.pair_action[worst]), 1 - weight)
        return Plan(policy, quota=np.maximum(1, self.counts.visits), info=info)
