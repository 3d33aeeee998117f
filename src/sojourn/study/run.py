"""Run what is missing in a store: batches of replications in flight on an executor, results written as they come.

The coordinator is the only one who writes.  A worker gets a batch of replications and about `slice_seconds`; it returns the
finished ones, and the one it was in as a packed state, which is stored and handed on.  So every executor will do, nothing
is shared, and an interruption loses at most one slice.  A replication that raises is recorded with its error and its seed,
the others go on, and the next run computes it again.  Results do not depend on any of this: each replication's random
numbers are addressed by (study seed, model, learner, replication).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from sojourn.errors import StoreError
from sojourn.study.adopt import Cell, adopt
from sojourn.study.executors import Workplace, is_transient, workplace
from sojourn.study.failures import Failure, failure, failure_lines, record_failure
from sojourn.study.spec import Spec
from sojourn.study.store import Result, Store
from sojourn.study.task import Batch, Outcome, account_of, work

SLICE_SECONDS = 10.0  # a long replication is stored this often
TASK_SECONDS = 2.0  # short replications are put together until a task lasts about this
MAX_BATCH = 5_000
MAX_BREAKS = 5


class Watcher(Protocol):
    """Someone who is told how the run goes; see `sojourn.study.progress`."""

    def begin(self, cells: list[Cell], finished: dict[int, int], total: int, epochs: int | None) -> None: ...

    def advance(self, cell: int, outcome: Outcome) -> None: ...

    def say(self, text: str) -> None: ...

    def end(self) -> None: ...


class Silent:
    """Nobody is told."""

    def begin(self, cells: list[Cell], finished: dict[int, int], total: int, epochs: int | None) -> None: ...

    def advance(self, cell: int, outcome: Outcome) -> None: ...

    def say(self, text: str) -> None: ...

    def end(self) -> None: ...


@dataclass
class Tally:
    """What a run did: replications finished and failed, seconds in tasks, decisions, times that workers were lost."""

    replications: int = 0
    decisions: int = 0
    task_seconds: float = 0.0
    tasks: int = 0
    breaks: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def run_study(
    spec: Spec,
    store: Store,
    executor: Executor | Callable[[], Executor] | None = None,
    workers: int | None = None,
    watcher: Watcher | None = None,
    replications: range | None = None,
    slice_seconds: float = SLICE_SECONDS,
) -> Tally:
    """Compute the replications of `spec` that `store` lacks (of those in `replications`, if given) and write them there.

    One that raises does not stop the others: it is in the store's record of failures and in `failures` of what is returned.
    """
    began = time.perf_counter()
    watcher = watcher or Silent()
    cells, code = adopt(store, spec, watcher.say)
    wanted = replications if replications is not None else range(spec.replications)
    pending = Pending(cells, wanted, store, code)
    watcher.begin(cells, {i: len(wanted) - n for i, n in enumerate(pending.missing)}, len(wanted), spec.epochs)
    tally = Tally()
    in_script = any(cell.learner.home.startswith("__main__:") for cell in cells)
    place = workplace(executor, workers, with_main=in_script) if pending else None
    try:
        if place is not None:
            _Coordinator(store, code, cells, pending, place, watcher, tally, slice_seconds).run()
            place.close(wait=place.inline)
    except BaseException:
        if place is not None:
            place.close()
        raise
    finally:
        watcher.end()
        tally.seconds = time.perf_counter() - began
    return tally


@dataclass
class _Item:
    replication: int
    state: bytes | None = None
    epoch: int = 0


class Pending:
    """The replications still to do, cell by cell in turn, so that a partial store is balanced."""

    def __init__(self, cells: list[Cell], wanted: range, store: Store, code: int):
        self._cells, self._store, self._code = cells, store, code
        done = [store.finished(cell.model_id, cell.learner_id) for cell in cells]
        self.missing = [sum(1 for r in wanted if r not in there) for there in done]
        self._fresh: list[Iterator[int]] = [iter([r for r in wanted if r not in there]) for there in done]
        self._back: list[deque[_Item]] = [deque() for _ in cells]
        self._left = list(self.missing)
        self._turn = 0

    def __bool__(self) -> bool:
        return any(self._left)

    def give_back(self, cell: int, items: list[_Item]) -> None:
        """Put items back at the front."""
        self._back[cell].extendleft(reversed(items))
        self._left[cell] += len(items)

    def take(self, sizes: list[int]) -> tuple[int, list[_Item]] | None:
        """Return the next cell and up to `sizes[cell]` items of it; a started replication goes first, and alone."""
        for cell, back in enumerate(self._back):
            if back and back[0].state is not None:
                self._left[cell] -= 1
                return cell, [back.popleft()]
        for step in range(len(self._cells)):
            cell = (self._turn + step) % len(self._cells)
            if self._left[cell]:
                self._turn = cell + 1
                return cell, self._some(cell, min(sizes[cell], self._left[cell]))
        return None

    def _some(self, cell: int, size: int) -> list[_Item]:
        items: list[_Item] = []
        while len(items) < size:
            if self._back[cell]:
                items.append(self._back[cell].popleft())
            else:
                replication = next(self._fresh[cell])
                saved = self._store.checkpoint(self._cells[cell].key(replication), self._code)
                items.append(_Item(replication, saved[1], saved[0]) if saved else _Item(replication))
        self._left[cell] -= size
        return items


@dataclass
class _Coordinator:
    store: Store
    code: int
    cells: list[Cell]
    pending: Pending
    place: Workplace
    watcher: Watcher
    tally: Tally
    slice_seconds: float
    flying: dict[Future[Any], tuple[int, list[_Item]]] = field(default_factory=dict)
    speed: dict[int, float] = field(default_factory=dict)  # seconds per replication, by cell
    breaks_in_a_row: int = 0

    def run(self) -> None:
        while self.pending or self.flying:
            while self.pending and len(self.flying) < self.place.capacity:
                try:
                    self.launch()
                except Exception as error:
                    if not is_transient(error):
                        raise
                    self.recover(error)
            done, _ = wait(self.flying, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                if future in self.flying:
                    self.land(future)
            if not done and self.place.lost():
                self.recover(ConnectionError("the scheduler is gone"))

    def launch(self) -> None:
        """Hand the executor one more batch."""
        sizes = [
            1 if cell not in self.speed else max(1, min(MAX_BATCH, round(TASK_SECONDS / max(self.speed[cell], 1e-6))))
            for cell in range(len(self.cells))
        ]
        taken = self.pending.take(self.fair(sizes))
        assert taken is not None
        cell, items = taken
        try:
            batch = Batch(
                self.cells[cell].model.packed,
                self.cells[cell].model.key,
                self.cells[cell].model.holding_times,
                self.cells[cell].learner,
                self.cells[cell].horizon,
                [(item.replication, item.state) for item in items],
                self.slice_seconds,
            )
            future = self.place.submit(work, batch)
        except BaseException:
            self.pending.give_back(cell, items)
            raise
        self.flying[future] = (cell, items)

    def fair(self, sizes: list[int]) -> list[int]:
        """Near the end, smaller batches, so that all workers finish together."""
        left = self.pending._left
        return [min(size, max(1, -(-left[i] // self.place.capacity))) for i, size in enumerate(sizes)]

    def land(self, future: Future[Any]) -> None:
        """Take in a task that ended: write what is finished, keep what is not, put back what was not begun."""
        error = future.exception() if not future.cancelled() else ConnectionError("the task was cancelled")
        if error is not None and is_transient(error):
            return self.recover(error)
        cell, items = self.flying.pop(future)
        there = self.cells[cell]
        outcome = future.result() if error is None else _all_failed(there, [item.replication for item in items], error)
        self.breaks_in_a_row = 0
        if outcome.finished:
            self.store.add_results(
                [
                    Result(there.model_id, there.learner_id, replication, there.key(replication), payload, seconds)
                    for replication, payload, seconds in outcome.finished
                ],
                self.code,
            )
            per_item = [seconds for _, _, seconds in outcome.finished]
            self.speed[cell] = sum(per_item) / len(per_item)
        self.note_failures(cell, outcome)
        begun = {replication for replication, *_ in (*outcome.finished, *outcome.failed)}
        rest = [item for item in items if item.replication not in begun]
        if outcome.paused is not None:
            rest[0].epoch, rest[0].state = outcome.paused
            self.store.set_checkpoint(there.key(rest[0].replication), rest[0].epoch, self.code, outcome.paused[1])
        self.pending.give_back(cell, rest)
        self.tally.replications += len(outcome.finished)
        self.tally.decisions += outcome.decisions
        self.tally.task_seconds += outcome.cpu_seconds
        self.tally.tasks += 1
        self.watcher.advance(cell, outcome)

    def note_failures(self, cell: int, outcome: Outcome) -> None:
        """Record the replications that raised; say so when the first of a cell does."""
        there = self.cells[cell]
        for replication, said in outcome.failed:
            record_failure(self.store, there.key(replication), there.model_id, there.learner_id, replication, self.code, said)
            found = failure(there.model.label, there.learner.label, replication, said)
            if all((one.model, one.learner) != (found.model, found.learner) for one in self.tally.failures):
                self.watcher.say(failure_lines([found])[0] + "; the others go on")
            self.tally.failures.append(found)

    def recover(self, error: BaseException) -> None:
        """Workers were lost: take in what is finished, put back what was in flight, and make the executor anew."""
        for future in [f for f in self.flying if f.done() and not f.cancelled() and f.exception() is None]:
            self.land(future)
        self.breaks_in_a_row += 1
        self.tally.breaks += 1
        lost = dict(self.flying)
        self.flying.clear()
        for cell, items in lost.values():
            self.pending.give_back(cell, items)
        if self.breaks_in_a_row > MAX_BREAKS:
            names = "; ".join(
                f"{self.cells[cell].label}, replications {[i.replication for i in items][:5]}" for cell, items in lost.values()
            )
            raise StoreError(
                f"workers were lost {self.breaks_in_a_row} times in a row (last: {type(error).__name__}: {error}) while computing "
                f"{names}. What was finished is in the store. Is memory short? Try fewer workers."
            ) from error
        self.watcher.say(f"workers were lost ({type(error).__name__}); starting again what was in flight")
        time.sleep(0.1 * (2 ** (self.breaks_in_a_row - 1) - 1))
        self.place.rebuild()


def _all_failed(cell: Cell, replications: list[int], error: BaseException) -> Outcome:
    """Return the outcome of a batch that could not even be carried to its worker, or back."""
    said = [(r, account_of(error, cell.horizon, cell.model.key, cell.learner.key, r)) for r in replications]
    return Outcome(failed=said, share=float(len(said)))
