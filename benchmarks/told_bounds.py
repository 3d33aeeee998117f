"""What do learners pay for rate bounds that say little, or nothing?

    python benchmarks/told_bounds.py run rows.jsonl --drawn 10 --seed 32001      # ten models of benchmarks/families.py
    python benchmarks/told_bounds.py run rows.jsonl --models three-state river-swim
    python benchmarks/told_bounds.py show rows.jsonl

The model's own bounds are widened at both ends by a factor of 1, 10^2, 10^4 and 10^6, or not told at all.  `run` appends one line
per (model, learner, supports, bounds) and passes over those already there: it can be stopped and taken up again.  Run i has learner
seed i and world seed 10^6 + i.  `show` prints the mean pseudo-regret, its standard error, and how many of the runs ended in a
ToleranceError.  A cell with a star exceeds 1.3 times the mean with the model's own bounds plus the gaps of thirty tries of every
pair, which is what wide bounds should cost at most.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from anytime_level import instance, instances, mean_and_error, rows

from sojourn.errors import ToleranceError
from sojourn.instance.gaps import gaps
from sojourn.learn.catalogue import learner
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve

FACTORS = {"own": 1.0, "10^±2": 1e2, "10^±4": 1e4, "10^±6": 1e6, "none": 0.0}
MORE, TRIES = 1.3, 30  # what wide bounds may cost: so many times the regret with the model's own, and so many tries of every pair


def measured(name: str, label: str, supports: bool, told: str, epochs: int, runs: int) -> dict[str, Any]:
    """Return one row."""
    model = instance(name)
    solution, factor = solve(model), FACTORS[told]
    own = model.knowledge()  # the bounds that the model declares, or its least and largest rate
    knowledge = model.knowledge((own.rate_min / factor, own.rate_max * factor) if factor else "unknown", supports)
    regrets, errors, began = [], 0, time.process_time()
    for i in range(runs):
        try:
            run = simulate(model, learner(label, knowledge, seed=i), max_epochs=epochs, seed=10**6 + i, solution=solution,
                           checkpoints=[epochs])
            regrets.append(float(run.pseudo_regret[-1]))
        except ToleranceError:
            errors += 1
    tries = TRIES * float(gaps(model, solution).clip(min=0)[model.pair_state, model.pair_action].sum())
    return {"instance": name, "learner": label, "supports": supports, "told": told, "epochs": epochs, "regret": regrets,
            "errors": errors, "tries": tries, "seconds": round(time.process_time() - began, 2)}


def run(path: Path, given: argparse.Namespace) -> None:
    """Append what is missing to `path`."""
    key = ("instance", "learner", "supports", "told", "epochs")
    done = {tuple(row[k] for k in key) for row in rows(path)} if path.exists() else set()
    for name in instances(given):
        for label in given.learners:
            for supports in (True, False) if given.untold_supports else (True,):
                for told in FACTORS:
                    if (name, label, supports, told, given.epochs) not in done:
                        row = measured(name, label, supports, told, given.epochs, given.runs)
                        with path.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(row) + "\n")


def show(path: Path) -> None:
    """Print the table, a row for each model and learner."""
    found = {(r["instance"], r["learner"], r["supports"], r["epochs"], r["told"]): r for r in rows(path)}
    head = ("model", "learner", "supports", *FACTORS, "30 tries")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    cells_, over, errors = 0, 0, 0
    for key in dict.fromkeys(k[:4] for k in found):
        own = found.get((*key, "own"))
        if own is None or not own["regret"]:
            continue
        allowed, cells = MORE * mean_and_error(own["regret"])[0] + own["tries"], []
        for told in FACTORS:
            row = found.get((*key, told))
            if row is None or not row["regret"]:
                cells.append("-")
                continue
            mean, error = mean_and_error(row["regret"])
            cells_, over, errors = cells_ + 1, over + (mean > allowed), errors + row["errors"]
            cells.append(f"{mean:.4g} ± {error:.2g}{'*' * (mean > allowed)}" + f" ({row['errors']} errors)" * bool(row["errors"]))
        print(f"| {key[0]} | {key[1]} | {'known' if key[2] else 'unknown'} | {' | '.join(cells)} | {own['tries']:.4g} |")
    print(f"\n{cells_} cells, {over} above what is allowed, {errors} runs ended in a ToleranceError")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--models", nargs="*", default=[], help="models of the zoo, or FAMILY-SEED of benchmarks/families.py")
    parser.add_argument("--drawn", type=int, default=0, help="so many drawn models, one family after the other")
    parser.add_argument("--seed", type=int, default=32001, help="of the first drawn model")
    parser.add_argument("--zoo", action="store_true", help="every model of the zoo")
    parser.add_argument("--learners", nargs="+", default=["ct-kl-ucrl", "ct-joint-ucrl", "default", "ct-psrl"])
    parser.add_argument("--untold-supports", action="store_true", help="also without telling which jumps are possible")
    parser.add_argument("--epochs", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    if given.what == "run":
        run(given.path, given)
    show(given.path)


if __name__ == "__main__":
    main()
