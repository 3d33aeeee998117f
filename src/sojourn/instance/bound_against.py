"""What every learner loses within N decisions, in a model or in one of some others: proved, with no constant left out.

Every learner that sees no more than what is counted: which event happened, silent ones included, where events are declared; or the
jumps and holding times only.  It loses pseudo-regret; realised regret differs in the mean by at most the span of the bias.

The regret in M is at least that of the cheapest visits that keep all conditions of instance/told_apart.py, a linear programme
with a proof (instance/visits_program.py).  The more may be lost elsewhere, the weaker the conditions: price and loss meet once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, TooLarge
from sojourn.instance.bound_at import MOST_EPOCHS, MOST_PAIRS
from sojourn.instance.comparable import require_comparable
from sojourn.instance.event_tilting import family
from sojourn.instance.gaps import Optimum, optimum
from sojourn.instance.told_apart import Apart
from sojourn.instance.visits_program import cheapest, lost_by_then, proved_least
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate

FAINTEST = 1e-12  # of what can be lost at all, below which nothing is looked for
MEET = 1e-5  # relative difference at which price and loss have met


@dataclass(frozen=True, eq=False)
class BoundAgainst(float):
    """What every learner loses in a model, reward, unless it loses more than `elsewhere` in one of the others: proved.

    Lost is pseudo-regret, the gaps of the choices; realised regret may be smaller by the span of the bias.  `events` says whether
    it is seen which event happened: if not, learners are meant that see jumps and holding times only (all, where none is declared).
    Where nothing else was asked for `elsewhere` is the bound itself: every learner loses so much in one of them.  It is lost
    `within` so many of the `epochs` decisions.  `visits`, an (S, A) table, are the cheapest that keep all conditions; NaN
    where there are none.
    """

    value: float
    epochs: float
    within: float
    elsewhere: float
    visits: np.ndarray
    events: bool = False

    def __new__(cls, value: float, *details: Any, **named: Any) -> BoundAgainst:
        return super().__new__(cls, value)

    def __str__(self) -> str:
        return repr(self.value)


def bound_against(here: Optimum, shares: np.ndarray, others: Sequence[CTMDP], epochs: float, elsewhere: float | None,
                  events: bool = False) -> BoundAgainst:
    """Return the bound; `shares` are good play's shares of decisions per state, `events` whether it is seen which happened."""
    if not others:
        raise ParameterError("there is no other model to compare with; give one, or those of `bound_at(epochs).models`.")
    if here.model.n_pairs > MOST_PAIRS or epochs > MOST_EPOCHS:
        raise TooLarge(f"models are compared up to {MOST_PAIRS} pairs and {MOST_EPOCHS:g} decisions, as far as the digits reach; "
                       f"these have {here.model.n_pairs} pairs, and N is {epochs:g}.")
    for other in others:
        require_comparable(here.model, other, events)
    best = [optimum(other) for other in others]
    theirs = [evaluate(one.model, one.policy).stationary for one in best]
    near = family(here.model, here.model.bounds, True, events)
    told = [near.told(one.model) for one in best]

    def at(within: float) -> BoundAgainst:
        apart = [Apart(here, one, nats, per_pair(here, shares), per_pair(one, law), within)
                 for one, law, nats in zip(best, theirs, told)]
        return met(here, apart, within, elsewhere)

    return replace(lost_by_then(at, math.floor(epochs)), epochs=epochs, events=events)


def per_pair(best: Optimum, shares: np.ndarray) -> np.ndarray:
    """Return the shares of decisions of good play per pair."""
    found = np.zeros(best.model.n_pairs)
    found[best.model.policy_pairs(best.policy)] = shares
    return found


def met(here: Optimum, apart: list[Apart], epochs: float, elsewhere: float | None) -> BoundAgainst:
    """Return the bound within so many decisions; with None, at the largest loss elsewhere that it is not below."""
    if elsewhere is not None:
        return priced(here, apart, epochs, elsewhere)
    high = epochs * max(float(here.gap.max()), *(float(one.there.gap.max()) for one in apart))
    low, faintest, found = 0.0, high * FAINTEST, nothing(here, epochs, 0.0)
    while math.inf > high > max(low, faintest) * (1 + MEET):
        regret = math.sqrt(max(low, faintest)) * math.sqrt(high)
        middle = priced(here, apart, epochs, regret)
        if middle >= regret:
            low, found = regret, replace(middle, value=regret)
        else:
            high = regret
    return found


def nothing(here: Optimum, epochs: float, elsewhere: float) -> BoundAgainst:
    """Return the bound where none is proved."""
    return BoundAgainst(0.0, epochs, epochs, elsewhere, here.model.table(np.full(here.model.n_pairs, np.nan)))


def priced(here: Optimum, apart: list[Apart], epochs: float, elsewhere: float) -> BoundAgainst:
    """Return what whoever loses at most `elsewhere` in each of the others loses here, at least."""
    parts = [one.conditions(elsewhere) for one in apart]
    told, nats = np.vstack([t for t, _ in parts]), np.concatenate([n for _, n in parts])
    found = cheapest(here, epochs, told, nats) if (nats > 0).any() else None
    if found is None:
        return nothing(here, epochs, elsewhere)
    y = np.where(np.isfinite(found.per_nat), np.maximum(found.per_nat, 0.0), 0.0)
    low = proved_least(here, epochs, told, np.nan_to_num(found.worth), y) + float(y @ nats) * (1 - 1e-12)
    return BoundAgainst(max(low, 0.0), epochs, epochs, elsewhere, here.model.table(found.visits))
