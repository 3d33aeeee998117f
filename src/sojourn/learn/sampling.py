"""What every learner that samples from its posterior shares: plans made by one kernel, one by one or many in one walk."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.kernels.sampled_plan import BK, NO_INDEX, Copies, Rows, Sampler, Standing, sampled_plan
from sojourn.kernels.sampled_walk import Notes, notes_of, walk_samples
from sojourn.learn.counting import Belief, CountingLearner
from sojourn.learn.learner import Begun, Episode, Plan, Walked

LEAST = 3  # draws per row, if more than that are allowed
MOST_PLANS = 1024  # in one compiled call
WORK = 10**8  # of the plans in one compiled call, in steps of about a nanosecond


class SamplingLearner(CountingLearner):
    """Follows the best policies of models drawn from the posterior, for an episode each; an index may watch over them.

    Names in `memory` are the pairs per state from which the next policies are searched: the sampled one's, then the index's.
    """

    index = NO_INDEX  # of kernels/sampled_plan.py

    def sample_from(self, belief: Belief, samples: int, most: int = 1, tsde: bool = True, depth: float = 0.0) -> None:
        """Draw `samples` models per plan from `belief`, with up to `most` draws per row; `depth` is when the index is heard.

        With `tsde` a plan is at most one epoch longer than the last.
        """
        b = self.belief = belief
        self.tsde = tsde
        self.told = ("estimated_gain",) * (self.index != NO_INDEX) + ("sampled_gain",) * (samples > 0)  # in Plan.info
        self._sampler = Sampler(self.index, samples, tsde, depth, rows_of(b), b.shape, b.time, b.rate_min, b.rate_max, b.count,
                                copies_of(b, most))
        for name in self.memory:
            setattr(self, name, np.array(self.knowledge.pair_start[:-1], dtype=np.int64))

    def plan(self) -> Plan:
        """Return a sampled policy with what the index insists on; good until a pair has had its share, or not much longer."""
        self.belief.update(self.counts)
        standing, before = self._standing(), self.episode
        gains = sampled_plan(self._sampler, self.rng, self.counts.epoch, self.counts.visits, self.counts.holding_sum, standing)
        self._search_from(standing)
        info = dict(zip(("estimated_gain", "sampled_gain"), gains, strict=True))
        return Plan(self.knowledge.pair_action[standing.chosen], standing.quota,
                    (before.epochs if before else 0) + 1 if self.tsde else None, {name: info[name] for name in self.told})

    def walk_plans(self, ground: Any, rng: np.random.Generator, state: int, max_epochs: int, max_time: float) -> Walked:
        """Walk many plans in one compiled call, as `plan()` would give them one by one; the contract is in simulation/walk.py."""
        known, before, standing = self.knowledge, self.episode, self._standing()
        notes = notes_of(self._most_plans(), known.n_states, known.n_pairs)
        left = before.left.copy() if before else standing.quota.copy()
        state, epochs, pair, entry, spent, remaining, begun, stuck = walk_samples(
            ground, rng, state, max_epochs, max_time, self._sampler, self.rng, self.counts.epoch, standing, left,
            before.epochs if before else 0, before.epochs_left if before else 0, notes)
        self._search_from(standing)
        noted = Notes(*(column[:begun] for column in notes))
        found = Begun(noted.epoch, noted.state, known.pair_action[noted.pair], noted.visits,
                      {name: getattr(noted, name) for name in self.told})
        if begun:
            plan = Plan(found.policy[-1], standing.quota, spent + remaining if self.tsde else None,
                        {name: float(values[-1]) for name, values in found.info.items()})
            first = before.start_epoch + before.epochs if before else 1
            self.episode = Episode(plan, known, (before.index if before else 0) + begun, first + int(noted.epoch[-1]))
        if self.episode:
            self.episode.left, self.episode.epochs, self.episode.epochs_left = left, spent, remaining
        return Walked(state, epochs, pair, entry, stuck, found)

    def _standing(self) -> Standing:
        sampled, greedy = (getattr(self, self.memory[k]).copy() for k in (0, -1))
        return Standing(sampled, greedy, self.episode.policy_pair.copy() if self.episode else sampled.copy(),
                        np.zeros(self.knowledge.n_pairs, dtype=np.int64))

    def _search_from(self, standing: Standing) -> None:
        for name, pair in zip(self.memory, (standing.sampled, standing.greedy)):
            setattr(self, name, pair)

    def _most_plans(self) -> int:
        """Return how many plans make about 0.1 s: a draw per possible successor, some policies to evaluate, and the index."""
        q, policies = self._sampler, 4 * self.knowledge.n_states**3
        steps = q.samples * (100 * len(q.copies.entry) + policies)
        if q.watch != NO_INDEX:
            steps += (1000 if q.watch == BK else 100) * len(q.counted) + policies
        return min(max(1, WORK // steps), MOST_PLANS)


def rows_of(belief: Belief) -> Rows:
    """Return what is possible in each pair, and paid."""
    return Rows(*(getattr(belief, name) for name in Rows._fields))


def copies_of(belief: Belief, most: int) -> Copies:
    """Return every pair several times over: as often as it has possible successors, at least LEAST and at most `most` times."""
    size = np.diff(belief.row_start)
    draws = np.clip(size, min(LEAST, most), most)
    first = np.concatenate([[0], np.cumsum(draws)])
    pair = np.repeat(np.arange(len(size)), draws)
    size = size[pair]
    row_start = np.concatenate([[0], np.cumsum(size)])
    entry = np.arange(row_start[-1]) + np.repeat(belief.row_start[pair] - row_start[:-1], size)
    rows = Rows(first[belief.pair_start], row_start, belief.next_state[entry], belief.reward[pair], belief.running[pair],
                belief.weight[pair])
    return Copies(pair, entry, first, rows, np.ones(len(pair), dtype=np.bool_))
