"""The diameter of a large model with short jumps (lines, grids), bracketed by a hub and a net of policies.

Through a hub h the time from any s to t is at most V(s, h) + V(h, t).  V(., h) is solved for.  For V(h, t) of all t at once, one
policy goes out from h until it is back at h, or at its own goal g, from where one goes home to h the shortest way: a round.  If a
round takes R and meets t with probability q, then V(h, t) <= R/q (`cycles`).  The target with the largest bound is solved for,
which gives the lower end, a further policy, and a further hub for the targets around it, until both ends are close or enough
work is done.
"""

from __future__ import annotations

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.cycles import Cycles, busy_state
from sojourn.instance.diameter_search import UP, shares
from sojourn.instance.first_passage import Passage
from sojourn.instance.one_target import Reached, careful

LITTLE = (0.001, 0.03, 0.3)  # shares of all other choices, so that a policy meets its goal for certain and others beside it
CLOSE = 1e-3  # relative width at which the net is left
WORK = 1.5e10  # multiplications after which no further target is taken
NET = 24  # targets at most


class Net:
    """Upper bounds of the longest time to each target; the best found from below."""

    def __init__(self, passage: Passage):
        self.passage = passage
        self.value, self.pair, self.low = 0.0, (0, 0), 0.0
        self.upper = np.full(passage.n_states, np.inf)
        self.solved: dict[int, Reached] = {}

    def run(self, tolerance: float) -> None:
        share = shares(self.passage)
        self.hub = busy_state((share @ self.passage.matrix).tocsr())
        if not self._solve(self.hub):
            return
        self._round(self.hub, None, None, 1.0)
        size, steps = float(self.passage.n_states) * (self.passage.band + 1.0) ** 2, 0
        while len(self.solved) <= NET and steps * size <= WORK:
            target = self._next()
            if self.upper[target] <= self.low * (1 + max(tolerance, CLOSE)) or target in self.solved or not self._solve(target):
                return
            found = self.solved[target]
            for little in LITTLE:
                self._round(self.hub, target, found.choice, little)
                self._round(target, None, found.choice, little)
            steps += found.steps + 6 * len(LITTLE)  # an elimination with its inverse takes three times as long

    def _next(self) -> int:
        """Return the target with the largest bound; of those without any the one that is the most jumps away from the hub."""
        from scipy.sparse.csgraph import dijkstra

        if np.isfinite(self.upper).all():
            return int(np.argmax(self.upper))
        jumps = dijkstra(self.passage._backward().T.tocsr(), indices=np.array([self.hub]), unweighted=True)[0]
        return int(np.argmax(np.where(np.isfinite(self.upper), -1.0, jumps)))

    def _solve(self, target: int) -> bool:
        """Solve for one target: its own bound becomes exact, and the best found may grow; False where floats cannot."""
        try:
            found = careful(self.passage, target, self.passage.toward(target))
        except ToleranceError:
            return False
        self.solved[target] = found
        self.upper[target] = min(self.upper[target], float(found.high().max()))
        s = int(np.argmax(found.value))
        low = float(found.low()[s])
        if low > self.low:
            self.low, self.value, self.pair = low, float(found.value[s]), (s, target)
        return True

    def _round(self, hub: int, goal: int | None, choice: np.ndarray | None, little: float) -> None:
        """Lower the bounds of all targets by the rounds of one policy from a hub that was solved for: uniform, or by `choice`."""
        home = self.solved[hub].high()
        share = shares(self.passage, choice, little)
        chain, cost = (share @ self.passage.matrix).tolil(), share @ self.passage.cost
        if goal is not None and goal != hub:
            chain.rows[goal], chain.data[goal] = [hub], [1.0]
            cost[goal] = home[goal]
        found = Cycles(chain.tocsr(), cost[None], hub, self.passage.place, self.passage.band)
        mixed = np.exp(2 * (int(self.passage.length.max()) + 3) * self.passage.n_states * np.finfo(float).eps)  # rounding of mixing
        with np.errstate(over="ignore"):
            away = (found.to_state() * mixed + float(home.max())) * UP
        keep = np.arange(len(away)) != hub
        self.upper[keep] = np.minimum(self.upper[keep], away[keep])

    def bounds(self) -> tuple[float, float]:
        return self.low, max(float(self.upper.max()), self.value)
