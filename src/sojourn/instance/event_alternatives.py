"""Which rates of hidden events would make something else optimal, and how far the nearest are.

While an optimal policy is played, the *hidden* events H (active in no pair of gap 0) are never seen.  Rates θ' that differ in H
only are *confusing* if they make some pair p better than the optimum: Σ_{k in H} b_k(p) (θ'_k - θ_k) > φ_p λ_p, with b_k(p) the
worth of event k in p.  Told apart from θ by exposures X, the nearest of them is found pair by pair, along one number ν: θ'_k =
θ_k / (1 - ν b_k / X_k), within the bounds of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.instance.gaps import Optimum
from sojourn.model.events import EventTable

HALVINGS = 200


@dataclass(frozen=True, eq=False)
class HiddenEvents:
    """The hidden events (numbers), and one row per (suboptimal pair, hidden event in it): worth b, exposure per time C."""

    table: EventTable
    hidden: np.ndarray
    pairs: np.ndarray  # the suboptimal pairs in which hidden events are active
    need: np.ndarray  # φ_p λ_p of each of them, reward per unit of time
    where: np.ndarray  # row -> position in `pairs`
    event: np.ndarray  # row -> position in `hidden`
    worth: np.ndarray
    exposure: np.ndarray

    @property
    def value(self) -> np.ndarray:
        assert self.table.value is not None
        return np.asarray(self.table.value[self.hidden])

    @property
    def low(self) -> np.ndarray:
        return np.asarray(self.table.low[self.hidden])

    @property
    def high(self) -> np.ndarray:
        return np.asarray(self.table.high[self.hidden])


def hidden_events(best: Optimum, table: EventTable) -> HiddenEvents:
    """Return the hidden events of a solved model; rates that are told are never hidden."""
    model = best.model
    pair, event, total = table.exposure_rows
    seen = np.zeros(table.n_events, dtype=bool)
    seen[event[best.optimal[pair]]] = True
    hidden = np.flatnonzero(~seen & ~table.known)
    number = np.full(table.n_events, -1)
    number[hidden] = np.arange(len(hidden))
    keep = number[event] >= 0
    pair, event, total = pair[keep], event[keep], total[keep]
    worths = event_worths(best, table)[keep]
    pairs, where = np.unique(pair, return_inverse=True)
    return HiddenEvents(table, hidden, pairs, best.gap[pairs] * model.rate[pairs], where, number[event], worths, total)


def event_worths(best: Optimum, table: EventTable) -> np.ndarray:
    """Return b_k(p) for each row of `table.exposure_rows`: what one unit of rate of event k is worth per time in pair p."""
    model = best.model
    here = model.pair_state[table.pair]
    jumps = table.jumps
    move = np.where(jumps, table.reward[table.pair] + best.bias[np.maximum(table.next_state, 0)] - best.bias[here], 0.0)
    key = table.pair * table.n_events + table.event
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return np.add.reduceat(table.coefficient * (table.payment + move), first) if len(first) else np.zeros(0)


def kl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x log(x/y) + y - x, the divergence of Poisson counts of mean x from those of mean y."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(x > 0, y / x, 1.0)
        near = np.abs(ratio - 1) < 1e-4
        u = ratio - 1
        series = u * u * (0.5 - u / 3 + u * u / 4)
        return np.asarray(np.where(x > 0, x * np.where(near, series, ratio - 1 - np.log(ratio)), y))


def nearest_alternatives(events: HiddenEvents, exposure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (divergence per pair, θ' per row): for each pair the confusing rates nearest at `exposure`; infinite where none.

    `exposure` is per hidden event, positive.  The rates returned are confusing, or on the edge of it.
    """
    theta = events.value[events.event]
    low, high = events.low[events.event], events.high[events.event]
    slope = events.worth / exposure[events.event]
    n = len(events.pairs)

    def moved(nu: np.ndarray) -> np.ndarray:
        left = 1 - nu[events.where] * slope
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.clip(np.where(left > 0, theta / np.maximum(left, 1e-300), np.inf), low, high))

    def gained(rates: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            worth = np.where(events.worth == 0, 0.0, events.worth * (rates - theta))
        return np.bincount(events.where, worth, minlength=n)

    most = np.full(n, np.inf)  # ν from which an unbounded rate is infinite
    free = (slope > 0) & np.isinf(high)
    np.minimum.at(most, events.where[free], 1 / slope[free])
    size = np.zeros(n)
    np.maximum.at(size, events.where, np.abs(slope))
    top = np.minimum(most, 1e30 / np.maximum(size, 1e-300))
    bottom = np.minimum(1e-30 / np.maximum(size, 1e-300), top / 2)
    reachable = np.isfinite(most) | (gained(moved(top)) > events.need)
    log_low, log_high = np.log(bottom), np.log(top)
    for _ in range(HALVINGS):
        middle = (log_low + log_high) / 2
        enough = gained(moved(np.exp(middle))) >= events.need
        log_high, log_low = np.where(enough, middle, log_high), np.where(enough, log_low, middle)
    rates = moved(np.exp(log_high))
    with np.errstate(invalid="ignore"):
        apart = exposure[events.event] * kl(theta, rates)
    total = np.bincount(events.where, np.where(np.isfinite(apart), apart, 0.0), minlength=n)
    infinite = np.bincount(events.where, ~np.isfinite(apart), minlength=n) > 0
    return np.where(reachable & ~infinite, total, np.inf), rates
