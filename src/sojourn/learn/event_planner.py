"""Planning over an event table: policy iteration from the last policy, or sweeps where the states are too many to eliminate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sojourn.kernels.event_planning import EventRows, best_event_policy, event_sweeps
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge

MOST_WORK = 3e8  # multiplications of one elimination; beyond, sweeps
FIRST_SWEEPS, SWEEPS = 20, 3000  # in one plan, before the size of the gain is known and after


class Found(NamedTuple):
    """A policy as the pair of each state, with its gain and bias."""

    gain: float
    bias: np.ndarray
    pair: np.ndarray


class EventPlanner:
    """Plans for given ends of the rates, warm from what it found last."""

    def __init__(self, knowledge: Knowledge, table: EventTable):
        self.rows = EventRows(*(np.array(array) for array in (
            knowledge.pair_start, table.row_start, table.next_state, table.event, table.coefficient, table.payment,
            table.reward, table.running)))
        self.place, self.width = band_order(knowledge, table)
        self.sweeping = knowledge.n_states * float(self.width) ** 2 > MOST_WORK

    def best(self, low: np.ndarray, high: np.ndarray, start: Found, reference: int = 0, tolerance: float = 1e-6) -> Found:
        """Return the best policy when every rate lies in [low, high], each pair with the ends that help it most.

        `tolerance` (relative, of the gain) is for sweeps; policy iteration ends when nothing improves.
        """
        if self.sweeping:
            return self._swept(low, high, start, tolerance)
        gain, bias, pair, _ = best_event_policy(self.rows, low, high, start.pair, start.bias, reference, self.place, self.width)
        return Found(gain, bias, pair)

    def bracket(self, low: np.ndarray, high: np.ndarray, found: Found) -> tuple[float, float]:
        """Return an interval that holds the largest gain when every rate lies in [low, high], from one look at `found`."""
        least, most, _, _ = event_sweeps(self.rows, low, high, found.bias, self._uniform(high), 1, 0.0)
        return float(least), float(most)

    def _uniform(self, high: np.ndarray) -> float:
        """Return a rate that no pair exceeds."""
        rows = self.rows
        jumps = rows.next_state >= 0
        total = np.concatenate([[0.0], np.cumsum(np.where(jumps, rows.coefficient * high[rows.event], 0.0))])
        return 1.0001 * float(np.diff(total[rows.row_start]).max())

    def _swept(self, low: np.ndarray, high: np.ndarray, start: Found, tolerance: float) -> Found:
        rows, uniform = self.rows, self._uniform(high)
        least, most, bias, pair = event_sweeps(rows, low, high, start.bias, uniform, FIRST_SWEEPS, 0.0)
        wanted = tolerance * abs(least + most) / 2
        if most - least > wanted:
            least, most, bias, pair = event_sweeps(rows, low, high, bias, uniform, SWEEPS, wanted)
        return Found((least + most) / 2, bias, pair)


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
