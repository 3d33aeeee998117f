"""What has been learned where events are declared: the rate of every event with an interval, and what follows for gains.

The intervals are those of learn/event_belief.py: all of them together hold, at all times and whatever was played, with the stated
confidence.  Rates, rows and gains of choices follow from them, also of choices that were never tried.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, log
from typing import TYPE_CHECKING

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counts import Counts
from sojourn.learn.event_belief import estimated as estimated_rates
from sojourn.learn.event_belief import intervals
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.event_planner import EventPlanner, Found
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge

if TYPE_CHECKING:
    from sojourn.learn.estimate import Estimate

LEAST = 1e-6  # of its upper end: a smaller rate counts as that, as no gain hears the difference


def estimated_events(counts: Counts, knowledge: Knowledge, events: EventCounts | None, confidence: float) -> Estimate:
    """Return what the counts of events say about a system whose events were declared."""
    from sojourn.learn.estimate import Estimate

    if events is None:
        raise ParameterError("events are declared and this learner does not count them, so that nothing is known of their rates; "
                             "use a learner of events (such as 'events-psrl'), or knowledge without events.")
    table = events.table
    low, rate, high = event_intervals(events, confidence)
    planner, first = EventPlanner(knowledge, table), _first(knowledge)
    found = planner.best(rate, rate, first)
    best, hopeful = _largest_gain(planner, table, low, high, found)
    alone, costs = _against(knowledge, table, found.pair)
    worst = -_largest_gain(EventPlanner(alone, costs), costs, low, high, _first(alone))[0]
    rows, share, share_bounds = _rows(table, low, rate, high)
    pair_rate = [_per_pair(table, ends) for ends in (low, rate, high)]
    with np.errstate(divide="ignore", invalid="ignore"):
        lump = np.where(counts.visits > 0, counts.reward_sum / counts.visits, np.nan)
    return Estimate(
        knowledge=knowledge, confidence=confidence, visits=counts.visits.copy(), rate=pair_rate[1],
        rate_bounds=np.stack([pair_rate[0], pair_rate[2]], axis=1), row_start=rows[0], next_state=rows[1], probability=share,
        probability_bounds=share_bounds, unseen=np.zeros(knowledge.n_pairs), mean_lump=lump,
        policy=np.array(knowledge.pair_action[found.pair]), gain=float(found.gain),
        gain_bounds=(min(worst, float(found.gain)), max(best, float(found.gain))),
        optimistic_policy=np.array(knowledge.pair_action[hopeful]), wrong_bounds=0,
        event_rates={name: (float(low[k]), float(rate[k]), float(high[k])) for k, name in enumerate(table.names)})


def event_intervals(events: EventCounts, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (low, estimate, high) of every event's rate, within what is told; known rates are what they are known to be."""
    table = events.table
    level = log(table.n_events / (1 - confidence))
    low, high = intervals(events.seen, events.exposure, events.unit or 1.0, level)
    low, high = np.clip(low, table.low, table.high), np.clip(high, table.low, table.high)
    return low, estimated_rates(table, events.seen, events.exposure, events.typical), high


def _first(knowledge: Knowledge) -> Found:
    return Found(0.0, np.zeros(knowledge.n_states), np.array(knowledge.pair_start[:-1], dtype=np.int64))


def _largest_gain(planner: EventPlanner, table: EventTable, low: np.ndarray, high: np.ndarray,
                  start: Found) -> tuple[float, np.ndarray]:
    """Return (what no policy exceeds with rates in these intervals, the policy near it); infinite where a rate may be."""
    if not np.isfinite(high[np.unique(table.event)]).all():
        return inf, start.pair
    found = planner.best(np.maximum(low, LEAST * high), high, start)
    return float(found.gain), found.pair


def _against(knowledge: Knowledge, table: EventTable, pair: np.ndarray) -> tuple[Knowledge, EventTable]:
    """Return the knowledge and the events in which `pair` is all that can be played and every payment is a cost."""
    from sojourn.learn.estimate import alone

    place = np.full(table.n_pairs, -1, dtype=np.int64)
    place[pair] = np.arange(len(pair))
    mine = place[table.pair] >= 0
    costs = EventTable(table.names, place[table.pair[mine]], table.next_state[mine], table.event[mine], table.coefficient[mine],
                       -table.payment[mine], -table.reward[pair], -table.running[pair], table.low, table.high)
    return replace(alone(knowledge, pair), reward=costs.reward, running=costs.running), costs


def _per_pair(table: EventTable, rate: np.ndarray) -> np.ndarray:
    """Return the rate at which each pair is left."""
    jumps = table.jumps
    return np.bincount(table.pair[jumps], table.coefficient[jumps] * rate[table.event[jumps]], minlength=table.n_pairs)


def _rows(table: EventTable, low: np.ndarray, rate: np.ndarray,
          high: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Return ((row_start, next_state), probability, its bounds): a successor against all others, at opposite ends."""
    jumps = table.jumps
    states = int(table.next_state.max(initial=0)) + 1
    key, place = np.unique(table.pair[jumps] * states + table.next_state[jumps], return_inverse=True)
    pair, after = key // states, key % states
    start = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=table.n_pairs))]).astype(np.int64)

    def towards(ends: np.ndarray) -> np.ndarray:
        return np.bincount(place, table.coefficient[jumps] * ends[table.event[jumps]], minlength=len(key))

    mine = [towards(ends) for ends in (low, rate, high)]
    total = [_per_pair(table, ends)[pair] for ends in (low, rate, high)]
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.where(mine[0] > 0, mine[0] / (mine[0] + total[2] - mine[2]), 0.0)
        rest = np.maximum(total[0] - mine[0], 0.0)
        most = np.where((rest > 0) & np.isfinite(mine[2]), mine[2] / (mine[2] + rest), 1.0)
    alone = np.bincount(pair, minlength=table.n_pairs)[pair] == 1
    bounds = np.stack([np.where(alone, 1.0, np.nan_to_num(least)), most], axis=1)
    return (start, after), mine[1] / total[1], bounds
