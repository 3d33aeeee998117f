"""The diameter: the longest of the shortest expected times between two states, with a proof.   Paper: eq:diameter

Every policy's hitting times bound the shortest ones from above, so most targets are ruled out by a few policies evaluated
for all targets at once (and by going through a state already solved); the targets that remain are solved exactly, the most
promising first.  The interval rests on residuals alone, not on how the values were found.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.first_passage import AllTargets, Passage
from sojourn.instance.sparse_targets import SparseTargets
from sojourn.model.ctmdp import CTMDP, require_model

EXACT_STATES = 3000  # up to here all pairs of states are compared; above, the diameter is bracketed
SLACK = 1e-10


@dataclass(frozen=True, eq=False)
class Diameter(float):
    """D(M) in units of time: a float that knows the pair (from, to) attaining it (state indices) and a proved interval."""

    value: float
    pair: tuple[int, int]
    bounds: tuple[float, float]
    exact: bool
    solved: int
    seconds: float

    def __new__(cls, value: float, *details: Any, **named: Any) -> Diameter:
        return super().__new__(cls, value)

    def __str__(self) -> str:
        return repr(self.value)


def diameter(model: CTMDP, tolerance: float = SLACK) -> Diameter:
    """Return max over (s, t) of min over policies of E[time from s to t], in units of time.   Paper: eq:diameter

    `exact` says whether all targets were compared, to `tolerance` (relative) and rounding, which is so up to 3,000 states;
    for larger models that mix slowly `value` is attained by `pair` and both bounds hold, but the upper one may be loose.
    Infinite, with the pair, if some state cannot be reached from another.

    >>> float(diameter(CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]])))
    0.2
    """
    require_model(model)
    began = clock.perf_counter()
    if model.n_states == 1:
        return Diameter(0.0, (0, 0), (0.0, 0.0), True, 0, clock.perf_counter() - began)
    passage = Passage(model.matrix, model.pair_state, 1.0 / model.rate)
    lost = unreachable(passage)
    if lost is not None:
        return Diameter(float("inf"), lost, (float("inf"), float("inf")), True, 0, clock.perf_counter() - began)
    search = _Search(passage) if model.n_states <= EXACT_STATES else _Bracket(passage)
    search.run(tolerance)
    return Diameter(
        search.value, search.pair, search.bounds(), search.exact, len(search.solved), clock.perf_counter() - began
    )


def unreachable(passage: Passage) -> tuple[int, int] | None:
    """Return (s, t) such that t cannot be reached from s, or None if the model is communicating."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = passage._backward()
    if connected_components(graph, connection="strong")[0] == 1:
        return None
    for t in range(passage.n_states):
        seen = np.zeros(passage.n_states, dtype=bool)
        seen[breadth_first_order(graph, t, return_predecessors=False)] = True
        if not seen.all():
            return int(np.flatnonzero(~seen)[0]), t
    return None


