"""What a worker does: walk a batch of replications, and hand back results, or a state from which another can go on."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from sojourn.errors import AssumptionError, ToleranceError
from sojourn.learn.abilities import called, structure_of
from sojourn.model.ctmdp import CTMDP
from sojourn.model.names import decoded
from sojourn.model.pack import pack, unpack
from sojourn.simulation.checkpoints import Checkpoints
from sojourn.simulation.regret import Point, columns_of
from sojourn.simulation.walk import Walk
from sojourn.solving.solution import Solution
from sojourn.solving.solve import solve
from sojourn.study.entries import LearnerEntry, unpacked_model
from sojourn.study.failures import described
from sojourn.study.stopping import Watch

KEPT_POLICIES = 20
MAX_POLICY_STATES = 4096


@dataclass(frozen=True, eq=False)
class Batch:
    """Replications of one learner on one model: (number, packed state or None) each, and about how long to work on them."""

    model: bytes
    model_key: str
    holding_times: str | None
    learner: LearnerEntry
    horizon: dict[str, Any]
    items: list[tuple[int, bytes | None]]
    seconds: float


@dataclass(eq=False)
class Outcome:
    """What became of a batch: (number, packed result, seconds) of the finished, (epoch, packed state) of the one under way,
    (number, account) of those that raised: see `study/failures.py`."""

    finished: list[tuple[int, bytes, float]] = field(default_factory=list)
    paused: tuple[int, bytes] | None = None
    decisions: int = 0
    cpu_seconds: float = 0.0
    share: float = 0.0  # replications' worth of progress
    final_regret: list[float] = field(default_factory=list)
    failed: list[tuple[int, dict[str, Any]]] = field(default_factory=list)


def seed_address(horizon: dict[str, Any], model_key: str, learner_key: str, replication: int) -> np.random.SeedSequence:
    """Return the address of a replication's random numbers: (study seed; model, learner, replication)."""
    return np.random.SeedSequence(int(horizon["seed"]), spawn_key=(_word(model_key), _word(learner_key), replication))


def seed_addresses(
    horizon: dict[str, Any], model_key: str, learner_key: str, replication: int
) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """Return the addresses of the learner's and of the world's random numbers, the latter shared by all learners if so asked."""
    own = seed_address(horizon, model_key, learner_key, replication)
    shared = horizon["common_random_numbers"]
    return own, seed_address(horizon, model_key, "0" * 16, replication) if shared else own


def account_of(
    error: BaseException, horizon: dict[str, Any], model_key: str, learner_key: str, replication: int, epoch: int = 0
) -> dict[str, Any]:
    """Return what the store keeps of a replication that raised: its error, how far it had come, its seeds."""
    own, world = seed_addresses(horizon, model_key, learner_key, replication)
    keys = {"spawn_key": list(own.spawn_key), "world_spawn_key": list(world.spawn_key)}
    return {**described(error), "epoch": int(epoch), "seed": int(horizon["seed"]), **keys}


def _word(key: str) -> int:
    return int(key[:16], 16)


def first_state(horizon: dict[str, Any]) -> Any:
    """Return the state to begin in, None for the model's first; see `Spec.horizon`."""
    start = horizon["start"]
    if isinstance(start, dict):
        return start["state"]
    return None if type(start) is int and start == 0 else decoded(start)


