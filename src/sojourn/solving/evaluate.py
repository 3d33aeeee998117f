"""The long-run value of one policy: gain, bias, how often and how long each state is visited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import AssumptionError, ModelError
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.numbers import real_array
from sojourn.solving.chain import Chain, chain_of, gain_and_bias, mixed_chain, require_scale


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Gain (reward per unit time), bias (reward, 0 in state 0), embedded stationary law, share of time in each state."""

    gain: float
    bias: np.ndarray
    stationary: np.ndarray
    occupancy: np.ndarray


def evaluate(model: CTMDP, policy: Sequence[int | str] | Mapping[str, str] | np.ndarray) -> Evaluation:
    """Return the long-run value of `policy`: an action per state (indices, labels or {state: action}), or (S, A) probabilities.

    The gain and the bias solve  h(s) = r(s) + (c(s) - ρ)/λ(s) + Σ_j p(j|s) h(j).  A policy with several recurrent classes
    has no single gain and is refused, with the classes and their gains.

    >>> model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [1.0]], [[3.0], [0.0]])  # 3 per cycle of 1/2 + 1
    >>> round(evaluate(model, [0, 0]).gain, 12)
    2.0
    """
    chain = policy_chain(model, policy)
    classes = chain.classes()
    if len(classes) > 1:
        raise AssumptionError(_several_classes(model, chain, classes))
    gain, bias, law = gain_and_bias(chain, classes[0])
    time = law * chain.holding
    return Evaluation(gain, bias, law, time / time.sum())


def policy_chain(model: CTMDP, policy: Any) -> Chain:
    """Return the embedded chain of a policy given in any of its forms."""
    require_model(model)
    require_scale(model)
    rows = isinstance(policy, (list, tuple)) and len(policy) > 0 and isinstance(policy[0], (list, tuple, np.ndarray))
    if rows or getattr(policy, "ndim", 0) > 1:
        return mixed_chain(model, policy_weights(model, policy))
    return chain_of(model, model.policy_pairs(policy))


def policy_weights(model: CTMDP, table: Any) -> np.ndarray:
    """Return the probability of each pair under an (S, A) table whose rows sum to 1."""
    table = real_array("policy", table, (model.n_states, model.n_actions))
    bad = ~((table >= 0) & (table <= 1 + 1e-9)) | (~model.admissible & (table != 0))
    if bad.any():
        s, a = (int(i) for i in np.argwhere(bad)[0])
        raise ModelError(f"policy[{model.states[s]}, {model.actions[a]}] is {table[s, a]:g}; a probability lies in [0, 1] and is 0 "
                         "where the action is not admissible. Correct the entry.")
    total = table.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > 1e-9)
    if off.size:
        s = int(off[0])
        raise ModelError(f"policy[{model.states[s]}] sums to {total[s]:.12g}; the probabilities of a state must sum to 1.")
    return (table / total[:, None])[model.pair_state, model.pair_action]


def _several_classes(model: CTMDP, chain: Chain, classes: list[np.ndarray]) -> str:
    parts = []
    for states in classes[:3]:
        part = chain.restricted(states)
        gain = gain_and_bias(part, np.arange(len(states)))[0]
        names = ", ".join(model.states[s] for s in states[:5]) + (", ..." if len(states) > 5 else "")
        parts.append(f"{{{names}}} with gain {gain:.9g}")
    more = f" and {len(classes) - 3} more" if len(classes) > 3 else ""
    return (f"this policy has {len(classes)} recurrent classes, {'; '.join(parts)}{more}: its gain depends on where it starts. "
            "Change the policy so that one class can be reached from everywhere, or evaluate each class as a model of its own.")
