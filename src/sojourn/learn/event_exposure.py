"""The way to events that were never possible: which choices to take so that each has its first exposure soon.

The table says where an event is active and which jumps lead there; every declared event has a positive rate.  So a breadth-first
search from the choices that show an untried event gives each state the actions that may come one jump nearer; of these the one is
taken whose next jump does so with the largest chance, as far as rates are known.  If a choice that shows one can be reached from
everywhere, it is reached in finite mean time, whatever the rates are and whatever is known of them: S jumps nearer in turn have a
chance bounded from below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge


class Way(NamedTuple):
    """The pair to take in each state, the states from which this leads to an untried event, and the pairs that show one."""

    pair: np.ndarray  # int64[S], the first pair of the state where it does not lead there
    leads: np.ndarray  # bool[S]
    shows: np.ndarray  # bool[P]


class Exposure:
    """Where events are active, and how to get there."""

    def __init__(self, knowledge: Knowledge, table: EventTable):
        self.knowledge, self.table = knowledge, table
        _, event, total = table.exposure_rows
        self.largest = np.zeros(table.n_events)  # coefficient of each event, over all pairs; 0 where it is active in none
        np.maximum.at(self.largest, event, total)
        self.certain = knowledge.events is not None or knowledge.support_start is not None  # whether all jumps can happen

    def way(self, untried: np.ndarray, count: np.ndarray, theta: np.ndarray) -> Way:
        """Return the way to the events marked in `untried` (K,); `count` is how often each row was seen, `theta` are likely rates.

        Where nobody said which jumps are possible, only those that were seen are relied on.
        """
        known, table = self.knowledge, self.table
        pair, event, _ = table.exposure_rows
        shows = np.zeros(known.n_pairs, dtype=bool)
        shows[pair[untried[event]]] = True
        goal = np.unique(known.pair_state[shows])
        rows = np.flatnonzero(table.jumps if self.certain else table.jumps & (count > 0))
        here, there = known.pair_state[table.pair[rows]], table.next_state[rows]
        back = csr_matrix((np.ones(len(rows)), (there, here)), shape=(known.n_states, known.n_states))
        distance = dijkstra(back, indices=goal, unweighted=True, min_only=True)
        chosen = np.array(known.pair_start[:-1], dtype=np.int64)
        nearer = rows[distance[there] < distance[here]]
        flow = np.bincount(table.pair[nearer], table.intensity(theta)[nearer], minlength=known.n_pairs)
        chance = flow / np.maximum(table.rate(theta), 1e-300)
        order = np.lexsort((-np.arange(known.n_pairs), chance))  # of equal chances the first pair comes last
        order = order[np.isin(order, table.pair[nearer])]
        chosen[known.pair_state[order]] = order
        first = np.flatnonzero(shows)[::-1]
        chosen[known.pair_state[first]] = first
        return Way(chosen, np.isfinite(distance), shows)
