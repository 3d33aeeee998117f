"""Build a model from a function: breadth-first over whatever hashable states a user's `choices` speaks of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError
from sojourn.model.build import from_pairs
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import real_number


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
    index: dict[Any, int] = {start: 0}
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
            raise ModelError(f"choices({here!r}) gave {options!r}; it must be a non-empty mapping {{action: Choice(...)}}.")
        for act, choice in options.items():
            total = _total(here, act, choice)
            state.append(index[here])
            action.append(action_index.setdefault(str(act), len(action_index)))
            rate.append(total)
            reward.append(choice.reward - choice.cost)
            running.append(choice.running - choice.running_cost)
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
                value.append(intensity / total)
                paid.append(choice.transition_rewards.get(there, 0.0))
            row_start.append(len(column))
    shape = (len(state), len(index))
    labels = [label(x) for x in queue]
    rows = sparse.csr_matrix((value, column, row_start), shape=shape)
    pays = sparse.csr_matrix((paid, column, row_start), shape=shape) if any(paid) else None
    return from_pairs(np.array(state), np.array(action), rows, rate, reward, running, transition_reward=pays, states=labels,
                      actions=list(action_index), rate_bounds=rate_bounds, name=name, normalize_rows=True)


def _total(here: Any, act: Any, choice: Any) -> float:
    """Return the total intensity of a choice, checked."""
    if not isinstance(choice, Choice):
        raise ModelError(f"choices({here!r})[{act!r}] is {choice!r}; it must be a Choice(rates={{next_state: intensity}}, ...).")
    total = 0.0
    for there, intensity in choice.rates.items():
        number = intensity if type(intensity) is float else real_number(f"rates of {act!r} in {here!r} to {there!r}", intensity)
        if not 0 <= number < float("inf"):
            raise ModelError(f"the intensity of {act!r} in {here!r} to {there!r} is {number:g}; it must be >= 0 and finite.")
        total += number
    if total <= 0:
        raise ModelError(f"the choice {act!r} in {here!r} has total intensity {total:g}; it must be positive: "
                         "name at least one next state, or leave the choice out.")
    return total
