"""CT-PSRL: posterior sampling.  Draw a model from the posterior, follow its best policy for an episode, draw again.

Sources: Thompson 1933; Osband, Russo, Van Roy 2013 (episodes); Ouyang, Gagrani, Nayyar, Jain 2017 (TSDE: an episode also ends
when it is one epoch longer than the last).  In continuous time the rates have Gamma posteriors; nothing is proved for it here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.sampled_walk import Sampler, notes_of, walk_samples
from sojourn.learn.counting import Belief, CountingLearner
from sojourn.learn.learner import Begun, Episode, Plan, Walked
from sojourn.model.knowledge import Knowledge

MOST_PLANS = 1024  # in one compiled call
WORK = 10**8  # of the plans in one compiled call, in steps of about a nanosecond


class CTPSRL(CountingLearner):
    """Plans on a model drawn from its posterior.

    - `episodes`: "tsde" ends an episode when a pair's visits double or it is one epoch longer than the last; "doubling" only
      when a pair's visits double.
    - `prior`: Dirichlet weight of each possible successor; None means 1/k each.
    - `rate_prior`: (shape, time) of the Gamma prior of rates; (0, 0) is uniform in log rate over the bounds.
    - `samples`: models drawn per plan, of which the one with the largest gain is followed.
    """

    memory = ("policy_pair",)

    def __init__(self, knowledge: Knowledge, episodes: str = "tsde", prior: float | None = None,
                 rate_prior: tuple[float, float] = (0.0, 0.0), samples: int = 1, seed: int = 0):
        super().__init__(knowledge, seed)
        if episodes not in ("tsde", "doubling"):
            raise ParameterError(f"episodes is {episodes!r}; it must be 'tsde' or 'doubling'.")
        if not isinstance(samples, (int, np.integer)) or isinstance(samples, bool) or samples < 1:
            raise ParameterError(f"samples is {samples!r}; it must be a whole number, at least 1.")
        self.episodes = episodes
        self.samples = int(samples)
        self.belief = Belief(knowledge, prior, rate_prior)
        self.policy_pair = np.array(knowledge.pair_start[:-1], dtype=np.int64)  # where the next search starts

    def plan(self) -> Plan:
        """Return the best policy of a drawn model, good until some pair's visits double (and, with TSDE, not much longer)."""
        self.belief.update(self.counts)
        gain, start = -np.inf, self.policy_pair
        for _ in range(self.samples):
            probability, rate = self.belief.sample(self.rng)
            found, _, pair = self.belief.best(probability, rate, start)
            if found > gain:
                gain, self.policy_pair = found, pair
        last = self.episode.epochs if self.episode else 0
        return Plan(self.knowledge.pair_action[self.policy_pair], quota=np.maximum(1, self.counts.visits),
                    max_epochs=last + 1 if self.episodes == "tsde" else None, info={"sampled_gain": gain})

    def walk_plans(self, ground: Any, rng: np.random.Generator, state: int, max_epochs: int, max_time: float) -> Walked:
        """Walk many plans in one compiled call, as `plan()` would give them one by one; the contract is in simulation/walk.py."""
        known, before = self.knowledge, self.episode
        notes = notes_of(self._most_plans(), known.n_states, known.n_pairs)
        left = before.left.copy() if before else np.zeros(known.n_pairs, dtype=np.int64)
        chosen = before.policy_pair.copy() if before else self.policy_pair.copy()
        self.policy_pair = self.policy_pair.copy()
        state, epochs, pair, entry, spent, remaining, begun, stuck = walk_samples(
            ground, rng, state, max_epochs, max_time, self._sampler(), self.rng, self.policy_pair, chosen, left,
            before.epochs if before else 0, before.epochs_left if before else 0, notes)
        policy = known.pair_action[notes.pair[:begun]]
        if begun:
            visits = self.counts.visits - (ground.visits - notes.visits[begun - 1])  # when the last one began
            plan = Plan(policy[-1], np.maximum(1, visits), spent + remaining if self.episodes == "tsde" else None,
                        {"sampled_gain": float(notes.gain[begun - 1])})
            first = before.start_epoch + before.epochs if before else 1
            self.episode = Episode(plan, known, (before.index if before else 0) + begun, first + int(notes.epoch[begun - 1]))
        if self.episode:
            self.episode.left, self.episode.epochs, self.episode.epochs_left = left, spent, remaining
        return Walked(state, epochs, pair, entry, stuck, Begun(notes.epoch[:begun], notes.state[:begun], policy,
                                                               notes.visits[:begun], {"sampled_gain": notes.gain[:begun]}))

    def _most_plans(self) -> int:
        """Return how many plans make about 0.1 s: a draw per possible successor, and some policies to evaluate."""
        steps = self.samples * (100 * len(self.belief.count) + 4 * self.knowledge.n_states**3)
        return min(max(1, WORK // steps), MOST_PLANS)

    def _sampler(self) -> Sampler:
        b = self.belief
        return Sampler(self.samples, self.episodes == "tsde", b.pair_start, b.row_start, b.next_state, b.reward, b.running,
                       b.weight, b.shape, b.time, b.rate_min, b.rate_max, np.ones(len(b.visits), dtype=np.bool_), b.count)
