"""Planning over an event table: policy iteration from the last policy, by elimination or (many states) by multigrid."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sojourn.kernels.event_planning import EventRows, best_event_policy, event_sweeps
from sojourn.learn.found import Found
from sojourn.learn.large_event_planner import large_plan, multigrid_plan
from sojourn.model.events import EventTable
from sojourn.model.graph import strong_components
from sojourn.model.knowledge import Knowledge

CHEAP_WORK = 1e7  # multiplications of one elimination up to which all is eliminated, in some 10 ms; 200 states need at most 8e6
MOST_WORK = 3e8  # beyond, nothing is eliminated
CLOSE = 1e-6  # of the gain: how closely multigrid plans between the two


class EventPlanner:
    """Plans for given ends of the rates, warm from what it found last."""

    def __init__(self, knowledge: Knowledge, table: EventTable):
        self.rows = EventRows(*(np.array(array) for array in (
            knowledge.pair_start, table.row_start, table.next_state, table.event, table.coefficient, table.payment,
            table.reward, table.running)))
        self.place, self.width = band_order(knowledge, table)
        self.work = knowledge.n_states * float(self.width) ** 2
        self.large = self.work > MOST_WORK

    def best(self, low: np.ndarray, high: np.ndarray, start: Found, reference: int = 0, tolerance: float = 1e-6,
             proved: bool = False) -> Found:
        """Return the best policy when every rate lies in [low, high], each pair with the ends that help it most.

        `tolerance` (relative, of the gain) is for large models.  Others are planned for by elimination, until nothing improves;
        from CHEAP_WORK on by multigrid to CLOSE, where all pairs have the same rates and multigrid gets there.  `proved`: where
        every state can be reached from every other, go on until the gain is known to `tolerance`, however long that takes.
        """
        if self.large:
            return large_plan(self.rows, low, high, start, tolerance, proved and self.connected)
        if self.work > CHEAP_WORK and np.array_equal(low, high):  # ends that differ are often too far apart for multigrid
            start, ended = multigrid_plan(self.rows, low, high, start, min(tolerance, CLOSE))
            if ended:
                return start
        gain, bias, pair, _ = best_event_policy(self.rows, low, high, start.pair, start.bias, reference, self.place, self.width)
        return Found(gain, bias, pair)

    @cached_property
    def connected(self) -> bool:
        """Whether every state can be reached from every other."""
        rows, n = self.rows, len(self.place)
        state = np.repeat(np.arange(n), np.diff(rows.row_start[rows.pair_start]))
        jumps = rows.next_state >= 0
        return strong_components(n, state[jumps], rows.next_state[jumps])[0] == 1

    def bracket(self, low: np.ndarray, high: np.ndarray, found: Found) -> tuple[float, float]:
        """Return an interval that holds the largest gain when every rate lies in [low, high], from one look at `found`."""
        least, most, _, _ = event_sweeps(self.rows, low, high, found.bias, 1.0, 1, 0.0)  # one sweep: its step does not matter
        return float(least), float(most)


def band_order(knowledge: Knowledge, table: EventTable) -> tuple[np.ndarray, int]:
    """Return the place of each state in an order in which jumps are short, and the longest jump of any pair in it."""
    n = knowledge.n_states
    jumps = table.jumps
    here, there = knowledge.pair_state[table.pair[jumps]], table.next_state[jumps]
    graph = csr_matrix((np.ones(len(here)), (here, there)), shape=(n, n))
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(csr_matrix(graph + graph.T), symmetric_mode=True)] = np.arange(n)
    plain = int(np.abs(here - there).max(initial=1))
    width = int(np.abs(place[here] - place[there]).max(initial=1))
    return (np.arange(n), plain) if plain <= width else (place, width)
