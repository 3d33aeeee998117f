"""The models of `solving.py`: random sparse graphs, grids of two queues, long lines, at sizes to a million states and more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

import sojourn
from sojourn.model.ctmdp import CTMDP


def random_sparse(n: int, actions: int = 4, seed: int = 1) -> CTMDP:
    """n states, 4 actions, 5 to 8 random successors each: mixes fast, fills the factors of every elimination."""
    rng = np.random.default_rng([seed, n])
    pairs = actions * n
    length = rng.integers(5, 9, pairs)
    row = np.repeat(np.arange(pairs), length)
    weight = sparse.csr_matrix((rng.exponential(size=len(row)), (row, rng.integers(0, n, len(row)))), shape=(pairs, n))
    total = np.asarray(weight.sum(axis=1)).ravel()
    weight.data /= np.repeat(total, np.diff(weight.indptr))
    return CTMDP.from_pairs(np.repeat(np.arange(n), actions), np.tile(np.arange(actions), n), weight,
                            rng.uniform(0.5, 4, pairs), -rng.uniform(0, 1, pairs), -rng.uniform(0, 5, pairs), normalize_rows=True)


def tandem(side: int, load: float = 0.6) -> CTMDP:
    """Two queues in series: when to push work on to the second."""
    return sojourn.make("tandem", capacity=side - 1, arrival_rate=load)


def routing(side: int, load: float = 0.6) -> CTMDP:
    """Two parallel queues: which one an arrival joins."""
    return sojourn.make("routing", capacity=side - 1, arrival_rate=1.6 * load)


def line(n: int, load: float = 0.6) -> CTMDP:
    """One queue with three speeds of service."""
    return sojourn.make("service-rate", capacity=n - 1, arrival_rate=1.8 * load)


def suite(most: int) -> dict[str, Callable[[], CTMDP]]:
    """Return {name: builder} of the models with up to `most` states, smallest first."""
    found: dict[str, tuple[int, Callable[[], CTMDP]]] = {}
    for n in (1_000, 10_000, 100_000, 1_000_000):
        found[f"random {n}"] = n, lambda n=n: random_sparse(n)
    for side in (30, 100, 300, 1000):
        for name, family in (("tandem", tandem), ("routing", routing)):
            for load in (0.6, 0.99):
                found[f"{name} {side}x{side} load {load}"] = side * side, lambda f=family, s=side, q=load: f(s, q)
    for n in (10_000, 100_000, 1_000_000):
        for load in (0.6, 0.99):
            found[f"line {n} load {load}"] = n, lambda n=n, q=load: line(n, q)
    return {name: build for name, (size, build) in sorted(found.items(), key=lambda item: item[1][0]) if size <= most}