class _Search:
    """Upper bounds U[s, t] for all pairs of states; targets are solved until none can beat the best found."""

    exact = True

    def __init__(self, passage: Passage):
        self.passage, n = passage, passage.n_states
        self.upper = np.full((n, n), np.inf)
        np.fill_diagonal(self.upper, 0.0)
        self.shape = np.full((n, n), np.inf)
        self.value, self.pair, self.low = 0.0, (0, 0), 0.0
        self.solved: dict[int, np.ndarray] = {}
        self.everywhere, self.sweeping = True, True

    def run(self, tolerance: float) -> None:
        self.goal = 1 + tolerance
        share = shares(self.passage)
        self._bound_by((share @ self.passage.matrix).tocsr(), share @ self.passage.cost)
        worst = self.upper.max(axis=0)
        target = int(np.argmax(np.where(np.isfinite(worst), worst, 0.0)))
        while True:
            self._solve(target)
            rest = self._rest()
            if rest.size and self.everywhere:
                price = 1.5e-10 * self.passage.n_states**3
                self.everywhere = self._worth(rest, partial(self._evaluate_everywhere, target), price)
                rest = self._rest()
            while rest.size and self.sweeping:
                self.sweeping = self._worth(rest, partial(self._sweep, rest), 1.2e-8 * self.passage.matrix.nnz * len(rest))
                rest = self._rest()
            if not rest.size:
                return
            target = self._next(rest, target)
            self.sweeping = self.sweeping or len(self.solved) % 16 == 0

    def _rest(self) -> np.ndarray:
        """Return the targets that may still beat the best found."""
        worst = self.upper.max(axis=0)
        worst[list(self.solved)] = 0.0
        return np.flatnonzero(worst > self.value * self.goal)

    def _worth(self, before: np.ndarray, action: Callable[[], None], price: float) -> bool:
        """Run something that rules out targets; return whether it was cheaper than solving these one by one.

        Prices are estimated, not measured, so that the same model always takes the same way.
        """
        action()
        n = self.passage.n_states
        one = 1.5e-10 * n**3 if self.passage.uses_dense else 1e-5 * n
        return (len(before) - len(self._rest())) * one > price

    def _next(self, rest: np.ndarray, last: int) -> int:
        """Return the target with the largest bound; among unbounded ones the farthest from the last target."""
        worst = self.upper[:, rest].max(axis=0)
        if np.isfinite(worst).all():
            return int(rest[np.argmax(worst)])
        unbounded = rest[np.isinf(worst)]
        return int(unbounded[np.argmax(self.upper[unbounded, last])])

    def _solve(self, target: int) -> None:
        value, choice = self.passage.solve(target, self._start(target))
        self.solved[target] = choice
        self.upper[:, target] = value
        np.minimum(self.upper, value[:, None] + self.upper[target][None, :], out=self.upper)
        s = int(np.argmax(value))
        if value[s] > self.value:
            self.value, self.pair = float(value[s]), (s, target)
            self.low = self.value / (1 + float(self.passage.excess_below(value[:, None], np.array([target]))[0]))

    def _start(self, target: int) -> np.ndarray:
        column = self.upper[:, target]
        if not np.isfinite(column).all():
            return self.passage.toward(target)
        return self.passage.first_least(self.passage.ahead(column))  # greedy in such an upper bound reaches the target

    def _evaluate_everywhere(self, target: int) -> None:
        """Let the policy that is best for one target, mixed with a little of everything, bound all the targets."""
        share = shares(self.passage, self.solved[target])
        chain = (share @ self.passage.matrix).tocsr()
        self._bound_by(chain, share @ self.passage.cost)

    def _bound_by(self, chain: Any, cost: np.ndarray) -> None:
        found = AllTargets(chain).hits(cost)
        for part in _blocks(np.flatnonzero(np.isfinite(found[0]))):
            block = found[:, part]
            np.fmin(self.upper[:, part], _raised(block, self.passage.excess_above(block, part), part), out=block)
            self.upper[:, part] = block

    def _sweep(self, columns: np.ndarray, sweeps: int = 8) -> None:
        """Improve the shape of some columns by Bellman steps, each scaled so that its residual has mean zero.

        A column whose residual is at most δ times the cost becomes an upper bound when divided by 1 - δ.
        """
        cost = self.passage.cost.mean()
        for part in _blocks(columns[np.isfinite(self.upper[:, columns]).all(axis=0)]):
            started = np.isfinite(self.shape[0, part])
            block = np.where(started, self.shape[:, part], self.upper[:, part])
            for _ in range(sweeps):
                after = self.passage.sweep(block, part)
                block = after * np.clip(1 + (after - block).mean(axis=0) / cost, 0.5, 2.0)
            self.shape[:, part] = block
            off = self.passage.excess_above(block, part)
            self.upper[:, part] = np.minimum(self.upper[:, part], _raised(block, off, part))

    def bounds(self) -> tuple[float, float]:
        """Return the proved interval: the best target from below, every column of U from above."""
        high = 0.0
        for part in _blocks(np.arange(self.passage.n_states)):
            block = self.upper[:, part]
            high = max(high, float(_raised(block, self.passage.excess_above(block, part), part).max()))
        return self.low, high


