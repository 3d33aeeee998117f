"""Do the declared events hold?  A test that may be looked at at any time.

The null hypothesis: every event k has one rate, so that its count in cell c (a pair and a successor) is Poisson with mean θ_k X_c,
X_c the cell's exposure.  At the best θ_k its log-likelihood is L0 = n log(n/X) - n.  Two alternatives, each an average of
likelihoods fixed before the data, hence a martingale of mean 1 against the true rates, and less against the best ones:

- splits: in half of the cells (above a threshold of one coordinate of the state, or under one action) the rate is ρ times that in
  the others, ρ from 0.4 to 2.5;
- frailty: the rates of the cells are scattered around a common one as Gamma(κ), κ from 3 (wide) to 1000; of this average a proved
  lower bound is taken, mostly less than 2 % below it (kernels/frailty.py).

E is half the mean over events of each, and P(E >= 100 at some time) <= 1 % if the structure is right (Ville's inequality).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.kernels.frailty import log_frailty
from sojourn.learn.event_belief import SCALES, SHAPE, log_mixture
from sojourn.learn.event_counts import EventCounts
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge

RATIOS = np.array([0.4, 0.6, 0.75, 0.85, 0.92])
RATIOS = np.concatenate([RATIOS, 1 / RATIOS])
THRESHOLDS = 16  # at most, on each coordinate of the state
REJECT = 100.0
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Evidence:
    """How much the data speak against the structure: log E, and log E of each event that was tested.

    `since` is the decision at which a learner first saw E >= 100 (0: never): less later on takes nothing back.
    """

    log_e: float
    events: dict[str, float]
    since: int = 0

    @property
    def rejected(self) -> bool:
        """Whether E >= 100, now or before, which happens with probability at most 1 % if the structure is right."""
        return bool(self.since or self.log_e >= np.log(REJECT))

    @property
    def worst(self) -> str:
        """The event against whose one rate the data speak most."""
        return max(self.events, key=lambda name: self.events[name], default="")

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"log_e": self.log_e, "rejected": self.rejected, "since": self.since, "by_event": self.events, "words": str(self)}

    def __str__(self) -> str:
        if not self.events:
            return "nothing to test: no event has more than one cell"
        shown = f"{np.exp(self.log_e):.3g}" if self.log_e < 700 else f"10^{self.log_e / np.log(10):.0f}"
        if self.log_e < np.log(REJECT) and self.since:
            return (f"the declared events do not hold: evidence {REJECT:g} to 1 and more against them at decision {self.since:,} "
                    f"({shown} to 1 now)")
        if self.rejected:
            return f"the declared events do not hold: evidence {shown} to 1 against them, most of it about {self.worst!r}"
        return f"nothing speaks against the declared events: evidence {shown} to 1 (100 would)"


class StructureTest:
    """The test for one event table; `evidence(counts)` looks at the counts so far."""

    def __init__(self, knowledge: Knowledge, table: EventTable):
        self.table = table
        cells = np.bincount(table.event, minlength=table.n_events)
        self.tested = np.flatnonzero(cells > 1)
        number = np.full(table.n_events, -1)
        number[self.tested] = np.arange(len(self.tested))
        self.rows = np.flatnonzero(number[table.event] >= 0)
        self.event = number[table.event[self.rows]]
        self.pair, self.coefficient = table.pair[self.rows], table.coefficient[self.rows]
        self.low, self.high = table.low[self.tested], table.high[self.tested]
        states, kinds = knowledge.pair_state[self.pair], len(self.tested)
        bins = [binned(column)[states] for column in coordinates(knowledge.states)] if kinds else []
        self.halves = [Halves(self.event, column, kinds, ordered=True) for column in bins]
        self.halves.append(Halves(self.event, knowledge.pair_action[self.pair], kinds, ordered=False))

    def evidence(self, counts: EventCounts) -> Evidence:
        """Return the evidence in the counts so far."""
        if not len(self.tested) or counts.unit == 0.0:
            return Evidence(0.0, {})
        count = counts.count[self.rows].astype(float)
        exposure = counts.time[self.pair] * self.coefficient
        kinds = len(self.tested)
        n, x = np.bincount(self.event, count, minlength=kinds), np.bincount(self.event, exposure, minlength=kinds)
        best = np.clip(n / np.maximum(x, 1e-300), self.low, self.high)
        null = np.where(n > 0, n * np.log(np.maximum(best, 1e-300)), 0.0) - best * x
        split = self._splits(count, exposure, n, x, counts.unit) - null
        frail = np.array([frailty(count[self.event == k], exposure[self.event == k], counts.unit) for k in range(kinds)]) - null
        both = np.logaddexp(split, frail) - np.log(2)
        total = float(log_sum(both, 0) - np.log(kinds))
        return Evidence(total, {self.table.names[k]: float(e) for k, e in zip(self.tested, both)})

    def _splits(self, count: np.ndarray, exposure: np.ndarray, n: np.ndarray, x: np.ndarray, unit: float) -> np.ndarray:
        """Return the log of the average likelihood over the splits of each event and the ratios; of one rate where none exists."""
        parts, weights = [], []
        for halves in self.halves:
            in_half, time = halves.sums(count), halves.sums(exposure)
            mixed = np.stack([in_half * np.log(rho) + log_mixture(n[:, None] + 0 * in_half, rho * time + (x[:, None] - time), unit)
                              for rho in RATIOS])
            parts.append(np.where(halves.fair, log_sum(mixed, 0) - np.log(len(RATIOS)), -np.inf))
            weights.append(halves.fair.sum(axis=1))
        several = np.sum(weights, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):  # an event that cannot be split
            averaged = log_sum(np.concatenate(parts, axis=1), 1) - np.log(several)
        return np.where(several > 0, averaged, log_mixture(n, x, unit))


class Halves:
    """All ways to halve the cells of each event by one classification of them: at a threshold, or one class against the others."""

    def __init__(self, event: np.ndarray, group: np.ndarray, kinds: int, ordered: bool):
        self.size = int(group.max(initial=0)) + 1
        self.key, self.kinds, self.ordered = event * self.size + group, kinds, ordered
        cells = self.sums(np.ones(len(event)))
        all_cells = np.bincount(event, minlength=kinds)[:, None]
        self.fair = (cells > 0) & (cells < all_cells)  # something on both sides

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of `values` over the one half, (events, ways)."""
        table = np.bincount(self.key, values, minlength=self.kinds * self.size).reshape(self.kinds, self.size)
        if not self.ordered:
            return table
        return np.asarray(np.cumsum(table[:, ::-1], axis=1)[:, ::-1][:, 1:])


