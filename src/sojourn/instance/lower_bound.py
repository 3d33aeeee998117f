"""What any uniformly fast learner must pay: C(M) log N, and how often it must try each critical pair.   Paper: thm:main"""

from __future__ import annotations

import math

import numpy as np

from sojourn.errors import ParameterError
from sojourn.instance.first_passage import EPSILON
from sojourn.instance.gaps import Optimum
from sojourn.instance.least_divergence import LeastDivergence
from sojourn.kernels.divergence_bounds import divergence_intervals
from sojourn.model.numbers import real_number


def lower_bound_constant(best: Optimum, found: LeastDivergence) -> float:
    """Return C(M) = Σ over critical pairs of φ*/K, in reward; 0 if nothing is critical.   Paper: eq:CM"""
    c = found.critical
    return math.fsum(best.gap[c] / found.k[c])


def least_divergence_bounds(best: Optimum, rate_bounds: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return proved lower and upper bounds of K per pair, the mean rewards known; (0, inf) where floats prove nothing.

    Both are infinite where a pair is certainly not critical; where that is not certain, only the upper one.
    """
    model, proof = best.model, best.proof
    step, off = proof.steps(model)
    lengths = np.diff(model.row_start)
    paid = np.repeat(model.reward, lengths)
    if model.transition_reward is not None:
        paid = paid + model.transition_reward
    b = step + paid
    off = off + EPSILON * (np.abs(b) + np.abs(paid))
    drift = model.running - proof.gain
    drift_off = proof.gain_error + EPSILON * (np.abs(model.running) + abs(proof.gain))
    lack = np.abs(1.0 - np.add.reduceat(model.probability, model.row_start[:-1])) + lengths * EPSILON
    gap_off = proof.error + lack * np.abs(model.reward)  # K asks for rows that sum to one
    wanted = ~best.optimal | best.doubtful
    wanted &= np.isfinite(proof.error) & np.isfinite(np.maximum.reduceat(off, model.row_start[:-1]))
    low, high = np.zeros(model.n_pairs), np.full(model.n_pairs, np.inf)
    divergence_intervals(
        model.row_start, model.probability, b, off, model.rate, drift, drift_off, proof.gap, gap_off, *rate_bounds, wanted, low, high
    )
    return np.maximum(low, 0.0), high


def lower_bound_constant_bounds(
    best: Optimum, rate_bounds: tuple[float, float], bernoulli: bool = False
) -> tuple[float, float]:
    """Return an interval that holds C(M) for certain: Σ φ*/K with both ends of each gap and of each K.

    Unknown mean rewards (`bernoulli`) can only make K smaller, so the lower end holds for them too; the upper one is open.
    """
    low, high = least_divergence_bounds(best, rate_bounds)
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
