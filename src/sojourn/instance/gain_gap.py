"""The gap in gain between the best and the second-best policy, per unit of time and per decision.   Paper: eq:gap-g

When every policy is irreducible, the second-best policy deviates from an optimal one in a single state (`deviations`).
Other models are enumerated if they are small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.errors import AssumptionError
from sojourn.instance.deviations import Least, least_ratios
from sojourn.instance.enumeration import MAX_POLICIES, count_policies, enumerated_gap
from sojourn.instance.gaps import Optimum, optimum
from sojourn.model.checks import Verdict, irreducible
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solution import Solution

PROVED = 1e-9
LEAST = 1e-290  # below, products on the way may have lost all their digits to underflow


@dataclass(frozen=True, eq=False)
class GainGap(float):
    """g (reward per unit time), a float that knows g_step (per decision) and the policies attaining both; None if all are optimal.

    `bounds` and `per_decision_bounds` hold for certain for the numbers of the model as stored; `exact` says that both are
    within 1e-9 of each other (relative).  A pair that 32 digits cannot tell from an optimal one counts as a tie.  A pair whose
    gap is proved positive but within the tolerance of ties is left out of the values; the bounds reach down to what it gives.
    Gaps below 1e-290 are proved to be less than that only.  The bounds are (0, inf) where floats cannot tell which policies are
    optimal.
    """

    value: float
    per_decision: float
    policy: np.ndarray | None
    per_decision_policy: np.ndarray | None
    pair: tuple[Any, Any] | None  # (state, action) where `policy` leaves the optimal one, as the user calls them
    method: str
    bounds: tuple[float, float]
    per_decision_bounds: tuple[float, float]

    def __new__(cls, value: float, *details: Any, **named: Any) -> GainGap:
        return super().__new__(cls, value)

    @property
    def exact(self) -> bool:
        """Whether both values are proved to 1e-9 (relative)."""
        return all(low == high or high <= low * (1 + PROVED) for low, high in (self.bounds, self.per_decision_bounds))

    def __str__(self) -> str:
        return repr(self.value)


def gain_gap(model: CTMDP, solution: Solution | None = None) -> GainGap:
    """Return ρ* minus the best gain below ρ*, in reward per unit time, and its counterpart per decision; infinite if all tie.

    Above 3,000 states, where jumps are long and too many deviations are nearly alike, only some are solved for: the value is
    attained, and the lower bound says what the others may come to.
    A model that is not irreducible under every policy is enumerated if it has at most 20,000 policies, else refused with the
    witness.

    >>> model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    >>> round(float(gain_gap(model)), 12), gain_gap(model).policy.tolist()
    (4.514285714286, [0, 0])
    """
    return gap_of(optimum(model, solution), irreducible(model))


def gap_of(best: Optimum, verdict: Verdict) -> GainGap:
    """Return the gain gap of a solved model, by single deviations or, where these do not suffice, by enumeration."""
    model, method = best.model, "single deviations"
    if best.optimal.all() and best.decided and not best.doubtful.any():
        endless = (float("inf"), float("inf"))
        return GainGap(float("inf"), float("inf"), None, None, None, "all policies are optimal", endless, endless)
    if best.optimal.all() and not best.doubtful.any():
        by_time = by_step = Least(float("inf"), (0.0, float("inf")), -1, None)
    elif verdict:
        by_time, by_step = least_ratios(best)
    else:
        if count_policies(model) > MAX_POLICIES:
            raise AssumptionError(
                f"the gain gap needs every policy irreducible (assume-transition), or at most {MAX_POLICIES:,} "
                f"policies to compare one by "
                f"one; this model has about {count_policies(model):.3g}. {verdict.statement} Remove such actions, "
                f"or make the model smaller."
            )
        method = "enumeration"
        by_time, by_step = enumerated_gap(best)
    by_time, by_step = (replace(found, bounds=_above_underflow(*found.bounds)) for found in (by_time, by_step))
    if not best.decided:
        by_time, by_step = (replace(found, bounds=(0.0, float("inf"))) for found in (by_time, by_step))
    return GainGap(
        by_time.value, by_step.value, by_time.policy, by_step.policy, _pair(model, by_time), method, by_time.bounds, by_step.bounds
    )


def _above_underflow(low: float, high: float) -> tuple[float, float]:
    return (low, high) if low >= LEAST else (0.0, max(high, LEAST))


def _pair(model: CTMDP, found: Least) -> tuple[Any, Any] | None:
    return None if found.pair < 0 else (model.states[model.pair_state[found.pair]], model.actions[model.pair_action[found.pair]])