def frailty(count: np.ndarray, exposure: np.ndarray, unit: float) -> float:
    """Return the log of the average likelihood of cells with scattered rates, or of a little less."""
    here = exposure > 0
    if not count.any():
        return float(log_mixture(np.zeros(1), np.array([exposure.sum()]), unit)[0])
    return float(log_frailty(count[here], exposure[here], SHAPE, SHAPE / unit * SCALES))


def log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the logarithm of the sum of exp(values) along an axis."""
    top = values.max(axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - safe).sum(axis=axis)) + np.squeeze(safe, axis=axis))


def coordinates(states: Sequence[Any]) -> list[np.ndarray]:
    """Return the numbers that the states consist of, one array per coordinate; the position where they have no common form.

    >>> [c.tolist() for c in coordinates(("(0, 2)", "(1, 5)"))], coordinates(("new", "worn 1"))[0].tolist()
    ([[0.0, 1.0], [2.0, 5.0]], [0.0, 1.0])
    """
    found = [[float(number) for number in NUMBER.findall(str(state))] for state in states]
    lengths = {len(numbers) for numbers in found}
    if len(lengths) == 1 and 0 not in lengths:
        return [np.array(column) for column in zip(*found)]
    return [np.arange(len(states), dtype=float)]


def binned(values: np.ndarray) -> np.ndarray:
    """Return the number of the bin of each value, at most THRESHOLDS + 1 bins of about equally many different values."""
    different, place = np.unique(values, return_inverse=True)
    return np.asarray(place * min(len(different), THRESHOLDS + 1) // len(different))
