"""When to look, a few hundred moments spread evenly in the logarithm, and looking: the regrets at each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.scalars import is_whole
from sojourn.simulation.looks import Looks
from sojourn.simulation.regret import Point
from sojourn.simulation.walk import Walk

MOST = 1_000_000


class Checkpoints:
    """Walks to one stop after the other and notes the regrets there, in `points`.

    The stops are epochs, or times where `max_time` is given; then `max_epochs` may end the walk before the last of them.  With
    `looks` it ends where a look finds a certificate; with `goes_on` too that is noted, and the walk goes on.
    """

    def __init__(self, walk: Walk, max_epochs: int | None, max_time: float | None, checkpoints: Any, looks: Looks | None = None,
                 goes_on: bool = False):
        self.looks, self.goes_on = looks, goes_on
        self.walk, self.max_epochs, self.timed = walk, max_epochs, max_time is not None
        self.points: list[Point] = []
        self.over = False
        if max_time is not None:
            stops = time_checkpoints(checkpoints, max_time, float(walk.world.mean.min()))
        else:
            assert max_epochs is not None
            stops = epoch_checkpoints(checkpoints, max_epochs)
        self.stops: list[float] = stops.tolist()

    @property
    def done(self) -> bool:
        return self.over or len(self.points) == len(self.stops)

    def step(self) -> None:
        """Walk one kernel call towards the next stop; note the regrets if there is nothing left to walk."""
        stop = self.stops[len(self.points)]
        limits = [self.max_epochs if self.timed else int(stop), self.looks.next if self.looks is not None else None]
        until = min((limit for limit in limits if limit is not None), default=None)
        if self.walk.step(until, stop if self.timed else None):
            return
        passed = self.timed and self.walk.time > stop
        if self.looks is not None and self.looks.due and not passed:
            if self.looks.look() and not self.goes_on:
                self.cut_short()
            return
        if self.timed and not passed:  # the last epoch came first
            self.cut_short()
            return
        moment, yardstick = self.walk.moment(), self.walk.yardstick
        self.points.append(yardstick.at_time(moment, stop) if self.timed else yardstick.at_decision(moment))

    def cut_short(self) -> None:
        """End here, noting also where the walk stands if it has gone on since the last stop."""
        if self.walk.epoch > (self.points[-1].epochs if self.points else 0):
            self.points.append(self.walk.yardstick.at_decision(self.walk.moment()))
        self.over = True


def epoch_checkpoints(checkpoints: Any, max_epochs: int) -> np.ndarray:
    """Return ascending epochs from 1 to `max_epochs`: at most `checkpoints` log-spaced ones, or those given as a list.

    >>> epoch_checkpoints(5, 1000).tolist()
    [1, 6, 32, 178, 1000]
    """
    if is_whole(checkpoints):
        wanted = np.geomspace(1, max_epochs, _count(checkpoints))
        wanted[-1] = max_epochs
        return np.unique(np.rint(wanted).astype(np.int64))
    given = _ascending(checkpoints, "epochs")
    if (given != np.floor(given)).any() or given[0] < 1 or given[-1] > max_epochs:
        raise ParameterError(f"checkpoints run from {given[0]:g} to {given[-1]:g}; they must be whole epochs from 1 to "
                             f"max_epochs = {max_epochs}.")
    return np.union1d(given, [max_epochs]).astype(np.int64)


def time_checkpoints(checkpoints: Any, max_time: float, shortest: float) -> np.ndarray:
    """Return ascending times up to `max_time`: log-spaced from `shortest` (a mean holding time), or those given."""
    if is_whole(checkpoints):
        wanted = np.geomspace(min(shortest, max_time / 2), max_time, _count(checkpoints))
        wanted[-1] = max_time
        return np.unique(wanted)
    given = _ascending(checkpoints, "times")
    if given[0] <= 0 or given[-1] > max_time:
        raise ParameterError(f"checkpoints run from {given[0]:g} to {given[-1]:g}; they must be times in "
                             f"(0, max_time = {max_time:g}].")
    return np.union1d(given, [max_time])


def _count(checkpoints: Any) -> int:
    if not 1 <= checkpoints <= MOST:
        raise ParameterError(f"checkpoints is {checkpoints}; it must be a number from 1 to {MOST}, or an ascending list.")
    return int(checkpoints)


def _ascending(checkpoints: Any, unit: str) -> np.ndarray:
    try:
        given = np.array(checkpoints, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        raise ParameterError(f"checkpoints is {checkpoints!r}; it must be a number, or an ascending list of {unit}.")
    return given
