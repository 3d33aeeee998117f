"""Where tasks run: in this process, in a pool of processes, on Dask, or on any executor handed over; rebuilt when it breaks."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.context
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import spawn
from multiprocessing.connection import wait as wait_for
from typing import Any

from sojourn.errors import ParameterError, StoreError, require
from sojourn.model.scalars import whole

PATIENCE = 120.0  # seconds that a scheduler may take to come back
TRANSIENT = (BrokenProcessPool, CancelledError, ConnectionError, EOFError)


class Inline(Executor):
    """Runs each task at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Workplace:
    """An executor together with how many tasks to hand it at a time, and how to make it anew."""

    def __init__(self, make: Callable[[], Executor], capacity: int | None = None, own: bool = True):
        self._make = make
        self._own = own
        self._capacity = capacity
        self.executor = make()
        self._scheduler = self._scheduler_id()

    def _scheduler_id(self) -> str | None:
        """Return which Dask scheduler the client talks to, as far as it knows; None for other executors."""
        client = getattr(self.executor, "_client", None)
        return (getattr(client, "_scheduler_identity", None) or {}).get("id")

    @property
    def capacity(self) -> int:
        """How many tasks to keep in flight: two for every worker, so that none waits for the coordinator."""
        client = getattr(self.executor, "_client", None)  # Dask's workers come and go
        if client is not None and self._capacity is None:
            with contextlib.suppress(Exception):
                slots: int = 2 * max(1, sum(client.nthreads().values()))
                return slots
        return self._capacity or 2

    @property
    def inline(self) -> bool:
        return isinstance(self.executor, Inline)

    def submit(self, function: Callable[..., Any], *values: Any) -> Future[Any]:
        return self.executor.submit(function, *values)

    def lost(self) -> bool:
        """Return whether the executor cannot answer any more, although its futures do not say so."""
        client = getattr(self.executor, "_client", None)
        if client is None:
            return False
        if self._scheduler is None:
            self._scheduler = self._scheduler_id()
        # a client that found a new scheduler at the old address may wait for ever for tasks that the old one took with it
        return client.status in ("closed", "closing") or self._scheduler_id() != self._scheduler

    def rebuild(self) -> None:
        """Drop a broken executor and make another."""
        if not self._own:
            raise StoreError(
                "the executor that was handed over broke and cannot be rebuilt; what was finished is in the store. "
                "Run again, or hand over a function that makes an executor: run(executor=lambda: ...)."
            )
        self.close()
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.executor = self._make()
                self._scheduler = self._scheduler_id()
                return
            except (StoreError, OSError):
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def close(self, wait: bool = False) -> None:
        """Let go of the executor; the processes of a pool of our own end at once."""
        if not self._own:
            return
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        with contextlib.suppress(Exception):
            self.executor.shutdown(wait=wait, cancel_futures=True)
        if not wait:
            for process in processes:
                with contextlib.suppress(Exception):
                    process.kill()
        for close in getattr(self.executor, "sojourn_close", ()):
            with contextlib.suppress(Exception):
                close()


def workplace(executor: Executor | Callable[[], Executor] | None, workers: int | None, with_main: bool = False) -> Workplace:
    """Return where to run: an executor handed over, a function that makes one, or a pool of `workers` (1: this process)."""
    if workers is not None:
        workers = whole("workers", workers, 1, 1024)
    if isinstance(executor, Executor):
        return Workplace(
            lambda: executor, None if hasattr(executor, "_client") else 2 * (workers or os.cpu_count() or 1), own=False
        )
    if executor is not None:
        if not callable(executor):
            raise ParameterError(
                f"executor is {executor!r}; it must be a concurrent.futures.Executor, or a function that makes one."
            )
        return Workplace(executor, None if workers is None else 2 * workers)
    count = workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or os.cpu_count() or 1
    if count == 1:
        return Workplace(Inline, 1)
    return Workplace(lambda: process_pool(count, with_main), 2 * count)


class _Worker(multiprocessing.context.SpawnProcess):
    """A fresh process that does not run the caller's script again, so that a script needs no `if __name__ == "__main__"`."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # the name that multiprocessing calls
        honest: Any = spawn.get_preparation_data

        def without_main(name: str) -> dict[str, Any]:
            ours = name == process_obj.name
            return {key: value for key, value in honest(name).items() if not (ours and key.startswith("init_main"))}

        spawn.get_preparation_data = without_main
        try:
            return multiprocessing.context.SpawnProcess._Popen(process_obj)
        finally:
            spawn.get_preparation_data = honest


class _Fresh(multiprocessing.context.SpawnContext):
    Process = _Worker


def process_pool(workers: int, with_main: bool = False) -> ProcessPoolExecutor:
    """Return a pool of fresh processes: no lock or open file of ours is inherited, and they end when we end.

    `with_main`: they import the caller's script first, where a learner is defined there ("__main__:Class").
    """
    context = multiprocessing.get_context("spawn") if with_main else _Fresh()
    return ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent)


def end_with_parent() -> None:
    """Make this worker ignore Ctrl-C (the coordinator handles it) and end when the coordinator ends, even by kill -9."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait_for([sentinel]), os._exit(1)), daemon=True, name="end-with-parent").start()


def dask_executor(address: str, workers: int | None = None) -> Callable[[], Executor]:
    """Return a function that connects to the Dask scheduler at `address` ("local": starts a cluster of processes here)."""

    def make() -> Executor:
        distributed: Any = require("distributed", "dask")
        close: list[Callable[[], Any]] = []
        if address == "local":
            cluster = _local_cluster(distributed, workers or os.cpu_count() or 1)
            client = distributed.Client(cluster, set_as_default=False)
            close = [client.close, cluster.close]
        else:
            try:
                client = distributed.Client(address, timeout="5s", set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                raise StoreError(
                    f"no Dask scheduler answers at {address!r} ({error}); start one with `dask scheduler`, or use --dask local."
                ) from error
            close = [client.close]
        executor: Any = client.get_executor(pure=False)
        executor.sojourn_close = close
        found: Executor = executor
        return found

    return make


def _local_cluster(distributed: Any, workers: int) -> Any:
    """Start a cluster of processes here; where one dies while it starts, try again."""
    dask: Any = require("dask", "dask")
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "500ms"}  # they cost CPU of the tasks
    for attempt in range(3):
        try:
            with dask.config.set(quiet):
                return distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
                )
        except (RuntimeError, OSError, TimeoutError) as error:
            if attempt == 2:
                raise StoreError(
                    f"{workers} Dask workers did not start here ({error}); try fewer, or run without --dask."
                ) from error


def is_transient(error: BaseException) -> bool:
    """Return whether the error tells of a lost worker or scheduler rather than of the task."""
    return isinstance(error, TRANSIENT) or type(error).__name__ in (
        "KilledWorker",
        "CommClosedError",
        "FutureCancelledError",
        "FuturesCancelledError",
        "ClosedClientError",
        "TimeoutError",
    )
