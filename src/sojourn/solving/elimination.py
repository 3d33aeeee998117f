"""A Markov chain with all states but one taken out, without a subtraction: visits, expected totals, and how exact they are.

The error bound.  Taking out one state leaves the exact smaller chain with the numbers of each touched row off by a few roundings.
Visits and expected totals are ratios of sums over trees of products with one number per row (Markov chain tree theorem), so
a relative error η in r rows moves them by at most a factor ((1 + η)/(1 - η))^r, and the errors of all steps add up.  No condition
number enters: drift, rare states and nearly closed sets cost nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sojourn.errors import TooLarge

UNIT = 2.0**-53  # half a unit in the last place: the relative error of one operation
DENSE = 200  # states up to which plain arrays are as fast, and nothing has to be compiled
NARROW = 8  # where no jump spans more states, in the order of their distance from the reference, that order is kept
MOST_WORK = 4e10  # multiplications
PLANAR = 40  # multiplications over n^1.5, up to which nested dissection is known to be good
AS_GOOD = 1.2  # multiplications over those of the chain whose order is taken over
MOST_ROOM = 8e7  # numbers in the factors
CHEAP = 2e7  # multiplications up to which numbers of any size are used as soon as floats do not suffice
UNPROVED = 1e100  # an error that proves nothing: small numbers were lost, and only a Bellman step can prove the result


class OutOfRange(ArithmeticError):
    """A number on the way left the range of floats where it matters."""


class Totals(NamedTuple):
    """Expected totals of some costs: `cycle` 2^`cycle_power` between two visits of the reference, `until` 2^`until_power` until it.

    The powers of two are 0 unless the numbers leave the range of floats.
    """

    cycle: np.ndarray  # per column
    until: np.ndarray  # (states, columns), 0 at the reference
    cycle_power: int
    until_power: np.ndarray | int  # per state


class Elimination:
    """What every form offers; `error` bounds the relative errors that the numbers of the reduced chains cause.

    `forward_error` and `backward_error` bound what the two passes of `totals` add for positive costs.
    """

    n_states: int
    reference: int
    error: float
    forward_error: float
    backward_error: float

    def totals(self, costs: np.ndarray) -> Totals:
        """Return the expected totals of `costs` (states x columns, none negative)."""
        raise NotImplementedError

    def rough_totals(self, costs: np.ndarray) -> Totals:
        """Return the totals for a correction whose error is found out afterwards: fast, and nothing is proved of them."""
        return self.totals(costs)

    def visits(self) -> tuple[np.ndarray, float]:
        """Return how often each state is visited, as shares of 1, and a bound on the relative error of each.

        Shares below 1e-300 may be given as 0.
        """
        raise NotImplementedError


def eliminated(matrix: Any, reference: int, like: Elimination | None = None) -> Elimination:
    """Return the chain `matrix` (CSR; its diagonal is not used) with all states but `reference` taken out.

    Every state must be able to reach the reference.  TooLarge is raised where this would take too long, OutOfRange (by the methods
    too) where floats cannot hold a number on the way: `sojourn.solving.wide` can.  `like` may be the elimination of a chain that
    is nearly the same, whose order is tried first.
    """
    return DenseElimination(matrix, reference) if matrix.shape[0] <= DENSE else SparseElimination(matrix, reference, like)


class DenseElimination(Elimination):
    """Plain arrays, for small chains."""

    def __init__(self, matrix: Any, reference: int):
        n = matrix.shape[0]
        self.n_states, self.reference = n, reference
        self.order = np.append(np.delete(np.arange(n), reference), reference)
        self.a = a = matrix.toarray()[np.ix_(self.order, self.order)]
        np.fill_diagonal(a, 0.0)
        self.total = np.ones(n)
        with np.errstate(all="ignore"):
            for k in range(n - 1):
                row, column = a[k, k + 1 :], a[k + 1 :, k]
                self.total[k] = total = row.sum()
                column /= total
                a[k + 1 :, k + 1 :] += column[:, None] * row
        touched = np.count_nonzero(np.tril(a, -1), axis=0)
        self.error = 2.02 * UNIT * float(touched @ (11 + np.arange(n, 0, -1) // 8))
        self.forward_error, self.backward_error = 2.02 * UNIT * n, 1.01 * UNIT * n * (n / 2 + 3)
        _require_range(a, self.total[:-1])

    def totals(self, costs: np.ndarray) -> Totals:
        a, b, total = self.a, costs[self.order], self.total
        for k in range(self.n_states - 1):
            b[k + 1 :] += a[k + 1 :, k, None] * b[k]
        cycle = b[-1].copy()
        b[-1] = 0.0
        for k in range(self.n_states - 2, -1, -1):
            row = b[k]
            row += a[k, k + 1 :].dot(b[k + 1 :])
            row /= total[k]
        out = np.empty_like(b)
        out[self.order] = b
        return _totals(cycle, out)

    def rough_totals(self, costs: np.ndarray) -> Totals:
        from scipy.linalg.blas import dtrsm

        factors, out = -self.a.T, np.empty_like(costs)
        np.fill_diagonal(factors, self.total)
        b = dtrsm(1.0, factors, costs[self.order], lower=0, trans_a=1, diag=1)
        cycle = b[-1].copy()
        b[-1] = 0.0
        out[self.order] = dtrsm(1.0, factors, b, lower=1, trans_a=1)
        return _totals(cycle, out)

    def visits(self) -> tuple[np.ndarray, float]:
        a, law, out = self.a, np.ones(self.n_states), np.empty(self.n_states)
        for k in range(self.n_states - 2, -1, -1):
            law[k] = law[k + 1 :].dot(a[k + 1 :, k])
        if not 1e-150 < law[law > 0].min() <= law.max() < 1e150:
            raise OutOfRange
        out[self.order] = law
        return out / out.sum(), self.error + 1.01 * UNIT * (self.n_states**2 / 2 + 3 * self.n_states + 3)


def _require_range(a: np.ndarray, total: np.ndarray) -> None:
    """Raise OutOfRange unless products of two numbers of the factors and sums along them stay well inside the range of floats."""
    positive = a[a > 0]
    if not ((total > 1e-120).all() and (not positive.size or 1e-120 < positive.min() <= positive.max() < 1e120)):
        raise OutOfRange


def _totals(cycle: np.ndarray, until: np.ndarray) -> Totals:
    if not (np.abs(cycle).max(initial=0.0) < 1e290 and np.abs(until).max(initial=0.0) < 1e290):
        raise OutOfRange
    return Totals(cycle, until, 0, 0)


class Layout(NamedTuple):
    """The order in which states are taken out, and which numbers come into being: supernodes and their later neighbours."""

    order: np.ndarray
    begin: np.ndarray
    offset: np.ndarray
    state: np.ndarray
    above: np.ndarray
    columns: tuple[np.ndarray, np.ndarray, np.ndarray]
    work: float


def layout(matrix: Any, reference: int, most_work: float = MOST_WORK, like: Elimination | None = None) -> Layout:
    """Return a layout that keeps the factors sparse; TooLarge where it needs more than `most_work` multiplications.

    The order of `like`, the elimination of a chain that is nearly the same, is taken over where it is nearly as good as there.
    """
    from sojourn.kernels import ordering as kernels

    columns = kernels.transposed(matrix.indptr, matrix.indices, matrix.data)
    start, index = kernels.neighbours(matrix.indptr, matrix.indices, columns[0], columns[1])
    order, widest = kernels.by_distance(start, index, reference)
    plan = None
    if widest <= NARROW:
        plan = _planned(start, index, order)
    elif isinstance(like, SparseElimination):
        plan = _planned(start, index, _last(like.order, reference))
        plan = plan if plan[-1] <= AS_GOOD * like.work else None
    order, start, index, parent, count, work = plan or _best_plan(start, index, reference)
    room = float(count.sum())
    if work > most_work or room > MOST_ROOM:
        raise TooLarge(f"taking {len(order):,} states out one by one needs {work:.3g} multiplications and {2 * room:.3g} "
                       f"numbers; the limits are {most_work:g} and {2 * MOST_ROOM:g}.")
    begin = kernels.supernodes(parent, count)
    offset, state, above = kernels.fronts(start, index, parent, count, begin)
    return Layout(order, begin, offset, state, above, columns, work)


def _best_plan(start: np.ndarray, index: np.ndarray, reference: int) -> tuple[Any, ...]:
    """Return the plan by nested dissection; where that cannot cut, or needs much work, the one by least degree if it is better."""
    from sojourn.kernels.dissection import dissected

    order, cut = dissected(start, index)
    plans = [_planned(start, index, _last(order, reference))] if cut else []
    if not plans or plans[0][-1] > PLANAR * len(order) ** 1.5:
        plans.append(_planned(start, index, _last(least_degree(start, index), reference)))
    return min(plans, key=lambda plan: plan[-1])


def _last(order: np.ndarray, reference: int) -> np.ndarray:
    """Return the order with the reference moved to its end."""
    return np.append(order[order != reference], reference)


def _planned(start: np.ndarray, index: np.ndarray, order: np.ndarray) -> tuple[Any, ...]:
    """Return (order, renumbered graph, its elimination tree, later neighbours of each state, multiplications)."""
    from sojourn.kernels import ordering as kernels

    order = order[kernels.postorder(kernels.elimination_tree(*kernels.renumbered(start, index, order)))]
    start, index = kernels.renumbered(start, index, order)
    parent = kernels.elimination_tree(start, index)
    count = kernels.later_neighbours(start, index, parent)
    return order, start, index, parent, count, float(count.astype(float) @ count)


def is_narrow(matrix: Any) -> bool:
    """Return whether the states stand in a line, more or less: then taking them out is cheap."""
    return span(matrix) <= NARROW


def span(matrix: Any) -> int:
    """Return how many states a jump spans at most, in the order of their distance from the first one."""
    from sojourn.kernels import ordering as kernels

    columns = kernels.transposed(matrix.indptr, matrix.indices, matrix.data)
    start, index = kernels.neighbours(matrix.indptr, matrix.indices, columns[0], columns[1])
    return int(kernels.by_distance(start, index, 0)[1])


class SparseElimination(Elimination):
    """Compiled, in an order that keeps the factors sparse."""

    def __init__(self, matrix: Any, reference: int, like: Elimination | None = None):
        from sojourn.kernels import elimination as kernels

        self.n_states, self.reference = matrix.shape[0], reference
        plan = layout(matrix, reference, like=like)
        self.order, self.work, self._shape = plan.order, plan.work, (plan.begin, plan.offset, plan.state)
        self.through, self.onward, self.total, self.place, roundings, sound = kernels.eliminate(
            (matrix.indptr, matrix.indices, matrix.data), plan.columns, plan.order, *self._shape, plan.above)
        usable = bool(np.isfinite(self.total).all() and (self.total[:-1] > 1e-290).all())
        if not sound and (plan.work < CHEAP or not usable):
            raise OutOfRange
        self.error = 2.02 * UNIT * roundings if sound else UNPROVED

    @cached_property
    def _steps(self) -> tuple[float, float]:
        from sojourn.kernels import elimination as kernels

        steps: tuple[float, float] = kernels.steps(*self._shape)
        return steps

    @property
    def forward_error(self) -> float:  # type: ignore[override]
        return 1.01 * UNIT * self._steps[0]

    @property
    def backward_error(self) -> float:  # type: ignore[override]
        return 1.01 * UNIT * self._steps[1]

    def totals(self, costs: np.ndarray) -> Totals:
        from sojourn.kernels import elimination as kernels

        b = np.ascontiguousarray(costs[self.order])
        kernels.forward(*self._shape, self.place, self.through, b)
        cycle = b[-1].copy()
        b[-1] = 0.0
        kernels.backward(*self._shape, self.place, self.onward, self.total, b)
        out = np.empty_like(b)
        out[self.order] = b
        return _totals(cycle, out)

    def visits(self) -> tuple[np.ndarray, float]:
        from sojourn.kernels import elimination as kernels

        law, out = np.empty(self.n_states), np.empty(self.n_states)
        worst = kernels.visits(*self._shape, self.place, self.through, law)
        if not np.isfinite(worst) and (self.work < CHEAP or not np.isfinite(law).all()):
            raise OutOfRange
        out[self.order] = law
        return out / out.sum(), self.error + (1.01 * UNIT * (worst + self.n_states + 3) if np.isfinite(worst) else UNPROVED)


def least_degree(start: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the states by least degree, an order that keeps the factors sparse (SuperLU's; nothing is factorized here)."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import spilu

    n = len(start) - 1
    degree = np.diff(start)
    data = np.insert(np.full(len(index), -1.0), start[:-1], degree + 1.0)  # diagonally dominant, so that nothing fails
    pointer, places = start + np.arange(n + 1), np.insert(index, start[:-1], np.arange(n))
    place = spilu(csc_matrix((data, places, pointer), shape=(n, n)), drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A",
                  diag_pivot_thresh=0.0, options={"SymmetricMode": True}).perm_c
    order = np.empty(n, dtype=np.int64)
    order[place] = np.arange(n)
    return order
