"""The least number of decisions that any rule needs to name a policy within epsilon of the best one.

A rule is right if in every model of the class (rows on the same supports, or any where they are not told; rates within the bounds;
every policy irreducible) it ends by naming a policy that is not good enough with probability at most delta.  Let T(p) be its visits
to the pair p.  In a model M' that differs in p only, and in which no policy that is good enough in M is good enough,

    E T(p) KL_p(M, M') >= kl(delta, 1 - delta) = (1 - 2 delta) log((1 - delta)/delta)      (Kaufmann, Cappé, Garivier 2016, lemma 1)

Two kinds of such M', for a pair p = (s, a), where `least(x)` is the least gain that is good enough where x is the best gain:

(a) No policy that is good enough in M uses p, and the best gain through p becomes more than g, where least(g) is the best gain of
    M.  Policies without p earn in M' what they earn in M, which is then too little.
(b) All policies that are good enough use p, and the best gain through p becomes less than g = least(best gain without p).

With V(y) the best of reward - g time from y until s is entered (in M, where p plays no part), the best gain through p exceeds g if
and only if r + (c - g)/l + Σ q V > 0, at the new row q and rate l of p.  So the least divergence is the K of eq:K with V and g in
the place of h* and ρ*; for (b) everything has the other sign.  Visits flow: what goes into a state comes out of it, but for the
first and the last decision.  The least visits that flow and reach kl/K in every pair are a linear programme, and any v per state
gives a proof of its value (as in visits_program.py).  Alternatives in which several pairs change would ask for more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity, vstack

from sojourn.errors import TooLarge
from sojourn.instance.gaps import Optimum
from sojourn.instance.rows import Rows, known_rows, open_rows
from sojourn.kernels.least_divergence import least_divergence_row
from sojourn.model.closeness import Within
from sojourn.model.ctmdp import CTMDP

MOST_PAIRS = 400
ROUNDS = 200  # of policy iteration, and of the search for a gain; they need a handful
GAINED = 1e-12  # relative: an improvement below this is rounding
REPAIR = 1e-9  # relative: by which dual values are shrunk, so that rounding leaves no negative price
VERGE = 1e-9  # relative: a choice that falls short of the least good gain by less counts as good
K_ERROR = 1e-8  # relative: K is worked out in floats, and counts as larger by this


@dataclass(frozen=True, eq=False, repr=False)
class StoppingBound:
    """What any rule needs in the mean to name a policy within `wanted` of the best: so many `epochs` (decisions), so much `time`.

    Each is the least on its own; `visits` (S, A) are some that attain the decisions, up to the decisions at the start and the end.
    `needed` (S, A) are the visits without which one cannot tell, 0 where no change of the choice alone matters; `divergence` (S, A)
    is what a visit tells of the nearest such change, nats, infinite where there is none.
    """

    epochs: float
    time: float
    wanted: Within
    supports: bool
    visits: np.ndarray
    needed: np.ndarray
    divergence: np.ndarray

    def __repr__(self) -> str:
        return (f"<StoppingBound: to name a policy within {self.wanted}, any rule needs at least {self.epochs:.4g} decisions and "
                f"{self.time:.4g} of time in the mean>")


class Around(NamedTuple):
    """What can be had on the way round to a state: V per state, and per pair what it is worth and how long it takes so."""

    value: np.ndarray
    worth: np.ndarray
    time: np.ndarray


def stopping_bound(best: Optimum, rate_bounds: tuple[float, float], wanted: Within, supports: bool = True) -> StoppingBound:
    """Return the least that any right rule needs in this model, every policy of which must be irreducible."""
    model = best.model
    if model.n_pairs > MOST_PAIRS:
        raise TooLarge(f"the least number of decisions of a stopping rule is worked out for at most {MOST_PAIRS} pairs; this model "
                       f"has {model.n_pairs}.")
    divergence = np.full(model.n_pairs, np.inf)
    for s in range(model.n_states):
        _around_state(best, s, rate_bounds, wanted, supports, divergence)
    nats = (1 - 2 * wanted.delta) * log((1 - wanted.delta) / wanted.delta) if wanted.delta < 0.5 else 0.0
    with np.errstate(divide="ignore"):
        needed = np.where(divergence < np.inf, nats / (divergence * (1 + K_ERROR)), 0.0)
    visits, epochs = least_flow(model, needed, np.ones(model.n_pairs))
    _, time = least_flow(model, needed, 1 / model.rate)
    return StoppingBound(epochs, time, wanted, supports, model.table(visits), model.table(needed), model.table(divergence))


def _around_state(best: Optimum, s: int, rate_bounds: tuple[float, float], wanted: Within, supports: bool,
                  divergence: np.ndarray) -> None:
    """Fill in the least divergence of the pairs of one state."""
    model, here = best.model, list(range(best.model.pair_start[s], best.model.pair_start[s + 1]))
    more = wanted.best_for(best.gain)
    good, above = good_choices(best, s, wanted.least(best.gain)), around(model, s, more)
    for p in here:
        if p not in good:  # (a)
            divergence[p] = _divergence(model, p, above.value, more, 1.0, rate_bounds, supports)
    if len(good) == 1 and len(here) > 1:  # (b)
        less = wanted.least(gain_without(best, s, good[0]))
        divergence[good[0]] = _divergence(model, good[0], around(model, s, less).value, less, -1.0, rate_bounds, supports)


def good_choices(best: Optimum, s: int, least: float) -> list[int]:
    """Return the pairs of a state through which a gain of `least` can be had; those on the verge of it count in."""
    found = around(best.model, s, least)
    verge = VERGE * (np.abs(found.value).max() + abs(best.gain - least) * float((1 / best.model.rate).max()))
    return [p for p in range(best.model.pair_start[s], best.model.pair_start[s + 1]) if found.worth[p] >= -verge]


def _divergence(model: CTMDP, p: int, value: np.ndarray, gain: float, sign: float, rate_bounds: tuple[float, float],
                supports: bool) -> float:
    """Return K of one pair: the least divergence at which the way round through it earns as much as `gain` (sign -1: as little)."""
    rows: Rows = known_rows(model) if supports else open_rows(model, sign * value)
    part = slice(rows.row_start[p], rows.row_start[p + 1])
    worth = value[rows.next_state[part]] + (0.0 if rows.paid is None else rows.paid[part])
    low, high = (1.0, 1.0) if model.holding == "unit" else rate_bounds
    row = np.array(rows.probability[part])
    k, _ = least_divergence_row(row, sign * worth, 0.0, float(model.rate[p]), sign * float(model.reward[p]),
                                sign * float(model.running[p]), sign * gain, float(low), float(high), np.empty(len(row)))
    return float(k)


def around(model: CTMDP, s: int, gain: float) -> Around:
    """Return the best of reward - gain x time until `s` is entered, from every state (0 from s), and what choices are worth so."""
    income, rows = model.expected_reward + (model.running - gain) / model.rate, model.matrix
    onward, states = rows.toarray(), np.arange(model.n_states)
    onward[:, s] = 0.0
    pair = np.array(model.pair_start[:-1])
    for _ in range(ROUNDS):
        spent = np.linalg.solve(np.eye(model.n_states) - onward[pair], np.stack([income[pair], 1 / model.rate[pair]], axis=1))
        value, time = np.where(states == s, 0.0, spent[:, 0]), spent[:, 1]
        worth = income + rows @ value
        top = np.maximum.reduceat(worth, model.pair_start[:-1])
        better = worth[pair] < top - GAINED * (np.abs(value).max() + np.abs(income).max())
        better[s] = False
        if not better.any():
            break
        first = np.flatnonzero(worth == top[model.pair_state])
        pair = np.where(better, first[np.searchsorted(model.pair_state[first], states)], pair)
    return Around(value, worth, 1 / model.rate + onward @ time)


def gain_without(best: Optimum, s: int, pair: int) -> float:
    """Return the best gain of policies that do not use `pair` in the state `s`: there the way round is worth nothing."""
    model = best.model
    others = [p for p in range(model.pair_start[s], model.pair_start[s + 1]) if p != pair]
    gain = best.gain
    for _ in range(ROUNDS):
        found = around(model, s, gain)
        ways = found.worth[others] / found.time[others]
        step = float(ways.max())
        gain += step
        if abs(step) <= GAINED * (abs(gain) + abs(best.gain)):
            break
    return gain


def least_flow(model: CTMDP, needed: np.ndarray, price: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (visits, a proved lower bound of Σ visits price) of the cheapest visits that flow and are at least `needed`.

    One starts and ends somewhere: a state may be left once more than it is entered, and another entered once more.
    """
    from scipy.optimize import linprog

    most = float(needed.max(initial=0.0))
    if not most > 0:
        return np.zeros(model.n_pairs), 0.0
    n, unit = model.n_states, max(most, 1.0)
    leaves = csr_matrix((np.ones(model.n_pairs), (model.pair_state, np.arange(model.n_pairs))), shape=(n, model.n_pairs))
    out = leaves - csr_matrix(model.matrix).T
    begins = csr_matrix(np.concatenate([np.zeros(model.n_pairs), np.ones(n), np.zeros(n)])[None, :])
    ends = csr_matrix(np.concatenate([np.zeros(model.n_pairs + n), np.ones(n)])[None, :])
    blocks: Any = [hstack([out, -identity(n), identity(n)]), begins, ends]
    rows: Any = vstack(blocks, format="csr")
    bounds: Any = [(m / unit, None) for m in needed] + [(0, None)] * (2 * n)
    found = linprog(np.concatenate([price, np.zeros(2 * n)]), A_eq=rows, b_eq=np.concatenate([np.zeros(n), [1 / unit, 1 / unit]]),
                    bounds=bounds, method="highs")
    if found.x is None:
        return np.zeros(model.n_pairs), float(needed @ price)
    return np.maximum(found.x[: model.n_pairs], 0.0) * unit, proved_flow(model, needed, price, found.eqlin.marginals[:n])


def proved_flow(model: CTMDP, needed: np.ndarray, price: np.ndarray, worth: np.ndarray) -> float:
    """Return Σ needed (price - v(s) + Σ p v) - (max v - min v) at v near `worth`: no visits that flow cost less.

    That holds for any v at which no price is negative; v is shrunk until none is.
    """
    for shrink in (REPAIR, 1e-6, 1e-3, 1.0):
        v = worth * (1 - shrink)
        left = price - v[model.pair_state] + model.matrix @ v
        if left.min() >= 0:
            return max(0.0, float(needed @ left - np.ptp(v)))
    return 0.0
