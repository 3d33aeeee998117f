"""The cheapest visits that gather enough information against each of a list of models: a linear programme with a proof.

minimise Σ η φ*  over visits η >= 0  with  Σ_a η(s,a) - Σ η p(s|.) = u(s) - e(s),  u, e >= 0,  Σ u = Σ e = 1  (one starts and ends
somewhere),  Σ η = N  and  Σ η KL >= nats  for every model of the list.  What good play loses at least in another model is the least
of Σ η φ' over walks that use optimal pairs only.

If v per state, w and y >= 0 have φ* - v(s) + Σ p v - w -
Σ y KL >= 0 for every pair, then it is at least N w + Σ y nats - (max v - min v).  So for any v and any y the largest such w is a
proof, whatever a solver did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sojourn.instance.gaps import Optimum
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.chain import row_defect
from sojourn.solving.optimality import EPSILON

B = TypeVar("B", bound=float)
FAR = 1e6  # decisions
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Cheapest:
    """The visits per pair, their price, and the dual: v per state, y per model (reward per nat)."""

    visits: np.ndarray
    price: float
    worth: np.ndarray
    per_nat: np.ndarray


def cheapest(best: Optimum, epochs: float, told: np.ndarray, nats: np.ndarray) -> Cheapest | None:
    """Return the cheapest visits; `told` are nats per visit, a row per model.  None where N decisions cannot gather that much."""
    from scipy.optimize import linprog

    unit = float(best.gap.max()) or 1.0
    n, pairs, asked = best.model.n_states, best.model.n_pairs, nats > 0
    rows = np.hstack([-told[asked] * (epochs / nats[asked])[:, None], np.zeros((int(asked.sum()), 2 * n))])
    found = linprog(np.concatenate([best.gap / unit, np.zeros(2 * n)]), A_ub=rows, b_ub=-np.ones(len(rows)),
                    **_flow(best.model, epochs), bounds=(0, None), method="highs", options=TIGHT)
    if found.x is None or found.fun is None:
        return None
    per_nat = np.zeros(len(nats))
    per_nat[asked] = np.maximum(-found.ineqlin.marginals, 0.0) * unit * epochs / nats[asked]
    visits = np.maximum(found.x[:pairs], 0.0) * epochs
    return Cheapest(visits, float(found.fun) * unit * epochs, found.eqlin.marginals[:n] * unit, per_nat)


def lost_by_then(bound_within: Callable[[float], B], epochs: float) -> B:
    """Return the largest bound within N, N/10, N/100, ... decisions: what is lost stays lost.

    Back to FAR at least, and until two bring no more.
    """
    found, within, vain = bound_within(epochs), epochs // 10, 0
    while within >= 10 and (vain < 2 or within >= FAR) and found < math.inf:
        before = bound_within(within)
        found, vain = (before, 0) if found < before < math.inf else (found, vain + (found > 0))
        within //= 10
    return found


def charged(model: CTMDP, price: np.ndarray, epochs: float, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (v, shares of the pairs `used`) of the walk of N decisions with the least Σ η price that uses them only."""
    from scipy.optimize import linprog

    unit = float(np.abs(price[used]).max()) or 1.0
    found = linprog(np.concatenate([price[used] / unit, np.zeros(2 * model.n_states)]), **_flow(model, epochs, used),
                    bounds=(0, None), method="highs", options=TIGHT)
    if found.x is None or found.fun is None:
        return np.zeros(model.n_states), np.zeros(int(used.sum()))
    return found.eqlin.marginals[: model.n_states] * unit, np.maximum(found.x[: int(used.sum())], 0.0)


def least_loss(best: Optimum, price: np.ndarray, epochs: float) -> float:
    """Return, rounded downwards, the least Σ η price / N over walks of N decisions that use optimal pairs only."""
    if not price[best.optimal].max() > 0:
        return 0.0
    v, _ = charged(best.model, price, epochs, best.optimal)
    return max(0.0, _proved(best.model, price, v, epochs, 8, best.optimal) / epochs)


