"""Where the world's random numbers come from: addressed, never shared with a learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.learn.streams import WORLD_STREAM, Seed, restore_stream, stream, stream_state


def world_stream(seed: Seed) -> np.random.Generator:
    """Return the world's generator for `seed`, independent of every learner's.

    >>> bool(world_stream(7).random() == world_stream(7).random())
    True
    """
    return stream(seed, WORLD_STREAM)


class Stream:
    """One PCG64 stream seen two ways, as a Generator and as raw `words` that a kernel advances; one of them is up to date."""

    def __init__(self, generator: np.random.Generator):
        self.generator = generator
        self.words = stream_state(generator)
        self._by_words = True

    def as_words(self) -> None:
        """Bring `words` up to date, to be advanced in place; the generator is not to be drawn from now."""
        if not self._by_words:
            self.words[:] = stream_state(self.generator)
            self._by_words = True

    def as_generator(self) -> np.random.Generator:
        """Return the generator, up to date, to be drawn from."""
        if self._by_words:
            restore_stream(self.generator, self.words)
            self._by_words = False
        return self.generator

    def state(self) -> np.ndarray:
        self.as_words()
        return self.words.copy()

    def restore(self, words: Any) -> None:
        self.words[:] = np.array(words, dtype=np.uint64)
        self._by_words = True
