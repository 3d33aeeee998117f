"""Run a learner, or a policy, on a model and measure its regret."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from sojourn.errors import ParameterError, SojournWarning, names_keywords
from sojourn.learn.abilities import Acting, Planning
from sojourn.learn.catalogue import is_named, learner_for
from sojourn.learn.learner import History
from sojourn.learn.stopping import open_ended
from sojourn.learn.streams import Seed
from sojourn.model.choosing import Policy
from sojourn.model.closeness import Within
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive, whole
from sojourn.simulation.checkpoints import Checkpoints
from sojourn.simulation.holding import HoldingTimes
from sojourn.simulation.looks import Looks
from sojourn.simulation.regret import Point, columns_of
from sojourn.simulation.run import Run
from sojourn.simulation.walk import Walk
from sojourn.solving.solution import Solution


class Listener(Protocol):
    """Told after every kernel call how far a walk has got (a progress bar)."""

    def __call__(self, walk: Walk) -> None: ...


@names_keywords
def simulate(model: CTMDP, learner_or_policy: str | type | Planning | Acting | Policy, *,
             max_epochs: int | float | None = None, max_time: float | None = None,
             start: Any = None, seed: Seed = 0, checkpoints: int | Sequence[float] | np.ndarray = 200, record: bool = False,
             progress: bool | Listener = False, holding_times: HoldingTimes = None, knowledge: Knowledge | None = None,
             solution: Solution | None = None, parameters: Mapping[str, Any] | None = None,
             stop_when: Within | None = None) -> Run:
    """Walk `max_epochs` decisions, or until `max_time` (whichever comes first), and return the Run with its regrets.

    - `learner_or_policy`: a learner (`sojourn.learner(...)`, or any object with plan() and observe(history)); the name of one, its
      "module:Class" or its class, made with `parameters` and told `knowledge`; or a policy: an action per state, {state: action},
      or an (S, A) table of probabilities;
    - `start`: the state to begin in, as you call it (default: the model's first, in which `explore` began);
    - `seed` addresses the world's random numbers; a learner has its own, made here from the same seed if it is made here;
    - `checkpoints`: how many log-spaced moments, or a list: epochs, or times when `max_time` is given (then `regret` is R_T);
    - `record=True` keeps every epoch in `run.trajectory`;
    - `holding_times`: a law such as "deterministic", "erlang:stages=3" (see `simulation/holding.py`), or a mapping
      {(state, action): law};
    - `solution`: the model's, if already solved;
    - `stop_when`: `sojourn.within("5%")` ends the run where the learner's counts prove a policy to be as close to the best as that
      (`run.certificate`); it asks after 10, 11, ... decisions, each time a twentieth more.

    Ctrl-C ends the run at the next chunk and returns what there is, with `interrupted=True`; a second one raises.

    >>> from sojourn.zoo.catalogue import make
    >>> run = simulate(make("two-state"), [1, 0], max_epochs=1000)
    >>> int(run.epochs[-1]), abs(round(float(run.pseudo_regret[-1]), 9))
    (1000, 0.0)
    """
    horizon = None if max_epochs is None else whole("max_epochs", max_epochs, 1, 2**62, " of decisions")
    until = None if max_time is None else positive("max_time", max_time)
    if horizon is None and until is None:
        raise ParameterError("max_epochs and max_time are both None; give at least one.")
    if is_named(learner_or_policy):
        require_model(model)
        learner_or_policy = learner_for(model, learner_or_policy, knowledge=knowledge, seed=seed, parameters=parameters)
    elif parameters is not None:
        raise ParameterError(f"parameters is {parameters!r}, but the learner is made already; give its name or class instead.")
    walk = Walk(model, learner_or_policy, start=start, seed=seed, holding_times=holding_times, knowledge=knowledge,
                solution=solution, record=record)
    looks = None if stop_when is None else Looks(walk, stop_when)
    if looks is not None and (note := open_ended(walk.learner)):
        warnings.warn(f"stop_when is given, but {note}", SojournWarning, stacklevel=3)
    marks = Checkpoints(walk, horizon, until, checkpoints, looks)
    speed = Speed(_listener(progress, horizon, until))
    with interruptible() as interrupt:
        try:
            while not marks.done and not interrupt.is_set():
                marks.step()
                speed(walk)
        finally:
            speed.close()
    if not marks.done:
        marks.cut_short()
    return _run(walk, marks.points, speed, seed, interrupt.is_set())


class Speed:
    """Takes the time, and passes on to a listener.  The speed is that of the later half of the decisions: kernels that the
    first ones have to compile do not count."""

    def __init__(self, listener: Any = None):
        self.listener = listener
        self.began = time.perf_counter()
        self.marks = [(self.began, 0)]  # whenever the decisions have doubled
        self.last = self.marks[0]

    def __call__(self, walk: Walk) -> None:
        self.last = (time.perf_counter(), walk.epoch)
        if walk.epoch >= 2 * self.marks[-1][1]:
            self.marks.append(self.last)
        if self.listener is not None:
            self.listener(walk)

    def close(self) -> None:
        if hasattr(self.listener, "close"):
            self.listener.close()

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.last[0] - self.began

    @property
    def decisions_per_second(self) -> float:
        when, epoch = max(mark for mark in self.marks if 2 * mark[1] <= self.last[1])
        return (self.last[1] - epoch) / max(self.last[0] - when, 1e-9)


def _run(walk: Walk, points: list[Point], speed: Speed, seed: Seed, interrupted: bool) -> Run:
    return Run(
        **columns_of(points), visits=walk.model.table(walk.visits, fill=0),
        episodes=walk.log.episodes(walk.epoch, walk.visits),
        gain=walk.yardstick.gain, bias=walk.yardstick.bias,
        start=walk.model.states[walk.start], state=walk.model.states[walk.position],
        seconds=speed.seconds, decisions_per_second=speed.decisions_per_second, model=walk.model,
        learner=walk.learner, seed=seed, interrupted=interrupted,
        trajectory=_trajectory(walk.recorded) if walk.record else None, other_law=walk.other_law,
        certificate=walk.certificate,
    )


def _trajectory(chunks: list[History]) -> History:
    if not chunks:
        nowhere, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return History(nowhere, nowhere, nothing, nowhere, nothing)
    told = [column.name for column in fields(History) if getattr(chunks[0], column.name) is not None]
    return History(**{name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in told})


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C sets instead of raising in mid-bookkeeping; the second Ctrl-C raises as usual."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None or before == signal.SIG_IGN:
        yield event
        return

    def note(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _listener(progress: bool | Listener, horizon: int | None, until: float | None) -> Any:
    if callable(progress):
        return progress
    if progress:
        from sojourn.simulation.progress import ProgressBar

        return ProgressBar(horizon, until)
    return None
