"""Oracle: plays an optimal policy from the start.  The yardstick with no pseudo-regret; it alone is shown the model."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.fixed import Fixed
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.solving.solve import solve


class Oracle(Fixed):
    """Plays the optimal policy of `model`, which it solves."""

    def __init__(self, knowledge: Knowledge, model: CTMDP | None = None, seed: int | np.random.SeedSequence = 0):
        if not isinstance(model, CTMDP):
            raise ParameterError(f"model is {model!r}; the oracle must be shown the CTMDP: "
                                 "learner('oracle', knowledge, model=model).")
        super().__init__(knowledge, solve(model).policy, seed)
