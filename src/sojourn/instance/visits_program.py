"""The cheapest visits that gather enough information against each of a list of models: a linear programme, with a proof from its dual.

minimise Σ η φ*   over η >= 0   with   Σ_a η(s,a) - Σ η p(s|.) = u(s) - e(s),  u, e >= 0,  Σ u = Σ e = 1   (one starts and ends somewhere),
Σ η = N   and   Σ η KL >= nats   for every model of the list.  Any v per state, w and y >= 0 with φ* - v(s) + Σ p v - w - Σ y KL >= 0 prove that
it is at least  N w + Σ y nats - (max v - min v).  So for any v and y the largest such w does, whatever a solver made of them.
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
    n, pairs = best.model.n_states, best.model.n_pairs
    found = linprog(np.concatenate([best.gap / unit, np.zeros(2 * n)]), A_ub=_rows(told, nats, epochs, n), b_ub=-np.ones(len(nats)),
                    **_flow(best, epochs), bounds=(0, None), method="highs", options=TIGHT)
    if found.x is None or found.fun is None:
        return None
    per_nat = np.maximum(-found.ineqlin.marginals, 0.0) * unit * epochs / nats
    visits = np.maximum(found.x[:pairs], 0.0) * epochs
    return Cheapest(visits, float(found.fun) * unit * epochs, found.eqlin.marginals[:n] * unit, per_nat)


def most_information(best: Optimum, epochs: float, told: np.ndarray, nats: np.ndarray) -> float:
    """Return the largest part of all these nats that N decisions can gather at once (1 is enough)."""
    from scipy.optimize import linprog

    n, pairs = best.model.n_states, best.model.n_pairs
    rows = np.hstack([_rows(told, nats, epochs, n), np.ones((len(nats), 1))])
    flow = _flow(best, epochs)
    equal = np.hstack([flow["A_eq"], np.zeros((n + 3, 1))])
    found = linprog(np.concatenate([np.zeros(pairs + 2 * n), [-1.0]]), A_ub=rows, b_ub=np.zeros(len(nats)), A_eq=equal, b_eq=flow["b_eq"],
                    bounds=[(0, None)] * (pairs + 2 * n) + [(0, 2.0)], method="highs", options=TIGHT)
    return 0.0 if found.fun is None else -float(found.fun)


def _rows(told: np.ndarray, nats: np.ndarray, epochs: float, n: int) -> np.ndarray:
    """Return -(information over what is asked), per part of all decisions."""
    return np.hstack([-told * (epochs / nats)[:, None], np.zeros((len(nats), 2 * n))])


def _flow(best: Optimum, epochs: float) -> dict[str, Any]:
    """Return the equations of visits, starts and ends, all as parts of N decisions."""
    model, n = best.model, best.model.n_states
    out = (model.pair_state[None, :] == np.arange(n)[:, None]).astype(float) - model.matrix.T.toarray()
    zero, one = np.zeros((1, n)), np.ones((1, n))
    rows = [np.hstack([out, -np.eye(n), np.eye(n)]), np.hstack([np.ones((1, model.n_pairs)), zero, zero]),
            np.hstack([np.zeros((1, model.n_pairs)), one, zero]), np.hstack([np.zeros((1, model.n_pairs)), zero, one])]
    return {"A_eq": np.vstack(rows), "b_eq": np.concatenate([np.zeros(n), [1.0, 1.0 / epochs, 1.0 / epochs]])}


def proved_price(best: Optimum, epochs: float, told: np.ndarray, nats: np.ndarray, worth: np.ndarray, per_nat: np.ndarray) -> float:
    """Return what the visits cost at least, proved by v = `worth` and y = `per_nat`, whatever these are; `told` from above.

    The gaps are taken at the lower ends of their proved intervals, the sums rounded downwards.
    """
    model, proof = best.model, best.proof
    least = np.maximum(proof.gap - proof.error, 0.0)
    y = np.where(np.isfinite(per_nat) & np.isfinite(told).all(axis=1), np.maximum(per_nat, 0.0), 0.0)
    bought = y @ np.where(np.isfinite(told), told, 0.0)
    v = np.where(np.isfinite(worth), worth, 0.0)
    left = least - v[model.pair_state] + model.matrix @ v - bought
    terms = least + np.abs(v[model.pair_state]) + model.matrix @ np.abs(v) + bought
    left -= (model.n_states + len(y) + 8) * EPSILON * terms
    paid = y * nats
    total = epochs * float(left.min()) + float(paid.sum()) - float(np.ptp(v))
    size = epochs * abs(float(left.min())) + float(paid.sum()) + 2 * float(np.abs(v).max())
    return total - (len(y) + 8) * EPSILON * size
