"""Where the world's random numbers come from: addressed, never shared with a learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.streams import restore_stream, stream_state

NO_WORDS = np.zeros(0, dtype=np.uint64)
WORLD_STREAM = 0  # a learner's own stream is 1


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """Return `seed` (an integer >= 0 or a SeedSequence) as a SeedSequence."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ParameterError(f"seed is {seed!r}; it must be an integer >= 0 or a numpy SeedSequence.")
    return np.random.SeedSequence(int(seed))


def world_stream(seed: Any) -> np.random.Generator:
    """Return the world's generator for `seed`, independent of every learner's (`sojourn.learn.streams.stream`).

    >>> bool(world_stream(7).random() == world_stream(7).random())
    True
    """
    sequence = seed_sequence(seed)
    address = np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, WORLD_STREAM))
    return np.random.Generator(np.random.PCG64(address))


class Stream:
    """One PCG64 stream seen two ways, as a Generator or as its raw words; whichever was asked for last is up to date."""

    def __init__(self, generator: np.random.Generator):
        self._generator = generator
        self._words: np.ndarray | None = None

    @property
    def generator(self) -> np.random.Generator:
        if self._words is not None:
            restore_stream(self._generator, self._words)
            self._words = None
        return self._generator

    @property
    def words(self) -> np.ndarray:
        """The state as uint64 words; a kernel may advance them in place."""
        if self._words is None:
            self._words = stream_state(self._generator)
        return self._words

    def either(self, raw: bool) -> tuple[np.random.Generator, np.ndarray]:
        """Return (generator, words), of which one is to be used: the words if `raw`, else the generator (no words then)."""
        return (self._generator, self.words) if raw else (self.generator, NO_WORDS)

    def state(self) -> np.ndarray:
        return self.words.copy()

    def restore(self, words: Any) -> None:
        self._words = np.array(words, dtype=np.uint64)
