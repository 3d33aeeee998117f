"""The theory beside the curves: C(M) log N, what each pair must be tried, and the proved upper bounds, where they exist."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sojourn.errors import SojournError
from sojourn.instance.difficulty import Difficulty, difficulty
from sojourn.learn.catalogue import LEARNERS
from sojourn.model.ctmdp import CTMDP

MAX_PAIRS = 200_000  # beyond this the constants would take longer than looking at a store should
MAX_UPPER_PAIRS = 400  # the upper bounds need the diameter and, for C', every policy


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of one model; `reason` says why there is no lower one.  Arrays are per pair."""

    constant: float = float("nan")  # C(M), reward
    gaps: np.ndarray | None = None  # φ*
    divergence: np.ndarray | None = None  # K
    critical: np.ndarray | None = None
    gain: float = float("nan")
    policy: np.ndarray | None = None  # the optimal one
    upper: dict[str, Callable[[float], float]] = field(default_factory=dict)  # {words: bound as a function of N}
    reason: str = ""
    meaningful: float = float("nan")  # decisions from which on C(M) log N means something

    def lower(self, epochs: float) -> float:
        """Return C(M) log N; NaN where there is no C(M)."""
        return self.constant * math.log(max(1.0, epochs))


def bounds_of(model: CTMDP, learners: dict[str, dict[str, Any]] | None = None, epochs: int | None = None) -> Bounds:
    """Return the bounds that exist for `model`; never raises for a model that breaks an assumption, but says which.

    `learners` are {catalogue name: parameters}: an upper bound is there only if a learner to which it applies is.
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
    try:
        known = replace(
            known, constant=found.lower_bound_constant, divergence=found.divergences.k, critical=found.divergences.critical,
            meaningful=found.meaningful_epochs() if found.lower_bound_constant > 0 else float("nan"),
        )
    except SojournError as error:
        return replace(known, reason=str(error))
    if model.n_pairs > MAX_UPPER_PAIRS or not learners:
        return known
    return replace(known, upper=_upper(found, learners, epochs))


def _upper(found: Difficulty, learners: dict[str, dict[str, Any]], epochs: int | None) -> dict[str, Callable[[float], float]]:
    """Return the bounds of the learners present: thm:UCRL needs delta = 1/N, thm:UCRL2 is for every N."""
    out: dict[str, Callable[[float], float]] = {}
    proved = {LEARNERS[name].upper_bound: given for name, given in learners.items() if name in LEARNERS}
    given = proved.get("thm:UCRL", {})
    if epochs and (given.get("horizon") == epochs or given.get("delta") == 1 / epochs):
        for words, consistent in (("CT-UCRL bound as printed", False), ("CT-UCRL bound, unit-consistent", True)):
            _keep(out, words, lambda n, offset, c=consistent: found.upper_bound(n, consistent=c, offset=offset))
    if epochs and "thm:UCRL2" in proved:
        _keep(
            out,
            "doubling bound, unit-consistent",
            lambda n, offset: found.upper_bound_doubling(epochs=max(2.0, n), consistent=True, offset=offset),
        )
    return out


def _keep(out: dict[str, Callable[[float], float]], words: str, bound: Callable[..., float]) -> None:
    """Keep a bound if it exists: with C' where that can be worked out, else its logarithmic term alone, and said so."""
    for offset, note in ((None, ""), (0.0, " (log N term)")):
        try:
            if math.isfinite(bound(10.0, offset)):
                out[words + note] = lambda n, offset=offset: bound(max(1.0, n), offset)  # type: ignore[misc]
                return
        except SojournError:
            continue
