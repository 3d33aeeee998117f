"""What the Q-learners share: a table of worths per pair, nothing else; no model is kept and none is planned with."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.kernels.q_learning import Table
from sojourn.learn.acting import ActingLearner
from sojourn.model.knowledge import Knowledge

KEPT = ("value", "bound", "visits", "time", "total", "number")


class QLearner(ActingLearner):
    """Learns the worth Q of every pair from single transitions (kernels/q_learning.py)."""

    def __init__(self, knowledge: Knowledge, setting: list[float], start: float, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        pairs = knowledge.n_pairs
        self.table = Table(np.array(knowledge.pair_start, dtype=np.int64), np.array(knowledge.pair_state, dtype=np.int64),
                           np.full(pairs, start), np.full(pairs, start), np.zeros(pairs, dtype=np.int64), np.zeros(pairs),
                           np.zeros(3), np.zeros(2, dtype=np.int64), np.array([*setting, 0.0, 0.0, 0.0, 0.0][:5]))

    def planner_state(self) -> Table:
        return self.table

    @property
    def q(self) -> np.ndarray:
        """(S, A) table of the worths as learned so far: a copy."""
        return self.knowledge.table(self.table.value)

    def remembered(self) -> dict[str, Any]:
        """Return the table."""
        return {name: getattr(self.table, name).copy() for name in KEPT}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        for name in KEPT:
            getattr(self.table, name)[:] = state[name]
