"""The nearest rates of declared events at which one policy earns as much as another, for learners that see which event happened.

While the process is in pair p, event k is seen at rate θ_k C_k(p), silent ones included, and a visit lasts 1/λ_p on average.  So
other rates θ' are told from θ by

    Σ_k C_k(p) kl(θ_k, θ'_k) / λ_p   nats per visit,   kl(x, y) = x log(x/y) + y - x

(docs/events-proofs.md).  That is never less than what row and holding time tell (eq:KLdiff), which can be read off the events.  The
derivative of a policy's gain in θ_k is Σ x(s) b_k(p), with the shares of time x and the worth b_k(p) of the event in its pairs.  So
the least Σ_k X_k kl under a linear condition is again one root in one multiplier μ: θ'_k = θ_k / (1 - μ slope_k / X_k), within the
bounds of each rate, X_k being the exposure that the visits give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sojourn.instance.tilting import RAREST, Family, Written, excess, written
from sojourn.model.ctmdp import CTMDP
from sojourn.model.events import EventTable, events_of

FASTEST = 1e3  # no rate is made larger than so many times itself: a visit tells that apart at once
FITTED = 8  # rounds in which rates of events are kept so small, or large, that the rates of pairs lie within their bounds


def event_nats(table: EventTable, rate: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return what a visit of each pair tells of other rates of the events, nats; `rate` are those of the pairs."""
    assert table.value is not None
    pair, event, total = table.exposure_rows
    apart = total * table.value[event] * excess((value / table.value)[event])
    return np.asarray(np.bincount(pair, apart, minlength=table.n_pairs) / rate)


