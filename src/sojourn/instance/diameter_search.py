"""The diameter by comparing all pairs of states, with a proof.

Every policy's hitting times bound the shortest ones from above, so most targets are ruled out by a few policies evaluated
for all targets at once (and by going through a state already solved); the targets that remain are solved one by one, the
most promising first.  Each entry of the table of upper bounds is proved when it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sojourn.instance.all_targets import AllTargets
from sojourn.instance.first_passage import EPSILON, Passage
from sojourn.instance.one_target import reached

PROVED = 1e-9  # an interval of this relative width makes a value exact
UP = 1 + 4 * EPSILON


class Search:
    """Upper bounds U[s, t] for all pairs of states; targets are solved until none can beat the best found."""

    def __init__(self, passage: Passage):
        self.passage, n = passage, passage.n_states
        self.upper = np.full((n, n), np.inf)
        np.fill_diagonal(self.upper, 0.0)
        self.shape = np.full((n, n), np.inf)
        self.value, self.pair, self.low = 0.0, (0, 0), 0.0
        self.solved: set[int] = set()
        self.everywhere, self.sweeping, self.lost = True, True, False

    def run(self, tolerance: float) -> None:
        self.goal = 1 + tolerance
        share = shares(self.passage)
        self._bound_by((share @ self.passage.matrix).tocsr(), share @ self.passage.cost, int(self.passage.length.max()))
        worst = self.upper.max(axis=0)
        target = int(np.argmax(np.where(np.isfinite(worst), worst, 0.0)))
        while True:
            choice = self._solve(target)
            rest = self._rest()
            if rest.size and self.everywhere:
                price = 6e-10 * self.passage.n_states**3
                self.everywhere = self._worth(rest, partial(self._evaluate_everywhere, choice), price)
                rest = self._rest()
            while rest.size and self.sweeping:
                self.sweeping = self._worth(rest, partial(self._sweep, rest), 1.2e-8 * self.passage.matrix.nnz * len(rest))
                rest = self._rest()
            if not rest.size:
                return
            target = self._next(rest, target)
            self.sweeping = self.sweeping or len(self.solved) % 16 == 0

    def _rest(self) -> np.ndarray:
        """Return the targets that may still beat the best found; once the upper end is open for good, those within floats."""
        worst = self.upper.max(axis=0)
        worst[list(self.solved)] = 0.0
        if self.lost:
            worst[~np.isfinite(worst)] = 0.0
        return np.flatnonzero(worst > self.value * self.goal)

    def _worth(self, before: np.ndarray, action: Callable[[], None], price: float) -> bool:
        """Run something that rules out targets; return whether it was cheaper than solving these one by one.

        Prices are estimated, not measured, so that the same model always takes the same way.
        """
        action()
        n = self.passage.n_states
        one = min(1.5e-10 * n**3 if self.passage.uses_dense else 1e-5 * n, 1e-8 * n * (self.passage.band + 1) ** 2)
        return bool((len(before) - len(self._rest())) * one > price)

    def _next(self, rest: np.ndarray, last: int) -> int:
        """Return the target with the largest bound; among unbounded ones the farthest from the last target."""
        worst = self.upper[:, rest].max(axis=0)
        if np.isfinite(worst).all():
            return int(rest[np.argmax(worst)])
        unbounded = rest[np.isinf(worst)]
        return int(unbounded[np.argmax(self.upper[unbounded, last])])

    def _solve(self, target: int) -> np.ndarray:
        found = reached(self.passage, target, self._start(target))
        if not np.isfinite(found.above):
            found = reached(self.passage, target, self.passage.toward(target))
        self.solved.add(target)
        high, low = found.high(), found.low()
        self.lost = self.lost or not np.isfinite(high).all()
        self.upper[:, target] = np.minimum(self.upper[:, target], high)
        with np.errstate(over="ignore"):
            np.minimum(self.upper, (high[:, None] + self.upper[target][None, :]) * UP, out=self.upper)
        s = int(np.argmax(found.value))
        if low[s] > self.low:
            self.value, self.pair, self.low = float(found.value[s]), (s, target), float(low[s])
        return found.choice

    def _start(self, target: int) -> np.ndarray:
        column = self.upper[:, target]
        if not np.isfinite(column).all() or column.max() > 1e12 * self.passage.cost.max():
            return self.passage.toward(target)
        return self.passage.first_least(self.passage.ahead(column))  # greedy in such an upper bound reaches the target

    def _evaluate_everywhere(self, choice: np.ndarray) -> None:
        """Let the policy that is best for one target bound all of them; where it does not visit all, mixed with the others."""
        from scipy.sparse.csgraph import connected_components

        chain = self.passage.matrix[choice]
        if connected_components(chain, connection="strong")[0] == 1:
            self._bound_by(chain, self.passage.cost[choice], 0)
        else:
            share = shares(self.passage, choice)
            self._bound_by((share @ self.passage.matrix).tocsr(), share @ self.passage.cost, int(self.passage.length.max()))

    def _bound_by(self, chain: Any, cost: np.ndarray, mixed: int) -> None:
        """Lower U to the hitting times of a policy, raised by their errors and by the rounding of mixing `mixed` choices."""
        found = AllTargets(chain, cost)
        error = found.error + (2 * (mixed + 3) * len(cost) if mixed else 2) * EPSILON
        sound = np.flatnonzero(np.isfinite(error))
        with np.errstate(over="ignore"):
            proved = found.hits[0][:, sound] * (np.exp(error[sound]) * UP)
        self.upper[:, sound] = np.minimum(self.upper[:, sound], proved)

    def _sweep(self, columns: np.ndarray, sweeps: int = 8) -> None:
        """Improve the shape of some columns by Bellman steps, each scaled so that its residual has mean zero.

        A column whose residual is at most δ times the cost becomes an upper bound when divided by 1 - δ.
        """
        cost = self.passage.cost.mean()
        for part in blocks(columns[np.isfinite(self.upper[:, columns]).all(axis=0)]):
            started = np.isfinite(self.shape[0, part])
            block = np.where(started, self.shape[:, part], self.upper[:, part])
            for _ in range(sweeps):
                after = self.passage.sweep(block, part)
                block = after * np.clip(1 + (after - block).mean(axis=0) / cost, 0.5, 2.0)
            self.shape[:, part] = block
            off = self.passage.excess_above(block, part)
            self.upper[:, part] = np.minimum(self.upper[:, part], raised(block, off, part))

    def bounds(self) -> tuple[float, float]:
        """Return the proved interval: the best target from below, every column of U from above."""
        return self.low, float(self.upper.max())


def shares(passage: Passage, choice: np.ndarray | None = None, little: float = 0.05) -> Any:
    """Return the (S, choices) matrix of a policy: uniform, or mostly one choice per state and a little of all others."""
    from scipy.sparse import csr_matrix

    weight = np.repeat(1.0 / passage.length, passage.length)
    if choice is not None:
        weight *= little
        weight[choice] += 1 - little
    return csr_matrix((weight, (passage.state, np.arange(len(weight)))), shape=(passage.n_states, len(weight)))


def blocks(columns: np.ndarray, width: int = 256) -> list[np.ndarray]:
    """Return the columns in parts of about `width`."""
    return np.array_split(columns, max(1, len(columns) // width)) if len(columns) else []


def raised(block: np.ndarray, off: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the upper bounds that columns with residuals δ prove: block/(1 - δ), infinite where δ >= 1."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.where(off < 1, block / (1 - off) * UP, np.inf)
    found[target, np.arange(len(target))] = 0.0
    return found
