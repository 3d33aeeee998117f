"""The cheapest visits that gather enough information against each of a list of models: a linear programme with a proof.

minimise Σ η φ*  over visits η >= 0  with  Σ_a η(s,a) - Σ η p(s|.) = u(s) - e(s),  u, e >= 0,  Σ u = Σ e = 1  (one starts and ends
somewhere),  Σ η = N  and  Σ η KL >= nats  for every model of the list.  If v per state, w and y >= 0 have φ* - v(s) + Σ p v - w -
Σ y KL >= 0 for every pair, then it is at least N w + Σ y nats - (max v - min v).  So for any v and any y the largest such w is a
proof, whatever a solver did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.instance.gaps import Optimum
from sojourn.solving.optimality import EPSILON

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
    found = linprog(np.concatenate([best.gap / unit, np.zeros(2 * n)]), A_ub=rows, b_ub=-np.ones(len(rows)), **_flow(best, epochs),
                    bounds=(0, None), method="highs", options=TIGHT)
    if found.x is None or found.fun is None:
        return None
    per_nat = np.zeros(len(nats))
    per_nat[asked] = np.maximum(-found.ineqlin.marginals, 0.0) * unit * epochs / nats[asked]
    visits = np.maximum(found.x[:pairs], 0.0) * epochs
    return Cheapest(visits, float(found.fun) * unit * epochs, found.eqlin.marginals[:n] * unit, per_nat)


def _flow(best: Optimum, epochs: float) -> dict[str, Any]:
    """Return the equations of visits, starts and ends, all as parts of N decisions."""
    model, n = best.model, best.model.n_states
    out = (model.pair_state[None, :] == np.arange(n)[:, None]).astype(float) - model.matrix.T.toarray()
    zero, one = np.zeros((1, n)), np.ones((1, n))
    rows = [np.hstack([out, -np.eye(n), np.eye(n)]), np.hstack([np.ones((1, model.n_pairs)), zero, zero]),
            np.hstack([np.zeros((1, model.n_pairs)), one, zero]), np.hstack([np.zeros((1, model.n_pairs)), zero, one])]
    return {"A_eq": np.vstack(rows), "b_eq": np.concatenate([np.zeros(n), [1.0, 1.0 / epochs, 1.0 / epochs]])}


def proved_least(best: Optimum, epochs: float, told: np.ndarray, worth: np.ndarray, per_nat: np.ndarray) -> float:
    """Return N w - (max v - min v) at v = `worth` and y = `per_nat`, whatever these are, with the largest w, rounded downwards.

    With Σ y nats added it is what the visits cost at least.  The gaps are taken at the lower ends of their proved intervals.
    """
    model, proof = best.model, best.proof
    least, v, bought = np.maximum(proof.gap - proof.error, 0.0), worth, per_nat @ told
    left = least - v[model.pair_state] + model.matrix @ v - bought
    terms = least + np.abs(v[model.pair_state]) + model.matrix @ np.abs(v) + bought
    w = float((left - (model.n_states + len(per_nat) + 8) * EPSILON * terms).min())
    return epochs * w - float(np.ptp(v)) - 8 * EPSILON * (epochs * abs(w) + 2 * float(np.abs(v).max()))
