"""Every learner of the catalogue, from 10 to 10,000 states: how fast it walks, how often it plans, what it holds.

    python benchmarks/every_learner.py [--sizes 10,100,1000,10000] [--learners NAME,...] [--minutes 2] [--json FILE]

The model is random with 4 actions and 8 successors each, supports unknown; learners of events get two queues in series with about
as many states instead.  A process for each row: kernels are compiled (or loaded) on a smaller model of the same kind, then fresh
learners walk 10^3, 10^4, 10^5 and 10^6 decisions until a walk takes two CPU seconds; the last one counts.  `held` are the arrays
that the learner keeps at its end, `peak` how far the process grew during the walk.  A row that takes longer than `--minutes` is
said not to have ended.  `--json` keeps the rows, and rows that are in the file are not measured again.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from large_learners import held, memory, random_model

from sojourn.errors import SojournWarning
from sojourn.learn.catalogue import LEARNERS, learner_for
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

ENOUGH = 2.0  # CPU seconds
NOT_WALKED = ("fixed",)  # needs a policy


def model_for(name: str, size: int) -> CTMDP:
    """Return the model on which a learner is measured."""
    return make("tandem", capacity=max(1, round(math.sqrt(size)) - 1)) if name.startswith("events-") else random_model(size)


def walked(name: str, model: CTMDP, epochs: int, solution: Any) -> tuple[dict[str, float], Any]:
    """Return the figures of one walk, and the learner at its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SojournWarning)
        subject: Any = learner_for(model, name, seed=1)
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")
        before, began = memory("VmRSS"), time.process_time()
        run = simulate(model, subject, max_epochs=epochs, solution=solution, seed=2, checkpoints=2)
        seconds = time.process_time() - began
    return {"epochs": epochs, "seconds": seconds, "plans": len(run.episodes), "peak": (memory("VmHWM") - before) / 1e6}, subject


def measured(name: str, size: int) -> dict[str, Any]:
    """Return one row."""
    small = model_for(name, min(size, 300))
    walked(name, small, 300, solve(small, tolerance=1e-6))
    model = model_for(name, size)
    solution = solve(model, tolerance=1e-6)
    for epochs in (10**3, 10**4, 10**5, 10**6):
        row, subject = walked(name, model, epochs, solution)
        if row["seconds"] > ENOUGH:
            break
    return {"learner": name, "states": model.n_states, "size": size, **row, "held": held(subject, set()) / 1e6}


def row_of(name: str, size: int, minutes: float) -> dict[str, Any]:
    """Measure a row in a process of its own."""
    try:
        done = subprocess.run([sys.executable, __file__, "--one", name, str(size)], capture_output=True, text=True,
                              timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        return {"learner": name, "size": size, "failed": f"not ended after {minutes:g} min"}
    if done.returncode:
        return {"learner": name, "size": size, "failed": (done.stderr.strip().splitlines() or ["ended without a word"])[-1][:150]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def cell(row: dict[str, Any] | None) -> str:
    """Return `decisions per CPU second, ms per plan, MB held`."""
    if row is None:
        return ""
    if "failed" in row:
        return str(row["failed"])
    plan = f"{1e3 * row['seconds'] / row['plans']:.3g}" if row["plans"] else "-"
    return f"{row['epochs'] / row['seconds']:.2g} / {plan} / {row['held']:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10,100,1000,10000")
    parser.add_argument("--learners", default=",".join(name for name in LEARNERS if name not in NOT_WALKED))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "STATES"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one[0], int(given.one[1]))))
        return
    kept = [json.loads(line) for line in given.json.read_text().splitlines()] if given.json and given.json.exists() else []
    known = {(row["learner"], row["size"]): row for row in kept}
    sizes = [int(size) for size in given.sizes.split(",")]
    print("decisions per CPU second / CPU ms per plan, walking included / MB held\n")
    print("| learner | " + " | ".join(f"{size:,}" for size in sizes) + " |\n|---|" + "---|" * len(sizes))
    for name in given.learners.split(","):
        for size in sizes:
            if (name, size) not in known:
                known[name, size] = row_of(name, size, given.minutes)
                if given.json:
                    with given.json.open("a") as file:
                        file.write(json.dumps(known[name, size]) + "\n")
        print(f"| `{name}` | " + " | ".join(cell(known[name, size]) for size in sizes) + " |", flush=True)


if __name__ == "__main__":
    main()
