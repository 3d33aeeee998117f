"""Random: every admissible action equally likely, for ever.  The worst a yardstick should be."""

from __future__ import annotations

import numpy as np

from sojourn.learn.fixed import Fixed
from sojourn.model.knowledge import Knowledge


class RandomActions(Fixed):
    """Plays every admissible action with the same probability, drawn from its own stream."""

    def __init__(self, knowledge: Knowledge, seed: int | np.random.SeedSequence = 0):
        table = (knowledge.pair_table >= 0).astype(np.float64)
        super().__init__(knowledge, table / table.sum(axis=1, keepdims=True), seed)
