"""The theory beside the curves: the lower bound for what each learner was told, and the proved upper bounds, where they exist.

A learner that is told the supports (which jumps are possible) is set against C(M), one that is not against C_u(M) >= C(M), and a
learner of declared events against the constant of hidden events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sojourn.errors import SojournError
from sojourn.instance.difficulty import Difficulty, difficulty
from sojourn.learn.catalogue import LEARNERS, built_in_class, proved_bound
from sojourn.learn.ct_ucrl import DELTA
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.holding import HoldingTimes, no_bounds, other_law

MAX_PAIRS = 200_000  # beyond this the constants would take longer than looking at a store should
MAX_EVENT_PAIRS = 2_000  # the constant of hidden events is a linear program
MAX_UPPER_PAIRS = 400  # the upper bounds need the diameter and, for C', every policy
OWN_THEOREMS = ("Theorem 1", "Theorem 2")  # of docs/learners-proofs.md


NAMES = {"supports": "C(M)", "no supports": "C_u(M)", "events": "C_events(M)"}  # what a learner was told: its constant
TOLD = {"C(M)": "learners that are told the supports, that is which jumps are possible",
        "C_u(M)": "learners that are not told the supports, that is which jumps are possible",
        "C_events(M)": "learners that are told the events and see which one happened"}


def told(source: dict[str, Any]) -> str:
    """Return what a learner in a store was told: `supports`, `no supports` or `events`.

    Only our own learners are asked; of others the store says it, since reading a store imports nothing that is named in it.
    """
    if source["said"].get("supports"):
        return "supports"
    events = source.get("events") or getattr(built_in_class(source["name"]), "needs_events", False)
    return "events" if events else "no supports"


@dataclass(frozen=True, eq=False)
class Floor:
    """The lower bound for learners of one kind: `constant` per unit of log N, and per pair which are critical with their K."""

    name: str = "C(M)"
    constant: float = float("nan")  # reward
    divergence: np.ndarray | None = None  # K
    critical: np.ndarray | None = None
    meaningful: float = float("nan")  # decisions from which on the bound means something

    def lower(self, epochs: float) -> float:
        """Return the constant times log N; NaN where there is none."""
        return self.constant * math.log(max(1.0, epochs))


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of one model; `reason` says why there is no lower one.  Arrays are per pair.

    `floors` are {what learners were told: their lower bound}, of the kinds of learners that the study has, C(M) always.
    """

    gaps: np.ndarray | None = None  # φ*
    gain: float = float("nan")
    policy: np.ndarray | None = None  # the optimal one
    upper: dict[str, Callable[[float], float]] = field(default_factory=dict)  # {words: bound as a function of N}
    reason: str = ""
    floors: dict[str, Floor] = field(default_factory=dict)

    def floor(self, kind: str) -> Floor:
        """Return the lower bound for learners that were told `kind` (a key of NAMES); with a NaN where there is none."""
        return self.floors.get(kind, Floor(NAMES[kind]))

    @property
    def constant(self) -> float:
        """C(M), reward; NaN where there is none."""
        return self.floor("supports").constant


def bounds_of(model: CTMDP, learners: Iterable[tuple[str, dict[str, Any]]] = (), epochs: int | None = None,
              kinds: Iterable[str] = (), holding_times: HoldingTimes = None) -> Bounds:
    """Return the bounds that exist for `model`; never raises for a model that breaks an assumption, but says which.

    `learners` are (catalogue name, parameters in use): an upper bound is there only if a learner to which it applies is.
    `kinds` say what the learners were told (keys of NAMES): each has its lower bound; C(M) is always there.  Where the
    `holding_times` are drawn by another law than the model's own there are gaps, but no bounds.
    """
    if model.n_pairs > MAX_PAIRS:
        return Bounds(
            reason=f"the model has {model.n_pairs:,} pairs; above {MAX_PAIRS:,} the constants are left to `sojourn difficulty`."
        )
    try:
        found = difficulty(model)
        known = Bounds(gaps=found.optimum.gap, gain=found.gain, policy=np.asarray(found.policy))
    except SojournError as error:
        return Bounds(reason=str(error))
    if other := other_law(model, holding_times):
        return replace(known, reason=f"{no_bounds(model, other)}.")
    try:
        known = replace(known, floors={kind: _floor(found, kind) for kind in dict.fromkeys(["supports", *kinds])})
    except SojournError as error:
        return replace(known, reason=str(error))
    if model.n_pairs > MAX_UPPER_PAIRS or not epochs:
        return known
    return replace(known, upper=_upper(found.as_told, learners, epochs))


