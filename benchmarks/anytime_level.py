"""Old against new defaults of ct-kl-ucrl and ct-joint-ucrl: level 1/t and plans of a tenth against delta = 0.01 and doubling.

    python benchmarks/anytime_level.py run rows.jsonl                          # three-state, river-swim, maintenance; 20 runs each
    python benchmarks/anytime_level.py run rows.jsonl --drawn 10 --seed 31001 --runs 40     # ten models of benchmarks/families.py
    python benchmarks/anytime_level.py run rows.jsonl --zoo --runs 40
    python benchmarks/anytime_level.py show rows.jsonl

`run` appends one line per (model, learner, supports, setup) and passes over those already there: it can be stopped and taken up
again.  `--setups` also knows `tenth` (delta = 0.01, growth = 0.1), `level` (level 1/t, doubling) and `horizon` (delta = 1/N,
doubling).  Run i has learner seed i and world seed 10^6 + i.  `show` prints, old and new in one cell, the mean pseudo-regret after
N/100, N/10 and N decisions with its standard error, and the worst run, CPU seconds and plans of N decisions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from families import FAMILIES
from families import instance as drawn
from families import read as rows

from sojourn.learn.catalogue import learner
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import families, make

NAMES = ("ct-kl-ucrl", "ct-joint-ucrl")
MODELS = ("three-state", "river-swim", "maintenance")
SETUPS: dict[str, Callable[[int], dict[str, Any]]] = {
    "old": lambda epochs: {"delta": 0.01, "growth": 1.0, "planning": "uniformised"},
    "new": lambda epochs: {},
    "tenth": lambda epochs: {"delta": 0.01},
    "level": lambda epochs: {"growth": 1.0},
    "horizon": lambda epochs: {"horizon": epochs, "growth": 1.0},
}


def instance(name: str) -> CTMDP:
    """Return a model of the zoo, or the drawn one FAMILY-SEED."""
    return drawn(name) if name.rpartition("-")[0] in FAMILIES and name.rpartition("-")[2].isdigit() else make(name)


def instances(given: argparse.Namespace) -> list[str]:
    """Return the models that were asked for; of the drawn ones, each of the next family and the next seed."""
    some = [f"{list(FAMILIES)[i % len(FAMILIES)]}-{given.seed + i}" for i in range(given.drawn)]
    return some + (families() if given.zoo else []) + (list(given.models) if given.models or some or given.zoo else list(MODELS))


def measured(name: str, label: str, supports: bool, setup: str, epochs: int, runs: int) -> dict[str, Any]:
    """Return one row; the first run, of another seed, compiles and is not counted."""
    model = instance(name)
    solution, knowledge, given = solve(model), model.knowledge(supports=supports), SETUPS[setup](epochs)
    regrets, seconds, plans = [], [], []
    simulate(model, learner(label, knowledge, seed=runs, **given), max_epochs=1000, seed=0, solution=solution)
    for i in range(runs):
        began = time.process_time()
        run = simulate(model, learner(label, knowledge, seed=i, **given), max_epochs=epochs, seed=10**6 + i, solution=solution,
                       checkpoints=[epochs // 100, epochs // 10, epochs])
        seconds.append(round(time.process_time() - began, 4))
        regrets.append([float(x) for x in run.pseudo_regret])
        plans.append(run.episodes.total)
    return {"instance": name, "states": model.n_states, "pairs": model.n_pairs, "learner": label, "supports": supports,
            "setup": setup, "epochs": epochs, "regret": regrets, "seconds": seconds, "plans": plans}


def run(path: Path, given: argparse.Namespace) -> None:
    """Append what is missing to `path`."""
    key = ("instance", "learner", "supports", "setup", "epochs")
    done = {tuple(row[k] for k in key) for row in rows(path)} if path.exists() else set()
    for name in instances(given):
        for label in given.learners:
            for supports in (True, False):
                for setup in given.setups:
                    if (name, label, supports, setup, given.epochs) not in done:
                        row = measured(name, label, supports, setup, given.epochs, given.runs)
                        with path.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(row) + "\n")


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return the mean of independent runs and its standard error."""
    found = np.asarray(values, dtype=float)
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))


def quotient(new: Any, old: Any) -> str:
    """Return the quotient of two means with its standard error, the runs taken as independent."""
    (a, da), (b, db) = mean_and_error(new), mean_and_error(old)
    if not a > 0 or not b > 0:
        return "-"
    return f"{a / b:.2f} ± {a / b * np.hypot(da / a, db / b):.2f}"


def show(path: Path) -> None:
    """Print the table, a row for each setup that has an old one beside it; each cell holds old / new."""
    found = {(r["instance"], r["learner"], r["supports"], r["epochs"], r["setup"]): r for r in rows(path)}
    head = ("model", "learner", "supports", "setup", "regret at N/100", "at N/10", "at N", "new over old", "worst run at N",
            "CPU s", "plans")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for key, row in found.items():
        old = found.get((*key[:4], "old"))
        if key[4] == "old" or old is None:
            continue
        pair = old, row
        regrets = [np.array(r["regret"]) for r in pair]
        cells = [" / ".join("{:.0f} ± {:.0f}".format(*mean_and_error(r[:, i])) for r in regrets) for i in range(3)]
        cells += [quotient(regrets[1][:, -1], regrets[0][:, -1]), " / ".join(f"{r[:, -1].max():.0f}" for r in regrets),
                  " / ".join(f"{np.mean(r['seconds']):.3f}" for r in pair), " / ".join(f"{np.mean(r['plans']):.0f}" for r in pair)]
        print(f"| {key[0]} | {key[1]} | {'known' if key[2] else 'unknown'} | {key[4]} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--models", nargs="*", default=[], help="models of the zoo, or FAMILY-SEED of benchmarks/families.py")
    parser.add_argument("--drawn", type=int, default=0, help="so many drawn models, one family after the other")
    parser.add_argument("--seed", type=int, default=31001, help="of the first drawn model")
    parser.add_argument("--zoo", action="store_true", help="every model of the zoo")
    parser.add_argument("--learners", nargs="+", default=list(NAMES))
    parser.add_argument("--setups", nargs="+", default=["old", "new"], choices=list(SETUPS))
    parser.add_argument("--epochs", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    if given.what == "run":
        run(given.path, given)
    show(given.path)


if __name__ == "__main__":
    main()
