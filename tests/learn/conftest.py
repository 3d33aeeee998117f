"""A plain walker: follows a learner's plans on a model, one epoch at a time, with nothing compiled in between."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sojourn.learn.learner import begin_episode


class Walker:
    """Walks `learner` on `model`; `.decisions` are (state, action) pairs, `.episodes` the plans met."""

    def __init__(self, model: Any, learner: Any, seed: int = 0, knowledge: Any = None):
        self.model, self.learner, self.state = model, learner, 0
        self.knowledge = learner.knowledge if knowledge is None else knowledge
        self.rng = np.random.default_rng(seed)
        self.decisions: list[tuple[int, int]] = []
        self.episodes: list[Any] = []

    def pair(self) -> int:
        episode = self.learner.episode
        if episode.cumulative is None:
            return int(episode.policy_pair[self.state])
        if self.drawn is None:
            u = self.learner.rng.random()
            action = int(np.searchsorted(episode.cumulative[self.state], u, side="right"))
            self.drawn = int(self.knowledge.pair_table[self.state, action])
        return self.drawn

    def walk(self, epochs: int) -> "Walker":
        for _ in range(epochs):
            self.drawn: int | None = None
            episode = self.learner.episode
            if episode is None or episode.epochs_left <= 0 or episode.ends_before(self.pair()):
                self.episodes.append(begin_episode(self.learner, self.knowledge))
                self.drawn = None
            pair = self.pair()
            row = slice(self.model.row_start[pair], self.model.row_start[pair + 1])
            tau = self.rng.standard_exponential() / self.model.rate[pair]
            after = int(self.rng.choice(self.model.next_state[row], p=self.model.probability[row]))
            self.decisions.append((self.state, int(self.knowledge.pair_action[pair])))
            self.learner.counts.add(pair, tau, after, float(self.model.reward[pair]))
            self.learner.episode.spend(pair)
            self.state = after
        return self


@pytest.fixture(scope="session")
def walker() -> Callable[..., Walker]:
    return Walker