def _floor(found: Difficulty, kind: str) -> Floor:
    """Return the lower bound for learners that were told `kind`; raises where the model has none."""
    name = NAMES[kind]
    if kind == "events":
        return Floor(name, found.events.constant if found.model.n_pairs <= MAX_EVENT_PAIRS else float("nan"))
    found, supports = found.as_told, kind == "supports"
    divergences = found.divergences if supports else found.divergences_unknown
    constant = found.lower_bound_constant if supports else found.lower_bound_constant_unknown
    return Floor(name, constant, divergences.k, divergences.critical,
                 found.meaningful_epochs(supports) if constant > 0 else float("nan"))


def _upper(found: Difficulty, learners: Iterable[tuple[str, dict[str, Any]]], epochs: int) -> dict[str, Callable[[float], float]]:
    """Return the upper bounds of these learners, in words and as functions of N."""
    out: dict[str, Callable[[float], float]] = {}
    ours = [(name, given, proved_bound(name, given, epochs)) for name, given in learners]
    proved = {theorem for _, _, theorem in ours}
    if "thm:UCRL" in proved:
        printed = "CT-UCRL bound as printed" + (" (no guarantee: rate_max > 1)" if found.rate_bounds[1] > 1 else "")
        for words, consistent in ((printed, False), ("CT-UCRL bound, unit-consistent", True)):
            _keep(out, words, lambda n, offset, c=consistent: found.upper_bound(n, consistent=c, offset=offset))
    if "thm:UCRL2" in proved:
        _keep(
            out,
            "doubling bound, unit-consistent",
            lambda n, offset: found.upper_bound_doubling(epochs=max(2.0, n), consistent=True, offset=offset),
        )
    for name, given, theorem in ours:
        if theorem in OWN_THEOREMS and given.get("reward_range") is None:
            _keep_own(out, f"{name}{_at(given, theorem)} ({theorem})", found, name, given)
    return out


def _at(given: dict[str, Any], theorem: str) -> str:
    """Return what a bound of our own depends on beside the learner's name, in words."""
    if theorem == "Theorem 2":
        return f" at delta = {own_level('printed', given):g}"
    return "" if given.get("growth", 0.1) == 0.1 else f" with growth = {given['growth']:g}"


def own_level(sets: str, given: dict[str, Any]) -> float | None:
    """Return the fixed level of a learner with such sets and these parameters in use; None where it is 1/t."""
    if given.get("horizon") is not None:
        return 1 / float(given["horizon"])
    if given.get("delta") is not None:
        return float(given["delta"])
    return DELTA if sets == "printed" else None


def own_bound(found: Difficulty, name: str, given: dict[str, Any], epochs: float) -> float:
    """Return the bound of docs/learners-proofs.md for a learner of `OWN_THEOREMS`, with these parameters in use.

    Taken as if supports were not told, which is the larger one.
    """
    n = max(epochs, found.model.n_pairs, 3)  # what is lost within fewer decisions is no more
    sets = LEARNERS.built_in[name].sets
    return found.optimism_bound(sets, n, growth=float(given.get("growth", 1.0)), delta=own_level(sets, given)).total


def proved_of(found: Difficulty, name: str, given: dict[str, Any], epochs: int) -> tuple[float, str] | None:
    """Return what is proved of a learner's mean pseudo-regret by docs/learners-proofs.md, and the theorem's name; None if nothing.

    `given` are its parameters in use.  Models above 400 pairs are left out.
    """
    theorem = proved_bound(name, given, epochs)
    if theorem not in OWN_THEOREMS or given.get("reward_range") is not None or found.model.n_pairs > MAX_UPPER_PAIRS:
        return None
    try:
        bound = own_bound(found, name, given, float(epochs))
    except SojournError:
        return None
    return (bound, theorem) if math.isfinite(bound) else None


def _keep_own(out: dict[str, Callable[[float], float]], words: str, found: Difficulty, name: str, given: dict[str, Any]) -> None:
    """Keep a bound of our own if the model has one."""
    with suppress(SojournError):
        if math.isfinite(own_bound(found, name, given, 10.0)):
            out[words] = lambda n: own_bound(found, name, given, n)


def _keep(out: dict[str, Callable[[float], float]], words: str, bound: Callable[..., float]) -> None:
    """Keep a bound if it exists: with C' where that can be worked out, else its logarithmic term alone, and said so."""
    for offset, note in ((None, ""), (0.0, " (log N term)")):
        try:
            if math.isfinite(bound(10.0, offset)):
                out[words + note] = lambda n, offset=offset: bound(max(1.0, n), offset)  # type: ignore[misc]
                return
        except SojournError:
            continue
