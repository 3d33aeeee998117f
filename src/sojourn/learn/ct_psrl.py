"""CT-PSRL: posterior sampling.  Draw a model from the posterior, follow its best policy for an episode, draw again.

Sources: Thompson 1933; Osband, Russo, Van Roy 2013 (episodes); Ouyang, Gagrani, Nayyar, Jain 2017 (TSDE: an episode also ends
when it is one epoch longer than the last).  In continuous time the rates have Gamma posteriors; nothing is proved for it here.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sojourn.learn.posterior import Posterior
from sojourn.learn.sampling import SamplingLearner
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

    def __init__(self, knowledge: Knowledge, episodes: str = "tsde", prior: float | None = None,
                 rate_prior: tuple[float, float] = (0.0, 0.0), samples: int = 1, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.episodes = one_of("episodes", episodes, ("tsde", "doubling"))
        self.samples = whole("samples", samples, 1)
        self.sample_from(Posterior(knowledge, prior, rate_prior), self.samples, tsde=episodes == "tsde")
