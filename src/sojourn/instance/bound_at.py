"""What a uniformly fast learner must pay within N decisions: the finite form of C(M) log N.

C(M) counts as free every row that good play visits.  Within N decisions it may hardly visit some of them; then a learner has to pay for telling
the true model from those in which such rows are better than they are.  See docs/difficulty.md for what is minimised and why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.errors import TooLarge
from sojourn.instance.divergence_bounds import least_divergence_bounds
from sojourn.instance.gaps import Optimum
from sojourn.instance.least_divergence import LeastDivergence
from sojourn.instance.regimes import Alternative, Regime, alternative_of, otherwise, regimes
from sojourn.instance.rows import Rows
from sojourn.instance.tilting import written
from sojourn.instance.visits_program import Cheapest, cheapest, most_information, proved_price

MOST_PAIRS = 400
ROUNDS = 60
AT_ONCE = 4  # regimes that are looked at in a round
SHORT = 1e-3  # an alternative is wanted where less than 1 - SHORT of the nats asked for would be gathered
SPARE = 10.0 ** -np.arange(1, 4.0)  # of the visits that would rule a regime out by itself, taken as made anyway when its nearest model is sought
FARTHER = 1 + np.array([1e-4, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1, 1.5, 2, 3, 5, 8, 12, 20])  # how far a regime is moved, over its distance in gain
WORDS = 4
LEAST = 1e-3  # visits
DOUBT = 3.0  # an estimate may be so many times too large
TRIED = 12


@dataclass(frozen=True, eq=False)
class BoundAt(float):
    """The bound at N decisions, reward: a float that knows what proves it.

    `low` is proved: no visits that tell the true model from all `alternatives` cost less, whatever a solver's rounding.  `visits` (S, A) attain
    the value; `alternatives` are those that cost something, dearest first; `words` say what N is too small for.
    """

    value: float
    low: float
    epochs: float
    visits: np.ndarray
    alternatives: tuple[Alternative, ...]
    listed: int
    words: tuple[str, ...]

    def __new__(cls, value: float, *details: Any, **named: Any) -> BoundAt:
        return super().__new__(cls, value)

    def __str__(self) -> str:
        return repr(self.value)


def nats_asked(concerned: float) -> float:
    """Return the information that telling two models apart takes, which differ in what to do in so many decisions of good play."""
    return math.log(concerned) if concerned > 1 else 0.0


def single_pairs(best: Optimum, found: LeastDivergence, most: np.ndarray, shares: np.ndarray, epochs: float) -> list[Alternative]:
    """Return the alternatives of eq:K, one per critical pair: K nats a visit.

    No more visits are asked of all pairs of a state than good play makes there: a model farther away is taken where these are too few.
    """
    model, made = best.model, []
    for s in range(model.n_states):
        own = np.arange(model.pair_start[s], model.pair_start[s + 1])
        own = own[found.critical[own] & (found.k[own] > 0)]
        nats = nats_asked(epochs * shares[s])
        if nats == 0 or not own.size:
            continue
        farther = max(1.0, float((nats / found.k[own]).sum()) / (epochs * shares[s]))
        for i in own:
            one = np.arange(model.n_pairs) == i
            label = f"{model.actions.label(model.pair_action[i])} in {model.states.label(s)}"
            made.append(Alternative(label, np.where(one, found.k[i] * farther, 0.0), np.where(one, most[i] * farther, 0.0), float(shares[s]), nats,
                                    farther))
    return made


@dataclass(eq=False)
class Search:
    """The list of alternatives as it grows: those of single pairs, and per regime the models found so far and how far it was moved."""

    best: Optimum
    rate_bounds: tuple[float, float]
    supports: bool
    shares: np.ndarray
    epochs: float
    singles: list[Alternative]

    def __post_init__(self) -> None:
        model = self.best.model
        self.good = model.policy_pairs(self.best.policy)
        self.written = written(model, self.rate_bounds, self.supports)
        self.regimes = regimes(self.written, self.best, self.good) if self.best.gap.any() else []
        self.models: list[list[Alternative]] = [[] for _ in self.regimes]
        self.moved = np.zeros(len(self.regimes), dtype=int)
        self.begun = np.zeros(len(self.regimes), dtype=bool)
        self.own = [self.played(at) for at in range(len(self.regimes))]  # visits that rule a regime out when it is simply played

    def played(self, at: int) -> np.ndarray:
        """Return about how often a regime would be played until it is ruled out."""
        regime, play = self.regimes[at], np.zeros(self.best.model.n_pairs)
        play[regime.pairs] = regime.law
        told = regime.estimate(np.maximum(self.steady() + self.epochs * play, LEAST))
        return play * self.epochs * min(1.0, math.log(self.epochs) / max(told, 1e-300))

    def listed(self) -> list[Alternative]:
        return self.singles + [one for some in self.models for one in some]

    def solved(self) -> Cheapest | None:
        found = self.listed()
        return cheapest(self.best, self.epochs, _stacked([a.divergence for a in found], self.best), np.array([a.nats for a in found]))

    def alternative(self, at: int, visits: np.ndarray) -> Alternative | None:
        """Return the model, of those in which a regime wins, that these visits tell least about, over what is asked; None if there is none.

        The farther it wins the more decisions are concerned: near a tie it is not worth going over to it.  Once all are, nothing is won by going on.
        """
        chosen, least = None, np.inf
        for farther in FARTHER[self.moved[at]:]:
            found = alternative_of(self.written, self.best, self.rate_bounds, self.regimes[at], visits, float(farther))
            if found is None:
                continue
            other, told = found
            share = float(self.shares[otherwise(self.best, other)].sum())
            nats = nats_asked(self.epochs * share)
            if nats > 0 and float(visits @ told) / nats < least:
                least = float(visits @ told) / nats
                chosen = Alternative(self.label(self.regimes[at]), told, told * (1 + 1e-12) + 1e-15, share, nats, float(farther), other)
            if share > 0.5:
                break
        return chosen

    def label(self, regime: Regime) -> str:
        model = self.best.model
        there = [f"{model.actions.label(model.pair_action[i])} in {model.states.label(s)}" for s, i in enumerate(regime.pairs)
                 if not self.best.optimal[i]]
        return ", ".join(there[:WORDS]) + (f" and in {len(there) - WORDS} more" if len(there) > WORDS else "")

    def begin(self, at: int) -> None:
        """Find how far a regime must be moved away until N decisions can rule it out, and how often it is played then."""
        self.begun[at] = True
        play = np.zeros(self.best.model.n_pairs)
        play[self.regimes[at].pairs] = self.regimes[at].law
        while self.moved[at] < len(FARTHER):
            first = self.alternative(at, np.maximum(self.steady() + self.epochs * play, LEAST))
            if first is None:
                self.moved[at] = len(FARTHER)
            elif most_information(self.best, self.epochs, first.divergence[None, :], np.array([first.nats])) < 1:
                self.move(at)
            else:
                self.own[at] = play * min(self.epochs, first.nats / max(float(play @ first.divergence), 1e-300))
                return

    def soften(self) -> None:
        """Ask of single pairs only what N decisions can gather of all at once."""
        told, nats = _stacked([a.divergence for a in self.singles], self.best), np.array([a.nats for a in self.singles])
        part = most_information(self.best, self.epochs, told, nats) * (1 - 1e-9)
        self.singles = [replace(a, nats=a.nats * part) for a in self.singles]
        self.part = part

    def move(self, at: int) -> None:
        self.moved[at] += 1
        self.models[at] = []

    def steady(self) -> np.ndarray:
        visits = np.zeros(self.best.model.n_pairs)
        visits[self.good] = self.epochs * self.shares
        return visits


    def order(self, visits: np.ndarray, spare: float) -> list[int]:
        """Return the regimes against which these visits tell too little, by an estimate; the least known first."""
        asked, found = math.log(self.epochs), []
        for at, regime in enumerate(self.regimes):
            if self.moved[at] < len(FARTHER):
                told = regime.estimate(np.maximum(visits + spare * self.own[at], LEAST), float(FARTHER[self.moved[at]]))
                if told < DOUBT * asked:
                    found.append((told, at))
        return [at for _, at in sorted(found)]

    def round(self, visits: np.ndarray, spare: float) -> list[int]:
        """Add models that these visits do not tell apart, and return of which regimes."""
        added: list[int] = []
        for at in self.order(visits, spare)[:TRIED]:
            if not self.begun[at]:
                self.begin(at)
            if self.moved[at] == len(FARTHER):
                continue
            new = self.alternative(at, np.maximum(visits + spare * self.own[at], LEAST))
            if new is not None and float(visits @ new.divergence) < (1 - SHORT) * new.nats:
                self.models[at].append(new)
                added.append(at)
            if len(added) == AT_ONCE:
                break
        return added


def _stacked(rows: list[np.ndarray], best: Optimum) -> np.ndarray:
    return np.array(rows).reshape(len(rows), best.model.n_pairs)


def grown(search: Search) -> Cheapest:
    """Return the cheapest visits once no alternative is found any more that they do not tell apart."""
    found = search.solved()
    if found is None:
        search.soften()
        found = search.solved()
        assert found is not None
    level = 0
    for _ in range(ROUNDS):
        added = search.round(found.visits, float(SPARE[level]))
        onward = search.solved() if added else found
        while onward is None:  # not all of it can be gathered at once
            for at in set(added):
                search.move(at)
                search.begun[at] = False
            onward = search.solved()
        level += 0 if added else 1
        found = onward
        if level == len(SPARE):
            break
    return found


def bound_at(
    best: Optimum, found: LeastDivergence, rows: Rows, rate_bounds: tuple[float, float], shares: np.ndarray, epochs: float, supports: bool
) -> BoundAt:
    """Return the bound at N decisions; `shares` are good play's shares of decisions per state."""
    model = best.model
    if model.n_pairs > MOST_PAIRS:
        raise TooLarge(f"the bound at N decisions is worked out for at most {MOST_PAIRS} pairs; this model has {model.n_pairs}. "
                       "Use `payable_bound(epochs)`.")
    most = least_divergence_bounds(best, rate_bounds, rows)[1]
    search = Search(best, rate_bounds, supports, shares, epochs, single_pairs(best, found, most, shares, epochs))
    least = grown(search)
    listed = search.listed()
    nats = np.array([a.nats for a in listed])
    low = proved_price(best, epochs, _stacked([a.most for a in listed], best), nats, least.worth, least.per_nat)
    priced = sorted((replace(a, price=float(y * a.nats)) for a, y in zip(listed, least.per_nat) if y > 0), key=lambda a: -a.price)
    value = max(least.price, 0.0)
    return BoundAt(value, min(max(low, 0.0), value), epochs, model.table(least.visits), tuple(priced), len(listed), tuple(_words(search)))


def _words(search: Search) -> Iterator[str]:
    """Yield what N decisions are too few for."""
    for at, regime in enumerate(search.regimes):
        if search.models[at] and search.moved[at] > 0:
            yield (f"{search.label(regime)}: its gain is {regime.distance:.3g} below the best, too near to be told from a tie; it is compared with models in "
                   f"which it is {regime.distance * (FARTHER[search.moved[at]] - 1):.3g} better.")
