"""Elimination on numbers of any size with 32 digits, for chains that floats cannot hold (barriers crossed once in 1e400 jumps)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import TooLarge
from sojourn.solving.double_double import Pair, add, multiply
from sojourn.solving.elimination import UNIT, Elimination, Totals, layout

MOST_WORK = 3e8  # multiplications: they cost some thirty times as much as plain ones
FINE = 2.0**-98  # the relative error of one operation


class WideElimination(Elimination):
    """As `SparseElimination`, with every number two mantissas and an exponent; results are rounded to floats."""

    def __init__(self, matrix: Any, reference: int):
        from sojourn.kernels import wide as kernels

        self.n_states, self.reference = matrix.shape[0], reference
        plan = layout(matrix, reference, MOST_WORK)
        self.order, self._shape = plan.order, (plan.begin, plan.offset, plan.state)
        self._pointer, self._through, self._onward, self._total, roundings = kernels.eliminate_wide(
            matrix.indptr, matrix.indices, *_split(matrix.data), plan.order, *self._shape)
        if (self._total[0][:-1] == 0.0).any():
            raise TooLarge(f"a state of this chain of {self.n_states:,} states cannot reach state {reference}.")
        longest = float(np.diff(self._pointer).max(initial=0))
        self.error = 2.02 * FINE * roundings
        self.forward_error = 2.02 * FINE * self.n_states + UNIT
        self.backward_error = 1.01 * FINE * self.n_states * (longest + 3) + UNIT

    def _totals(self, costs: np.ndarray) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        from sojourn.kernels import wide as kernels

        h, e = _split(costs[self.order])
        low = np.zeros_like(h)
        cycle = kernels.totals_wide(self._pointer, *self._shape, self._through, self._onward, self._total, h, low, e)
        until = tuple(np.empty_like(x) for x in (h, low, e))
        for out, x in zip(until, (h, low, e)):
            out[self.order] = x
        return cycle, until

    def totals(self, costs: np.ndarray) -> Totals:
        cycle, (h, low, e) = self._totals(costs)
        top = int(np.where(cycle[0] > 0, cycle[2], -(2**60)).max())
        power = _largest(h, e)
        return Totals(_joined(cycle[0] + cycle[1], cycle[2] - top), _joined(h + low, e - power[:, None]), top, power)

    def visits(self) -> tuple[np.ndarray, float]:
        from sojourn.kernels import wide as kernels

        h, low, e, worst = kernels.visits_wide(self._pointer, *self._shape, self._through)
        out = np.empty(self.n_states)
        out[self.order] = _joined(h + low, e - int(e[h > 0].max()))
        return out / out.sum(), self.error + 1.01 * FINE * worst + 1.01 * UNIT * (self.n_states + 3)

    def correction(self, rest: np.ndarray, holding: np.ndarray) -> tuple[float, Pair]:
        """Return what to add to (gain, bias) so that a residual `rest` of r - gain τ + P bias - bias becomes 0, in 32 digits.

        What is beyond the range of floats is not corrected.
        """
        cycle, (h, low, e) = self._totals(np.column_stack([np.maximum(rest, 0.0), np.maximum(-rest, 0.0), holding]))
        top = int(np.where(cycle[0] > 0, cycle[2], -(2**60)).max())
        high, tail = _joined(cycle[0], cycle[2] - top), _joined(cycle[1], cycle[2] - top)
        rise = add((high[0], tail[0]), (-high[1], -tail[1]))
        step = float((rise[0] + rise[1]) / high[2])
        pieces = [(_joined(h[:, c], e[:, c]), _joined(low[:, c], e[:, c])) for c in range(3)]
        change = add(pieces[0], (-pieces[1][0], -pieces[1][1]))
        change = add(change, multiply(pieces[2], np.full(self.n_states, -step)))
        sound = np.isfinite(change[0]) & np.isfinite(change[1])
        return step, (np.where(sound, change[0], 0.0), np.where(sound, change[1], 0.0))


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mantissas in [1, 2) (0 for 0) and exponents."""
    m, e = np.frexp(x)
    return 2.0 * m, np.where(m == 0, 0, e.astype(np.int64) - 1)


def _joined(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        floats: np.ndarray = np.ldexp(m, np.clip(e, -3000, 3000).astype(np.int32))
        return floats


def _largest(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return per row the largest exponent of a positive entry, 0 where all entries fit into floats or are 0."""
    low = -(2**60)
    top = np.where(m > 0, e, low).max(axis=1)
    return np.where((top > 900) | ((top < -900) & (top > low)), top, 0)
