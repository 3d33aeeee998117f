"""How long a durable report takes beside the disk's own sync, how long opening takes, and whether memory grows.

    python benchmarks/control_speed.py latency [--count 5000] [--folder .cache/control-speed]
    python benchmarks/control_speed.py opening [--count 1000000]
    python benchmarks/control_speed.py soak [--count 10000000]

- latency: reports and bare syncs (4 kB written, fdatasync) take turns on the same disk in the same run; reports that end an
  episode are shown apart, since they hold a plan.
- opening: after `count` observations, how long `Controller.open` takes (the best of five, and all five).
- soak: `count` observations, nine tenths imported in pieces of 90,000 and the others reported in groups of 1000; the memory of the
  process after a tenth of them and at the end, and how long the file then takes to open.
"""

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parent))
from _control import MODEL, START, create, event

from sojourn.control.controller import Controller


def filled(controller: Controller, count: int, group: int = 1000) -> None:
    """Report `count` observations in groups; the plant does what it likes, and says so."""
    choices = {state: [MODEL.actions[int(a)] for a in MODEL.pair_action[MODEL.pair_start[s]:MODEL.pair_start[s + 1]]]
               for s, state in enumerate(MODEL.states)}
    status = controller.status()
    seq, state = status["next_seq"], status["state"]
    end = seq + count
    while seq < end:
        reports = []
        for number in range(seq, min(end, seq + group)):
            action = choices[state][number % len(choices[state])]
            tau, after = event(number, state, action)
            reports.append({"seq": number, "holding_time": tau, "next_state": after, "action": action})
            state = after
        controller.report_many(reports)
        seq += len(reports)


def latency(folder: Path, count: int) -> dict:
    """Report and sync in turns."""
    create(folder / "plant.control")
    bare, plain, episode = [], [], []
    file = os.open(folder / "bare", os.O_CREAT | os.O_RDWR)
    with Controller.open(folder / "plant.control") as controller:
        state, before = START, controller.status()["episode"]
        for seq in range(1, count + 1):
            tau, after = event(seq, state, controller.action)
            begun = time.perf_counter()
            controller.report(seq, tau, after)
            took = time.perf_counter() - begun
            now = controller._fold.session._episode.index
            (plain if now == before else episode).append(took)
            state, before = after, now
            begun = time.perf_counter()
            os.pwrite(file, b"x" * 4096, seq % 1000 * 4096)
            os.fdatasync(file)
            bare.append(time.perf_counter() - begun)

    def quantiles(values: list[float]) -> dict:
        return {f"p{q}_ms": round(1000 * float(np.percentile(values, q)), 3) for q in (50, 99)} if values else {}

    found = {"reports": quantiles(plain), "bare_sync": quantiles(bare),
             "ending_an_episode": {"count": len(episode), **quantiles(episode)}}
    return {**found, "load": round(os.getloadavg()[0], 1),
            "p99_ratio": round(found["reports"]["p99_ms"] / found["bare_sync"]["p99_ms"], 2)}


def opening(folder: Path, count: int) -> dict:
    """Fill, then open several times."""
    create(folder / "plant.control")
    with Controller.open(folder / "plant.control") as controller:
        filled(controller, count)
    return {"observations": count, **opened(folder)}


def opened(folder: Path) -> dict:
    """Return how long opening takes, five times."""
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        controller = Controller.open(folder / "plant.control")
        took.append(round(1000 * (time.perf_counter() - begun), 1))
        controller.close()
    return {"opening_ms": took, "best_ms": min(took), "load": round(os.getloadavg()[0], 1),
            "file_mb": round((folder / "plant.control").stat().st_size / 1e6)}


def past(rows: int) -> dict:
    """Return a log of the plant."""
    state, found = START, {"state": [], "action": [], "holding_time": [], "next_state": []}
    for number in range(rows):
        options = MODEL.pair_action[slice(*MODEL.pair_start[MODEL.states.position(state):][:2])]
        action = MODEL.actions[int(options[number % len(options)])]
        tau, after = event(number, state, action)
        for values, value in zip(found.values(), (state, action, tau, after)):
            values.append(value)
        state = after
    return found


def soak(folder: Path, count: int) -> dict:
    """Import and report for long, and look at the memory."""
    create(folder / "plant.control")
    process, log, memory, begun = psutil.Process(), past(90_000), [], time.process_time()
    with Controller.open(folder / "plant.control") as controller:
        for _ in range(count // 100_000):
            controller.import_log(log)
            filled(controller, 10_000)
            memory.append(process.memory_info().rss)
        status = controller.status()
    early, late = memory[len(memory) // 10], memory[-1]
    opening = opened(folder)
    return {"observations": status["epochs"] + status["imported"], "of_them_reported": status["epochs"],
            "rss_mb_after_a_tenth": round(early / 1e6, 1), "rss_mb_at_the_end": round(late / 1e6, 1),
            "growth_percent": round(100 * (late / early - 1), 2), "cpu_seconds": round(time.process_time() - begun), **opening}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("part", choices=["latency", "opening", "soak"])
    words.add_argument("--count", type=int)
    words.add_argument("--folder", type=Path, default=Path(".cache/control-speed"))
    said = words.parse_args()
    shutil.rmtree(said.folder, ignore_errors=True)
    said.folder.mkdir(parents=True)
    part, usual = {"latency": (latency, 5000), "opening": (opening, 10**6), "soak": (soak, 10**7)}[said.part]
    print(json.dumps(part(said.folder, said.count or usual)))
    shutil.rmtree(said.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
