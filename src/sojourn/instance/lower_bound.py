"""What any uniformly fast learner must pay: C(M) log N, and how often it must try each critical pair.   Paper: thm:main"""

from __future__ import annotations

import math

import numpy as np

from sojourn.errors import ParameterError
from sojourn.instance.divergence_bounds import least_divergence_bounds
from sojourn.instance.first_passage import EPSILON
from sojourn.instance.gaps import Optimum
from sojourn.instance.least_divergence import LeastDivergence
from sojourn.instance.rows import Rows, known_rows
from sojourn.model.numbers import real_number


def lower_bound_constant(best: Optimum, found: LeastDivergence) -> float:
    """Return C(M) = Σ over critical pairs of φ*/K, in reward; 0 if nothing is critical.   Paper: eq:CM

    A pair whose gap is rounding, so that K comes out as 0, is left out; the interval's upper end is open then.
    """
    c = found.critical & (found.k > 0)
    return math.fsum(best.gap[c] / found.k[c])


def lower_bound_constant_bounds(
    best: Optimum, rate_bounds: tuple[float, float], bernoulli: bool = False, rows: Rows | None = None
) -> tuple[float, float]:
    """Return an interval that holds C(M) for certain: Σ φ*/K with both ends of each gap and of each K.

    Unknown mean rewards (`bernoulli`) can only make K smaller, so the lower end holds for them too; the upper one is open.
    """
    if not best.decided:
        return 0.0, math.inf
    low, high = least_divergence_bounds(best, rate_bounds, rows or known_rows(best.model))
    proof = best.proof
    least, most = np.maximum(proof.gap - proof.error, 0.0), proof.gap + proof.error
    lossy = ~best.optimal
    with np.errstate(divide="ignore", invalid="ignore"):
        below = least[lossy] / high[lossy]
        above = most[lossy | best.doubtful] / low[lossy | best.doubtful]
    total = math.fsum(np.nan_to_num(above, nan=np.inf, posinf=np.inf)) if not bernoulli else math.inf
    return math.fsum(np.nan_to_num(below)) * (1 - 4 * EPSILON), total * (1 + 4 * EPSILON)


def horizon(epochs: float | None = None, time: float | None = None) -> tuple[str, float]:
    """Return which of the two horizons is given, and its value (at least 1)."""
    if (epochs is None) == (time is None):
        raise ParameterError(f"give either epochs= or time= (epochs is {epochs!r}, time is {time!r}).")
    name, given = ("epochs", epochs) if epochs is not None else ("time", time)
    value = real_number(name, given)
    if value < 1:
        raise ParameterError(f"{name} is {value:g}; the bounds are logarithmic and need {name} >= 1.")
    return name, value


def visits_needed(found: LeastDivergence, epochs: float) -> np.ndarray:
    """Return log N / K per pair: the visits that any uniformly fast learner spends on it, to first order.  0 if not critical.

    Paper: lem: TN-LB
    """
    _, n = horizon(epochs=epochs)
    visits = np.zeros(len(found.k))
    visits[found.critical] = math.log(n) / found.k[found.critical]
    return visits
