"""Are the decisions still the same?  The first replication of every fast row of learners.jsonl, run anew.

    python benchmarks/same_decisions.py                          regrets against learners.jsonl, to 1e-9
    python benchmarks/same_decisions.py --save before.npz        and keep visits and policies, in a tree as it was;
    python benchmarks/same_decisions.py --compare before.npz     then, in another tree, compare them bit for bit

Rows are fast above 10^6 decisions a second; the whole takes some minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from learners import NEEDS_DELTA, instance
from learners_table import rows

from sojourn.learn.catalogue import learner
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve

TABLE = Path(__file__).with_name("learners.jsonl")
FAST = 1e6


def first_replication(row: dict[str, Any], model: Any, solution: Any) -> Any:
    """Return the run that gave the row its first regrets."""
    given = {"delta": 0.01} if row["learner"] in NEEDS_DELTA else {}
    epochs = row["epochs"]
    subject = learner(row["learner"], model.knowledge(supports=row["supports"]), seed=0, **given)
    return simulate(model, subject, max_epochs=epochs, seed=10**6, solution=solution,
                    checkpoints=[epochs // 100, epochs // 10, epochs])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--instances", nargs="+", help="only these")
    given = parser.parse_args()
    wanted = [row for row in rows(TABLE) if row["decisions_per_second"] > FAST
              and (given.instances is None or row["instance"] in given.instances)]
    old = dict(np.load(given.compare)) if given.compare else {}
    found: dict[str, np.ndarray] = {}
    models: dict[str, tuple[Any, Any]] = {}
    wrong = 0
    for row in wanted:
        if row["instance"] not in models:
            model = instance(row["instance"])
            models = {row["instance"]: (model, solve(model))}  # rows of one instance follow each other
        run = first_replication(row, *models[row["instance"]])
        name = f"{row['instance']} {row['learner']} {'known' if row['supports'] else 'unknown'}"
        found |= {f"{name} visits": run.visits, f"{name} policies": np.array(run.episodes.policies),
                  f"{name} number": run.episodes.policy_number}
        same = np.allclose(run.pseudo_regret, row["regret"][0], rtol=1e-9, atol=1e-9)
        same &= not old or all(np.array_equal(old[key], found[key]) for key in list(found)[-3:])
        wrong += not same
        if not same:
            print(f"{name}: another run, pseudo-regret {run.pseudo_regret.tolist()}, was {row['regret'][0]}", flush=True)
    if given.save:
        np.savez_compressed(given.save, **found)
    compared = "regrets, visits and policies" if old else "regrets"
    print(f"{len(wanted)} rows, {wrong} differ ({compared})")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
