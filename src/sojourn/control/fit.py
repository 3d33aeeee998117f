"""From an event log to a model: counts, intervals, what could be earned, and what should be tried next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
from scipy import sparse, special

from sojourn.control.assumptions import Assumptions, check_assumptions, notes_of
from sojourn.control.fit_events import counted_events, event_intervals, likely_event_model, note_wrong_events
from sojourn.control.fit_knowledge import note_wrong_bounds, power_of_two, seen_knowledge
from sojourn.control.log import Log, read_log
from sojourn.control.log_unfinished import knowing, unfinished
from sojourn.errors import ParameterError, SojournError, names_keywords
from sojourn.learn.catalogue import learner as made_learner
from sojourn.learn.counts import Counts
from sojourn.learn.estimate import Estimate, estimated
from sojourn.learn.event_estimate import EventEstimate, event_estimated
from sojourn.learn.learner import MAX_CHUNK, History
from sojourn.learn.unfinished import Unfinished, tell
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import rate_bounds_pair
from sojourn.model.scalars import is_number

OPEN = 100  # sojourns per trajectory below which one whose end the log does not say is worth a note
CYCLES = 30  # returns to one state from which "what we do now" has an interval


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """What a log says.  Per pair (P,): `visits` (complete sojourns), `exposure` (time, unfinished sojourns included), `rate` (the
    one over the other), `rate_bounds` (P, 2); `assumptions`: do holding times and jumps look like those of a Markov model
    (control/assumptions.py)?  Per successor seen, laid out as in `estimate`: `probability_bounds` (E, 2).

    Each of `rate_bounds` and `probability_bounds` holds with `confidence` by itself; those in `estimate` hold all together, and
    at all times, which the gain needs.  `gain_bounds`: with `confidence` the policy that is best now earns at least the lower
    end, and no policy earns more than the upper one.  `gain_now` is what was earned per unit of time in the log, with an interval
    (NaN where there is none).  All of these are NaN where nothing is known of what is paid.  Where events are declared, `estimate`
    is an EventEstimate, and `event_bounds` (K, 2) are intervals of the rates of the events, each by itself.
    """

    log: Log
    knowledge: Knowledge
    confidence: float
    visits: np.ndarray
    exposure: np.ndarray
    rate: np.ndarray
    rate_bounds: np.ndarray
    probability_bounds: np.ndarray
    assumptions: Assumptions
    estimate: Estimate | EventEstimate
    gain_bounds: tuple[float, float]
    gain_now: tuple[float, float, float]
    notes: tuple[str, ...]
    event_bounds: np.ndarray | None = None

    @property
    def policy(self) -> dict[Any, Any]:
        """The policy that we could already play: the best one on the mean of what was seen, {state: action}."""
        return self.estimate.policy_labels

    @property
    def pays(self) -> bool:
        """Whether anything is known of what is paid; where not, there are no gains, and no policy is better than another."""
        return not isnan(self.gain_bounds[0])

    @cached_property
    def history(self) -> History:
        """The complete sojourns, in positions, in order."""
        return self.log.history(self.knowledge)

    @cached_property
    def model(self) -> CTMDP:
        """The model of largest likelihood, over the choices that were seen; states that were never left are left out.  Where events
        are declared: over all choices, with the likeliest rates of the events."""
        if isinstance(self.estimate, EventEstimate):
            return likely_event_model(self.estimate)
        return _likely_model(self, self.estimate)

    @cached_property
    def trials(self) -> list[tuple[Any, Any, int, float]]:
        """What should be tried next, as (state, action, visits, cost): a cost is what one try loses on the fitted model, in
        reward; NaN where the choice was never seen, so that nobody knows."""
        from sojourn.instance.gaps import gaps
        from sojourn.solving.solve import solve

        if not self.pays:
            return []
        try:
            table = np.asarray(gaps(self.model, solve(self.model)))
        except SojournError:
            table = None
        found = []
        for state, action, visits in self.estimate.remaining:
            cost = float("nan")
            known = visits or self.event_bounds is not None
            if table is not None and known and state in self.model.states and action in self.model.actions:
                cost = max(0.0, float(table[self.model.states.position(state), self.model.actions.position(action)]))
            found.append((state, action, visits, cost))
        return found

    def learner(self, which: str | type = "default", seed: Any = 0, **parameters: Any) -> Any:
        """Return a new learner that has seen the whole log, unfinished sojourns included (learn/unfinished.py): a warm start."""
        made = made_learner(which, self.knowledge, seed, **parameters)
        waiting = np.zeros(self.knowledge.n_pairs)
        for begin in range(0, max(1, len(self.log)), MAX_CHUNK):
            chunk = slice(begin, begin + MAX_CHUNK)
            cut = unfinished(self.log, self.knowledge, chunk)
            tell(made, self.log.history(self.knowledge, chunk), cut, self.knowledge, waiting)
        return made

    def report(self, path: Any) -> Any:
        """Write a page (.html) that says all this; returns its path."""
        from sojourn.report.fit_page import write_fit

        return write_fit(self, path)

    def __repr__(self) -> str:
        low, high = self.gain_bounds
        tried = int((self.visits > 0).sum())
        begin = (f"<Fit of {len(self.log):,} sojourns: {self.knowledge.n_states} states, {tried} of {self.knowledge.n_pairs} "
                 "choices seen; ")
        if not self.pays:
            return f"{begin}nothing is paid; {len(self.notes)} notes>"
        return (f"{begin}earned {self.gain_now[1]:.6g} per unit of time so far; at {self.confidence:.15g} confidence the best "
                f"policy now earns at least {low:.6g}, and no policy more than {high:.6g}; {len(self.notes)} notes>")


@names_keywords
def fit(log: Any, confidence: float = 0.95, *, knowledge: Knowledge | None = None, reward: Any = None, running: Any = None,
        rate_bounds: tuple[float, float] | None = None, columns: Mapping[str, str] | None = None, contiguous: bool = True,
        max_bytes: int | None = None) -> Fit:
    """Estimate a model from an event log: a CSV or Parquet file, a data frame, or a mapping of columns (see control/log.py).

    `knowledge` says which choices there are and what they pay; without it these are the choices that were seen, and what they pay
    is `reward` (lump sum) and `running` (per unit of time), {(state, action): number} each, or else what the log's column `reward`
    says. `columns` renames: {"their name": "our name"}; `max_bytes` is what a Parquet file may unpack to.
    Knowledge with events (`model.knowledge(events=True)`) makes it a fit per
    event, with a test of that structure; then `rate_bounds`, if given, are of the rates of events.

    >>> found = fit({"state": ["up", "down"] * 50, "action": ["run", "repair"] * 50, "holding_time": [2.0, 0.5] * 50,
    ...              "next_state": ["down", "up"] * 50}, running={("up", "run"): 1.0})
    >>> found.rate.tolist(), round(found.gain_now[1], 3)
    ([2.0, 0.5], 0.8)
    """
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ParameterError(f"confidence is {confidence!r}; it must lie between 0 and 1, such as 0.95.")
    if rate_bounds is not None:
        rate_bounds = rate_bounds_pair(rate_bounds)
    rows = read_log(log, knowledge, contiguous, columns, max_bytes)
    notes: list[str] = []
    level, doubt = 1 - confidence, 0.0
    sure = confidence  # of the estimate, beside what is spent on payments
    if knowledge is None:
        knowledge, doubt, sure = seen_knowledge(rows, reward, running, rate_bounds, confidence, notes)
        rows = knowing(rows, knowledge)
    elif reward is not None or running is not None or (rate_bounds is not None and knowledge.events is None):
        raise ParameterError(f"knowledge is given and so is {'reward' if reward is not None else 'running or rate_bounds'}; the "
                             "knowledge says what choices pay and how fast they can be: give one of them.")
    pair = rows.check_pairs(knowledge)
    counts, cut = _counted(rows, knowledge)
    visits, exposure = counts.visits.copy(), counts.holding_sum.copy()
    _note_open(rows, notes)
    rate = np.divide(visits, exposure, out=np.full(len(visits), np.nan), where=exposure > 0)
    assumptions = check_assumptions(rows, knowledge, level)
    notes += notes_of(assumptions, knowledge)
    found: Estimate | EventEstimate
    event_bounds, by_events = None, (np.zeros(len(rows)), np.zeros(len(cut)))
    if knowledge.events is None:
        found = estimated(counts, knowledge, sure)
        note_wrong_bounds(counts, knowledge, sure, notes)
        _note_unseen(visits, exposure, notes)
    else:
        counts_of_events, *by_events = counted_events(rows, knowledge)  # type: ignore[assignment]
        found = event_estimated(counts_of_events, visits, confidence, rate_bounds)
        event_bounds = event_intervals(found.seen, found.exposure, level)
        note_wrong_events(counts_of_events, rate_bounds, level, notes)
        _note_events(found, rate_bounds, notes)
    low, high = found.gain_bounds
    gains, earned = (low - doubt + 0.0, high + doubt + 0.0), _earned(rows, knowledge, pair, cut, level, *by_events)
    if not _pays(rows, knowledge):
        gains, earned = (float("nan"), float("nan")), (float("nan"), float("nan"), float("nan"))
    return Fit(rows, knowledge, confidence, visits, exposure, rate, event_intervals(visits, exposure, level),
               _shares(counts, level), assumptions, found, gains, earned, tuple(notes), event_bounds)


def _note_open(rows: Log, notes: list[str]) -> None:
    """Say where many trajectories begin a sojourn of which nothing more is said: if a clock ended them, its time is missing."""
    if rows.trajectories > 1 and OPEN * rows.open >= len(rows):
        notes.append(f"{rows.open:,} of {rows.trajectories:,} trajectories end with a row that begins a sojourn of which nothing "
                     "more is said. If they end because nobody looked any longer, give each a last row that repeats the state at "
                     "the time of the last look: without that time all rates look too fast.")


def _note_unseen(visits: np.ndarray, exposure: np.ndarray, notes: list[str]) -> None:
    """Say which choices were never made, or never seen to end."""
    never, waited = int(((visits == 0) & (exposure == 0)).sum()), int(((visits == 0) & (exposure > 0)).sum())
    if never:
        notes.append(f"{never} of {len(visits)} choices were never made in this log; nothing is known about them but the rate "
                     "bounds.")
    if waited:
        notes.append(f"{waited} of {len(visits)} choices were never seen to end in this log; nothing is known about where they "
                     "lead, and of their rates only that they are not large.")


def _note_events(found: EventEstimate, rate_bounds: tuple[float, float] | None, notes: list[str]) -> None:
    """Say where the declared events do not hold, and which were never possible."""
    if found.evidence.rejected:
        notes.append(f"{found.evidence}; what follows from them cannot be relied on.")
    never = [name for name, time, known in zip(found.names, found.exposure, np.isfinite(found.rate)) if time == 0 and not known]
    if never:
        how = "at a rate within the rate bounds" if rate_bounds is not None else "at any rate"
        more = f" and {len(never) - 5} more" if len(never) > 5 else ""
        notes.append(f"{', '.join(never[:5])}{more}: never possible in this log; may happen {how}.")


# ---- counts and intervals --------------------------------------------------------------------------------------------


def _counted(rows: Log, knowledge: Knowledge) -> tuple[Counts, Unfinished]:
    """Return the counts, with the time of unfinished sojourns, and these."""
    counts, cut = Counts(knowledge), unfinished(rows, knowledge)
    for begin in range(0, len(rows), MAX_CHUNK):
        counts.observe(rows.history(knowledge, slice(begin, begin + MAX_CHUNK)), knowledge)
    if len(cut):
        counts.expose(cut)
    return counts, cut


def _shares(counts: Counts, level: float) -> np.ndarray:
    """Return [low, high] of the probability of each successor seen (Clopper and Pearson 1934)."""
    start, _, count = counts.rows()
    n = np.repeat(counts.visits, np.diff(start)).astype(float)
    k = count.astype(float)
    low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - k + 1, level / 2), 0.0)
    high = np.where(k < n, special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - level / 2), 1.0)
    return np.stack([low, high], axis=1)


# ---- what was earned, and the model --------------------------------------------------------------------------------


def _pays(rows: Log, knowledge: Knowledge) -> bool:
    """Return whether anything is known of what is paid, be it that it was nothing."""
    by_events = knowledge.events is not None and bool(knowledge.events.payment.any())
    return rows.reward is not None or by_events or bool(knowledge.reward.any() or knowledge.running.any())


def _earned(rows: Log, knowledge: Knowledge, pair: np.ndarray, cut: Unfinished, level: float, by_events: np.ndarray,
            more: np.ndarray) -> tuple[float, float, float]:
    """Return (low, gain, high) of what was earned per unit of time, from the returns to the state that was visited most.

    Between two returns rewards and times are independent of what was before, if decisions look at the state only (the regenerative
    method); the interval is that of their ratio.  `by_events` and `more` is what events paid in complete and unfinished sojourns.
    """
    told, unfinished_told = rows.reward, rows.censored_reward
    as_known = knowledge.reward[pair] + knowledge.running[pair] * rows.holding_time + by_events
    paid = as_known if told is None else told
    at_end = knowledge.reward[cut.pair] + knowledge.running[cut.pair] * cut.time + more
    if unfinished_told is not None:
        at_end = np.where(np.isnan(unfinished_told), at_end, unfinished_told)
    gain = float((paid.sum() + at_end.sum()) / (rows.holding_time.sum() + cut.time.sum()))
    anchor = int(np.bincount(rows.state, minlength=1).argmax())
    first = np.flatnonzero(rows.state == anchor)
    if len(first) <= CYCLES or rows.trajectories > 1:
        return float("nan"), gain, float("nan")
    r, t = np.add.reduceat(paid, first)[:-1], np.add.reduceat(rows.holding_time, first)[:-1]
    off = r - r.sum() / t.sum() * t
    unit = float(power_of_two(np.abs(off).max()))  # so that squares remain numbers
    half = float(special.ndtri(1 - level / 2) * np.sqrt(np.mean((off / unit) ** 2) / len(r)) / t.mean() * unit)
    return gain - half, gain, gain + half


def _likely_model(found: Fit, counts: Estimate) -> CTMDP:
    """Return the model of the pairs that were seen, with the likeliest rates and rows."""
    known = found.knowledge
    keep = np.zeros(known.n_states, dtype=bool)
    keep[known.pair_state[found.visits > 0]] = True
    pairs = np.flatnonzero(found.visits > 0)
    if not len(pairs):
        raise ParameterError("no sojourn was seen to end, so nobody knows where any leads; the log is too short for a model of its "
                             "own.")
    place = np.cumsum(keep) - 1
    row = np.repeat(np.arange(known.n_pairs), np.diff(counts.row_start))
    inside = keep[counts.next_state]
    matrix = sparse.csr_matrix((counts.probability[inside], (row[inside], place[counts.next_state[inside]])),
                               shape=(known.n_pairs, int(keep.sum())))[pairs]
    if (np.asarray(matrix.sum(axis=1)).ravel() == 0).any():
        raise ParameterError(f"some choice led only to states that were never left ({int((~keep).sum())} states); the log is too "
                             "short for a model of its own.")
    return CTMDP.from_pairs(place[known.pair_state[pairs]], known.pair_action[pairs], matrix, found.rate[pairs],
                            known.reward[pairs], known.running[pairs], states=known.states.some(np.flatnonzero(keep)),
                            actions=known.actions, normalize_rows=True)
