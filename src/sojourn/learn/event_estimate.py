"""What has been learned where events are declared: every rate with an interval, the best policy now, what the gain may be.

The intervals are those of event_belief.py: all of them together hold, at all times and whatever was played, with the stated
confidence.  The gains are bracketed over everything in them, each pair with the ends that help it most (for the upper end) or hurt
the policy most (for the lower one), which contains every common choice of rates.  An event that was never possible, and of which
nothing is told, may have any rate: where a higher one helps without end, the bracket ends at infinity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.event_planning import EventRows
from sojourn.learn.event_belief import estimated, intervals
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.found import Found
from sojourn.learn.structure_test import Evidence, StructureTest
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import is_number
from sojourn.model.words import html_card

FAST = 1e4  # times a typical rate: at which an event that may have any rate is planned for; what is proved is proved for all
LEAST = 1e-9  # of its upper end: at which a rate is planned for at least, so that nothing lasts for ever
MOST_STEPS = 1000  # jumps in a row at infinite rates that are followed


@dataclass(frozen=True, eq=False, repr=False)
class EventEstimate:
    """Arrays are per event (K,): how often it was `seen` (not counting the first sojourn, which only sets the unit of time), its
    `exposure` (time times coefficient), its `rate` (the one told where it is known, NaN where it was never possible) and
    `rate_bounds` (K, 2).  `policy` (positions, one per state) is the best one on the posterior mean, `gain` what it would earn
    there.  `gain_bounds`: no policy earns more than the upper end, and `policy` earns at least the lower one, both with the stated
    `confidence`.  `evidence` is that against the declared structure.
    """

    knowledge: Knowledge
    confidence: float
    visits: np.ndarray  # (P,)
    seen: np.ndarray
    exposure: np.ndarray
    rate: np.ndarray
    rate_bounds: np.ndarray
    policy: np.ndarray
    gain: float
    gain_bounds: tuple[float, float]
    optimistic_policy: np.ndarray
    evidence: Evidence

    @property
    def names(self) -> tuple[str, ...]:
        """The events."""
        assert self.knowledge.events is not None
        return self.knowledge.events.names

    @property
    def policy_labels(self) -> dict[Any, Any]:
        """The best policy now as {state: action}, both as the user calls them."""
        return {s: self.knowledge.actions[a] for s, a in zip(self.knowledge.states, self.policy)}

    @property
    def remaining(self) -> list[tuple[Any, Any, int]]:
        """What remains to be tried, as (state, action, visits so far): what may still be better than the best policy now."""
        known, here = self.knowledge, np.arange(self.knowledge.n_states)
        hopeful, played = known.pair_table[here, self.optimistic_policy], known.pair_table[here, self.policy]
        return [(known.states[known.pair_state[k]], known.actions[known.pair_action[k]], int(self.visits[k]))
                for k in hopeful[hopeful != played]]

    def rate_of(self, event: str) -> tuple[float, float, float]:
        """Return (low, estimate, high) of the rate of an event."""
        assert self.knowledge.events is not None
        k = self.knowledge.events.number(event)
        return float(self.rate_bounds[k, 0]), float(self.rate[k]), float(self.rate_bounds[k, 1])

    def _repr_html_(self) -> str:
        rows = [(name, f"{self.seen[k]:,.0f}", f"{self.rate[k]:.4g}", f"[{low:.4g}, {high:.4g}]")
                for k, (name, (low, high)) in enumerate(zip(self.names, self.rate_bounds))]
        return html_card(repr(self)[1:-1], ("event", "seen", "rate", f"{self.confidence:.15g} interval"), rows)

    def __repr__(self) -> str:
        low, high = self.gain_bounds
        return (f"<EventEstimate: {len(self.names)} events seen {int(self.seen.sum()):,} times; best policy now earns "
                f"{self.gain:.6g} per unit of time on the mean; at {self.confidence:.15g} confidence it earns at least {low:.6g}, "
                f"and no policy more than {high:.6g}; {self.evidence}>")


def event_estimated(counts: EventCounts, visits: np.ndarray, confidence: float = 0.95,
                    rate_bounds: tuple[float, float] | None = None) -> EventEstimate:
    """Return what `counts` say; `rate_bounds` are told of every rate."""
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ParameterError(f"confidence is {confidence!r}; it must lie between 0 and 1, such as 0.95.")
    known, table = counts.knowledge, counts.table
    seen, exposure, typical = counts.seen, counts.exposure, counts.typical
    low, high = open_rates(counts, 1 - confidence, rate_bounds)
    mean = np.clip(estimated(table, seen, exposure, typical), low, high)
    planner = EventPlanner(known, table)
    start = Found(0.0, np.zeros(known.n_states), np.array(known.pair_start[:-1], dtype=np.int64))
    best = planner.best(mean, mean, start)
    hope, most = _largest_gain(planner, low, high, best, typical)
    least = -_against(known, table, best.pair, low, high, typical)
    rate = np.where(table.known, table.low, np.divide(seen, exposure, out=np.full(len(seen), np.nan), where=exposure > 0))
    return EventEstimate(known, float(confidence), np.array(visits), seen, exposure, rate, np.stack([low, high], axis=1),
                         np.array(known.pair_action[best.pair]), float(best.gain), (min(least, best.gain), max(most, best.gain)),
                         np.array(known.pair_action[hope.pair]), StructureTest(known, table).evidence(counts))


def open_rates(counts: EventCounts, doubt: float, told: tuple[float, float] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high): what is left open about every rate, but with probability `doubt`."""
    table = counts.table
    low, high = intervals(counts.seen, counts.exposure, counts.unit or 1.0, log(max(1, int((~table.known).sum())) / doubt))
    least, most = told if told is not None else (0.0, np.inf)
    high = np.minimum(np.minimum(high, most), table.high)
    return np.minimum(np.maximum(np.maximum(low, least), table.low), high), high


