"""The theory beside the curves: C(M) log N, what each pair must be tried, the upper bound as printed, where they exist."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sojourn.errors import AssumptionError, SojournError
from sojourn.instance.gaps import optimum
from sojourn.instance.least_divergence import least_divergence
from sojourn.instance.lower_bound import lower_bound_constant
from sojourn.model.checks import irreducible
from sojourn.model.ctmdp import CTMDP

MAX_PAIRS = 200_000  # beyond this the constants would take longer than looking at a store should


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of one model; `reason` says why there are none."""

    constant: float = float("nan")  # C(M), reward
    gaps: np.ndarray | None = None  # φ*, per pair
    divergence: np.ndarray | None = None  # K, per pair
    critical: np.ndarray | None = None
    gain: float = float("nan")
    policy: np.ndarray | None = None  # the optimal one
    upper: Callable[[float], float] | None = None  # thm:UCRL as printed, for CT-UCRL with delta = 1/N
    upper_consistent: Callable[[float], float] | None = None
    reason: str = ""

    def lower(self, epochs: float) -> float:
        """Return C(M) log N; NaN where there is no C(M)."""
        return self.constant * math.log(max(1.0, epochs))


def bounds_of(model: CTMDP) -> Bounds:
    """Return the bounds that exist for `model`; never raises for a model that breaks an assumption, but says which."""
    if model.n_pairs > MAX_PAIRS:
        return Bounds(
            reason=f"the model has {model.n_pairs:,} pairs; beyond {MAX_PAIRS:,} the constants are left to `sojourn difficulty`."
        )
    try:
        best = optimum(model)
    except SojournError as error:
        return Bounds(reason=str(error))
    known = Bounds(gaps=best.gap, gain=best.gain, policy=np.asarray(best.policy))
    try:
        irreducible_or_raise(model)
        found = least_divergence(best, model.bounds)
    except SojournError as error:
        return replace(known, reason=str(error))
    return replace(known, constant=lower_bound_constant(best, found), divergence=found.k, critical=found.critical)


def irreducible_or_raise(model: CTMDP) -> None:
    """Raise where some policy is not irreducible: the lower bound is then not proved (assume-transition)."""
    verdict = irreducible(model)
    if not verdict:
        raise AssumptionError(verdict.statement)