@dataclass(frozen=True, eq=False)
class WrittenEvents:
    """A small model by its events; `rows` is the same by its jumps.  Rates of pairs stay within `bounds`."""

    rows: Written
    table: EventTable
    bounds: tuple[float, float]

    @property
    def steady(self) -> np.ndarray:
        """The true rates of the events."""
        assert self.table.value is not None
        return self.table.value

    @property
    def running(self) -> np.ndarray:
        """What no event pays, per unit of time."""
        return self.table.running

    @property
    def rate(self) -> np.ndarray:
        return self.rows.rate

    @cached_property
    def exposed(self) -> np.ndarray:
        """(P, K): how much each event is exposed in a visit."""
        pair, event, total = self.table.exposure_rows
        found = np.zeros((self.table.n_pairs, self.table.n_events))
        found[pair, event] = total / self.rate[pair]
        return found

    @cached_property
    def leading(self) -> np.ndarray:
        """(P, K): the coefficient of each event that leads away."""
        table, found = self.table, np.zeros((self.table.n_pairs, self.table.n_events))
        np.add.at(found, (table.pair[table.jumps], table.event[table.jumps]), table.coefficient[table.jumps])
        return found

    def sloped(self, theta: np.ndarray, pairs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return (gain, share of time per state, derivative of the gain in each rate) of the policy with these pairs."""
        table, n = self.table, len(pairs)
        mine = np.isin(table.pair, pairs)
        here, after = self.rows.state[table.pair[mine]], table.next_state[mine]
        event, size, jumps = table.event[mine], table.coefficient[mine], table.jumps[mine]
        q = np.zeros((n, n))
        np.add.at(q, (here[jumps], after[jumps]), (size * theta[event])[jumps])
        system = q - np.diag(q.sum(axis=1))
        balance, poisson = system.T.copy(), system.copy()
        balance[0], poisson[:, 0] = 1.0, -1.0  # shares sum to one; in the place of h(0) = 0 stands the gain
        share = np.maximum(np.linalg.solve(balance, np.eye(n)[0]), 0.0)
        found = np.linalg.solve(poisson, -table.income(theta)[pairs])
        bias = np.concatenate([[0.0], found[1:]])
        moved = np.where(jumps, table.reward[table.pair[mine]] + bias[after] - bias[here], 0.0)
        slope = np.bincount(event, share[here] * size * (table.payment[mine] + moved), minlength=table.n_events)
        return float(found[0]), share, slope

    def nats(self, theta: np.ndarray) -> np.ndarray:
        """Return what a visit of each pair tells, nats."""
        return event_nats(self.table, self.rate, theta)

    def loose(self, slope: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return (θ slope² of each event, the exposures that weigh it)."""
        free = ~self.table.known
        return (self.steady * slope**2)[free], self.exposed[:, free]

    def tilted(self, changed: np.ndarray, slope: np.ndarray, visits: np.ndarray, need: float) -> tuple[np.ndarray, bool]:
        """Return (the rates of least Σ X kl with Σ θ slope = need, True), or as far as bounds allow and False."""
        table, theta = self.table, self.steady
        low, high = np.maximum(table.low, RAREST * theta), np.minimum(table.high, FASTEST * theta)
        lean = slope / np.maximum(visits @ self.exposed, 1e-300)
        for _ in range(FITTED):
            found, reached = leaning(theta, slope, lean, low, high, need)
            fits = self.fitting(found)
            if fits is None:
                return found, reached
            low, high = np.maximum(low, fits[0]), np.minimum(high, fits[1])
        return theta, False

    def fitting(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return (low, high) of the rates of events that keep the rates of pairs within bounds; None where they are."""
        rate, steady = self.leading @ theta, self.steady
        below, above = rate < self.bounds[0] * (1 - 1e-12), rate > self.bounds[1] * (1 + 1e-12)
        if not (below.any() or above.any()):
            return None
        ends = []
        for off, end, far in ((below, self.bounds[0], theta < steady), (above, self.bounds[1], theta > steady)):
            part = np.clip((end - self.rate[off]) / (rate - self.rate)[off], 0.0, 1.0)  # of the way that is open
            least = np.where(self.leading[off] > 0, part[:, None], np.inf).min(axis=0, initial=np.inf)
            ends.append(np.where(far & (least < np.inf), steady + np.minimum(least, 1.0) * (theta - steady), np.nan))
        return np.nan_to_num(ends[0], nan=0.0), np.nan_to_num(ends[1], nan=np.inf)

    def cleared(self, theta: np.ndarray) -> np.ndarray:
        """Return the rates as they are."""
        return theta

    def as_model(self, model: CTMDP, theta: np.ndarray, rate_bounds: tuple[float, float]) -> CTMDP:
        """Return the model with these rates of its events."""
        return with_values(model, self.table, theta)

    def told(self, other: CTMDP) -> np.ndarray:
        """Return what a visit of each pair tells of another model, nats, rounded upwards."""
        assert other.events is not None and other.events.value is not None
        return self.nats(other.events.value) * (1 + 1e-12) + 1e-15


def leaning(theta: np.ndarray, slope: np.ndarray, lean: np.ndarray, low: np.ndarray, high: np.ndarray,
            need: float) -> tuple[np.ndarray, bool]:
    """Return (θ / (1 - μ lean) within bounds with Σ θ slope = need, True), or as far as bounds allow and False."""
    from scipy.optimize import brentq

    def at(mu: float) -> np.ndarray:
        left = 1 - mu * lean
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.clip(np.where(left > 0, theta / np.maximum(left, 1e-300), np.inf), low, high))

    def short(mu: float) -> float:
        return float(at(mu) @ slope) - need

    farthest = np.where(slope > 0, high, np.where(slope < 0, low, theta))
    if short(0.0) >= 0:
        return at(0.0), True
    spread = float((theta * slope * lean).sum())
    if not spread > 0 or farthest @ slope < need:
        return farthest, False
    most = -short(0.0) / spread
    while short(most) < 0:
        if not most < 1e280:
            return farthest, True
        most *= 4
    return at(brentq(short, 0.0, most, xtol=1e-300, rtol=1e-10)), True


def with_values(model: CTMDP, table: EventTable, theta: np.ndarray) -> CTMDP:
    """Return the model with other rates of its events, and what they pay then."""
    theta = np.clip(theta, table.low, table.high)
    flow, jumps, n = table.intensity(theta), table.jumps, model.n_states
    key = table.pair * n + np.maximum(table.next_state, 0)
    keys, where = np.unique(key[jumps], return_inverse=True)
    total = np.bincount(where, flow[jumps])
    rate = table.rate(theta)
    paid = np.bincount(where, (flow * table.payment)[jumps]) / total
    silent = np.bincount(table.pair[~jumps], (flow * table.payment)[~jumps], minlength=table.n_pairs)
    return model.replace(probability=total / rate[keys // n], rate=rate, reward=table.reward, running=table.running + silent,
                         transition_reward=paid if paid.any() else None, events=replace(table, value=theta),
                         rate_bounds=None if model.rate_bounds is None else (min(model.rate_bounds[0], float(rate.min())),
                                                                            max(model.rate_bounds[1], float(rate.max()))))


def family(model: CTMDP, rate_bounds: tuple[float, float], supports: bool, events: bool, told: bool = True) -> Family:
    """Return the models that a learner must reckon with: of other rates of the events, or of other rows and rates.

    `told` says whether the rate bounds are known to learners of events, too.
    """
    rows = written(model, rate_bounds, supports or events)
    return WrittenEvents(rows, events_of(model), rate_bounds if told else (0.0, np.inf)) if events else rows
