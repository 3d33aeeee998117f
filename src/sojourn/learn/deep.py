"""Deep exploration: posterior sampling for as long as some state has hardly been seen.

An index judges one choice at a time with the bias at hand.  While a part of the states is hardly known that bias may be wrong in a
way that no single choice can mend (on RiverSwim it locks an index for ever).  A model drawn from the posterior
plans a whole way there.
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counting import Belief, CountingLearner
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge


class DeepLearner(CountingLearner):
    """Posterior sampling (TSDE episodes) while some state has fewer than depth * log²(t) visits, else `trusted_plan()`."""

    memory = ("sampled_pair", "greedy_pair", "last_deep", "was_deep")

    def __init__(self, knowledge: Knowledge, prior: float | None = None, depth: float = 1.0, seed: int = 0):
        super().__init__(knowledge, seed)
        if not (isinstance(depth, (int, float)) and not isinstance(depth, bool) and 0 <= depth < np.inf):
            raise ParameterError(f"depth is {depth!r}; it must be a finite number, at least 0 (0 switches deep exploration off).")
        self.depth = float(depth)
        self.belief = Belief(knowledge, prior)
        self.sampled_pair = np.array(knowledge.pair_start[:-1], dtype=np.int64)
        self.greedy_pair = self.sampled_pair.copy()
        self.last_deep = 0  # epochs of the last sampled episode
        self.was_deep = False

    @property
    def trusted(self) -> bool:
        """Whether every state has been visited often enough for the bias to be trusted."""
        seen = np.add.reduceat(self.counts.visits, self.knowledge.pair_start[:-1])
        return bool(seen.min() >= self.depth * log(self.counts.epoch) ** 2)

    def plan(self) -> Plan:
        """Return a drawn model's best policy while something is hardly known, then what the index says."""
        if self.was_deep and self.episode:
            self.last_deep = self.episode.epochs
        self.belief.update(self.counts)
        self.was_deep = not self.trusted
        return self.deep_plan() if self.was_deep else self.trusted_plan()

    def deep_plan(self) -> Plan:
        """Return the best policy of a model drawn from the posterior, one epoch longer than the last time at most."""
        probability, rate = self.belief.sample(self.rng)
        gain, _, self.sampled_pair = self.belief.best(probability, rate, self.sampled_pair)
        return Plan(self.knowledge.pair_action[self.sampled_pair], quota=np.maximum(1, self.counts.visits),
                    max_epochs=self.last_deep + 1, info={"sampled_gain": gain, "deep": 1})

    def trusted_plan(self) -> Plan:
        """Return the plan of the index."""
        raise NotImplementedError
