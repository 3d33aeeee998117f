"""Deep exploration: posterior sampling for as long as some state has hardly been seen, under the eyes of an index.

An index judges one choice at a time with the bias at hand.  While a part of the states is hardly known that bias may be wrong in a
way that no single choice can mend (on RiverSwim it locks an index for ever).  A model drawn from the posterior plans a whole way
there.  Posterior sampling in turn may forget an action with an unlucky start; in well-known states the index makes it try again.
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counting import Belief, CountingLearner
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge

INSIST = 0.5  # posterior sampling explores by itself; the index steps in only where it has clearly not


class DeepLearner(CountingLearner):
    """Plays by an index, `choice()`; but while some state is hardly known, a sampled policy stands in for the greedy one.

    A state is well known after depth * log²(t) visits.  While one is not, plans follow a model drawn from the posterior (TSDE
    episodes), except that in well-known states an action is tried which has had less than INSIST times what the index asks for.
    """

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

    def well_known(self) -> np.ndarray:
        """Return which states have been visited often enough for their choices to be judged by the index."""
        seen = np.add.reduceat(self.counts.visits, self.belief.pair_start[:-1])
        known: np.ndarray = seen >= self.depth * log(self.counts.epoch) ** 2
        return known

    def plan(self) -> Plan:
        """Return what the index says; while some state is hardly known, a drawn model's policy with what the index wants to try."""
        if self.was_deep and self.episode:
            self.last_deep = self.episode.epochs
        self.belief.update(self.counts)
        well_known = self.well_known()
        self.was_deep = not bool(well_known.all())
        pair, quota, trying, gain = self.choice(INSIST if self.was_deep else 1.0)
        if not self.was_deep:
            return Plan(self.knowledge.pair_action[pair], quota=quota, info={"estimated_gain": gain, "deep": 0})
        probability, rate = self.belief.sample(self.rng)
        sampled_gain, _, self.sampled_pair = self.belief.best(probability, rate, self.sampled_pair)
        trying &= well_known
        mixed, limit = np.where(trying, pair, self.sampled_pair), np.maximum(1, self.counts.visits)
        limit[pair[trying]] = quota[pair[trying]]
        return Plan(self.knowledge.pair_action[mixed], quota=limit, max_epochs=self.last_deep + 1,
                    info={"estimated_gain": gain, "sampled_gain": sampled_gain, "deep": 1})

    def choice(self, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return (pair per state, quota per pair, where an action must be tried, estimated gain).

        An action must be tried where it has had less than `share` times the exploration that the index asks for.
        """
        raise NotImplementedError