class Replication:
    """One run of a learner on a model, from its seed to its horizon, which can be put aside and taken up again."""

    def __init__(
        self,
        model: CTMDP,
        learner: LearnerEntry,
        replication: int,
        horizon: dict[str, Any],
        model_key: str,
        holding_times: str | None = None,
        solution: Solution | None = None,
    ):
        own, world = seed_addresses(horizon, model_key, learner.key, replication)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said once, when the study was read
            self.walk = Walk(
                model,
                learner.make(model, own),
                start=first_state(horizon),
                seed=world,
                holding_times=holding_times,
                solution=solution,
            )
        self.watch = Watch(self.walk, horizon.get("within"))
        self.timed = horizon["epochs"] is None
        self.end = horizon["time"] if self.timed else horizon["epochs"]
        until = horizon["time"] if self.timed else None
        self.marks = Checkpoints(self.walk, horizon["epochs"], until, horizon["checkpoints"], self.watch.looks, goes_on=True)

    def __repr__(self) -> str:
        done, name = self.points[-1] if self.points else None, called(self.walk.learner)
        lost = f"pseudo-regret {done.pseudo_regret:.6g} after {done.epochs:,} decisions" if done else "no checkpoint reached"
        return f"<Replication of {name} on {self.walk.model.name or 'a model'}: {lost}, {'ended' if self.done else 'under way'}>"

    @property
    def points(self) -> list[Point]:
        return self.marks.points

    @property
    def done(self) -> bool:
        return self.marks.done

    @property
    def share(self) -> float:
        """How much of the replication is done, from 0 to 1."""
        return 1.0 if self.done else min(1.0, (self.walk.time if self.timed else self.walk.epoch) / self.end)

    def step(self) -> None:
        """Walk one kernel call, and note the regrets if it reached a checkpoint."""
        self.marks.step()
        self.watch.note()

    def advance(self, epochs: int) -> None:
        """Walk until the checkpoint at `epochs` is noted."""
        while not self.done and (not self.points or self.points[-1][0] < epochs):
            self.step()

    def columns(self) -> dict[str, np.ndarray]:
        """Return what was noted so far, one array per column."""
        return columns_of(self.points)

    def result(self) -> dict[str, Any]:
        """Return what the store keeps of a finished replication."""
        counted = {"visits": self.walk.visits.copy(), "episodes": self.walk.log.total}
        return self.columns() | counted | self._policies() | self._structure() | self.watch.result()

    def _structure(self) -> dict[str, Any]:
        """Return what the test of the declared events found, where the learner was told of some that can be tested."""
        learner, found = self.walk.learner, structure_of(self.walk.learner)
        if found is None or not found.events:
            return {}
        at_the_end = self.walk.epoch if found.rejected else 0
        return {"structure": {"log_e": max(found.log_e, float(getattr(learner, "evidence", 0.0))), "event": found.worst,
                              "rejected": int(getattr(learner, "rejected_epoch", 0)) or at_the_end}}

    def _policies(self) -> dict[str, Any]:
        """Return the policies played longest, with the decisions spent under each (none for learners that plan no policies)."""
        walk = self.walk
        episodes = walk.log.episodes(walk.epoch, walk.visits)
        plain = [p for p in episodes.policies if p.ndim == 1]
        if not plain or len(plain) < len(episodes.policies) or walk.model.n_states > MAX_POLICY_STATES:
            return {"policies": np.zeros((0, walk.model.n_states), dtype=np.int32), "policy_epochs": np.zeros(0, dtype=np.int64)}
        spent = np.bincount(episodes.policy_number, weights=episodes.epochs, minlength=len(plain)).astype(np.int64)
        longest = np.argsort(-spent, kind="stable")[:KEPT_POLICIES]
        return {"policies": np.array([plain[i] for i in longest], dtype=np.int32), "policy_epochs": spent[longest]}

    @property
    def can_pause(self) -> bool:
        return self.walk.can.saves

    def state(self) -> bytes:
        return pack({"walk": self.walk.state(), "points": [list(point) for point in self.points], **self.watch.state()})

    def restore(self, data: bytes) -> None:
        tree = unpack(data)
        self.walk.restore(tree["walk"])
        self.marks.points = [Point(*point) for point in tree["points"]]
        self.watch.restore(tree)


@lru_cache(maxsize=8)
def _known(data: bytes) -> tuple[CTMDP, Solution | None]:
    """Return the model and its solution, found once for all batches of a process; hashing the bytes is cheaper."""
    model = unpacked_model(data)
    try:
        return model, solve(model)
    except AssumptionError:
        return model, None  # the walk's yardstick then says that there is no regret
    except ToleranceError as error:
        if not isinstance(error.best, Solution):
            raise
        return model, error.best  # as `simulate` does


def work(batch: Batch) -> Outcome:
    """Walk the batch for about `batch.seconds`; replications not begun by then are simply not in the outcome.

    A replication that raises is in `failed`, and the others go on.
    """
    outcome = Outcome()
    cpu, end = time.process_time(), time.perf_counter() + batch.seconds
    try:
        model, solution = _known(batch.model)
    except Exception as error:  # no replication on this model can begin
        outcome.failed = [(number, _account(batch, number, error)) for number, _ in batch.items]
        outcome.share = float(len(batch.items))
        return outcome
    for item in batch.items:
        _walk_one(batch, item, model, solution, end, outcome)
        if outcome.paused is not None or time.perf_counter() >= end:
            break
    outcome.cpu_seconds = time.process_time() - cpu
    return outcome


def _walk_one(
    batch: Batch, item: tuple[int, bytes | None], model: CTMDP, solution: Solution | None, end: float, outcome: Outcome
) -> None:
    """Walk one replication until it is finished, fails, or time is up, and write into `outcome` what became of it."""
    number, state = item
    clock, before, share = time.process_time(), 0, 0.0
    replication: Replication | None = None
    try:
        replication = Replication(model, batch.learner, number, batch.horizon, batch.model_key, batch.holding_times, solution)
        if state is not None:
            replication.restore(state)
        before, share = replication.walk.epoch, replication.share
        replication.step()  # at least one, or a short slice would never come to an end
        while not replication.done and (time.perf_counter() < end or not replication.can_pause):
            replication.step()
        if replication.done:
            outcome.finished.append((number, pack(replication.result()), time.process_time() - clock))
            outcome.final_regret.append(float(replication.points[-1][6]))
        else:
            outcome.paused = (replication.walk.epoch, replication.state())
        outcome.share += replication.share - share
    except (Exception, SystemExit) as error:  # a learner that calls sys.exit ends its own replication only
        outcome.failed.append((number, _account(batch, number, error, replication.walk.epoch if replication else 0)))
        outcome.share += 1.0 - share
    if replication is not None:
        outcome.decisions += replication.walk.epoch - before


def _account(batch: Batch, number: int, error: BaseException, epoch: int = 0) -> dict[str, Any]:
    return account_of(error, batch.horizon, batch.model_key, batch.learner.key, number, epoch)
