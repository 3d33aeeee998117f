"""CT-CE: certainty equivalence with forced logarithmic exploration, the plainest learner that cannot stay wrong for ever.

Source: Lai and Robbins 1985, and the folklore of adaptive control (forcing).  It does not know which actions are worth trying.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sojourn.learn.learner import Learner, Plan
from sojourn.learn.posterior import Posterior
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive


class CTCE(Learner):
    """Plays the best policy of the mean model; in a state seen n times, any action tried fewer than c log(1 + n) times comes first.

    `exploration` is c; `prior` the Dirichlet weight of each possible successor, None for 1/k.
    """

    exposes: ClassVar[bool] = True
    memory = ("policy_pair",)

    def __init__(self, knowledge: Knowledge, exploration: float = 10.0, prior: float | None = None,
                 seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.exploration = positive("exploration", exploration)
        self.belief = Posterior(knowledge, prior)
        self.policy_pair = np.array(knowledge.pair_start[:-1], dtype=np.int64)

    def plan(self) -> Plan:
        """Return the certainty-equivalent policy with what must be tried put in its place, for a tenth of the visits so far."""
        known, visits = self.knowledge, self.counts.visits
        self.belief.update(self.counts)
        gain, self.policy_pair = self.belief.best_of_mean(self.policy_pair)
        pair, quota = self.policy_pair.copy(), np.maximum(1, visits // 10)
        seen = np.add.reduceat(visits, known.pair_start[:-1])
        due = visits < self.exploration * np.log1p(seen)[known.pair_state]
        for s in np.flatnonzero(np.logical_or.reduceat(due, known.pair_start[:-1])):
            first, last = known.pair_start[s], known.pair_start[s + 1]
            pair[s] = first + int(np.argmin(visits[first:last]))
            quota[pair[s]] = 1
        return Plan(known.pair_action[pair], quota=quota, info={"estimated_gain": gain})
