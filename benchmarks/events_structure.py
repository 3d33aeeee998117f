"""The structure test on a tandem whose second station slows down when it is crowded: power, level, and what the guard costs.

    python benchmarks/events_structure.py RESULTS.jsonl --power 20 --right 1000 --guard 20 --epochs 1e5
    python benchmarks/events_structure.py RESULTS.jsonl --table

One line of JSON per run, resumable.  Station 2 works at `factor` times its rate while at least three customers are there; the
learner is told that it has one rate.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from sojourn.learn.structure_test import coordinates
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

FACTORS = [0.9, 0.8, 0.6]


def slower(model, factor):
    """Return the tandem whose second station works at `factor` times its rate while at least three customers are there."""
    table = model.events
    there = coordinates(model.states)[1][model.pair_state[table.pair]] >= 3
    size = np.where((table.event == table.number("serve 2")) & there, factor, 1.0) * table.coefficient
    changed = replace(table, coefficient=size)
    flow, jumps, rate = changed.intensity(table.value), table.jumps, changed.rate(table.value)
    rows = sparse.csr_matrix((flow[jumps], (table.pair[jumps], table.next_state[jumps])), shape=(model.n_pairs, model.n_states))
    return CTMDP.from_pairs(model.pair_state, model.pair_action, sparse.diags(1 / rate) @ rows, rate, model.reward, model.running,
                            states=model.states, actions=model.actions, normalize_rows=True, events=changed)


def done(path):
    """Return the runs that the file holds, by what they were."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["what"], row["factor"], row["epochs"], row["seed"]): row for row in rows}


def run(path, what, factor, epochs, seeds):
    """Run what is missing: `what` is "test" (events-psrl), "guard" (with guard=True) or "default"."""
    model, known = make("tandem"), done(path)
    world = model if factor == 1.0 else slower(model, factor)
    solution = solve(world)
    told = world.knowledge(supports=True) if what == "default" else model.knowledge(events=True)
    for seed in seeds:
        if (what, factor, epochs, seed) in known:
            continue
        began = time.process_time()
        given = {"guard": True} if what == "guard" else None
        found = simulate(world, "default" if what == "default" else "events-psrl", max_epochs=epochs, seed=seed, knowledge=told,
                         solution=solution, parameters=given, checkpoints=[epochs])
        row = {"what": what, "factor": factor, "epochs": epochs, "seed": seed, "regret": round(float(found.pseudo_regret[-1]), 2),
               "rejected": int(getattr(found.learner, "rejected_epoch", 0)), "cpu_seconds": round(time.process_time() - began, 2)}
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def table(path):
    """Print one line per kind of run."""
    groups = {}
    for (what, factor, epochs, _), row in sorted(done(path).items()):
        groups.setdefault((what, factor, epochs), []).append(row)
    for (what, factor, epochs), rows in groups.items():
        when = [row["rejected"] for row in rows if row["rejected"]]
        regret = np.array([row["regret"] for row in rows])
        print(f"{what:8s} station 2 at {factor:.0%} of its rate from 3 customers on, {epochs:,} decisions: {len(rows):4d} runs, "
              f"rejected in {len(when):4d}, median after {np.median(when) if when else float('nan'):,.0f}; regret mean "
              f"{regret.mean():,.0f}, worst {regret.max():,.0f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--power", type=int, default=20, help="runs at each factor")
    parser.add_argument("--right", type=int, default=1000, help="runs where the structure is right")
    parser.add_argument("--guard", type=int, default=20, help="runs with the guard, and of the default, at each factor")
    parser.add_argument("--epochs", type=float, default=1e5)
    parser.add_argument("--table", action="store_true", help="only print what RESULTS holds")
    given = parser.parse_args()
    if not given.table:
        length = int(given.epochs)
        for slow in FACTORS:
            run(given.results, "test", slow, length, range(given.power))
        for slow in FACTORS:
            for kind in ("guard", "default"):
                run(given.results, kind, slow, length, range(given.guard))
        run(given.results, "test", 1.0, length, range(10_000, 10_000 + given.right))
    table(given.results)
