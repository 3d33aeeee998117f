"""Deep exploration: optimistic posterior sampling under the eyes of an index.

An index judges one choice at a time with the bias at hand.  Where that bias is wrong in a way that no single choice can mend (on
RiverSwim a far state hardly seen, or two regimes of nearly the same gain) an index locks for ever.  A model drawn from the
posterior plans a whole way there; several draws per row, the plan taking the one it likes best, make such a way likely even where
each of its steps is in doubt.  Posterior sampling in turn may forget an action with an unlucky start; the index does not.

Source of the several draws per row: Agrawal and Jia 2017.  (Best of several whole models: far weaker, see decisions.)
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.planning import best_policy
from sojourn.kernels.posterior import posterior_sample
from sojourn.learn.counting import Belief, CountingLearner
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge

LEAST = 3  # draws per row
TRIAL = 0.2  # in a well-known state a sampled action that is not the greedy one is tried for this share of its visits so far


class DeepLearner(CountingLearner):
    """Follows sampled policies, for an episode each (TSDE); in well-known states an index, `choice()`, may insist on an action.

    A state is well known after depth * log²(t) visits.  There an action is tried on which the index insists.  `draws` is the
    number of draws per row and rate; with 0 the index decides alone.
    """

    memory = ("sampled_pair", "greedy_pair")

    def __init__(self, knowledge: Knowledge, prior: float | None = None, draws: int = 8, depth: float = 1.0, seed: int = 0):
        super().__init__(knowledge, seed)
        if not isinstance(draws, (int, np.integer)) or isinstance(draws, bool) or draws < 0:
            raise ParameterError(f"draws is {draws!r}; it must be a whole number, at least 0 (0: the index alone, which may lock).")
        if not (isinstance(depth, (int, float)) and not isinstance(depth, bool) and 0 <= depth < np.inf):
            raise ParameterError(f"depth is {depth!r}; it must be a finite number, at least 0 (0: every state is well known).")
        self.draws, self.depth = int(draws), float(depth)
        self.belief = Belief(knowledge, prior)
        self.copies = Copies(self.belief, self.draws)
        self.sampled_pair = np.array(knowledge.pair_start[:-1], dtype=np.int64)
        self.greedy_pair = self.sampled_pair.copy()

    def plan(self) -> Plan:
        """Return a sampled policy with what the index insists on; good until a pair has had its share, or not much longer."""
        self.belief.update(self.counts)
        pair, quota, trying, gain = self.choice()
        if self.draws == 0:
            return Plan(self.knowledge.pair_action[pair], quota=quota, info={"estimated_gain": gain})
        sampled_gain, self.sampled_pair = self.copies.best(self.rng, self.sampled_pair)
        visits = self.counts.visits
        well_known = np.add.reduceat(visits, self.belief.pair_start[:-1]) >= self.depth * log(self.counts.epoch) ** 2
        trying &= well_known
        mixed, limit = np.where(trying, pair, self.sampled_pair), np.maximum(1, visits)
        astray = mixed[well_known & (mixed != self.greedy_pair)]
        limit[astray] = np.maximum(1, (TRIAL * visits[astray]).astype(np.int64))
        last = self.episode.epochs if self.episode else 0
        return Plan(self.knowledge.pair_action[mixed], quota=limit, max_epochs=last + 1,
                    info={"estimated_gain": gain, "sampled_gain": sampled_gain})

    def choice(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return (pair per state, quota per pair, where that pair must be tried, estimated gain) of the index."""
        raise NotImplementedError


class Copies:
    """Every pair several times over, each copy with its own draw of row and rate: the best policy chooses among the copies.

    A row of k possible successors is drawn k times, at least LEAST and at most `most` times.
    """

    def __init__(self, belief: Belief, most: int):
        self.belief = belief
        size = np.diff(belief.row_start)
        draws = np.clip(size, min(LEAST, most), most)
        self.first = np.concatenate([[0], np.cumsum(draws)])  # copy of each pair
        self.pair = np.repeat(np.arange(len(size)), draws)  # of each copy
        self.pair_start = self.first[belief.pair_start]
        size = size[self.pair]
        self.row_start = np.concatenate([[0], np.cumsum(size)])
        self.entry = np.arange(self.row_start[-1]) + np.repeat(belief.row_start[self.pair] - self.row_start[:-1], size)
        self.next_state = belief.next_state[self.entry]
        self.reward, self.running, self.weight = belief.reward[self.pair], belief.running[self.pair], belief.weight[self.pair]
        self.allowed = np.ones(len(self.pair), dtype=np.bool_)

    def best(self, rng: np.random.Generator, start: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (gain, pair per state) of the best policy over new draws, searched from the policy `start`."""
        belief = self.belief
        probability, rate = posterior_sample(rng, self.row_start, belief.count[self.entry], belief.visits[self.pair],
                                             belief.holding_sum[self.pair], self.weight, belief.shape, belief.time,
                                             belief.rate_min, belief.rate_max)
        gain, _, copy = best_policy(self.pair_start, self.row_start, self.next_state, probability, self.reward, self.running, rate,
                                    self.allowed, self.first[start])
        return gain, self.pair[copy]
