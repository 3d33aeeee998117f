"""A policy in a learner's place, and the check that a learner's knowledge fits the model it walks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.errors import ModelError, ParameterError
from sojourn.learn.learner import Episode, Plan
from sojourn.learn.streams import restore_stream, stream, stream_state
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge


class FixedPolicy:
    """A learner that never learns: plays one policy for ever.

    `policy` is an action per state (indices, labels, or {state: action}), or an (S, A) table of probabilities, drawn from the
    policy's own stream.
    """

    counts = None

    def __init__(self, model: CTMDP, policy: Any, seed: Any = 0):
        self.knowledge = model.knowledge()
        self.rng = stream(seed)
        self.episode: Episode | None = None
        self.policy = _policy(model, policy)

    def plan(self) -> Plan:
        return Plan(self.policy)

    def state(self) -> dict[str, Any]:
        return {"rng": stream_state(self.rng)}

    def restore(self, state: dict[str, Any]) -> None:
        restore_stream(self.rng, state["rng"])


def _policy(model: CTMDP, policy: Any) -> np.ndarray:
    if hasattr(policy, "policy") and hasattr(policy, "gain"):  # a Solution
        policy = policy.policy
    table = None if isinstance(policy, Mapping) else np.asarray(policy)
    if table is not None and table.ndim == 2:
        return np.array(table, dtype=np.float64)
    if table is not None and table.ndim != 1:
        raise ParameterError(f"the policy is {policy!r}; give an action per state, {{state: action}}, a table of probabilities "
                             f"({model.n_states}, {model.n_actions}), or a learner with plan() or act().")
    if table is not None and table.dtype.kind == "f":
        raise ParameterError(f"the policy starts with {table[0]!r}; actions are given by index (integers) or label (strings).")
    return np.asarray(model.pair_action[model.policy_pairs(policy)], dtype=np.int64)


def fitting_knowledge(model: CTMDP, learner: Any, knowledge: Knowledge | None = None) -> Knowledge:
    """Return the knowledge a walk goes by: given, or the learner's own, or the model's; raise if it is of another model."""
    known = knowledge if knowledge is not None else getattr(learner, "knowledge", None)
    if known is None:
        return model.knowledge()
    if known.n_states != model.n_states or known.n_actions != model.n_actions or known.n_pairs != model.n_pairs:
        raise ModelError(
            f"the learner knows {known.n_states} states, {known.n_actions} actions and {known.n_pairs} pairs; the model has "
            f"{model.n_states}, {model.n_actions} and {model.n_pairs}. Build the learner from this model's knowledge().")
    if not (np.array_equal(known.pair_start, model.pair_start) and np.array_equal(known.pair_action, model.pair_action)):
        k = int(np.flatnonzero((known.pair_state != model.pair_state) | (known.pair_action != model.pair_action))[0])
        raise ModelError(f"the learner's pair {k} is ({known.pair_state[k]}, {known.pair_action[k]}), the model's is "
                         f"({model.pair_state[k]}, {model.pair_action[k]}). Build the learner from this model's knowledge().")
    low, high = float(model.rate.min()), float(model.rate.max())
    if not getattr(learner, "estimates_rate_bounds", False) and (low < known.rate_min or high > known.rate_max):
        raise ModelError(f"the learner was told rates in [{known.rate_min:g}, {known.rate_max:g}], the model's span "
                         f"[{low:g}, {high:g}]; every rate must lie within (assume-rate). Widen the bounds it is told.")
    return known
