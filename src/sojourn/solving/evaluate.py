"""The long-run value of one policy: gain, bias, how often and how long each state is visited, each with its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import AssumptionError, ModelError, TooLarge
from sojourn.model.choosing import Policy, checked_probabilities, is_row
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.numbers import real_array
from sojourn.solving.chain import Chain, chain_of, mixed_chain, require_scale
from sojourn.solving.elimination import NARROW as LINE
from sojourn.solving.elimination import UNPROVED, span
from sojourn.solving.operator import operator_bounds
from sojourn.solving.value import LARGEST, PolicyValue, value_of, wide_bounds

NARROW = 1e-10  # relative width of the gain's interval that is not worth improving
ASKED = 1e-9  # relative width above which a randomized policy is evaluated once more, with 32 digits
SMALL = 3000  # states up to which an elimination is never dear
EASY = 1e8  # multiplications, at most, up to which one is not dear either
QUICK = 400  # sweeps that are tried before the elimination of a larger chain


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Gain (reward per unit time), bias (reward, 0 in state 0), embedded stationary law, share of time in each state.

    The gain lies in `gain_bounds` for certain; `bias_error` bounds the error of each bias, `law_error` the relative error of each
    entry of `stationary` and `occupancy` (entries below 1e-300 may be given as 0).  Infinite means that nothing is proved; a bias
    beyond the range of floats is given as the largest float.
    """

    gain: float
    bias: np.ndarray
    stationary: np.ndarray
    occupancy: np.ndarray
    gain_bounds: tuple[float, float]
    bias_error: np.ndarray
    law_error: float

    def __repr__(self) -> str:
        lo, hi = self.gain_bounds
        return f"<Evaluation: gain {self.gain:.12g} per unit time, proved in [{lo:.15g}, {hi:.15g}]; {len(self.bias)} states>"


def evaluate(model: CTMDP, policy: Policy) -> Evaluation:
    """Return the long-run value of `policy`: an action per state as the user calls it, {state: action}, an array of positions such
    as `solution.policy`, or (S, A) probabilities.

    The gain and the bias solve  h(s) = r(s) + (c(s) - ρ)/λ(s) + Σ_j p(j|s) h(j).  A policy with several recurrent classes
    has no single gain and is refused, with the classes and their gains.

    >>> model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [1.0]], [[3.0], [0.0]])  # 3 per cycle of 1/2 + 1
    >>> round(evaluate(model, [0, 0]).gain, 12)
    2.0
    """
    require_model(model)
    require_scale(model)
    pairs, chain = policy_chain(model, policy)
    classes = chain.classes()
    if len(classes) > 1:
        raise AssumptionError(_several_classes(model, chain, classes))
    value = _value(chain, classes[0])
    low, high = value.bounds
    if high - low > NARROW * abs(value.gain):
        low, high = met((low, high), operator_bounds(chain, value.bias))
    if high - low > NARROW * abs(value.gain) and pairs is not None and value.factors is not None:
        from sojourn.solving.refine import evaluated_bounds

        low, high = met((low, high), evaluated_bounds(model, pairs, value))
    if high - low > ASKED * abs(value.gain) and pairs is None and value.factors is not None:
        low, high = met((low, high), wide_bounds(chain, value.factors.reference))
    if not chain.pays(classes[0]):
        low = high = 0.0
    time = value.law * chain.holding
    gain = float(min(max(value.gain, low), high))
    law_error = value.law_error if value.law_error < 1 else np.inf
    with np.errstate(over="ignore"):
        error = value.bias_error + value.bias_error[0]
        error = np.where(error < UNPROVED * 1e-50, error, np.inf)
        bias = np.clip(value.bias - value.bias[0], -LARGEST, LARGEST)
    return Evaluation(gain, bias, value.law, time / time.sum(), (low, high), error, law_error)


def _value(chain: Chain, recurrent: np.ndarray) -> PolicyValue:
    """Return the value by elimination; large chains by sweeps if a few of these settle it, or if the elimination is too large."""
    if chain.n_states <= SMALL or _is_easy(chain):
        return value_of(chain, recurrent)
    from sojourn.solving.sweeps import swept_value

    found = swept_value(chain, QUICK)
    if found is not None:
        return found
    try:
        return value_of(chain, recurrent)
    except TooLarge:
        found = swept_value(chain)
        assert found is not None
        return found


def _is_easy(chain: Chain) -> bool:
    """Return whether taking the states out in the order of their distance, the worst that is ever done, is cheap."""
    width = span(chain.matrix)
    return width <= LINE or chain.n_states * width**2 <= EASY


def met(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return what two proved intervals prove together; an end that is no number proves nothing."""
    return float(np.fmax(one[0], other[0])), float(np.fmin(one[1], other[1]))


def policy_chain(model: CTMDP, policy: Any) -> tuple[np.ndarray | None, Chain]:
    """Return (pair per state, None if randomized; embedded chain) of a policy given in any of its forms."""
    rows = isinstance(policy, (list, tuple)) and len(policy) > 0 and is_row(policy[0], model.actions)
    if rows or getattr(policy, "ndim", 0) > 1:
        return None, mixed_chain(model, policy_weights(model, policy))
    pairs = model.policy_pairs(policy)
    return pairs, chain_of(model, pairs)


def policy_weights(model: CTMDP, table: Any) -> np.ndarray:
    """Return the probability of each pair under an (S, A) table whose rows sum to 1."""
    table = real_array("policy", table, (model.n_states, model.n_actions))
    checked_probabilities(table, model.admissible, model.states, model.actions, ModelError)
    weights: np.ndarray = (table / table.sum(axis=1)[:, None])[model.pair_state, model.pair_action]
    return weights


def _several_classes(model: CTMDP, chain: Chain, classes: list[np.ndarray]) -> str:
    parts = []
    for states in classes[:3]:
        gain = value_of(chain.restricted(states), np.arange(len(states))).gain
        names = ", ".join(model.states.label(s) for s in states[:5]) + (", ..." if len(states) > 5 else "")
        parts.append(f"{{{names}}} with gain {gain:.9g}")
    more = f" and {len(classes) - 3} more" if len(classes) > 3 else ""
    return (f"this policy has {len(classes)} recurrent classes, {'; '.join(parts)}{more}: its gain depends on where it starts. "
            "Change the policy so that one class can be reached from everywhere, or evaluate each class as a model of its own.")
