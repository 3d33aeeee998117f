"""Policies as people write them: an action for each state, in the user's own words or as an array of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.names import Names
from sojourn.model.numbers import shown

Policy = Sequence[Any] | Mapping[Any, Any] | np.ndarray  # an action per state, {state: action}, or (S, A) probabilities


def chosen_actions(policy: Any, states: Names, actions: Names, error: type[Exception] = ModelError) -> np.ndarray:
    """Return the position of the action that `policy` chooses in each state (S,), or raise `error`.

    A list, tuple or {state: action} holds states and actions as the user calls them.  An array of integers holds positions, as
    `solution.policy` does.

    >>> states, actions = Names("state", ["idle", "busy"]), Names("action", ["slow", "fast"])
    >>> chosen_actions({"busy": "fast", "idle": "slow"}, states, actions).tolist()
    [0, 1]
    """
    if isinstance(policy, Mapping):
        policy = _in_order(policy, states, error)
    if isinstance(policy, (list, tuple)):
        flat = not any(isinstance(action, (list, np.ndarray)) for action in policy)
    else:
        flat = isinstance(policy, np.ndarray) and policy.ndim == 1
    if not flat:
        raise error(f"the policy is {shown(policy)}; it must be a list of actions, one for each state, or {{state: action}}.")
    if len(policy) != len(states):
        raise error(f"the policy has {len(policy)} entries; it needs one action for each of {len(states)} states.")
    if isinstance(policy, np.ndarray) and policy.dtype.kind in "iu":
        wrong = np.flatnonzero((policy < 0) | (policy >= len(actions)))
        if wrong.size:
            s = int(wrong[0])
            raise error(f"the policy chooses action {policy[s]} in state {states[s]!r}; an array of integers holds positions, "
                        f"from 0 to {len(actions) - 1}.")
        return np.asarray(policy, dtype=np.int64)
    known: dict[Any, int] = {}
    found = np.empty(len(states), dtype=np.int64)
    for s, action in enumerate(policy):
        what = f"the policy's action in state {states[s]!r}"
        if isinstance(action, (Mapping, set)):
            raise error(f"{what} is {shown(action)}; it must be the name of an action.")
        key = (type(action), action)
        if key not in known:
            known[key] = actions.position(action, what, error)
        found[s] = known[key]
    return found


def checked_probabilities(table: np.ndarray, admissible: np.ndarray, states: Names, actions: Names, error: type[Exception]) -> None:
    """Raise `error` unless every row of the (S, A) table is a law over the admissible actions of its state."""
    bad = ~((table >= 0) & (table <= 1 + 1e-9)) | (~admissible & (table != 0))  # NaN is bad too
    if bad.any():
        s, a = (int(i) for i in np.argwhere(bad)[0])
        raise error(f"policy[{states.label(s)}, {actions.label(a)}] is {table[s, a]:g}; a probability lies in [0, 1] and is 0 "
                    "where the action is not admissible. Correct the entry.")
    total = table.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > 1e-9)
    if off.size:
        s = int(off[0])
        raise error(f"policy[{states.label(s)}] sums to {total[s]:.12g}; the probabilities of a state must sum to 1.")


def is_row(entry: Any, actions: Names) -> bool:
    """Return whether an entry of a policy is a row of probabilities; a tuple may be an action's name."""
    return isinstance(entry, (list, np.ndarray)) or (isinstance(entry, tuple) and entry not in actions)


def _in_order(policy: Mapping[Any, Any], states: Names, error: type[Exception]) -> list[Any]:
    chosen: dict[int, Any] = {}
    for state, action in policy.items():
        s = states.position(state, "a state of the policy", error)
        if s in chosen:
            raise error(f"the policy names state {states[s]!r} twice, as {shown(state)} and otherwise; name it once.")
        chosen[s] = action
    if len(chosen) < len(states):
        missing = next(s for s in range(len(states)) if s not in chosen)
        raise error(f"the policy names no action for state {states[missing]!r} ({len(states) - len(chosen)} missing).")
    return [chosen[s] for s in range(len(states))]
