"""Does a model meet the paper's assumptions?  Each answer is a verdict in words, with a witness where it is no."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.forced import Forced
from sojourn.model.graph import closed_classes, edges, end_components, strong_components
from sojourn.model.words import html_card

SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Yes (`holds` is True), no (False) or not decided (None), said in `statement`; true in an `if` only when it is yes.

    A no comes with its witness: a `policy` (action index per state, as `evaluate` takes it), the set `states` in which it stays
    for ever, and the state `unreached` that it never visits from there (or `others`, a second set in which it stays); states
    are as the user calls them.
    """

    question: str
    holds: bool | None
    statement: str
    policy: np.ndarray | None = None
    states: tuple[Any, ...] = ()
    unreached: Any = None
    others: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return self.holds is True

    @property
    def word(self) -> str:
        """`yes`, `no` or `not decided`."""
        return {True: "yes", False: "no", None: "not decided"}[self.holds]

    def __str__(self) -> str:
        return f"{self.question}: {self.word}. {self.statement}"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, eq=False, repr=False)
class Checks:
    """The four verdicts on a model."""

    irreducible: Verdict
    communicating: Verdict
    unichain: Verdict
    rates_bounded: Verdict

    def __iter__(self) -> Iterator[Verdict]:
        return iter((self.irreducible, self.communicating, self.unichain, self.rates_bounded))

    def summary(self) -> str:
        """Return one line a verdict."""
        return "\n".join(str(verdict) for verdict in self)

    __str__ = __repr__ = summary

    def _repr_html_(self) -> str:
        rows = [(verdict.question, verdict.word, verdict.statement) for verdict in self]
        return html_card("Does the model meet the assumptions?", ("assumption", "holds", "why"), rows)


def check(model: CTMDP) -> Checks:
    """Return all four verdicts: irreducible and unichain under every policy, communicating, rates bounded.

    >>> model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [1.0]])
    >>> print(check(model).irreducible)
    irreducible under every policy: yes. From every state every policy visits all 2 states.
    """
    require_model(model)
    forced = Forced(model)
    sure = _irreducible(forced)
    return Checks(sure, communicating(model), _unichain(forced, sure), rates_bounded(model))


def irreducible(model: CTMDP) -> Verdict:
    """Return whether every policy visits every state from every state, decided exactly.   Paper: assume-transition

    A state j is avoidable iff something is left after peeling off, again and again, every state whose actions all may
    lead to j or to a state peeled before.  States that are bound to visit each other are merged first.
    """
    return _irreducible(Forced(model))


def communicating(model: CTMDP) -> Verdict:
    """Return whether every state can be reached from every other by some policy."""
    question = "communicating"
    _, tail, head = edges(model)
    count, _ = strong_components(model.n_states, tail, head)
    if count == 1:
        return Verdict(question, True, f"Some policy leads from any of the {model.n_states} states to any other.")
    closed = closed_classes(model.n_states, tail, head)[0]
    outside = np.setdiff1d(np.arange(model.n_states), closed)
    if outside.size == 0:  # several closed classes
        outside = closed_classes(model.n_states, tail, head)[1]
    j = int(outside[0])
    statement = f"No policy leads from {_set(model, closed)} to state {model.states[j]!r}."
    return Verdict(question, False, statement, _first_actions(model), _own(model, closed), model.states[j])


def unichain(model: CTMDP) -> Verdict:
    """Return whether every policy has a single recurrent class; deciding it is NP-hard, so the answer may be `not decided`."""
    forced = Forced(model)
    return _unichain(forced, _irreducible(forced))


def rates_bounded(model: CTMDP) -> Verdict:
    """Return whether all rates lie within positive bounds (they do in every valid model).   Paper: assume-rate"""
    lo, hi = model.bounds
    least, most = float(model.rate.min()), float(model.rate.max())
    kind = "the given bounds" if model.rate_bounds else "their own range, as no bounds were given"
    return Verdict("rates bounded", bool(lo <= least and most <= hi),
                   f"All rates, {least:g} to {most:g}, lie within [{lo:g}, {hi:g}] ({kind}).")


def _irreducible(forced: Forced) -> Verdict:
    model, question = forced.model, "irreducible under every policy"
    sources = forced.sources
    count, component = strong_components(model.n_states, forced.tail, forced.head)
    if count > 1:  # no policy at all connects the states: a state outside a closed class is the witness
        closed = closed_classes(model.n_states, forced.tail, forced.head)[0]
        sources = np.flatnonzero(component != component[closed[0]])[:1]
    for j in sources:
        left, stay = forced.avoiding_state(int(j))
        if left.any():
            return _reducible(model, question, left, stay, int(j))
    return Verdict(question, True, f"From every state every policy visits all {model.n_states} states.")


def _reducible(model: CTMDP, question: str, left: np.ndarray, stay: np.ndarray, j: int) -> Verdict:
    states = np.flatnonzero(left)
    policy = np.where(left, model.pair_action[stay], _first_actions(model))
    how = ", ".join(f"{model.actions[policy[s]]!r} in {model.states[s]!r}" for s in states[:SHOWN])
    more = ", ..." if len(states) > SHOWN else ""
    statement = (f"With the actions {how}{more} the process stays in {_set(model, states)} for ever and never visits state "
                 f"{model.states[j]!r}.")
    return Verdict(question, False, statement, policy, _own(model, states), model.states[j])


def _unichain(forced: Forced, sure: Verdict) -> Verdict:
    model, question = forced.model, "unichain under every policy"
    if sure:
        return Verdict(question, True, "Every policy is irreducible, so each has one recurrent class.")
    component, _ = end_components(model)
    if component.max() > 0:
        found: tuple[np.ndarray, np.ndarray] | bool | None = (component == 0, component == 1)
    else:
        found = forced.two_closed_sets()
    if found is None:
        return Verdict(question, None, "Deciding it takes time exponential in the number of states in general, and the quick tests "
                       f"left it open for these {model.n_states} states.")
    if found is False:
        return Verdict(question, True, "No policy can stay for ever in either of two separate sets of states.")
    one, two = found  # type: ignore[misc]
    return _multichain(forced, question, one, two)


def _multichain(forced: Forced, question: str, one: np.ndarray, two: np.ndarray) -> Verdict:
    model = forced.model
    policy = _first_actions(model)
    for part in (one, two):
        left, stay = forced.avoiding(~part)
        policy = np.where(left, model.pair_action[stay], policy)
    a, b = np.flatnonzero(one), np.flatnonzero(two)
    how = ", ".join(f"{model.actions[policy[s]]!r} in {model.states[s]!r}" for s in [*a[:SHOWN // 2], *b[:SHOWN // 2]])
    more = ", ..." if len(a) > SHOWN // 2 or len(b) > SHOWN // 2 else ""
    statement = (f"With the actions {how}{more} the process stays for ever in {_set(model, a)} or for ever in {_set(model, b)}, "
                 "depending on where it starts.")
    return Verdict(question, False, statement, policy, _own(model, a), None, _own(model, b))


def _first_actions(model: CTMDP) -> np.ndarray:
    first: np.ndarray = model.pair_action[model.pair_start[:-1]]
    return first


def _own(model: CTMDP, states: np.ndarray) -> tuple[Any, ...]:
    """Return the states at some positions, as the user calls them."""
    return tuple(model.states[int(s)] for s in states)


def _set(model: CTMDP, states: np.ndarray) -> str:
    names = ", ".join(model.states.label(s) for s in states[:SHOWN])
    return f"{{{names}, ...}} ({len(states)} states)" if len(states) > SHOWN else f"{{{names}}}"
