"""Regret of the learners against C(M) log N on golden, zoo and fresh random instances.

    python benchmarks/learners.py                                (discrete-time RiverSwim, N = 10^4, 100 replications)
    python benchmarks/learners.py run results.jsonl --learners default,ct-psrl --instances small --replications 50

`run` appends one line per (instance, learner, supports) and passes over those already there: it can be stopped and taken up again;
learners_table.py shows what it found.  Replication i has learner seed i and world seed 10^6 + i.  The fresh instances are
`fresh(seed)`, seeds 7301 to 7312, first drawn on 2026-11-16 at 02:05 UTC, when tuning had stopped; since then a bug of CT-KL-UCRL
was mended and its rows run anew.  (7001 to 7016, 7101 to 7116 and 7201 to 7212, drawn after earlier stops that did not hold, have
served for tuning since.)
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from learners_table import line, rows

from sojourn.cli.common import read_model
from sojourn.instance.difficulty import difficulty
from sojourn.learn.catalogue import learner
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import families

GOLDEN = Path(__file__).parent.parent / "tests" / "data" / "golden"
GOLDEN_NAMES = ("boundary_cases", "ties", "machine_maintenance")  # three_state and miller_n3_m3 are in the zoo
FRESH = tuple(range(7301, 7313))
LARGE = 20  # states: above it `--instances small` leaves an instance out
FIXED: dict[str, Any] = {"delta": 0.01, "growth": 1.0, "planning": "uniformised"}  # defaults when learners.jsonl was made
GIVEN: dict[str, dict[str, Any]] = {"ct-ucrl": {"delta": 0.01}, "ct-kl-ucrl": FIXED, "ct-joint-ucrl": FIXED}


def golden(name: str) -> CTMDP:
    """Return a golden model."""
    parts = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["model"]
    shape = len(parts["p"]), max(len(row) for row in parts["p"])
    transition, admissible = np.zeros((*shape, shape[0])), np.zeros(shape, dtype=bool)
    rate, reward, running = (np.zeros(shape) for _ in range(3))
    for s, row in enumerate(parts["p"]):
        for a, p in enumerate(row):
            admissible[s, a] = True
            transition[s, a] = [float(Fraction(x)) for x in p]
            rate[s, a], reward[s, a], running[s, a] = (float(Fraction(parts[key][s][a])) for key in ("rates", "r", "c"))
    bounds = float(Fraction(parts["lambda_min"])), float(Fraction(parts["lambda_max"]))
    return CTMDP.from_arrays(transition, rate, reward, running, admissible, rate_bounds=bounds, name=parts["name"])


def fresh(seed: int) -> CTMDP:
    """Return a random sparse model whose size, rewards and rates follow from the seed: irreducible through s -> s + 1."""
    rng = np.random.default_rng(seed)
    n_states, n_actions, branching = int(rng.integers(3, 16)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
    low, flows = float(rng.choice([0.0, -1.0])), bool(rng.integers(2))
    transition = np.zeros((n_states, n_actions, n_states))
    for s in range(n_states):
        for a in range(n_actions):
            support = rng.choice(n_states, size=min(n_states, branching), replace=False)
            transition[s, a, support] = 0.9 * rng.dirichlet(np.ones(len(support)))
            transition[s, a, (s + 1) % n_states] += 0.1
    shape = n_states, n_actions
    rate = np.exp(rng.uniform(0.0, math.log(8.0), shape))
    running = rng.uniform(low, 1.0, shape) if flows else np.zeros(shape)
    return CTMDP.from_arrays(transition, rate, rng.uniform(low, 1.0, shape), running, rate_bounds=(0.5, 10.0), name=f"fresh-{seed}")


def instance(name: str) -> CTMDP:
    """Return the instance called `name`: golden:NAME, fresh-SEED, or a zoo family as on the command line."""
    if name.startswith("golden:"):
        return golden(name.partition(":")[2])
    if name.startswith("fresh-"):
        return fresh(int(name.partition("-")[2]))
    return read_model(name)


def names(which: list[str]) -> list[str]:
    """Return the instances of `which`: fresh, golden, zoo, all, small (at most 20 states), or names."""
    groups = {"fresh": [f"fresh-{seed}" for seed in FRESH], "golden": [f"golden:{name}" for name in GOLDEN_NAMES],
              "zoo": families()}
    groups["all"] = [*groups["golden"], *groups["fresh"], *groups["zoo"]]
    groups["small"] = [name for name in groups["all"] if "small" in which and instance(name).n_states <= LARGE]
    return [name for word in which for name in groups.get(word, [word])]


def regrets(task: tuple[str, str, bool, int, int, int]) -> tuple[list[list[float]], float]:
    """Return the pseudo-regret at N/100, N/10, N of some replications, and the seconds they took."""
    name, label, supports, epochs, first, last = task
    model = instance(name)
    solution, knowledge = solve(model), model.knowledge(supports=supports)
    given: dict[str, Any] = {"model": model} if label == "oracle" else GIVEN.get(label, {})
    simulate(model, learner(label, knowledge, **given), max_epochs=100, solution=solution)  # compile
    found, seconds = [], 0.0
    for i in range(first, last):
        began = time.perf_counter()
        run = simulate(model, learner(label, knowledge, seed=i, **given), max_epochs=epochs, seed=10**6 + i, solution=solution,
                       checkpoints=[epochs // 100, epochs // 10, epochs])
        seconds += time.perf_counter() - began
        found.append([float(x) for x in run.pseudo_regret])
    return found, seconds


def measured(pool: ProcessPoolExecutor, name: str, label: str, supports: bool, epochs: int, replications: int) -> dict[str, Any]:
    """Return one row of the table."""
    cut = np.linspace(0, replications, 3).astype(int)
    parts = list(pool.map(regrets, [(name, label, supports, epochs, int(a), int(b)) for a, b in pairwise(cut)]))
    model = instance(name)
    return {"instance": name, "learner": label, "supports": supports, "epochs": epochs, "replications": replications,
            "states": model.n_states, "pairs": model.n_pairs, "constant": float(difficulty(model).lower_bound_constant),
            "regret": [r for part, _ in parts for r in part],
            "decisions_per_second": epochs * replications / sum(s for _, s in parts)}


def run(path: Path, instances: Iterable[str], labels: list[str], supports: list[bool], epochs: int, replications: int) -> None:
    """Append what is missing to `path`."""
    done = {(r["instance"], r["learner"], r["supports"], r["epochs"]) for r in rows(path)} if path.exists() else set()
    with ProcessPoolExecutor(2) as pool:
        for name in instances:
            if difficulty(instance(name)).lower_bound_constant == 0:
                continue
            for label in labels:
                for known in supports:
                    if (name, label, known, epochs) not in done:
                        row = measured(pool, name, label, known, epochs, replications)
                        with path.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(row) + "\n")
                        print(line(row), flush=True)


def riverswim(replications: int = 100, epochs: int = 10_000) -> None:
    """Print the discrete-time RiverSwim table: unit holding times, rates known to be 1."""
    n = 6
    transition, reward = np.zeros((n, 2, n)), np.zeros((n, 2))
    for s in range(n):
        transition[s, 0, max(s - 1, 0)] = 1.0
        transition[s, 1, max(s - 1, 0)] += 0.4 if s in (0, n - 1) else 0.05
        transition[s, 1, s] += 0.0 if s == 0 else 0.6
        transition[s, 1, min(s + 1, n - 1)] += 0.6 if s == 0 else 0.0 if s == n - 1 else 0.35
    reward[0, 0], reward[n - 1, 1] = 0.005, 1.0
    model = CTMDP.from_arrays(transition, np.ones((n, 2)), reward, rate_bounds=(1.0, 1.0), name="riverswim, discrete time")
    print("| learner | supports | mean regret | 95 % interval | median | max | decisions per processor second |")
    print("|---|---|---|---|---|---|---|")
    solution = solve(model)
    for label in ("default", "ct-psrl", "ct-bk", "ct-kl-ucrl", "ct-ce"):
        for known in (True, False):
            knowledge = model.knowledge(supports=known)
            given = GIVEN.get(label, {})
            final, seconds = [], 0.0
            for i in range(-1, replications):
                began = time.process_time()
                run = simulate(model, learner(label, knowledge, seed=i + 1, **given), max_epochs=epochs, seed=10**6 + i,
                               solution=solution, checkpoints=[epochs], holding_times="deterministic")
                if i >= 0:  # the first one compiles
                    seconds += time.process_time() - began
                    final.append(float(run.pseudo_regret[-1]))
            x = np.array(final)
            half = 1.96 * x.std(ddof=1) / math.sqrt(len(x))
            print(f"| {label} | {'known' if known else 'unknown'} | {x.mean():.1f} | "
                  f"{x.mean() - half:.1f} to {x.mean() + half:.1f} | "
                  f"{np.median(x):.1f} | {x.max():.1f} | {epochs * replications / seconds:.2g} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["run", "riverswim"], default="riverswim")
    parser.add_argument("path", nargs="?", type=Path, default=Path("learners.jsonl"))
    parser.add_argument("--instances", nargs="+", default=["small"])
    parser.add_argument("--learners", default="default")
    parser.add_argument("--supports", default="known,unknown")
    parser.add_argument("--epochs", type=float, default=1e6)
    parser.add_argument("--replications", type=int, help="50; riverswim: 100; at least 2")
    given = parser.parse_args()
    if given.what == "run":
        run(given.path, names(given.instances), given.learners.split(","), [k == "known" for k in given.supports.split(",")],
            int(given.epochs), given.replications or 50)
    else:
        riverswim(given.replications or 100)


if __name__ == "__main__":
    main()
