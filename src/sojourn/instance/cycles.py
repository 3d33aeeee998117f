"""One policy of a large model, seen from a hub: bounds of the times from the hub to every state, and back after a deviation.

No array of S x S is held.  What it takes grows with S times the square of the longest jump in an order in which jumps are short:
lines and grids are fast, graphs without such an order are not for this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.instance.first_passage import EPSILON
from sojourn.kernels.cycles import FAINT, band_cycles

MOST = 3e9  # multiplications of one elimination, as for the proof of the gaps
LARGEST = 1.5e8  # numbers in the band
MIXING = 200  # lazy steps after which a state where much mass lies is taken to be busy


def short_jumps(n_states: int, width: int, most: float = MOST) -> bool:
    """Return whether the jumps are so short that all states can be eliminated in order."""
    return float(n_states) * (width + 1.0) ** 2 <= most and float(n_states) * (2.0 * width + 1) <= LARGEST


def likely_law(chain: Any) -> np.ndarray:
    """Return roughly how often a chain is found in each state."""
    law, back = np.full(chain.shape[0], 1.0 / chain.shape[0]), chain.T.tocsr()
    for _ in range(MIXING):
        law = (law + back @ law) / 2
    return law


def busy_state(chain: Any) -> int:
    """Return a state in which a chain is found often."""
    return int(np.argmax(likely_law(chain)))


class Cycles:
    """An irreducible chain with its costs a step, one row of `costs` a kind; `asked` are further rows, each with its state."""

    def __init__(self, chain: Any, costs: np.ndarray, hub: int, place: np.ndarray, width: int, asked: Any = None,
                 asked_state: np.ndarray | None = None):
        rows = chain.tocsr()
        asked = rows[:0] if asked is None else asked.tocsr()
        self.hub, self.asked = hub, asked
        self.state = np.zeros(0, dtype=np.int64) if asked_state is None else asked_state
        self.home, self.round, visits, self.own, self.miss, self.hit, self.error = band_cycles(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, place, width, hub,
            np.ascontiguousarray(costs, dtype=float), self.state, asked.indptr.astype(np.int64), asked.indices.astype(np.int64),
            asked.data)
        with np.errstate(all="ignore"):  # where the error is infinite there may be any numbers
            self.inverse_share = np.where(visits > 0, self.own / visits, np.inf)  # 1 / P(a round meets the state)
            self.least_inverse_share = self.own / np.maximum(visits, FAINT)

    def to_state(self, kind: int = 0) -> np.ndarray:
        """Return per state an upper bound of the expected cost from the hub to it (and, once there, home)."""
        if not np.isfinite(self.error):
            return np.where(np.arange(len(self.own)) == self.hub, 0.0, np.inf)
        with np.errstate(over="ignore"):
            found: np.ndarray = self.round[kind] * self.inverse_share * (np.exp(3 * self.error) * (1 + 8 * EPSILON))
        found[self.hub] = 0.0
        return found

    def returns(self, kind: int, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (low, value, high) per asked row of its cost plus the expected cost of coming back to its state.

        By the hub: cost + Σ p home(y) - home(s) + P(the hub is met before s) (round / P(a round meets s)).
        """
        home, error = self.home[kind], self.error
        if not np.isfinite(error):
            return cost, np.full(len(cost), np.nan), np.full(len(cost), np.inf)
        terms = np.diff(self.asked.indptr) + 8
        ahead, here = self.asked @ home, home[self.state]
        at_hub = self.state == self.hub
        miss, off = np.where(at_hub, 0.0, self.miss), np.expm1(2 * error) * self.hit + terms * EPSILON
        near = cost + ahead - here
        blur = np.expm1(error) * (ahead + here) + terms * EPSILON * (cost + ahead + here)
        with np.errstate(over="ignore", invalid="ignore"):
            far, least = (self.round[kind] * share[self.state] for share in (self.inverse_share, self.least_inverse_share))
            wide = np.exp(3 * error) * (1 + 8 * EPSILON)
            high = near + blur + np.where(at_hub, 0.0, np.minimum(miss + off, 1.0) * far * wide)
            low = near - blur + np.where(at_hub, 0.0, np.maximum(miss - off, 0.0) * least / wide)
            value = near + np.where(at_hub, 0.0, miss * least)
        low = np.maximum(np.nan_to_num(low, nan=0.0), cost) * (1 - 8 * EPSILON)
        high = np.nan_to_num(high, nan=np.inf, posinf=np.inf) * (1 + 8 * EPSILON)
        return low, np.clip(value, low, high), high
