"""A fit where events are declared: counts and exact intervals per event, the model that the likeliest rates make."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
from scipy import sparse, special

from sojourn.control.fit_knowledge import contradictions
from sojourn.control.log import Log
from sojourn.control.log_unfinished import unfinished
from sojourn.errors import FileError, ParameterError, ReportError
from sojourn.learn.event_belief import intervals
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.event_estimate import EventEstimate
from sojourn.learn.learner import MAX_CHUNK
from sojourn.learn.unfinished import tell
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge


def counted_events(rows: Log, knowledge: Knowledge) -> tuple[EventCounts, np.ndarray, np.ndarray]:
    """Return the counts of a log's events, and what they paid in each complete and in each unfinished sojourn; a row that no event
    explains, or that several do, is named."""
    assert knowledge.events is not None
    table = knowledge.events.told()
    counts, paid, more = EventCounts(knowledge, table), [], []
    for begin in range(0, max(1, len(rows)), MAX_CHUNK):
        end = min(len(rows), begin + MAX_CHUNK)
        cut = unfinished(rows, knowledge, slice(begin, end))
        try:
            chunk = rows.history(knowledge, slice(begin, end))
            tell(counts, chunk, cut, knowledge)
            paid.append(counts.paid(chunk))
            more.append(counts.paid_unfinished(cut))
        except ReportError as error:
            raise FileError(_first_wrong(rows, knowledge, counts, begin, end, error)) from None
    return counts, np.concatenate(paid), np.concatenate(more)


def _first_wrong(rows: Log, knowledge: Knowledge, counts: EventCounts, begin: int, end: int, error: ReportError) -> str:
    """Return the error about the first row that cannot be counted, found by halving."""
    while end - begin > 1:
        middle = (begin + end) // 2
        try:
            counts.check(rows.history(knowledge, slice(begin, middle)))
            begin = middle
        except ReportError as found:
            end, error = middle, found
    try:
        counts.check(rows.history(knowledge, slice(begin, end)))
    except ReportError as found:
        error = found
    words = str(error).removeprefix("row 0: ").removeprefix("row 0 ").removesuffix(" Nothing was counted.").removesuffix(".")
    return f"row {rows.row[begin]}: {words}."


def note_wrong_events(counts: EventCounts, told: tuple[float, float] | None, doubt: float, notes: list[str]) -> None:
    """Say which events contradict what was told of their rates; where that is right, none does, but with probability `doubt`."""
    table, (least, most) = counts.table, told if told is not None else (0.0, np.inf)
    low, high = intervals(counts.seen, counts.exposure, counts.unit or 1.0, log(max(1, table.n_events) / doubt))
    free = np.stack([np.maximum(table.low, least), np.minimum(table.high, most)], axis=1)
    bounds = np.where(table.known[:, None], np.stack([table.low, table.high], axis=1), free)
    notes += contradictions("events", [repr(name) for name in table.names], np.stack([low, high], axis=1), bounds)


def event_intervals(seen: np.ndarray, exposure: np.ndarray, level: float) -> np.ndarray:
    """Return [low, high] of each rate by itself (Garwood 1936: of a Poisson count in a given exposure).

    On the safe side, too, where exposure and count are both random, but more of the one never comes with more of the other.  So
    it is for a pair in a log that ended at a given time or after a given number of sojourns, if choices were made by looking at
    the state only: which pairs follow each other does not depend on how long they take, and the further the log came in this
    sequence, the more time it spent elsewhere.

    >>> event_intervals(np.array([10.0, 0.0]), np.array([5.0, 0.0]), 0.05).round(3).tolist()
    [[0.959, 3.678], [0.0, inf]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(seen > 0, special.gammaincinv(np.maximum(seen, 1), level / 2), 0.0) / exposure
        high = special.gammaincinv(seen + 1, 1 - level / 2) / exposure
    some = exposure > 0
    return np.stack([np.where(some, low, 0.0), np.where(some, high, np.inf)], axis=1)


def likely_event_model(found: EventEstimate) -> CTMDP:
    """Return the model of all choices with the likeliest rates; an event that was never seen does not happen in it."""
    known, table = found.knowledge, found.knowledge.events
    assert table is not None
    value = np.nan_to_num(found.rate, nan=0.0)
    live = value[table.event] > 0
    rows = live & table.jumps
    intensity = table.coefficient * value[table.event]
    rate = np.bincount(table.pair[rows], intensity[rows], minlength=table.n_pairs)
    if (rate == 0).any():
        k = int(np.argmax(rate == 0))
        raise ParameterError(f"nothing was seen that could end {known.actions[int(known.pair_action[k])]!r} in state "
                             f"{known.states[int(known.pair_state[k])]!r} ({int((rate == 0).sum())} such choices); the log is too "
                             "short for a model of its own.")
    shape = (table.n_pairs, known.n_states)
    matrix = sparse.csr_matrix((intensity[rows] / rate[table.pair[rows]], (table.pair[rows], table.next_state[rows])), shape=shape)
    paid = np.bincount(table.pair[live], (intensity * table.payment)[live], minlength=table.n_pairs)
    running = table.running + paid  # what events pay, as an income per unit of time
    model = CTMDP.from_pairs(known.pair_state, known.pair_action, matrix, rate, table.reward, running, states=known.states,
                             actions=known.actions, normalize_rows=True)
    if not live.all():
        return model
    return model.with_events(replace(table, value=value))
