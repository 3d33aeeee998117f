"""CT-PSRL: posterior sampling.  Draw a model from the posterior, follow its best policy for an episode, draw again.

Sources: Thompson 1933; Osband, Russo, Van Roy 2013 (episodes); Ouyang, Gagrani, Nayyar, Jain 2017 (TSDE: an episode also ends
when it is one epoch longer than the last).  In continuous time the rates have Gamma posteriors; nothing is proved for it here.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import numpy as np

from sojourn.kernels.sampled_plan import NO_INDEX, PLANNERS
from sojourn.learn.ct_kl_ucrl import MAX_STEPS
from sojourn.learn.kl_set import kl_set
from sojourn.learn.learner import Plan
from sojourn.learn.posterior import Posterior
from sojourn.learn.sampling import SamplingLearner
from sojourn.learn.untried import trying
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import one_of, whole


class CTPSRL(SamplingLearner):
    """Plans on a model drawn from its posterior.

    - `episodes`: "tsde" ends an episode when a pair's visits double or it is one epoch longer than the last; "doubling" only
      when a pair's visits double.
    - `prior`: Dirichlet weight of each possible successor; None means 1/k each.
    - `rate_prior`: (shape, time) of the Gamma prior of rates; (0, 0) is uniform in log rate over the bounds.
    - `samples`: models drawn per plan, of which the one with the largest gain is followed.

    Without rate bounds (`rate_bounds="unknown"`) every pair is tried first, as `ct-kl-ucrl` does over its sets at level 1/t; then
    the law of each rate is a Gamma law on all of (0, inf).
    """

    may_lack_rate_bounds: ClassVar[bool] = True
    compiled_plan = PLANNERS[NO_INDEX]

    def __init__(self, knowledge: Knowledge, episodes: str = "tsde", prior: float | None = None,
                 rate_prior: tuple[float, float] = (0.0, 0.0), samples: int = 1, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.episodes = one_of("episodes", episodes, ("tsde", "doubling"))
        self.samples = whole("samples", samples, 1)
        self.sample_from(Posterior(knowledge, prior, rate_prior), self.samples, tsde=episodes == "tsde")

    @property
    def untried(self) -> bool:
        """Whether some pair has no posterior yet: no rate bounds are told, and it was never tried."""
        return not (self.knowledge.rates_told or self.counts.visits.all())

    def compiled(self) -> Any:
        """Return the compiled planner; None while pairs must be tried first, which is planned in Python."""
        return None if self.untried else super().compiled()

    def plan(self) -> Plan:
        """Return the best policy of a drawn model, or while pairs must be tried first, the way to them."""
        if not self.untried:
            return super().plan()
        self.sampler.planned[0] = self.counts.epoch
        known = kl_set(self.counts, Posterior(self.knowledge), 1 / (2 * self.knowledge.n_pairs * self.counts.epoch))
        quota = np.maximum(1, self.counts.visits)
        return trying(known.iteration(), self.knowledge, self.counts.visits == 0, quota, self.counts, 1 / sqrt(self.counts.epoch),
                      MAX_STEPS)
