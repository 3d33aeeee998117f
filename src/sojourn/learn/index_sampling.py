"""Posterior sampling with an index: sampled policies are followed, and in well-known states an index may override them.

An index judges one choice at a time with the bias at hand.  Where that bias is wrong in a way that no single choice can mend (on
RiverSwim a far state hardly seen, or two regimes of nearly the same gain) an index locks for ever.  A model drawn from the
posterior plans a whole way there; several draws per row, the plan taking the one it likes best, make such a way likely even where
each of its steps is in doubt.  Posterior sampling in turn may forget an action with an unlucky start; the index does not.

Source of the several draws per row: Agrawal and Jia 2017.  (Best of several whole models: far weaker, see decisions.)
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sojourn.learn.posterior import Posterior
from sojourn.learn.sampling import SamplingLearner
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import at_least, whole


class IndexSampling(SamplingLearner):
    """Follows sampled policies, for an episode each (TSDE); in well-known states an `index` may insist on an action.

    A state is well known after depth * log²(t) visits.  There an action is tried on which the index insists
    (kernels/sampled_plan.py).  `draws` is the number of draws per row and rate; with 0 the index decides alone.
    """

    fades: ClassVar[bool] = False  # whether the prior's weight fades where supports are unknown (learn/posterior.py)

    def __init__(self, knowledge: Knowledge, prior: float | None = None, draws: int = 8, depth: float = 1.0,
                 seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.draws = whole("draws", draws, 0, note=" (0: the index alone, which may lock)")
        self.depth = at_least("depth", depth, 0, " (0: every state is well known)")
        self.sample_from(Posterior(knowledge, prior, fades=self.fades), min(1, self.draws), self.draws, self.draws > 0, self.depth)
