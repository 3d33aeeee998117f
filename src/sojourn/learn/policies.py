"""Policies as users and plans write them, checked: an action per state, or a table of probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, listed
from sojourn.kernels.ledger import NO_LIMIT
from sojourn.model.choosing import checked_probabilities, chosen_actions, is_row
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import shown

FORMS = "an action per state, {state: action} or a table of probabilities"


def read_policy(policy: Any, knowledge: Knowledge) -> np.ndarray:
    """Return `policy` as positions of actions, one per state, or an (S, A) table of probabilities; both fit `knowledge`.

    It may be a list of actions or {state: action}, as the user calls them, an array of positions, an (S, A) table, something with a
    `.policy` such as a Solution, or None: the first admissible action everywhere.
    """
    if policy is None:
        return np.array(knowledge.pair_action[knowledge.pair_start[:-1]])
    if hasattr(policy, "policy") and hasattr(policy, "gain"):  # a Solution
        policy = policy.policy
    several = isinstance(policy, (Mapping, list, tuple)) or (isinstance(policy, np.ndarray) and policy.ndim > 0)
    if not several or not len(policy):
        raise ParameterError(f"the policy is {shown(policy)}; it must be {FORMS}, or a learner with plan() or act().")
    if not isinstance(policy, Mapping) and is_row(policy[0], knowledge.actions):
        try:
            found = np.array(policy, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"the policy is {shown(policy)}; it must be {FORMS}.") from None
    else:
        found = chosen_actions(policy, knowledge.states, knowledge.actions, ParameterError)
    policy_pairs(found, knowledge)
    return found


def policy_pairs(policy: Any, knowledge: Knowledge) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (pair per state, None) for actions per state, or (first pair per state, cumulative table) for probabilities."""
    try:
        array = np.asarray(policy)
    except ValueError:  # rows of unequal length
        raise ParameterError(f"the plan's policy is {policy!r}; it must hold an action index for each state, or be a table of "
                             f"probabilities {knowledge.pair_table.shape}.") from None
    table = knowledge.pair_table
    if array.shape == (knowledge.n_states,) and array.dtype == np.int64 and array.min() >= 0 and array.max() < knowledge.n_actions:
        pair = table.ravel()[knowledge.table_row + array]  # the usual case, at a few microseconds
        if pair.min() >= 0:
            return pair, None
    if array.ndim == 1:
        return _deterministic(array, knowledge), None
    return np.asarray(knowledge.pair_start[:-1], dtype=np.int64), _cumulative(array, knowledge)


def _deterministic(array: np.ndarray, knowledge: Knowledge) -> np.ndarray:
    if array.shape != (knowledge.n_states,) or array.dtype.kind not in "iu":
        raise ParameterError(f"the plan's policy has shape {array.shape} and type {array.dtype}; "
                             f"it must hold {knowledge.n_states} action indices.")
    wrong = np.flatnonzero((array < 0) | (array >= knowledge.n_actions))
    pair = knowledge.pair_table[np.arange(knowledge.n_states), np.clip(array, 0, knowledge.n_actions - 1)]
    wrong = wrong if wrong.size else np.flatnonzero(pair < 0)
    if wrong.size:
        s = int(wrong[0])
        first, last = knowledge.pair_start[s], knowledge.pair_start[s + 1]
        allowed = listed([f"{a} ({knowledge.actions.label(a)})" for a in knowledge.pair_action[first:last]])
        raise ParameterError(f"the plan's policy chooses action {array[s]} in state {knowledge.states[s]!r}, "
                             f"which is not admissible there; choose of: {allowed}.")
    pairs: np.ndarray = pair.astype(np.int64)
    return pairs


def _cumulative(array: np.ndarray, knowledge: Knowledge) -> np.ndarray:
    table = knowledge.pair_table
    if array.shape != table.shape:
        raise ParameterError(f"the plan's policy has shape {array.shape}; it must be ({len(table)},) or {table.shape}.")
    probability = np.asarray(array, dtype=np.float64)
    checked_probabilities(probability, table >= 0, knowledge.states, knowledge.actions, ParameterError)
    cumulative = np.cumsum(probability, axis=1)
    last = array.shape[1] - 1 - np.argmax(probability[:, ::-1] > 0, axis=1)
    cumulative[np.arange(array.shape[1]) >= last[:, None]] = np.inf  # a draw beyond a sum such as 1 - 1e-16 takes the last one
    return cumulative


def quota_left(quota: Any, knowledge: Knowledge) -> np.ndarray:
    """Return the visits that a plan allows each pair."""
    if quota is None:
        return np.full(knowledge.n_pairs, NO_LIMIT, dtype=np.int64)
    try:
        array = np.asarray(quota)
        number = array.dtype.kind in "biuf"
    except ValueError:  # rows of unequal length
        number = False
    if not number:
        raise ParameterError(f"the plan's quota is {quota!r}; it must hold numbers, the visits that each pair may still take.")
    if array.shape == (knowledge.n_states, knowledge.n_actions):
        array = array[knowledge.pair_state, knowledge.pair_action]
    if array.shape != (knowledge.n_pairs,):
        raise ParameterError(f"the plan's quota has shape {array.shape}; it must be ({knowledge.n_pairs},) or (states, actions).")
    if not array.min() >= 1:
        raise ParameterError(f"the plan's quota holds {array.min()}; each pair needs at least 1, or the plan could end at once.")
    limits: np.ndarray = np.minimum(array, NO_LIMIT).astype(np.int64)
    return limits
