"""The least cost of telling confusing rates apart, as a linear program whose constraints are found one by one.

C = min Σ_p φ_p λ_p t_p over times t >= 0, such that Σ_k X_k kl(θ_k, θ'_k) >= 1 for every confusing θ', with exposures
X_k = Σ_p t_p C_k(p).  Any confusing θ' gives a valid constraint (a cut), so the program with some of them is a lower bound; the
nearest confusing θ' at some exposures says by what factor to stretch the times until they are feasible: an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, vstack

from sojourn.instance.event_alternatives import HiddenEvents, kl, nearest_alternatives

ROUNDS = 200
CLOSE = 1e-11  # relative width of the bracket at which it is done
SPARE = 1e-7  # of the largest exposure, given to events that the program leaves out
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class LeastCost:
    """`low` <= C <= `high`; `time` per pair of the events (t_p), `exposure` per hidden event, both times log N."""

    low: float
    high: float
    time: np.ndarray
    exposure: np.ndarray
    confusing: np.ndarray  # per pair: whether some rates of hidden events would make it optimal
    rates: np.ndarray  # per row of the events: the nearest confusing rates of its pair, at these exposures


def least_cost(events: HiddenEvents) -> LeastCost:
    """Return C with its bracket and what has to be bought; 0 where nothing is confusing."""
    kinds, pairs = len(events.hidden), len(events.pairs)
    gather = csr_matrix((events.exposure, (events.event, events.where)), shape=(kinds, pairs))  # X = gather @ t
    apart, rates = nearest_alternatives(events, np.ones(kinds)) if kinds else (np.zeros(0), np.zeros(0))
    confusing = np.isfinite(apart)
    if not confusing.any():
        return LeastCost(0.0, 0.0, np.zeros(pairs), np.zeros(kinds), confusing, rates)
    if kinds == 1:
        return one_event(events, gather, confusing, rates)
    cuts = new_cuts(events, gather, rates, np.flatnonzero(confusing))
    low, high, best = 0.0, np.inf, np.zeros(pairs)
    for _ in range(ROUNDS):
        rows: Any = -cuts  # scipy takes it sparse, its stubs do not
        answer = linprog(np.ones(pairs), A_ub=rows, b_ub=-np.ones(cuts.shape[0]), bounds=(0, None), method="highs", options=TIGHT)
        if answer.x is None:  # at this tolerance the program cannot be solved any further
            break
        time = np.maximum(answer.x, 0) / events.need
        exposure = gather @ time
        exposure = np.maximum(exposure, SPARE * exposure.max())
        apart, rates = nearest_alternatives(events, exposure)
        low = max(low, float(answer.fun or 0.0))
        paid, feasible = stretched(events, gather, time)
        if paid < high:
            high, best = paid, feasible
        late = np.flatnonzero(apart < 1 - 1e-13)
        if high - low <= CLOSE * high or not late.size:
            break
        cuts = vstack([cuts, new_cuts(events, gather, rates, late)]).tocsr()
    exposure = gather @ best
    final = nearest_alternatives(events, np.maximum(exposure, SPARE * exposure.max()))[1]
    return LeastCost(min(low, high), high, best, exposure, confusing, final)


def new_cuts(events: HiddenEvents, gather: csr_matrix, rates: np.ndarray, pairs: np.ndarray) -> csr_matrix:
    """Return one row per given pair, over the costs φ λ t of all pairs: what they tell about the rates nearest for that pair."""
    position = np.full(len(events.pairs), -1)
    position[pairs] = np.arange(len(pairs))
    mine = position[events.where] >= 0
    told = kl(events.value[events.event], rates)
    per_event = csr_matrix((told[mine], (position[events.where[mine]], events.event[mine])), shape=(len(pairs), len(events.hidden)))
    return csr_matrix(per_event @ gather @ csr_matrix((1 / events.need, (np.arange(len(events.need)),) * 2)))


def stretched(events: HiddenEvents, gather: csr_matrix, time: np.ndarray) -> tuple[float, np.ndarray]:
    """Return (cost, times): `time`, with a trace of everything added, stretched until no confusing rates are left too near."""
    trace = SPARE**2 * (events.need @ time) / (len(time) * events.need)
    best = np.inf, time
    for share in (0.0, 1.0, SPARE**-0.5):
        longer = time + share * trace
        exposure = gather @ longer
        if (exposure > 0).all():
            apart, _ = nearest_alternatives(events, exposure)
            factor = 1 / float(apart.min())
            cost = float(events.need @ longer) * factor
            best = (cost, longer * factor) if cost < best[0] else best
    return best


def one_event(events: HiddenEvents, gather: csr_matrix, confusing: np.ndarray, rates: np.ndarray) -> LeastCost:
    """Return the closed form for one hidden event: the cheapest exposure, over the least divergence of a confusing rate."""
    price = events.need[events.where] / events.exposure
    cheapest = int(np.argmin(price))
    move = events.need[events.where] / np.where(events.worth == 0, np.inf, events.worth)
    ends = events.value[0] + move
    fine = (events.worth != 0) & (ends > max(events.low[0], 0)) & (ends <= events.high[0])
    if not fine.any():
        return LeastCost(0.0, 0.0, np.zeros(len(events.pairs)), np.zeros(1), np.zeros(len(events.pairs), dtype=bool), rates)
    nearest = float(kl(np.full(fine.sum(), events.value[0]), ends[fine]).min())
    time = np.zeros(len(events.pairs))
    time[events.where[cheapest]] = 1 / (nearest * events.exposure[cheapest])
    cost = float(price[cheapest] / nearest)
    return LeastCost(cost * (1 - 1e-12), cost * (1 + 1e-12), time, gather @ time, confusing, rates)
