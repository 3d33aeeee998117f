"""A plain walker: follows a learner's plans on a model, one epoch at a time, with nothing compiled in between."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sojourn.simulation.episode import next_episode


class Walker:
    """Walks `learner` on `model`; `.decisions` are (state, action) pairs, `.episodes` the plans met."""

    def __init__(self, model: Any, learner: Any, seed: int = 0, knowledge: Any = None):
        self.model, self.learner, self.state = model, learner, 0
        self.knowledge = learner.knowledge if knowledge is None else knowledge
        self.rng = np.random.default_rng(seed)
        self.episode: Any = None
        self.decisions: list[tuple[int, int]] = []
        self.episodes: list[Any] = []

    def pair(self) -> int:
        if self.drawn is None:
            self.drawn = self.episode.pair_in(self.state, self.learner.rng)
        return self.drawn

    def walk(self, epochs: int) -> "Walker":
        for _ in range(epochs):
            self.drawn: int | None = None
            if self.episode is None or self.episode.epochs_left <= 0 or self.episode.left[self.pair()] <= 0:
                self.episode = next_episode(self.learner, self.knowledge, self.episode, len(self.decisions) + 1)
                self.episodes.append(self.episode)
                self.drawn = None
            pair = self.pair()
            row = slice(self.model.row_start[pair], self.model.row_start[pair + 1])
            tau = self.rng.standard_exponential() / self.model.rate[pair]
            after = int(self.rng.choice(self.model.next_state[row], p=self.model.probability[row]))
            self.decisions.append((self.state, int(self.knowledge.pair_action[pair])))
            self.learner.counts.add(pair, tau, after, float(self.model.reward[pair]))
            self.episode.spend(pair)
            self.state = after
        return self


@pytest.fixture(scope="session")
def walker() -> Callable[..., Walker]:
    return Walker
