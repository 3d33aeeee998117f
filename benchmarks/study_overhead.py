"""What a study costs beside its tasks: CPU share of the tasks, overhead per task, and how fast the store's one writer is.

python benchmarks/study_overhead.py [--seconds 60] [--places pool,dask]
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sojourn.model.pack import pack
from sojourn.study.executors import dask_executor, process_pool
from sojourn.study.store import Result, Store
from sojourn.study.study import Study


def cpu() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def cpu_share(folder: Path, seconds: float, place: str) -> dict[str, float]:
    """Run a study of about `seconds` CPU seconds in tasks of a second and more; return tasks' CPU over all CPU."""
    per_run = 1.2e8  # decisions of the two-state model in about one CPU second
    study = Study(
        "overhead",
        models=["two-state"],
        learners=[{"name": "ct-ucrl", "delta": 0.01, "reward_range": [0, 12]}],
        epochs=int(per_run),
        replications=max(4, round(seconds)),
        store=folder / f"{place}.sqlite",
    )
    before, began = cpu(), time.perf_counter()
    study.run(workers=2, executor=dask_executor("local", 2) if place == "dask" else None)
    time.sleep(3)  # let the children be reaped
    spent = cpu() - before
    return {
        "tasks": study.tally.tasks,
        "task_cpu": study.tally.task_seconds,
        "all_cpu": spent,
        "seconds": time.perf_counter() - began - 3,
        "share": study.tally.task_seconds / spent,
    }


def per_task(place: str, tasks: int = 1000) -> float:
    """Return the seconds that the coordinator and two workers take for one empty task."""
    make = dask_executor("local", 2) if place == "dask" else lambda: process_pool(2)
    executor = make()
    list(map(lambda f: f.result(), [executor.submit(abs, i) for i in range(20)]))
    began = time.perf_counter()
    flying = [executor.submit(abs, i) for i in range(tasks)]
    for future in flying:
        future.result()
    took = (time.perf_counter() - began) / tasks
    executor.shutdown(wait=False)
    for close in getattr(executor, "sojourn_close", ()):
        close()
    return took


def writer(folder: Path) -> dict[str, float]:
    """Return results per second written durably, one and a hundred to a transaction, with 200 checkpoints each."""
    payload = pack({name: np.random.default_rng(0).random(200) for name in "abcdefg"} | {"visits": np.arange(30)})
    out = {"bytes_per_result": float(len(payload))}
    with Store(folder / "writer.sqlite", write=True) as store:
        store.set_study("writer", {"seed": 0}, 1)
        model, learner, code = store.add_model("m", "m", {}, b""), store.add_learner("l", "l", {}), store.add_code("c", {})
        number = 0
        for size in (1, 100):
            began = time.perf_counter()
            rounds = 200 if size == 1 else 20
            for _ in range(rounds):
                store.add_results([Result(model, learner, number + i, f"{number + i:064x}", payload) for i in range(size)], code)
                number += size
            out[f"results_per_second_{size}"] = rounds * size / (time.perf_counter() - began)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--places", default="pool,dask")
    given = parser.parse_args()
    found: dict[str, object] = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        for place in given.places.split(","):
            found[f"{place}_empty_task_ms"] = 1e3 * per_task(place)
            found[place] = cpu_share(folder, given.seconds, place)
        found["writer"] = writer(folder)
    print(json.dumps(found, indent=1))
    shares = [found[place]["share"] for place in given.places.split(",")]  # type: ignore[index]
    if min(shares) < 0.9:
        sys.exit(f"FAILED: tasks took {min(shares):.0%} of the CPU; at least 90 % is wanted")


if __name__ == "__main__":
    main()
