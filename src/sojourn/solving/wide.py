"""Elimination on numbers of any size, for chains that floats cannot hold on the way (a barrier crossed once in 1e400 jumps)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.solving.elimination import UNIT, Elimination, TooLarge, Totals, layout

MOST_WORK = 2e9  # multiplications: they cost several times as much as plain ones


class WideElimination(Elimination):
    """As `SparseElimination`, with every number a mantissa and an exponent."""

    def __init__(self, matrix: Any, reference: int):
        from sojourn.kernels import wide as kernels

        self.n_states, self.reference = matrix.shape[0], reference
        plan = layout(matrix, reference, MOST_WORK)
        self.order, self._shape = plan.order, (plan.begin, plan.offset, plan.state)
        pointer, *self._through_onward_total, roundings = kernels.eliminate_wide(
            matrix.indptr, matrix.indices, *_split(matrix.data), plan.order, *self._shape)
        if (self._through_onward_total[4][:-1] == 0.0).any():
            raise TooLarge(f"a state of this chain of {self.n_states:,} states cannot reach state {reference}.")
        self._pointer = pointer
        self.error = 2.02 * UNIT * roundings
        longest = float(np.diff(pointer).max(initial=0))
        self.forward_error = 2.02 * UNIT * self.n_states
        self.backward_error = 1.01 * UNIT * self.n_states * (longest + 3)

    def totals(self, costs: np.ndarray) -> Totals:
        from sojourn.kernels import wide as kernels

        m, e = _split(costs[self.order])
        m_cycle, e_cycle = kernels.totals_wide(self._pointer, *self._shape, *self._through_onward_total, m, e)
        top = int(np.where(m_cycle > 0, e_cycle, np.iinfo(np.int64).min // 2).max())
        power = _largest(m, e)
        until, until_power = np.empty(costs.shape), np.empty(self.n_states, dtype=np.int64)
        until[self.order], until_power[self.order] = _joined(m, e - power[:, None]), power
        return Totals(_joined(m_cycle, e_cycle - top), until, top, until_power)

    def visits(self) -> tuple[np.ndarray, float]:
        from sojourn.kernels import wide as kernels

        m, e, worst = kernels.visits_wide(self._pointer, *self._shape, *self._through_onward_total[:2])
        out = np.empty(self.n_states)
        out[self.order] = _joined(m, e - int(e[m > 0].max()))
        return out / out.sum(), self.error + 1.01 * UNIT * (worst + self.n_states + 3)


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mantissas in [1, 2) (0 for 0) and exponents."""
    m, e = np.frexp(x)
    return 2.0 * m, np.where(m == 0, 0, e.astype(np.int64) - 1)


def _joined(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    return np.ldexp(m, np.clip(e, -3000, 3000).astype(np.int32))


def _largest(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return per row the largest exponent of a positive entry, 0 where all rows fit into floats or are 0."""
    low = np.iinfo(np.int64).min // 2
    top = np.where(m > 0, e, low).max(axis=1)
    return np.where((top > 900) | ((top < -900) & (top > low)), top, 0)
