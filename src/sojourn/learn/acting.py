"""Learners that choose at every epoch anew and learn from every single transition, compiled: Q-learning and its like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sojourn.kernels.acting import chooser, pupil
from sojourn.learn.counts import pairs_of
from sojourn.learn.learner import History, Learner


class ActingLearner(Learner):
    """Declare `compiled_act = (act, learn)`, compiled functions as in kernels/acting.py, and `planner_state()`, what they work on.

    Then `act(state)` and `observe(history)` come for nothing, and simulations call both inside one compiled driver.
    """

    compiled_act: ClassVar[Any] = None
    folds = True

    def act(self, state: int) -> int:
        """Return the action to take now."""
        pair = chooser(type(self).compiled_act[0])(self.planner_state(), int(state), self.rng)
        return int(self.knowledge.pair_action[pair])

    def observe(self, history: History) -> None:
        """Count a chunk of epochs and learn from each; one that cannot be true is refused, and nothing is counted."""
        super().observe(history)
        pupil(type(self).compiled_act[1])(
            self.planner_state(), pairs_of(history, self.knowledge), np.asarray(history.holding_time, dtype=np.float64),
            np.asarray(history.next_state, dtype=np.int64), np.asarray(history.lump, dtype=np.float64),
            np.asarray(history.running, dtype=np.float64))
