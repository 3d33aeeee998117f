"""A learner's own random numbers: a generator that can be saved as plain numbers and continued."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.scalars import is_whole

Seed = int | np.random.SeedSequence  # what random numbers start from: the same seed, the same numbers
WORLD_STREAM, LEARNER_STREAM = range(2)


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """Return `seed` (an integer >= 0 or a SeedSequence) as a SeedSequence."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if not is_whole(seed) or seed < 0:
        raise ParameterError(f"seed is {seed!r}; it must be an integer >= 0 or a numpy SeedSequence.")
    return np.random.SeedSequence(int(seed))


def stream(seed: int | np.random.SeedSequence, which: int = LEARNER_STREAM) -> np.random.Generator:
    """Return a generator for `seed`: the learner's, or the world's, independent of it."""
    sequence = seed_sequence(seed)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, which))))


def stream_state(rng: np.random.Generator) -> np.ndarray:
    """Return a PCG64 generator's state as six unsigned 64-bit numbers."""
    raw: Any = rng.bit_generator.state
    low = 2**64 - 1
    words = [raw["state"]["state"] >> 64, raw["state"]["state"] & low, raw["state"]["inc"] >> 64, raw["state"]["inc"] & low,
             raw["has_uint32"], raw["uinteger"]]
    return np.array(words, dtype=np.uint64)


def restore_stream(rng: np.random.Generator, words: np.ndarray) -> None:
    """Set `rng` to a state saved by `stream_state`."""
    w = [int(x) for x in words]
    rng.bit_generator.state = {
        "bit_generator": "PCG64", "state": {"state": (w[0] << 64) | w[1], "inc": (w[2] << 64) | w[3]},
        "has_uint32": w[4], "uinteger": w[5],
    }