class _Bracket:
    """For large models: blocks of targets by Bellman steps alone where they converge, a few targets solved exactly elsewhere.

    No array of S x S is held.  The interval is proved as in `_Search`, column by column.  Where Bellman steps do not
    converge, its upper end comes from the policies of a few solved targets (mixed with a little of everything), each state
    being hit by the policy that visits it most; it may be loose, and is infinite if floats cannot tell.
    """

    exact = False
    TARGETS, NET, SWEEPS = 6, 12, 320

    def __init__(self, passage: Passage):
        self.passage = passage
        self.value, self.pair, self.low, self.high = 0.0, (0, 0), 0.0, 0.0
        self.solved: dict[int, np.ndarray] = {}

    def run(self, tolerance: float) -> None:
        for part in _blocks(np.arange(self.passage.n_states)):
            if not self._converge(part, max(tolerance, 1e-9)):
                self._sample()
                self.high = self._covered()
                return
        self.exact = self.high <= self.low * (1 + 1e-6)

    def _converge(self, part: np.ndarray, tolerance: float) -> bool:
        """Sweep one block until each column is known or ruled out; return False if it does not get there."""
        cost = self.passage.cost.mean()
        block = np.full((self.passage.n_states, len(part)), cost * self.passage.n_states)
        block[part, np.arange(len(part))] = 0.0
        for step in range(1, self.SWEEPS + 1):
            after = self.passage.sweep(block, part)
            block = after * np.clip(1 + (after - block).mean(axis=0) / cost, 0.5, 2.0)
            if step % 8:
                continue
            top = block.max(axis=0)
            high = _raised(block, self.passage.excess_above(block, part), part).max(axis=0)
            low = top / (1 + self.passage.excess_below(block, part))
            t = int(np.argmax(low))
            if low[t] > self.low:
                self.low, self.value, self.pair = float(low[t]), float(top[t]), (int(np.argmax(block[:, t])), int(part[t]))
            done = (high <= self.low) | (high <= low * (1 + tolerance))
            self.high = max(self.high, float(high[done].max(initial=0.0)))
            part, block = part[~done], np.ascontiguousarray(block[:, ~done])
            if not part.size:
                return True
        return False

    def _sample(self) -> None:
        """Solve a few targets exactly: each next one is the state farthest from the last target."""
        target = 0
        for _ in range(self.TARGETS):
            try:
                target = self._solve(target)
            except ToleranceError:  # beyond double precision; what is known so far remains a lower bound
                return
            if target in self.solved:
                return

    def _solve(self, target: int) -> int:
        """Solve for one target and return the state farthest from it."""
        value, self.solved[target] = self.passage.solve(target, self.passage.toward(target))
        s = int(np.argmax(value))
        low = float(value[s]) / (1 + float(self.passage.excess_below(value[:, None], np.array([target]))[0]))
        if low > self.low:
            self.low, self.value, self.pair = low, float(value[s]), (s, target)
        return s

    def _covered(self) -> float:
        """Return a proved bound on all hitting times: a net of policies, the next towards the target that is visited least."""
        chains: list[tuple[SparseTargets, np.ndarray]] = []
        cycle = np.full((1, self.passage.n_states), np.inf)
        tried = np.zeros(self.passage.n_states, dtype=bool)
        waiting = list(self.solved)
        for _ in range(self.NET):
            target = waiting.pop(0) if waiting else int(np.argmax(np.where(tried, 0.0, cycle.min(axis=0))))
            tried[target] = True
            try:
                if target not in self.solved:
                    self._solve(target)
                share = shares(self.passage, self.solved[target], 0.001)
                chains.append((SparseTargets((share @ self.passage.matrix).tocsr()), share @ self.passage.cost))
            except (ToleranceError, RuntimeError):  # beyond double precision, or a singular factorization
                continue
            cycle = np.vstack([cycle, chains[-1][0].cycle(chains[-1][1])])
        return self._worst(chains, np.argmin(cycle[1:], axis=0)) if chains else float("inf")

    def _worst(self, chains: list[tuple[SparseTargets, np.ndarray]], owner: np.ndarray) -> float:
        """Return the largest proved hitting time: each target by the chain that owns it, the worst few solved exactly."""
        top = np.zeros(self.passage.n_states)
        for i, (chain, cost) in enumerate(chains):
            for part in _blocks(np.flatnonzero(owner == i), 64):
                top[part] = self._proved(chain.hits(cost, part), part)
        for _ in range(self.NET):
            target = int(np.argmax(top))
            if top[target] <= self.value * (1 + 1e-9):
                break
            try:
                value, _ = self.passage.solve(target, self.passage.toward(target))
            except ToleranceError:
                break
            top[target] = self._proved(value[:, None], np.array([target]))[0]
        return max(self.high, float(top.max()))

    def _proved(self, block: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return per column a proved bound on the time to its target; infinite where the values prove nothing."""
        usable = np.isfinite(block).all(axis=0) & (block >= 0).all(axis=0)
        block = np.where(usable, block, 0.0)
        return np.where(usable, _raised(block, self.passage.excess_above(block, part), part).max(axis=0), np.inf)

    def bounds(self) -> tuple[float, float]:
        return self.low, max(self.high, self.value)


def shares(passage: Passage, choice: np.ndarray | None = None, little: float = 0.05) -> Any:
    """Return the (S, choices) matrix of a policy: uniform, or mostly one choice per state and a little of all others."""
    from scipy.sparse import csr_matrix

    weight = np.repeat(1.0 / passage.length, passage.length)
    if choice is not None:
        weight *= little
        weight[choice] += 1 - little
    return csr_matrix((weight, (passage.state, np.arange(len(weight)))), shape=(passage.n_states, len(weight)))


def _blocks(columns: np.ndarray, width: int = 256) -> list[np.ndarray]:
    return np.array_split(columns, max(1, len(columns) // width)) if len(columns) else []


def _raised(block: np.ndarray, off: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the upper bounds that columns with residuals δ prove: block/(1 - δ), infinite where δ >= 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        raised = np.where(off < 1, block / (1 - off), np.inf)
    raised[target, np.arange(len(target))] = 0.0
    return raised
