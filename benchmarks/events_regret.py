"""Regret of the learners of events against the default, at N decisions: one line of JSON per run, resumable.

    python benchmarks/events_regret.py RESULTS.jsonl --models tandem sis-epidemic --replications 20 --epochs 1e6
    python benchmarks/events_regret.py RESULTS.jsonl --table

The default is told the supports.  A run that RESULTS holds is not run again.  The table shows mean and worst regret, the ratio of
the default's mean to both, and the constant of hidden events times log N.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from sojourn.instance.event_difficulty import EventDifficulty
from sojourn.instance.gaps import optimum
from sojourn.learn.catalogue import learner_class, needed_knowledge
from sojourn.model.events import events_of
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

LEARNERS = ["default", "events-psrl", "events-ucrl"]


def done(path):
    """Return the runs that the file holds, by what they were."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["model"], row["learner"], row["epochs"], row["seed"]): row for row in rows}


def run(path, models, learners, epochs, seeds):
    """Run what is missing, one after the other, models innermost so that an early stop has something of everything."""
    known, cache = done(path), {}
    for seed in seeds:
        for model_name in models:
            for name in learners:
                if (model_name, name, epochs, seed) in known:
                    continue
                if model_name not in cache:
                    model = make(model_name)
                    cache[model_name] = model, solve(model)
                model, solution = cache[model_name]
                told = needed_knowledge(model, learner_class(name), supports=True)
                began = time.process_time()
                found = simulate(model, name, max_epochs=epochs, seed=seed, knowledge=told, solution=solution,
                                 checkpoints=[epochs // 100, epochs // 10, epochs])
                row = {"model": model_name, "learner": name, "epochs": epochs, "seed": seed,
                       "regret": found.pseudo_regret.round(4).tolist(), "plans": found.episodes.total,
                       "cpu_seconds": round(time.process_time() - began, 2)}
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def table(path):
    """Print one line per model and learner."""
    groups = {}
    for (model, learner, epochs, _), row in sorted(done(path).items()):
        groups.setdefault((model, epochs), {}).setdefault(learner, []).append(row)
    for (name, epochs), by_learner in groups.items():
        model = make(name)
        bound = EventDifficulty(optimum(model), events_of(model)).constant * np.log(epochs)
        base = np.mean([row["regret"][-1] for row in by_learner["default"]]) if "default" in by_learner else np.nan
        for learner, rows in by_learner.items():
            regret = np.array([row["regret"] for row in rows])
            last, before = regret[:, -1], regret[:, -2]
            with np.errstate(divide="ignore"):
                ratio, least = base / last.mean(), base / last.max()
            print(f"{name:40s} {learner:12s} {len(rows):3d} runs  mean {last.mean():11.2f}  worst {last.max():11.2f}  "
                  f"at N/10 {before.mean():10.2f}  default's mean over mean {ratio:8.1f} and over worst "
                  f"{least:8.1f}  C log N {bound:7.1f}  {np.mean([r['cpu_seconds'] for r in rows]):6.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--models", nargs="+", default=["customer-selection", "tandem", "routing", "sis-epidemic"])
    parser.add_argument("--learners", nargs="+", default=LEARNERS)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=float, default=1e6)
    parser.add_argument("--table", action="store_true", help="only print what RESULTS holds")
    given = parser.parse_args()
    if not given.table:
        seeds = range(given.first_seed, given.first_seed + given.replications)
        run(given.results, given.models, given.learners, int(given.epochs), seeds)
    table(given.results)
