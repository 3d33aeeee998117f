"""Kill a study with -9 at random moments, resume it each time, and compare the final hash with an uninterrupted run's.

    python benchmarks/study_crash.py [--kills 100] [--folder .cache/study-crash] [--places 1,2,3,4,dask]

The script can itself be stopped and started again: what it has counted is in the folder.  Each round starts `sojourn study
run` on the store as it is, waits a random time, and kills the coordinator, all its processes, or one of its workers.  When a
study is complete, its hash and its number of replications are compared and it starts over with an empty store.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from sojourn.study.store import Store

STUDY = """
[study]
name = "crash"
epochs = {epochs}
replications = {replications}
seed = 3
checkpoints = 40

[[models]]
zoo = "customer-selection"

[[models]]
zoo = "three-state"

[[learners]]
name = "ct-kl-ucrl"

[[learners]]
name = "default"

[[learners]]
name = "ct-ucrl-doubling"
planning = "fast"
"""


def start(folder: Path, store: str, place: str) -> subprocess.Popen:
    """Start the study into `store`, on so many workers or on Dask."""
    where = ["--dask", "local", "--workers", "2"] if place == "dask" else ["--workers", place]
    words = [
        "study",
        "run",
        str(folder / "study.toml"),
        "--store",
        str(folder / store),
        *where,
        "--checkpoint-seconds",
        "0.3",
        "--quiet",
    ]
    with open(folder / "stderr.txt", "ab") as stderr:
        return subprocess.Popen([sys.executable, "-m", "sojourn", *words], start_new_session=True, stderr=stderr)


def kill(process: subprocess.Popen, whom: str, rng: random.Random) -> None:
    """Kill -9 the coordinator, one worker, or all."""
    if whom == "worker":
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(process.pid).children(recursive=True)
            workers = [c for c in children if "spawn_main" in " ".join(c.cmdline())]
            if workers:
                os.kill(rng.choice(workers).pid, signal.SIGKILL)
                return
        whom = "coordinator"
    if whom == "coordinator":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def end(process: subprocess.Popen) -> None:
    """Wait for the coordinator and see that nothing of its group stays behind."""
    process.wait()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def outcome(path: Path) -> tuple[str, int]:
    with Store(path) as store:
        return store.content_hash(), store.verify()


def reference(folder: Path, counted: dict) -> None:
    if "hash" not in counted:
        process = start(folder, "reference.sqlite", "1")
        if process.wait():
            sys.exit(f"the reference run failed: see {folder / 'stderr.txt'}")
        counted["hash"], counted["replications"] = outcome(folder / "reference.sqlite")


def save(folder: Path, counted: dict) -> None:
    partial = folder / "counted.json.partial"
    partial.write_text(json.dumps(counted))
    partial.replace(folder / "counted.json")


def check(folder: Path, counted: dict, place: str) -> None:
    """Compare a completed store with the reference, and clear the way for the next."""
    got = outcome(folder / "store.sqlite")
    if got != (counted["hash"], counted["replications"]):
        sys.exit(f"FAILED on {place}: hash and replications are {got}, should be {(counted['hash'], counted['replications'])}")
    counted["completed"] += 1
    for path in folder.glob("store.sqlite*"):
        path.unlink()


def one_round(folder: Path, counted: dict, place: str, rng: random.Random, longest: float) -> None:
    """Start the study, wait, kill; or see it complete first."""
    process = start(folder, "store.sqlite", place)
    whom = rng.choice(["coordinator", "coordinator", "worker", "all"])
    deadline = time.monotonic() + rng.uniform(0.3, longest)
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    if process.poll() is None:
        kill(process, whom, rng)
        counted["kills"][whom] = counted["kills"].get(whom, 0) + 1
        counted["places"][place] = counted["places"].get(place, 0) + 1
        if whom == "worker":  # the coordinator must go on by itself; give it a while, then it is killed too
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.5, longest))
            if process.poll() is None:
                process.kill()
                counted["kills"]["coordinator"] = counted["kills"].get("coordinator", 0) + 1
        end(process)
    if process.returncode == 0:
        check(folder, counted, place)
    elif process.returncode > 0:
        sys.exit(f"FAILED on {place}: exit code {process.returncode}; see {folder / 'stderr.txt'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path(".cache/study-crash"))
    parser.add_argument("--places", default="1,2,3,4,dask")
    parser.add_argument("--epochs", type=int, default=400_000)
    parser.add_argument("--replications", type=int, default=8)
    parser.add_argument("--longest", type=float, default=8.0, help="seconds before a kill, at most")
    given = parser.parse_args()
    folder = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(STUDY.format(epochs=given.epochs, replications=given.replications))
    path = folder / "counted.json"
    counted = json.loads(path.read_text()) if path.exists() else {"kills": {}, "places": {}, "completed": 0, "rounds": 0}
    reference(folder, counted)
    places = given.places.split(",")
    while sum(counted["kills"].values()) < given.kills:
        place = places[counted["rounds"] % len(places)]
        one_round(folder, counted, place, random.Random(counted["rounds"]), given.longest)
        counted["rounds"] += 1
        save(folder, counted)
        if counted["rounds"] % 10 == 0:
            print(json.dumps({key: counted[key] for key in ("rounds", "kills", "places", "completed")}), flush=True)
    last = start(folder, "store.sqlite", "2")
    if last.wait():
        sys.exit(f"FAILED: the last run ended with {last.returncode}; see {folder / 'stderr.txt'}")
    check(folder, counted, "2")
    save(folder, counted)
    print(
        f"{sum(counted['kills'].values())} kills {counted['kills']} on {counted['places']}, "
        f"{counted['completed']} studies completed: "
        f"one hash {counted['hash'][:16]}, {counted['replications']} replications each, none lost, none doubled"
    )


if __name__ == "__main__":
    main()
