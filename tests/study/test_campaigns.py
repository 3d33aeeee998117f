"""The long campaigns of `benchmarks/`, in a short form."""

import subprocess
import sys
import tracemalloc
from concurrent.futures import Executor, Future
from pathlib import Path

import pytest

from sojourn.study.task import Outcome

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.xdist_group("crash")
def test_a_study_killed_at_random_moments_ends_with_the_hash_of_an_uninterrupted_one(tmp_path):
    words = ["--kills", "4", "--places", "2,1", "--epochs", "30000", "--replications", "2", "--longest", "4"]
    ran = subprocess.run(
        [sys.executable, BENCHMARKS / "study_crash.py", "--folder", tmp_path / "crash", *words],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "one hash" in ran.stdout and "12 replications each, none lost, none doubled" in ran.stdout


class Made(Executor):
    """Hands back results of 40 kB each without computing them."""

    def submit(self, fn, batch, /):
        future = Future()
        finished = [(number, b"SJP1" + bytes([number % 251]) * 40_000, 0.05) for number, _ in batch.items]
        future.set_result(Outcome(finished, None, 1, 0.0, 1.0, [0.0] * len(finished)))
        return future


def test_the_coordinator_does_not_keep_what_it_has_written(small_study):
    study = small_study(replications=1500, models=["three-state"])  # 60 MB of results
    study.run(executor=Made(), replications=range(1))
    tracemalloc.start()
    try:
        study.run(executor=Made())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert study.tally.replications == 1499 and peak < 25e6


def test_short_replications_are_put_together_until_a_task_is_long_enough(small_study):
    study = small_study(replications=1500, models=["three-state"]).run(executor=Made())
    assert study.tally.tasks < 1500 / 8  # 0.05 s each: forty to a task, fewer at the end
