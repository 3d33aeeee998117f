"""The diameter of a large model, bracketed: no array of S x S is held."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.diameter_search import PROVED, blocks, raised, shares
from sojourn.instance.first_passage import Passage
from sojourn.instance.one_target import reached
from sojourn.instance.sparse_targets import SparseTargets


class Bracket:
    """For large models: blocks of targets by Bellman steps alone where they converge, a few targets solved exactly elsewhere.

    No array of S x S is held.  The interval is proved as in `Search`, column by column, the targets that little leads to first.
    Where Bellman steps do not converge, its upper end comes from the policies of a few solved targets (mixed with a little of
    everything), each state being hit by the policy that visits it most; it may be loose, and is infinite if floats cannot tell.
    Above ALL states, where comparing all pairs would take hours, only some of these targets are taken: the upper end is open.
    """

    TARGETS, NET, SWEEPS = 6, 12, 320
    ALL, FACTORED = 20_000, 6_000  # states up to which all targets are taken, and up to which some are factorized
    WIDTH = 64  # targets at a time: their values stay in the processor's cache
    FEW, WORK = 32, 2e10  # targets above that, and the multiplications to spend on them

    def __init__(self, passage: Passage):
        self.passage = passage
        self.value, self.pair, self.low, self.high = 0.0, (0, 0), 0.0, 0.0
        self.solved: dict[int, np.ndarray] = {}
        self.start = float(passage.cost.mean()) * passage.n_states  # a first guess; then what the last block came to

    def run(self, tolerance: float) -> None:
        n, order = self.passage.n_states, self._hardest_first()
        if n > self.ALL:
            sweeps = int(np.clip(self.WORK / (self.FEW * self.passage.matrix.nnz), 8, self.SWEEPS))
            self._converge(np.sort(order[: self.FEW]), max(tolerance, 1e-6), sweeps)
            self._open_end()
            return
        for part in blocks(order, self.WIDTH):
            if not self._converge(np.sort(part), max(tolerance, PROVED / 4), self.SWEEPS):
                self._open_end()
                if n <= self.FACTORED:
                    self._sample()
                    self.high = self._covered()
                return

    def _open_end(self) -> None:
        """Leave the upper end open; the value is what is proved of it, no more."""
        self.high, self.value = float("inf"), self.low

    def _hardest_first(self) -> np.ndarray:
        """Return the targets, those first that the best choices lead to least."""
        passage = self.passage
        column, row = passage.matrix.indices, np.repeat(passage.state, np.diff(passage.matrix.indptr))
        order = np.lexsort((passage.matrix.data, row, column))
        last = np.append((np.diff(column[order]) != 0) | (np.diff(row[order]) != 0), True)
        best = order[last]  # the most likely choice of each (state, target)
        return np.argsort(np.bincount(column[best], passage.matrix.data[best], passage.n_states), kind="stable")

    def _converge(self, part: np.ndarray, tolerance: float, sweeps: int) -> bool:
        """Sweep one block until each column is known or ruled out; return False if it does not get there."""
        cost = self.passage.cost.mean()
        block = np.full((self.passage.n_states, len(part)), self.start)
        block[part, np.arange(len(part))] = 0.0
        for step in range(1, sweeps + 1):
            after = self.passage.sweep(block, part)
            block = after * np.clip(1 + (after - block).mean(axis=0) / cost, 0.5, 2.0)
            if step % 4 or (step < 16 and step % 8 and not self.low):  # early looks pay once there is something to compare with
                continue
            top, self.start = block.max(axis=0), float(block.mean())
            high = raised(block, self.passage.excess_above(block, part), part).max(axis=0)
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
        found = reached(self.passage, target, self.passage.toward(target))
        self.solved[target] = found.choice
        s = int(np.argmax(found.value))
        low = float(found.low()[s])
        if low > self.low:
            self.low, self.value, self.pair = low, low, (s, target)
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
            for part in blocks(np.flatnonzero(owner == i), 64):
                top[part] = self._proved(chain.hits(cost, part), part)
        for _ in range(self.NET):
            target = int(np.argmax(top))
            if top[target] <= self.value * (1 + 1e-9):
                break
            try:
                found = reached(self.passage, target, self.passage.toward(target))
            except ToleranceError:
                break
            top[target] = min(top[target], float(found.high().max()))
        return max(self.high, float(top.max()))

    def _proved(self, block: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return per column a proved bound on the time to its target; infinite where the values prove nothing."""
        usable = np.isfinite(block).all(axis=0) & (block >= 0).all(axis=0)
        block = np.where(usable, block, 0.0)
        return np.where(usable, raised(block, self.passage.excess_above(block, part), part).max(axis=0), np.inf)

    def bounds(self) -> tuple[float, float]:
        return self.low, max(self.high, self.value)
