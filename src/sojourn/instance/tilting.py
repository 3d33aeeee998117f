"""The nearest model in which one policy earns as much as another: rows and rates of both are tilted until it does.

In intensities Q = rate x row the difference of two gains has the derivative c(y) = x(s) b(y) - x*(s) b*(y) at a jump of both
policies, with the shares of time x and b(y) = what the jump pays + h(y) - h(s).  To minimise Σ w KL over all rows, weighted by
visits w, with that difference taken as linear, is one root in one multiplier μ: Q_y = p_y / (1/λ - μ c(y) / w), kept within the
rate bounds.  The difference is then taken at the new model, and so on until nothing moves.  What comes out is some model; who
uses it proves what it is wanted for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.kernels.tilting import intensities
from sojourn.model.ctmdp import CTMDP

ROUNDS = 30
SETTLED = 1e-4  # relative change of the cost at which nothing moves any more
OUTSIDE = 1e-9  # chance given to each jump that never was, where a learner must reckon with it, for a tilt to begin from
USED = 2  # times that, below which a jump was not tilted and is taken back: good play, seen 1e10 times, would notice the trace
SLOWED = 1e-3  # of what lacks, that must be won by a multiplier four times as large
RAREST = 1e-6  # a jump is not made more than so much rarer
STUCK = 0.98  # of what lacked before, which is no progress
ENOUGH = 0.9  # of the margin, by which a policy may win
SMALLEST = 1 / 16  # part of a step


@dataclass(frozen=True, eq=False)
class Written:
    """A small model written out: (P, S) arrays over pairs and successors, and per pair rate, running reward and state."""

    row: np.ndarray
    blurred: np.ndarray  # the row from which an alternative starts: with a trace of every other state where supports are unknown
    paid: np.ndarray
    rate: np.ndarray
    running: np.ndarray
    state: np.ndarray
    bounds: tuple[float, float]


def written(model: CTMDP, rate_bounds: tuple[float, float], supports: bool) -> Written:
    """Return the model as dense arrays; where holding times are one unit the rates are known."""
    row = model.matrix.toarray()
    paid = np.repeat(model.reward[:, None], model.n_states, axis=1)
    if model.transition_reward is not None:
        paid[np.repeat(np.arange(model.n_pairs), np.diff(model.row_start)), model.next_state] += model.transition_reward
    blurred = row if supports else np.where(row > 0, row, OUTSIDE)
    bounds = (1.0, 1.0) if model.holding == "unit" else rate_bounds
    return Written(row, blurred / blurred.sum(axis=1)[:, None], paid, model.rate, model.running, model.pair_state, bounds)


@dataclass(frozen=True, eq=False)
class Tilted:
    """Intensities of all pairs, how far each pair's are from the true ones (nats per visit), and by how much the policy wins."""

    intensity: np.ndarray
    divergence: np.ndarray
    ahead: float


def value(model: Written, intensity: np.ndarray, pairs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return (gain, share of time per state, b per state and jump) of the policy with these pairs."""
    q, n = intensity[pairs], len(pairs)
    system = q - np.diag(q.sum(axis=1))
    income = (q * model.paid[pairs]).sum(axis=1) + model.running[pairs]
    balance, poisson = system.T.copy(), system.copy()
    balance[0], poisson[:, 0] = 1.0, -1.0  # shares sum to one; in the place of h(0) = 0 stands the gain
    share = np.linalg.solve(balance, np.eye(n)[0])
    found = np.linalg.solve(poisson, -income)
    gain, bias = float(found[0]), np.concatenate([[0.0], found[1:]])
    return gain, np.maximum(share, 0.0), model.paid[pairs] + bias[None, :] - bias[:, None]


def divergences(model: Written, intensity: np.ndarray) -> np.ndarray:
    """Return KL of every pair's row and rate from the true ones, nats per visit.   Paper: eq:KLdiff"""
    seen = model.row > 0
    ratio = np.where(seen, intensity / (np.where(seen, model.row, 1.0) * model.rate[:, None]), 1.0)
    z = ratio - 1
    small = z * z * (1 / 2 - z * (1 / 3 - z * (1 / 4 - z * (1 / 5 - z / 6))))
    with np.errstate(divide="ignore"):
        off = np.where(np.abs(z) < 1e-3, small, z - np.log(ratio))
    found: np.ndarray = (model.row * off).sum(axis=1) + np.where(seen, 0.0, intensity).sum(axis=1) / model.rate
    return found


def tilt(model: Written, pairs: np.ndarray, slope: np.ndarray, weight: np.ndarray, need: float) -> tuple[np.ndarray, bool]:
    """Return (the intensities of `pairs` of least Σ w KL with Σ Q slope = need, True), or as far as that goes and False."""
    from scipy.optimize import brentq

    row, rate, (low, high) = model.blurred[pairs], model.rate[pairs], model.bounds
    lean = slope / weight[:, None]
    steady: np.ndarray = rate[:, None] * row

    def short(mu: float) -> float:
        return float((intensities(row, rate, mu * lean, low, high) * slope).sum() - need)

    start = need - float((steady * slope).sum())
    if start <= 0:
        return steady, True
    spread = float((row * rate[:, None] ** 2 * slope * lean).sum())
    if not spread > 0:
        return steady, False
    most, lack = start / spread, -start
    while (reached := short(most)) < 0:
        if not (reached - lack > -SLOWED * reached and most < 1e200):  # bounds and supports do not allow it, at these slopes
            return intensities(row, rate, most * lean, low, high), False
        most, lack = 4 * most, reached
    mu = brentq(short, 0.0, most, xtol=1e-300, rtol=1e-10)
    return intensities(row, rate, mu * lean, low, high), True


def nearest(model: Written, pairs: np.ndarray, good: np.ndarray, visits: np.ndarray, margin: float) -> Tilted | None:
    """Return about the nearest model, by Σ visits KL, in which the policy `pairs` earns `margin` more per time than `good`.

    None if there is none.  Only rows and rates of these two policies are changed.
    """
    changed = np.union1d(pairs, good)
    steady = model.rate[:, None] * model.row
    q, cost, best, step, before = steady, np.inf, None, 1.0, np.inf
    for _ in range(ROUNDS):
        try:
            (gain, x, b), (least, own, own_b) = value(model, q, pairs), value(model, q, good)
        except np.linalg.LinAlgError:  # it went too far for floats
            break
        slope = np.zeros_like(q)
        slope[pairs] += x[:, None] * b
        slope[good] -= own[:, None] * own_b
        need = margin - float(x @ model.running[pairs] - own @ model.running[good])
        told, off = divergences(model, q), abs(gain - least - margin)
        paid = float(visits[changed] @ told[changed])
        if gain - least > ENOUGH * margin:
            settled = paid > cost * (1 - SETTLED)
            best, cost = (best, cost) if best is not None and settled else (Tilted(q, told, gain - least), paid)
            if settled:
                break
        step = max(step / 2, SMALLEST) if off > before else min(1.5 * step, 1.0)  # to and fro, or on the way
        onward, reached = tilt(model, changed, slope[changed], visits[changed], need)
        if not reached and off > STUCK * before:
            break
        before = off
        q = q.copy()
        q[changed] = np.maximum(q[changed] + step * (onward - q[changed]), RAREST * steady[changed])
        q[(model.row == 0) & (q < USED * OUTSIDE * model.rate[:, None])] = 0.0
    return best
