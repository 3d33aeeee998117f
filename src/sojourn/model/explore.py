"""Build a model from a function: breadth-first over whatever hashable states a user's `choices` speaks of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError
from sojourn.model.build import from_pairs
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import real_number, shown


@dataclass(frozen=True)
class Choice:
    """What one action in one state does.

    `rates` maps each next state to its intensity (events per unit of time); their sum is the rate of the holding time.
    `reward` is paid at once and `running` per unit of time; `cost` and `running_cost` are negative rewards;
    `transition_rewards` maps a next state to what is paid with that jump.
    """

    rates: Mapping[Any, float]
    reward: float = 0.0
    running: float = 0.0
    cost: float = 0.0
    running_cost: float = 0.0
    transition_rewards: Mapping[Any, float] = field(default_factory=dict)


def explore(start: Hashable, choices: Callable[[Any], Mapping[Any, Choice]], *, max_states: int = 2_000_000,
            label: Callable[[Any], str] = str, rate_bounds: tuple[float, float] | None = None, name: str = "") -> CTMDP:
    """Return the model of all states reachable from `start` under any choice; states are numbered breadth-first.

    >>> def choices(n):  # a machine that is up (1) or down (0)
    ...     return {"run": Choice({0: 0.1}, running=1.0)} if n else {"repair": Choice({1: 1.0}, cost=2.0)}
    >>> explore(1, choices)
    <CTMDP: 2 states, 2 actions, 2 pairs, 2 transitions, rates [0.1, 1]>
    """
    if not callable(choices):
        raise ModelError(f"choices is {shown(choices)}; it must be a function state -> {{action: Choice(...)}}.")
    index: dict[Any, int] = {_hashable("start", start): 0}
    queue: list[Any] = [start]
    action_index: dict[str, int] = {}
    state: list[int] = []
    action: list[int] = []
    rate: list[float] = []
    reward: list[float] = []
    running: list[float] = []
    row_start, column, value, paid = [0], [], [], []
    for here in queue:  # grows while it is walked
        options = choices(here)
        if not isinstance(options, Mapping) or not options:
            raise ModelError(f"choices({here!r}) gave {shown(options)}; it must be a non-empty mapping {{action: Choice(...)}}.")
        for act, choice in options.items():
            total = _total(here, act, choice)
            state.append(index[here])
            action.append(action_index.setdefault(str(act), len(action_index)))
            rate.append(total)
            reward.append(_number(here, act, "reward", choice.reward) - _number(here, act, "cost", choice.cost))
            running.append(_number(here, act, "running", choice.running) - _number(here, act, "running_cost", choice.running_cost))
            for there, intensity in choice.rates.items():
                if intensity == 0:
                    continue
                if there not in index:
                    if len(index) >= max_states:
                        raise ModelError(f"more than {max_states} states are reachable from {start!r}; truncate the model "
                                         "(a buffer limit) or raise max_states.")
                    index[there] = len(index)
                    queue.append(there)
                column.append(index[there])
                value.append(_share(here, act, there, float(intensity), total))
                paid.append(_number(here, act, "transition_rewards", choice.transition_rewards.get(there, 0.0)))
            row_start.append(len(column))
    shape = (len(state), len(index))
    labels = [label(x) for x in queue]
    rows = sparse.csr_matrix((value, column, row_start), shape=shape)
    pays = sparse.csr_matrix((paid, column, row_start), shape=shape) if any(paid) else None
    return from_pairs(np.array(state), np.array(action), rows, rate, reward, running, transition_reward=pays, states=labels,
                      actions=list(action_index), rate_bounds=rate_bounds, name=name, normalize_rows=True)


def _hashable(what: str, state: Any) -> Any:
    try:
        hash(state)
    except TypeError:
        raise ModelError(f"{what} is {shown(state)}; states must be hashable. Use a tuple instead of a list.") from None
    return state


def _number(here: Any, act: Any, field: str, value: Any) -> float:
    """Return a reward of a choice as a finite float, checked."""
    if type(value) is float and isfinite(value):
        return value
    return real_number(f"{field} of {act!r} in {here!r}", value)


def _share(here: Any, act: Any, there: Any, intensity: float, total: float) -> float:
    """Return the probability of a jump; one too small for a float is an error, as the jump would be lost."""
    if intensity / total == 0:
        raise ModelError(f"the intensity of {act!r} in {here!r} to {there!r} is {intensity!r} of {total!r} in all; the probability "
                         "of the jump is too small for a float. Leave it out, or give it a larger intensity.")
    return intensity / total


def _total(here: Any, act: Any, choice: Any) -> float:
    """Return the total intensity of a choice, checked."""
    if not isinstance(choice, Choice):
        raise ModelError(f"choices({here!r})[{act!r}] is {shown(choice)}; it must be a Choice(rates={{next_state: intensity}}).")
    for part, value in (("rates", choice.rates), ("transition_rewards", choice.transition_rewards)):
        if not isinstance(value, Mapping):
            raise ModelError(f"{part} of {act!r} in {here!r} is {shown(value)}; it must be a mapping from next states to numbers.")
    for there in choice.transition_rewards:
        if there not in choice.rates:
            raise ModelError(f"transition_rewards of {act!r} in {here!r} pays for a jump to {there!r}, which has no intensity in "
                             "rates; add it there or remove it here.")
    total = 0.0
    for there, intensity in choice.rates.items():
        number = intensity if type(intensity) is float else real_number(f"rates of {act!r} in {here!r} to {there!r}", intensity)
        if not 0 <= number < float("inf"):
            raise ModelError(f"the intensity of {act!r} in {here!r} to {there!r} is {number!r}; it must be >= 0 and finite.")
        total += number
    if not 0 < total < float("inf"):
        raise ModelError(f"the choice {act!r} in {here!r} has total intensity {total:g}; it must be positive and finite: "
                         "name at least one next state, or leave the choice out.")
    return total
