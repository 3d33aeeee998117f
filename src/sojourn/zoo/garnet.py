"""Random sparse models after Garnet, in continuous time and irreducible under every policy by construction."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.names import names_of
from sojourn.zoo.family import Family, amount, count, limit_states, rate


def distinct(rng: np.random.Generator, rows: int, k: int, n: int) -> np.ndarray:
    """Return (rows, k) draws from 0..n-1, distinct within a row and uniform over subsets (Floyd's method, all rows at once)."""
    out = np.empty((rows, k), dtype=np.int64)
    for i, top in enumerate(range(n - k, n)):
        draw = rng.integers(0, top + 1, size=rows)
        seen = (out[:, :i] == draw[:, None]).any(axis=1)
        out[:, i] = np.where(seen, top, draw)
    return out


def successors(rng: np.random.Generator, states: int, actions: int, branching: int) -> np.ndarray:
    """Return (P, branching) distinct next states; the first is the successor on one random cycle through all states."""
    order = rng.permutation(states)
    after = np.empty(states, dtype=np.int64)
    after[order] = np.roll(order, -1)
    first = np.repeat(after, actions)
    others = distinct(rng, states * actions, branching - 1, states - 1)
    return np.column_stack([first, others + (others >= first[:, None])])  # skip over the first


def check_sizes(states: int, actions: int, branching: int) -> None:
    """Raise where the branching exceeds the states or the model would be too large."""
    if branching > states:
        raise ParameterError(f"branching is {branching} and states is {states}; branching must be an integer from 1 to {states}.")
    limit_states(states, states * actions, states * actions * branching, states=states, actions=actions, branching=branching)


def build(states: int, actions: int, branching: int, seed: int, rate_min: float, rate_max: float, reward_max: float) -> CTMDP:
    """Return the random model."""
    check_sizes(states, actions, branching)
    if rate_min > rate_max:
        raise ParameterError(f"rate_min is {rate_min:g} and rate_max is {rate_max:g}; rate_min must be at most rate_max.")
    rng = np.random.default_rng(seed)
    following = successors(rng, states, actions, branching)
    shares = rng.standard_exponential(following.shape) + 1e-3
    shares /= shares.sum(axis=1, keepdims=True)
    rates = rng.uniform(rate_min, rate_max, size=states * actions)
    rewards = rng.uniform(0.0, reward_max, size=states * actions)
    return from_rows(states, actions, following, shares, rates, rewards, (rate_min, rate_max))


def from_rows(states: int, actions: int, following: np.ndarray, shares: np.ndarray, rates: np.ndarray, rewards: np.ndarray,
              bounds: tuple[float, float]) -> CTMDP:
    """Return the model in which pair s * actions + a jumps to following[pair] with probabilities shares[pair]."""
    order = np.argsort(following, axis=1)
    return CTMDP(
        pair_start=np.arange(states + 1) * actions, pair_action=np.tile(np.arange(actions), states),
        row_start=np.arange(states * actions + 1) * following.shape[1],
        next_state=np.take_along_axis(following, order, axis=1).ravel(),
        probability=np.take_along_axis(shares, order, axis=1).ravel(),
        rate=rates, reward=rewards, running=np.zeros(states * actions),
        states=names_of("state", None, states), actions=names_of("action", [f"a{a}" for a in range(actions)]), rate_bounds=bounds,
    )


FAMILY = Family(
    name="random",
    summary="sparse random model (Garnet-like, seeded), irreducible under every policy by construction",
    theory="Every pair jumps to `branching` distinct states with uniformly random probabilities, at a uniformly "
    "random rate, for a uniformly random lump sum. The first of the next states is the successor on one "
    "random cycle through all states, whatever the action: so every policy can reach every state.",
    source="the Garnet generator of T. W. Archibald, K. I. M. McKinnon and L. C. Thomas (1995), On the generation "
    "of Markov decision processes, J. Operational Research Society 46(3), 354-361; made irreducible and "
    "given rates here",
    parameters=(
        count("states", 10, "states", "number of states", 2, 1_000_000),
        count("actions", 3, "actions", "number of actions in every state", 1, 1000),
        count("branching", 3, "states", "number of next states of every pair", 1, 1000),
        count("seed", 0, "", "seed of the generator; the same seed gives the same model", 0, 2**63 - 1),
        rate("rate_min", 1.0, "least rate"),
        rate("rate_max", 5.0, "largest rate"),
        amount("reward_max", 1.0, "reward", "lump sums are uniform between 0 and this"),
    ),
    build=build,
    axes=("state",),
    answer="irreducible under every policy, whatever the seed; the same seed gives the same model bit for bit.",
)
