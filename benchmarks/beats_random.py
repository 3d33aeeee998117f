"""Every learner of the catalogue, with its defaults on the command line, against playing at random.

    python benchmarks/beats_random.py [--epochs 2e5] [--seeds 3] [--models three-state,maintenance] [--learners ct-ucrl,scal]

Runs `sojourn learn MODEL --learner NAME --epochs 2e5 --seed S --json` for every learner that needs nothing said and is not shown
the model, on every model of the zoo at its own size (2 to 64 states), in two processes; the two that a theorem is about are run as
printed, and again with what their page names (decisions, the eighth).  Prints the mean pseudo-regret, a row per model, and names
whoever does not beat `random` (exit code 1, unless it is one as printed).  Learners of events are run where the model has events.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from click.testing import CliRunner

from sojourn.cli.main import sojourn
from sojourn.learn.catalogue import LEARNERS, learner_class
from sojourn.zoo.catalogue import families, make

AS_PRINTED = [name for name, entry in LEARNERS.items() if entry.upper_bound]
MENDED = [f"{name} radius_scale=0.05" for name in AS_PRINTED]
LEFT_OUT = {"random", "oracle", "fixed", "default"}  # the yardsticks, and another name of ct-imed


def lost(task: tuple[str, str, float, int]) -> float:
    """Return the pseudo-regret that the command line reports."""
    model, words, epochs, seed = task
    name, _, given = words.partition(" ")
    options = ["--learner", name, "--epochs", str(epochs), "--seed", str(seed), "--json", *(["--param", given] if given else [])]
    ran = CliRunner().invoke(sojourn, ["learn", model, *options])
    if ran.exit_code:
        raise RuntimeError(f"{name} on {model}: {ran.output}")
    return float(json.loads(ran.stdout)["pseudo_regret"])


def row(pool: ProcessPoolExecutor, model: str, names: list[str], epochs: float, seeds: int) -> dict[str, float]:
    """Return the mean of each learner that can run on `model`."""
    events = make(model).events is not None
    able = [name for name in names if events or not getattr(learner_class(name.partition(" ")[0]), "needs_events", False)]
    found = list(pool.map(lost, [(model, name, epochs, seed) for name in able for seed in range(1, seeds + 1)]))
    return {name: float(np.mean(found[i * seeds:(i + 1) * seeds])) for i, name in enumerate(able)}


def main() -> None:
    own = [*MENDED, *(name for name in LEARNERS if name not in LEFT_OUT)]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=float, default=2e5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", default=",".join(families()))
    parser.add_argument("--learners", default=",".join(own))
    given = parser.parse_args()
    names, beaten = given.learners.split(","), []
    print("| model | random | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2))
    with ProcessPoolExecutor(2) as pool:
        for model in given.models.split(","):
            found = row(pool, model, ["random", *names], given.epochs, given.seeds)
            cells = [f"{found[name]:,.0f}" if name in found else "" for name in ["random", *names]]
            print(f"| {model} | " + " | ".join(cells) + " |", flush=True)
            beaten += [(name, model) for name in names if found.get(name, -np.inf) >= found["random"]]
    print("not better than random: " + (", ".join(f"{name} on {model}" for name, model in beaten) or "none"))
    sys.exit(any(name not in AS_PRINTED for name, _ in beaten))


if __name__ == "__main__":
    main()
