"""What a run has cost against playing optimally, in the four ways that are useful.

With ρ* the optimal gain, h* the bias and φ* the gaps, after N decisions (eq:regret_SN and eq:deltak, read as follows):

- `regret` at S_N, the moment of the N-th decision: N lump sums, N - 1 holding times (eq:regret_SN);
- `completed_regret`: N rewards and N holding times;
- `adjusted_regret`: Σ v(s,a) (ρ*/λ - r - c/λ) over the visits v (eq:deltak);
- `pseudo_regret`: Σ φ*(s,a) v(s,a), the smooth curve to plot.

completed = pseudo + h*(s_N) - h*(s_0) + a martingale, so their difference has mean zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from sojourn.errors import AssumptionError, ToleranceError
from sojourn.instance.gaps import optimum
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solution import Solution, require_solution_of


class Moment(NamedTuple):
    """Where a walk stands: what the regrets need to know.  `paid` is running and transition reward, beside the lump sums."""

    epochs: int
    time: float  # all N holding times
    paid: float
    last_holding_time: float
    last_paid: float
    last_running: float  # running reward per time in the last sojourn
    last_transition: float  # transition reward at its end
    visits: np.ndarray


class Point(NamedTuple):
    """One checkpoint: time, reward so far, and the regrets."""

    epochs: int
    time: float
    reward: float
    regret: float
    completed_regret: float
    adjusted_regret: float
    pseudo_regret: float


COLUMNS = ("epochs", "times", "rewards", *Point._fields[3:])  # many checkpoints: one array for each field of Point
REGRETS = COLUMNS[3:]


def columns_of(points: Sequence[Point]) -> dict[str, np.ndarray]:
    """Return checkpoints as one array per column, in the order of COLUMNS."""
    table = list(zip(*points, strict=True)) or [()] * len(COLUMNS)
    kinds = {"epochs": np.int64}
    return {name: np.array(values, dtype=kinds.get(name, np.float64)) for name, values in zip(COLUMNS, table, strict=True)}


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The optimum a run is measured against: gain, bias, and per pair what one visit costs."""

    gain: float
    bias: np.ndarray
    gap: np.ndarray  # φ*(s,a), per pair
    shortfall: np.ndarray  # ρ*/λ - r - c/λ, per pair
    lump: np.ndarray

    def at_decision(self, moment: Moment) -> Point:
        """Return the regrets at S_N, the moment of the N-th decision."""
        time = moment.time - moment.last_holding_time
        reward = self._lump(moment) + (moment.paid - moment.last_paid)
        return self._point(moment, time, reward)

    def at_time(self, moment: Moment, time: float) -> Point:
        """Return the regrets at a fixed time within the last sojourn, whose running reward counts up to then."""
        unfinished = moment.last_running * (moment.time - time) + moment.last_transition
        return self._point(moment, time, self._lump(moment) + (moment.paid - unfinished))

    def adjusted(self, visits: np.ndarray) -> float:
        """Return Σ v(s,a) (ρ*/λ - r - c/λ).   Paper: eq:deltak"""
        return float(visits @ self.shortfall)

    def _lump(self, moment: Moment) -> float:
        return float(moment.visits @ self.lump)

    def _point(self, moment: Moment, time: float, reward: float) -> Point:
        completed = self.gain * moment.time - (self._lump(moment) + moment.paid)
        return Point(moment.epochs, time, reward, self.gain * time - reward, completed, self.adjusted(moment.visits),
                     float(moment.visits @ self.gap))


_KNOWN: WeakKeyDictionary[Solution, tuple[ref[CTMDP], Yardstick]] = WeakKeyDictionary()  # replications share a solution


def yardstick(model: CTMDP, solution: Solution | None = None) -> Yardstick:
    """Return the optimum of `model` as a Yardstick; where the optimal gain depends on the state, all of it is NaN."""
    if solution is None:
        return _yardstick(model, None)
    require_solution_of(model, solution)
    known = _KNOWN.get(solution)
    if known is None or known[0]() is not model:
        known = _KNOWN[solution] = (ref(model), _yardstick(model, solution))
    return known[1]


def _yardstick(model: CTMDP, solution: Solution | None) -> Yardstick:
    try:
        best = optimum(model, solution)
    except AssumptionError:
        nan = np.full(model.n_pairs, np.nan)
        return Yardstick(float("nan"), np.full(model.n_states, np.nan), nan, nan, np.array(model.reward))
    except ToleranceError as error:
        if not isinstance(error.best, Solution):
            raise
        best = optimum(model, error.best)
    shortfall = (best.gain - model.running) / model.rate - model.expected_reward
    return Yardstick(best.gain, np.asarray(best.bias), best.gap, shortfall, np.array(model.reward))
