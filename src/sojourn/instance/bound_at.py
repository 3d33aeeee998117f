"""What a learner must pay within N decisions: the finite form of C(M) log N.

C(M) counts as free every row that good play visits.  Within N decisions it may hardly visit some of them; then a learner has to pay
for telling the true model from those in which such rows are better than they are.  docs/difficulty.md says what is minimised.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.errors import TooLarge
from sojourn.instance.event_tilting import WrittenEvents
from sojourn.instance.gaps import Optimum
from sojourn.instance.regimes import Alternative, Regime, alternative_of, lost, regimes
from sojourn.instance.tilting import Family
from sojourn.instance.visits_program import Cheapest, cheapest, lost_by_then, proved_least
from sojourn.model.ctmdp import CTMDP

MOST_PAIRS = 150
MOST_EPOCHS = 1e12
ROUNDS = 40
TRIED, ADDED = 12, 4  # regimes that are looked at, and models that are added, in a round
SHORT = 1e-3  # a model is added where less than 1 - SHORT of the nats asked for would be gathered
GROWN = 3e-4  # growth of the bound below which a round has not brought much
SPARE = (0.1, 0.01, 0.001)  # part of the visits that rule a regime out by itself, taken as made when the next model is sought
LEAST = 1e-3  # visits
FAINTEST = 1e-12  # of what can be lost at all, below which nothing is looked for
MEET = 1e-7  # relative difference at which price and R have met
DOUBT = 3.0  # an estimate may be so many times too large
OFF = 1.5  # and is doubted where it is so many times too small
FARTHER = 1 + np.geomspace(1e-3, 100, 100)  # how far a regime may be moved, over its distance in gain
FAINTER = 8  # powers of ten below the largest gap, at which a bound is looked for
NEARER = 5  # times that half the distance is tried
WORDS = 4


@dataclass(frozen=True, eq=False)
class BoundAt(float):
    """The bound at N decisions, reward: what every learner loses, to first order, in pseudo-regret; a float with its details.

    `low` proves the programme, not what learners lose: no visits that gather log(N loss / R) nats against each of the models
    listed cost less, whatever a solver's rounding; but that a learner must gather so many is true to first order only.  What
    every learner loses for certain is `bound_against`.  `events` says whether it is seen which event happened: then every learner
    is meant, else those that see jumps and holding times only.

    `visits`, an (S, A) table, attain the value within the first `within` of the `epochs` decisions (they cost less where N is so
    small that what can be gathered at all sets the value).  `alternatives` are the models that cost something, dearest first, of
    `listed` in all; `elsewhere` is what may be lost in each.  Infinite, with nothing proved, where N decisions are too few for
    that.
    """

    value: float
    low: float
    epochs: float
    within: float
    elsewhere: float
    visits: np.ndarray
    alternatives: tuple[Alternative, ...]
    listed: int
    events: bool = False

    def __new__(cls, value: float, *details: Any, **named: Any) -> BoundAt:
        return super().__new__(cls, value)

    def __str__(self) -> str:
        return repr(self.value)

    @property
    def models(self) -> list[CTMDP]:
        """The models that cost something, dearest first: for `bound_against`."""
        return [a.model for a in self.alternatives]


@dataclass(frozen=True, eq=False)
class Settled:
    """What a list of models costs at least, what may be lost in each, and the visits; None where N decisions cannot do it."""

    price: float
    elsewhere: float
    visits: Cheapest | None


def asked(epochs: float, listed: list[Alternative], elsewhere: float) -> np.ndarray:
    """Return log(N loss / R) per model, nats: what a learner gathers against it that loses at most R there."""
    return np.log(epochs * np.array([a.loss for a in listed]) / elsewhere)


def settled(best: Optimum, epochs: float, listed: list[Alternative], elsewhere: float | None, start: float) -> Settled:
    """Return the least regret with at most `elsewhere` lost in each model listed; with None, as much as here.

    The more may be lost, the fewer nats are asked for: the price falls as R grows, and the two meet once, perhaps near `start`.
    """
    told = np.array([a.divergence for a in listed])

    def at(regret: float) -> Settled:
        found = cheapest(best, epochs, told, asked(epochs, listed, regret))
        return Settled(math.inf if found is None else found.price, regret, found)

    if elsewhere is not None:
        return at(elsewhere)
    high = at(epochs * max(a.loss for a in listed))
    floor = low = FAINTEST * high.elsewhere
    regret = min(start, high.elsewhere)
    while high.elsewhere > low * (1 + MEET):
        middle = at(regret)
        if middle.price <= middle.elsewhere:
            high = middle
        else:
            low = regret
        if abs(middle.price - regret) <= MEET * regret:
            return replace(middle, price=regret)
        regret = 0.0 if middle.visits is None else tangent(middle.price, regret, middle.visits)
        if not low < regret < high.elsewhere:  # N decisions are too few for so little loss, or rounding
            regret = math.sqrt(low * high.elsewhere)
    return replace(high, price=high.elsewhere if low > floor else 0.0)


def tangent(price: float, regret: float, visits: Cheapest) -> float:
    """Return where price = R on the tangent at a regret R: the price is convex in log R, so that they do not meet before.

    For each unit of log R the price falls by the sum of the prices per nat.
    """
    from scipy.special import wrightomega

    fall = float(visits.per_nat.sum())
    return fall * float(wrightomega(price / fall + math.log(regret / fall))) if fall > 0 else price


def proved(best: Optimum, epochs: float, listed: list[Alternative], found: Cheapest, elsewhere: float | None) -> float:
    """Return what the dual proves of the programme: at log(N loss / R) nats, or the root R of that price = R; else 0."""
    y = np.where(np.isfinite(found.per_nat), np.maximum(found.per_nat, 0.0), 0.0)
    base = proved_least(best, epochs, np.array([a.divergence for a in listed]), np.nan_to_num(found.worth), y)

    def price(regret: float) -> float:
        part = y * (asked(epochs, listed, regret) - 1e-9)
        return base + float(part.sum()) - 1e-14 * float(np.abs(part).sum())

    if elsewhere is not None:
        return max(price(elsewhere), 0.0)
    low, high = 0.0, epochs * max(a.loss for a in listed)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and price(middle) >= middle else (low, middle)
    return low


class Search:
    """The list of models as it grows."""

    def __init__(self, best: Optimum, near: Family, rate_bounds: tuple[float, float], shares: np.ndarray, epochs: float) -> None:
        self.best, self.rate_bounds, self.shares, self.written = best, rate_bounds, shares, near
        self.good = best.model.policy_pairs(best.policy)
        self.regimes = regimes(self.written, best, self.good)
        self.begun(epochs)

    def begun(self, epochs: float) -> None:
        """Begin with an empty list, for so many decisions."""
        self.epochs, self.steady = epochs, np.zeros(self.best.model.n_pairs)
        self.steady[self.good] = epochs * self.shares
        self.time = epochs * float(self.shares @ (1 / self.best.model.rate[self.good]))  # that N decisions of good play take
        self.listed: list[Alternative] = []

    def within(self, epochs: float) -> Search:
        """Return the search for so many decisions."""
        other = copy(self)
        other.begun(epochs)
        return other

    def farther(self, regime: Regime, regret: float) -> tuple[float, float]:
        """Return (how far a regime is best moved, about the nats asked): near ties ask for nothing, far wins are easily seen."""
        with np.errstate(divide="ignore", invalid="ignore"):
            nats = np.log(self.time * regime.distance * (FARTHER - 1) / regret)
            score = np.where(nats > 0, FARTHER**2 / nats, np.inf)
        at = int(np.argmin(score))
        return (float(FARTHER[at]), float(nats[at])) if np.isfinite(score[at]) else (0.0, 0.0)

    def own(self, regime: Regime, farther: float, nats: float) -> np.ndarray:
        """Return about the visits that rule a regime out when it is simply played."""
        play = np.zeros(len(self.steady))
        play[regime.pairs] = regime.law
        told = regime.estimate(np.maximum(self.steady + self.epochs * play, LEAST), farther)
        return play * self.epochs * min(1.0, nats / max(told, 1e-300))

    def found(self, regime: Regime, visits: np.ndarray, farther: float, regret: float) -> tuple[float, Alternative] | None:
        """Return (gathered over asked, the nearest model in which a regime wins by so much); None if there is none that matters."""
        found = alternative_of(self.written, self.best, self.rate_bounds, regime, visits, farther)
        loss = 0.0 if found is None else lost(self.best, found[0], self.epochs)
        if found is None or not self.epochs * loss > regret:
            return None
        told = float(visits @ found[1]) / math.log(self.epochs * loss / regret)
        return told, Alternative(self.label(regime), found[0], found[1], loss, farther)

    def least_told(self, regime: Regime, visits: np.ndarray, farther: float, regret: float) -> Alternative | None:
        """Return the model in which a regime wins that these visits tell least about; None if none matters.

        It is looked for at the best distance by the estimate, and nearer by where that is far off, at the ends of rows and rates.
        """
        guess = regime.estimate(visits, farther) / math.log(self.time * regime.distance * (farther - 1) / regret)
        best = None
        for _ in range(NEARER):
            new = self.found(regime, visits, farther, regret)
            if new is not None and (best is None or new[0] < best[0]):
                best = new
            elif best is not None:
                break
            if best is not None and best[0] < OFF * guess:
                break
            farther = 1 + (farther - 1) / 2
        return None if best is None else best[1]

    def label(self, regime: Regime) -> str:
        model = self.best.model
        there = [f"{model.actions.label(model.pair_action[i])} in {model.states.label(s)}" for s, i in enumerate(regime.pairs)
                 if not self.best.optimal[i]]
        return ", ".join(there[:WORDS]) + (f" and {len(there) - WORDS} more" if len(there) > WORDS else "")

    def begin(self, regret: float) -> None:
        """Add the models in which one pair alone is another: good play counts as known."""
        for regime in self.regimes:
            farther, _ = self.farther(regime, regret)
            if farther and (regime.pairs != self.good).sum() == 1:
                known = np.full(len(self.steady), 1e12)
                known[regime.pairs[regime.pairs != self.good]] = 1.0
                new = self.least_told(regime, known, farther, regret)
                self.listed += [] if new is None else [new]

    def round(self, visits: np.ndarray, regret: float, spare: float) -> int:
        """Add models of regimes against which these visits tell too little, and return how many."""
        doubtful = []
        for at, regime in enumerate(self.regimes):
            farther, nats = self.farther(regime, regret)
            if farther:
                near = np.maximum(visits + spare * self.own(regime, farther, nats), LEAST)
                told = regime.estimate(near, farther) / nats
                doubtful += [(told, at, farther, near)] if told < DOUBT else []
        before = len(self.listed)
        for _, at, farther, near in sorted(doubtful, key=lambda one: one[:2])[:TRIED]:
            new = self.least_told(self.regimes[at], near, farther, regret)
            if new is not None and float(visits @ new.divergence) < (1 - SHORT) * math.log(self.epochs * new.loss / regret):
                self.listed.append(new)
            if len(self.listed) == before + ADDED:
                break
        return len(self.listed) - before


def grown(search: Search, elsewhere: float | None) -> Settled | None:
    """Return what the list costs once hardly any model is found that the visits do not tell apart; None if there is no model."""
    best, epochs = search.best, search.epochs
    for start in [elsewhere] if elsewhere is not None else float(best.gap.max()) * 10.0 ** -np.arange(FAINTER):
        search.begin(start)
        if search.listed:
            break
    else:
        return None
    found = settled(best, epochs, search.listed, elsewhere, start)
    if elsewhere is None:
        search.begin(found.elsewhere)
        found = settled(best, epochs, search.listed, elsewhere, found.elsewhere)
    level = 0
    for _ in range(ROUNDS):
        if found.visits is None or level == len(SPARE):
            break
        before, added = found.price, search.round(found.visits.visits, found.elsewhere, SPARE[level])
        found = settled(best, epochs, search.listed, elsewhere, found.elsewhere) if added else found
        level += found.price <= before * (1 + GROWN)
    return found


def bound_at(best: Optimum, near: Family, rate_bounds: tuple[float, float], shares: np.ndarray, epochs: float,
             elsewhere: float | None) -> BoundAt:
    """Return the bound at N decisions over models of the family `near`; `shares` are good play's shares of decisions per state."""
    if best.model.n_pairs > MOST_PAIRS:
        raise TooLarge(f"the bound at N decisions is worked out for at most {MOST_PAIRS} pairs; this model has "
                       f"{best.model.n_pairs}. Use `payable_bound(epochs)`.")
    if epochs > MOST_EPOCHS:
        raise TooLarge(f"the bound at N decisions is worked out for N up to {MOST_EPOCHS:g}, as far as the digits reach; N is "
                       f"{epochs:g}. `lower_bound(epochs=N)` is what it comes nearer to, slowly, from below or from above.")
    if best.optimal.all():
        return replace(nothing(best, epochs, elsewhere), events=isinstance(near, WrittenEvents))
    search = Search(best, near, rate_bounds, shares, epochs)
    found = lost_by_then(lambda within: at_the_end(search.within(within), elsewhere), epochs)
    return replace(found, epochs=epochs, events=isinstance(near, WrittenEvents))


def nothing(best: Optimum, epochs: float, elsewhere: float | None) -> BoundAt:
    """Return the bound where there is nothing to learn."""
    return BoundAt(0.0, 0.0, epochs, epochs, elsewhere or 0.0, best.model.table(np.zeros(best.model.n_pairs)), (), 0)


def at_the_end(search: Search, elsewhere: float | None) -> BoundAt:
    """Return the bound that the visits of all the decisions give."""
    best, epochs, model = search.best, search.epochs, search.best.model
    found = grown(search, elsewhere)
    if found is None or (elsewhere is None and found.price == 0):
        return nothing(best, epochs, elsewhere)
    listed, visits, allowed = search.listed, found.visits, found.elsewhere
    if visits is None:
        return BoundAt(math.inf, 0.0, epochs, epochs, allowed, model.table(np.full(model.n_pairs, np.nan)), (), len(listed))
    priced = [replace(a, price=float(p)) for a, p in zip(listed, visits.per_nat * asked(epochs, listed, allowed)) if p > 0]
    priced.sort(key=lambda a: -a.price)
    low = min(proved(best, epochs, listed, visits, elsewhere), found.price)
    return BoundAt(found.price, low, epochs, epochs, allowed, model.table(visits.visits), tuple(priced), len(listed))