def largest_share(best: Optimum, epochs: float, counted: np.ndarray, regret: float) -> float:
    """Return, rounded upwards, the largest Σ η counted / N over walks of N decisions that lose at most `regret`.

    For any y >= 0 it is at most y regret / N less the least of Σ η (y φ* - counted) / N.
    """
    from scipy.optimize import linprog

    model, unit = best.model, float(best.gap.max()) or 1.0
    none = np.zeros(2 * model.n_states)
    found = linprog(-np.concatenate([counted, none]), A_ub=np.concatenate([best.gap / unit, none])[None, :],
                    b_ub=[regret / (unit * epochs)], **_flow(model, epochs), bounds=(0, None), method="highs", options=TIGHT)
    if found.x is None or found.fun is None:
        return 1.0
    y = max(0.0, -float(found.ineqlin.marginals[0])) / unit
    least = np.maximum(best.proof.gap - best.proof.error, 0.0)
    low = _proved(model, y * least - counted, found.eqlin.marginals[: model.n_states], epochs, 10, terms=y * least + counted)
    return min(1.0, (y * regret - low + 8 * EPSILON * (y * regret + abs(low))) / epochs + 1e-15)


def _flow(model: CTMDP, epochs: float, used: np.ndarray | None = None) -> dict[str, Any]:
    """Return the equations of visits of the pairs `used`, of starts and ends, all as parts of N decisions."""
    n = model.n_states
    out = (model.pair_state[None, :] == np.arange(n)[:, None]).astype(float) - model.matrix.T.toarray()
    out = out if used is None else out[:, used]
    zero, one, none = np.zeros((1, n)), np.ones((1, n)), np.zeros((1, out.shape[1]))
    rows = [np.hstack([out, -np.eye(n), np.eye(n)]), np.hstack([none + 1, zero, zero]), np.hstack([none, one, zero]),
            np.hstack([none, zero, one])]
    return {"A_eq": np.vstack(rows), "b_eq": np.concatenate([np.zeros(n), [1.0, 1.0 / epochs, 1.0 / epochs]])}


def proved_least(best: Optimum, epochs: float, told: np.ndarray, worth: np.ndarray, per_nat: np.ndarray) -> float:
    """Return N w - (max v - min v) at v = `worth` and y = `per_nat`, whatever these are, with the largest w, rounded downwards.

    With Σ y nats added it is what the visits cost at least.  The gaps are taken at the lower ends of their proved intervals.
    """
    proof, bought = best.proof, per_nat @ told
    least = np.maximum(proof.gap - proof.error, 0.0)
    return _proved(best.model, least - bought, worth, epochs, len(per_nat) + 8, terms=least + bought)


def _proved(model: CTMDP, price: np.ndarray, v: np.ndarray, epochs: float, roundings: int, used: np.ndarray | None = None,
            terms: np.ndarray | None = None) -> float:
    """Return N w - (max v - min v), rounded downwards, with the largest w that price - v(s) + Σ p v >= w allows for the `used`."""
    left = rounded_down(model, price, v, np.abs(price if terms is None else terms), roundings)
    w = float((left if used is None else left[used]).min())
    return epochs * w - float(np.ptp(v)) - 8 * EPSILON * (epochs * abs(w) + 2 * float(np.abs(v).max()))


def rounded_down(model: CTMDP, price: np.ndarray, v: np.ndarray, terms: np.ndarray, roundings: int = 10) -> np.ndarray:
    """Return price - v(s) + Σ p v per pair, rounded downwards; `terms` is the size of what `price` is made of.

    Rows count as divided by their sums, which may be off by rounding.
    """
    left: np.ndarray = price - v[model.pair_state] + model.matrix @ v
    size: np.ndarray = terms + np.abs(v[model.pair_state]) + model.matrix @ np.abs(v)
    left -= (model.n_states + roundings) * EPSILON * size + row_defect(model) * (model.matrix @ np.abs(v))
    return left
