"""The nearest model in which one policy earns as much as another: rows and rates of both are tilted until it does.

In intensities Q = rate x row the difference of two gains has the derivative c(y) = x(s) b(y) - x*(s) b*(y) at a jump of both
policies, with the shares of time x and b(y) = what the jump pays + h(y) - h(s).  To minimise Σ w KL over all rows, weighted by
visits w, with that difference taken as linear, is one root in one multiplier μ: Q_y = p_y / (1/λ - μ c(y) / w), kept within the
rate bounds.  The difference is then taken at the new model, and so on until nothing moves.  What comes out is some model; who
uses it proves what it is wanted for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

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

    @property
    def rows(self) -> Written:
        """The true model, written out."""
        return self

    @cached_property
    def steady(self) -> np.ndarray:
        """The true intensities, rate x row."""
        return np.asarray(self.rate[:, None] * self.row)

    def sloped(self, intensity: np.ndarray, pairs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return (gain, share of time per state, derivative of the gain in each intensity) of the policy with these pairs."""
        gain, share, b = value(self, intensity, pairs)
        slope = np.zeros_like(intensity)
        slope[pairs] = share[:, None] * b
        return gain, share, slope

    def nats(self, intensity: np.ndarray) -> np.ndarray:
        """Return what a visit of each pair tells, nats."""
        return divergences(self, intensity)

    def loose(self, slope: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return (Σ p (λ slope)² of each changed pair, None: it is weighed by the visits of that pair)."""
        return (self.blurred * (self.rate[:, None] * slope) ** 2).sum(axis=1)[changed], None

    def tilted(self, changed: np.ndarray, slope: np.ndarray, visits: np.ndarray, need: float) -> tuple[np.ndarray, bool]:
        """Return the intensities of `tilt` for the changed pairs, the true ones elsewhere, and whether they reach `need`."""
        found = self.steady.copy()
        found[changed], reached = tilt(self, changed, slope[changed], visits[changed], need)
        return found, reached

    def cleared(self, intensity: np.ndarray) -> np.ndarray:
        """Return the intensities without the traces of jumps that were not tilted."""
        return np.where((self.row == 0) & (intensity < USED * OUTSIDE * self.rate[:, None]), 0.0, intensity)

    def as_model(self, model: CTMDP, intensity: np.ndarray, rate_bounds: tuple[float, float]) -> CTMDP:
        """Return the model with these intensities."""
        return as_model(model, intensity, rate_bounds)

    def told(self, other: CTMDP) -> np.ndarray:
        """Return what a visit of each pair tells of another model, nats, rounded upwards."""
        return np.asarray(divergences(self, other.rate[:, None] * other.matrix.toarray()) * (1 + 1e-12) + 1e-15)


def written(model: CTMDP, rate_bounds: tuple[float, float], supports: bool) -> Written:
    """Return the model as dense arrays; where holding times are one unit the rates are known."""
    row = model.matrix.toarray()
    paid = np.repeat(model.reward[:, None], model.n_states, axis=1)
    if model.transition_reward is not None:
        paid[np.repeat(np.arange(model.n_pairs), np.diff(model.row_start)), model.next_state] += model.transition_reward
    blurred = row if supports else np.where(row > 0, row, OUTSIDE)
    bounds = (1.0, 1.0) if model.holding == "unit" else rate_bounds
    return Written(row, blurred / blurred.sum(axis=1)[:, None], paid, model.rate, model.running, model.pair_state, bounds)


class Family(Protocol):
    """Models near the true one, each an array: the intensities of all jumps (`Written`), or the rates of events (`WrittenEvents`).

    `told` and `nats` are what is seen of them per visit, and so decide which learners the bounds are for.
    """

    @property
    def rows(self) -> Written: ...
    @property
    def running(self) -> np.ndarray: ...
    @property
    def rate(self) -> np.ndarray: ...
    @property
    def steady(self) -> np.ndarray: ...
    def sloped(self, intensity: np.ndarray, pairs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]: ...
    def nats(self, intensity: np.ndarray) -> np.ndarray: ...
    def loose(self, slope: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]: ...
    def tilted(self, changed: np.ndarray, slope: np.ndarray, visits: np.ndarray, need: float) -> tuple[np.ndarray, bool]: ...
    def cleared(self, intensity: np.ndarray) -> np.ndarray: ...
    def as_model(self, model: CTMDP, intensity: np.ndarray, rate_bounds: tuple[float, float]) -> CTMDP: ...
    def told(self, other: CTMDP) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Tilted:
    """Intensities of all pairs (or rates of all events), nats per visit of each pair, and by how much the policy wins."""

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
    found: np.ndarray = (model.row * excess(ratio)).sum(axis=1) + np.where(seen, 0.0, intensity).sum(axis=1) / model.rate
    return found


def excess(ratio: np.ndarray) -> np.ndarray:
    """Return y - 1 - log y for ratios y, with its digits where y is near 1."""
    z = ratio - 1
    small = z * z * (1 / 2 - z * (1 / 3 - z * (1 / 4 - z * (1 / 5 - z / 6))))
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(np.abs(z) < 1e-3, small, z - np.log(ratio)))


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


def nearest(model: Family, pairs: np.ndarray, good: np.ndarray, visits: np.ndarray, margin: float) -> Tilted | None:
    """Return about the nearest model, by Σ visits KL, in which the policy `pairs` earns `margin` more per time than `good`.

    None if there is none.  Only rows and rates of these two policies are changed (or events).
    """
    changed = np.union1d(pairs, good)
    q, cost, best, step, before = model.steady, np.inf, None, 1.0, np.inf
    for _ in range(ROUNDS):
        try:
            (gain, x, slope), (least, own, own_slope) = model.sloped(q, pairs), model.sloped(q, good)
        except np.linalg.LinAlgError:  # it went too far for floats
            break
        need = margin - float(x @ model.running[pairs] - own @ model.running[good])
        told, off = model.nats(q), abs(gain - least - margin)
        paid = float(visits @ told)
        if gain - least > ENOUGH * margin:
            settled = paid > cost * (1 - SETTLED)
            best, cost = (best, cost) if best is not None and settled else (Tilted(q, told, gain - least), paid)
            if settled:
                break
        step = max(step / 2, SMALLEST) if off > before else min(1.5 * step, 1.0)  # to and fro, or on the way
        onward, reached = model.tilted(changed, slope - own_slope, visits, need)
        if not reached and off > STUCK * before:
            break
        before = off
        q = model.cleared(np.maximum(q + step * (onward - q), RAREST * model.steady))
    return best


def as_model(model: CTMDP, intensity: np.ndarray, rate_bounds: tuple[float, float]) -> CTMDP:
    """Return the model with other rows and rates."""
    rate = intensity.sum(axis=1)
    row = intensity / rate[:, None]
    rate = model.rate if model.holding == "unit" else np.clip(rate, *rate_bounds)
    if not ((row > 0) & (model.matrix.toarray() == 0)).any():
        owner = np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))
        return model.replace(probability=row[owner, model.next_state], rate=rate, rate_bounds=rate_bounds)
    paid = None
    if model.transition_reward is not None:
        from scipy.sparse import csr_matrix

        paid = csr_matrix((model.transition_reward, model.next_state, model.row_start), shape=row.shape).toarray()
    return CTMDP.from_pairs(
        model.pair_state, model.pair_action, row, rate, model.reward, model.running, transition_reward=paid,
        states=list(model.states), actions=list(model.actions), rate_bounds=rate_bounds, normalize_rows=True, holding=model.holding)
