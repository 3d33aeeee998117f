"""Fixed: one policy for ever.  A yardstick, and what the learners below it play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counting import CountingLearner
from sojourn.learn.learner import Episode, Plan
from sojourn.model.knowledge import Knowledge


class Fixed(CountingLearner):
    """Plays `policy`: an action per state (indices or labels), {state: action}, or an (S, A) table of probabilities.

    Without one it plays the first admissible action of every state.
    """

    def __init__(self, knowledge: Knowledge, policy: Any = None, seed: int = 0):
        super().__init__(knowledge, seed)
        self.policy = policy_of(knowledge, policy)
        Episode(Plan(self.policy), knowledge, 1, 1)  # raises if it does not fit

    def plan(self) -> Plan:
        """Return the policy, without an end."""
        return Plan(self.policy)


def policy_of(knowledge: Knowledge, policy: Any) -> np.ndarray:
    """Return `policy` as action indices per state or a table of probabilities."""
    if policy is None:
        return np.array(knowledge.pair_action[knowledge.pair_start[:-1]])
    if isinstance(policy, Mapping):
        absent = [s for i, s in enumerate(knowledge.states) if s not in policy and i not in policy]
        if absent:
            raise ParameterError(f"the policy says nothing about state {absent[0]!r}; it must name an action for each of "
                                 f"{knowledge.n_states} states.")
        policy = [policy.get(s, policy.get(i)) for i, s in enumerate(knowledge.states)]
    try:
        rows = list(policy)
    except TypeError:
        raise ParameterError(f"the policy is {policy!r}; it must be an action per state or a table of probabilities.") from None
    if rows and all(isinstance(a, (str, int, np.integer)) and not isinstance(a, bool) for a in rows):
        unknown = [a for a in rows if isinstance(a, str) and a not in knowledge.actions]
        if unknown:
            raise ParameterError(f"the policy names action {unknown[0]!r}; the actions are "
                                 f"{', '.join(map(repr, knowledge.actions))}.")
        return np.array([knowledge.actions.index(a) if isinstance(a, str) else int(a) for a in rows], dtype=np.int64)
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"the policy is {policy!r}; it must be an action per state or a table of probabilities.") from None
