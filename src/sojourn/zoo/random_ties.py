"""Random models whose gain and bias are planted, with exact ties between optimal actions.

Take any gain rho and bias h, and give the optimal pairs the lump sum r = rho / lambda + h(s) - sum p h, the others `gap`
less: then rho and h solve the optimality equation.  All numbers are binary fractions of few digits, so that the ties hold
exactly in floating point.
"""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.family import Family, Parameter, count
from sojourn.zoo.garnet import check_sizes, from_rows, successors

GAIN = 0.75


def planted(states: int, seed: int) -> tuple[float, np.ndarray]:
    """Return the gain and the bias (0 in state 0) that `build` plants."""
    bias = np.random.default_rng([seed, 1]).integers(-64, 65, size=states) / 64.0
    bias[0] = 0.0
    return GAIN, bias


def build(states: int, actions: int, branching: int, tied: int, gap: float, seed: int) -> CTMDP:
    """Return the model: in each state `tied` actions are optimal, the others cost between `gap` and 4 x `gap` more."""
    check_sizes(states, actions, branching)
    if tied > actions:
        raise ParameterError(f"tied is {tied} and actions is {actions}; tied must be an integer from 1 to {actions}.")
    gain, bias = planted(states, seed)
    rng = np.random.default_rng([seed, 0])
    pairs = states * actions
    following = successors(rng, states, actions, branching)
    shares = _dyadic(rng, pairs, branching)
    rates = 2.0 ** rng.integers(0, 3, size=pairs)
    rank = rng.permuted(np.tile(np.arange(actions), (states, 1)), axis=1).ravel()
    short = np.where(rank < tied, 0.0, np.round(gap * 64) / 64 * rng.integers(1, 5, size=pairs))
    rewards = gain / rates + np.repeat(bias, actions) - (shares * bias[following]).sum(axis=1) - short
    return from_rows(states, actions, following, shares, rates, rewards, (1.0, 4.0))


def _dyadic(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Return rows of positive multiples of 1/2^20 that sum to 1 exactly."""
    unit = 2.0**20
    cuts = np.sort(rng.integers(1, 2**20 - columns, size=(rows, columns - 1)), axis=1) + np.arange(columns - 1)
    edges = np.column_stack([np.zeros(rows), cuts, np.full(rows, unit)])
    return np.diff(edges, axis=1) / unit


FAMILY = Family(
    name="random-ties",
    summary="random model with planted gain and bias and exact ties between optimal actions",
    theory="A sparse random model as `random`, whose lump sums are computed backwards from a chosen gain and bias: "
    "in every state `tied` actions are exactly optimal and the others fall short by at least `gap`. All "
    "numbers are short binary fractions, so that the ties are exact in floating point. Good for testing what "
    "an algorithm does where the optimal policy is not unique.",
    source="made for this project: any (gain, bias) that satisfies the average-reward optimality equation of an "
    "irreducible model is its solution (e.g. Puterman 1994, ch. 8 and 11)",
    parameters=(
        count("states", 8, "states", "number of states", 2, 1_000_000),
        count("actions", 4, "actions", "number of actions in every state", 1, 1000),
        count("branching", 3, "states", "number of next states of every pair", 1, 1000),
        count("tied", 2, "actions", "number of optimal actions in every state", 1, 1000),
        Parameter("gap", 0.25, "reward", "least shortfall of another action (rounded to 1/64)", "real", 1 / 64, 64),
        count("seed", 0, "", "seed of the generator", 0, 2**63 - 1),
    ),
    build=build,
    axes=("state",),
    answer="gain = 3/4 and the planted bias (`planted`), exactly; `tied` optimal actions in every state.",
)
