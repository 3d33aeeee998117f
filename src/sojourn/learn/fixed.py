"""Fixed: one policy for ever.  A yardstick, what the learners below it play, and a policy in a learner's place."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.learn.learner import Learner, Plan
from sojourn.learn.policies import read_policy
from sojourn.model.knowledge import Knowledge


class Fixed(Learner):
    """Plays `policy`: an action per state (indices or labels), {state: action}, or an (S, A) table of probabilities.

    Without one it plays the first admissible action of every state.  Probabilities are drawn from its own stream.
    """

    may_lack_rate_bounds = True

    def __init__(self, knowledge: Knowledge, policy: Any = None, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.policy = read_policy(policy, knowledge)

    def plan(self) -> Plan:
        """Return the policy, without an end."""
        return Plan(self.policy)
