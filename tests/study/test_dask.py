"""A study on a real local Dask cluster: the same numbers, also when a worker is killed or the scheduler starts anew."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from sojourn.errors import StoreError
from sojourn.study.executors import dask_executor
from sojourn.study.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask"), pytest.mark.filterwarnings("ignore")]


def content(study):
    with Store(study.store_path) as store:
        return store.content_hash(), store.verify()


class Once:
    """Does something in a thread of its own when the first task lands."""

    def __init__(self, action):
        self.thread = threading.Thread(target=action)

    def begin(self, *values): ...

    def advance(self, cell, outcome):
        if not self.thread.ident:
            self.thread.start()

    def say(self, text): ...

    def end(self):
        if self.thread.ident:
            self.thread.join()


def test_a_local_cluster_gives_the_same_numbers_also_when_a_worker_is_killed(small_study):
    reference = content(small_study("reference", replications=6).run(workers=1))
    distributed = pytest.importorskip("distributed")
    with contextlib.ExitStack() as stack:
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        client = distributed.Client(stack.enter_context(cluster), set_as_default=False)
        stack.enter_context(client)
        study = small_study("dask", replications=6)
        victim = next(iter(client.run(os.getpid).values()))
        watcher = Once(lambda: os.kill(victim, signal.SIGKILL))
        study.run(executor=client.get_executor(pure=False), progress=watcher, slice_seconds=0.01)
    assert content(study) == reference


def free_port():
    """Return a port below those that the system gives to outgoing connections: one of them could take it during the restart."""
    for port in range(23_700, 24_700):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port")


def scheduler(port, folder):
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)


def worker(port, folder):
    words = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        f"tcp://127.0.0.1:{port}",
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--death-timeout",
        "60",
    ]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)


def test_a_study_outlives_its_scheduler(small_study, tmp_path):
    pytest.importorskip("distributed")
    reference = content(small_study("reference", replications=6).run(workers=1))
    port = free_port()
    started = [scheduler(port, tmp_path)]
    started.append(worker(port, tmp_path))

    def restart():
        started[0].kill()
        started[0].wait()
        started[1].kill()
        time.sleep(0.5)
        started.append(scheduler(port, tmp_path))
        started.append(worker(port, tmp_path))

    try:
        study = small_study("restarted", replications=6)
        make = dask_executor(f"tcp://127.0.0.1:{port}")
        for _ in range(60):
            with contextlib.suppress(StoreError):
                make()
                break
        study.run(executor=make, progress=Once(restart), slice_seconds=0.01)
        assert content(study) == reference
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_scheduler_that_is_not_there_is_said_so(small_study):
    pytest.importorskip("distributed")
    with pytest.raises(StoreError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        small_study().run(executor=dask_executor("tcp://127.0.0.1:9"))