def _largest_gain(planner: EventPlanner, low: np.ndarray, high: np.ndarray, start: Found, typical: float) -> tuple[Found, float]:
    """Return (a plan for rates in [low, high], a bound that no policy exceeds at any of them).

    The plan is for rates that are neither 0 nor infinite.  Any bias gives a bound; that of the plan is first changed so that no
    event whose rate is unbounded is worth anything, as far as that can be.
    """
    free = np.isinf(high)
    top = np.where(free, np.maximum(typical * FAST, 2 * low), high)
    found = planner.best(np.minimum(np.maximum(low, LEAST * top), top), top, start)
    if free.any():
        found = found._replace(bias=worthless(planner.rows, free, found.bias))
    return found, planner.bracket(low, high, found)[1]


def worthless(rows: EventRows, free: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return a bias, raised where needed, at which the events marked in `free` (K,) pay nothing more, if that can be had.

    Where such an event helps, its state is worth as much as where it leads: with an infinite rate one is there at once.
    """
    mine = np.flatnonzero(free[rows.event])
    if not len(mine):
        return bias
    pair = np.repeat(np.arange(len(rows.reward)), np.diff(rows.row_start))[mine]
    state = np.repeat(np.arange(len(bias)), np.diff(rows.pair_start))[pair]
    first, group = np.unique(pair * len(free) + rows.event[mine], return_index=True, return_inverse=True)[1:]
    here, to, size, new = state[first], rows.next_state[mine], rows.coefficient[mine], bias.copy()
    leaves = np.bincount(group, size * ((to >= 0) & (to != state)))
    for _ in range(min(len(bias), MOST_STEPS) + 1):
        jump = np.where(to >= 0, rows.reward[pair] + new[to] - new[state], 0.0)
        worth = np.bincount(group, size * (rows.payment[mine] + jump))
        gained = np.divide(worth, leaves, out=np.full(len(worth), -np.inf), where=leaves > 0)
        room = 1e-12 * float(np.abs(new).max())  # so that rounding makes it worth nothing either
        more = gained > -room / 2
        if not more.any():
            break
        np.maximum.at(new, here[more], (new[here] + gained + room)[more])
    return new


def _against(known: Knowledge, table: EventTable, pair: np.ndarray, low: np.ndarray, high: np.ndarray, typical: float) -> float:
    """Return the most that `pair` can cost, over all that is open."""
    keep = np.zeros(known.n_pairs, dtype=bool)
    keep[pair] = True
    mine = table.of_pairs(keep)
    mine = replace(mine, payment=-mine.payment, reward=-mine.reward, running=-mine.running)
    only = replace(known, pair_start=np.arange(known.n_states + 1), pair_action=np.array(known.pair_action[keep]),
                   reward=mine.reward, running=mine.running, support_start=None, support_state=None, events=mine)
    planner = EventPlanner(only, mine)
    start = Found(0.0, np.zeros(known.n_states), np.arange(known.n_states, dtype=np.int64))
    return _largest_gain(planner, low, high, start, typical)[1]
