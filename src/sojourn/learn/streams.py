"""A learner's own random numbers: a generator that can be saved as plain numbers and continued."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError

LEARNER_STREAM = 1  # the world's stream is 0


def stream(seed: int | np.random.SeedSequence) -> np.random.Generator:
    """Return the learner's generator for `seed`, independent of the world's."""
    if isinstance(seed, np.random.SeedSequence):
        sequence = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, LEARNER_STREAM))
    else:
        if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ParameterError(f"seed is {seed!r}; it must be an integer >= 0 or a numpy SeedSequence.")
        sequence = np.random.SeedSequence(int(seed), spawn_key=(LEARNER_STREAM,))
    return np.random.Generator(np.random.PCG64(sequence))


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
