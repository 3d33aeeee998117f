"""How long until a policy is proved to be good enough, and how often it is: models drawn from the families of families.py.

    python benchmarks/stopping.py run stopping.jsonl --models 10 --replications 10 --epochs 3000000
    python benchmarks/stopping.py show stopping.jsonl
    python benchmarks/stopping.py table stopping.jsonl

A row is a learner on a model at an epsilon: the decisions of each run at its certificate (null: none within --epochs), whether the
policy named was right (the model is known here), and the least number of decisions that any rule needs in the mean
(`difficulty(model).stopping_bound`).  One run serves all epsilons: it stops at the least of them, and the wider ones are met on the
way.  Models come from --seed on, one of each family in turn; large ones are left out, and those with a gain so near 0 that a share
of it means nothing.  `show` has a line for each row, `table` one for each model, as docs/how-to/stop-learning.md has it.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from families import FAMILIES, instance

from sojourn.errors import SojournError
from sojourn.instance.difficulty import difficulty
from sojourn.learn.catalogue import learner
from sojourn.learn.stopping import certificate, counts_of
from sojourn.model.closeness import Within, within
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.looks import after
from sojourn.simulation.walk import Walk
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solution import Solution
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

LARGE = 40  # states: larger models are left out of the short form
SMALL_GAIN = 0.05  # of the spread of incomes: a gain nearer 0 has no meaningful share


def drawn(count: int, seed: int) -> Iterator[tuple[str, CTMDP, Solution]]:
    """Yield models that a share of the gain means something in, one of each family in turn."""
    found = 0
    for round_ in range(100):
        for family in FAMILIES:
            name = f"{family}-{seed + round_}"
            model = instance(name)
            if model.n_states > LARGE:
                continue
            solution = solve(model)
            spread = float(np.ptp(np.outer(model.bounds, model.expected_reward) + model.running))
            if abs(solution.gain) < SMALL_GAIN * spread:
                continue
            yield name, model, solution
            found += 1
            if found == count:
                return


def stops(model: CTMDP, solution: Solution, label: str, supports: bool, asked: list[Within], epochs: int,
          seed: int) -> list[dict[str, Any]]:
    """Return of one run, for each epsilon (the widest first), the decisions at the certificate and whether it is right."""
    walk = Walk(model, learner(label, model.knowledge(supports=supports), seed=seed), seed=10**6 + seed, solution=solution)
    found: list[dict[str, Any]] = []
    at = max(10, model.n_states)
    while at <= epochs and len(found) < len(asked):
        walk.advance(until_epoch=at)
        while len(found) < len(asked):
            wanted = asked[len(found)]
            proved = certificate(walk.learner, counts_of(walk.learner, at), walk.knowledge, wanted)
            if not proved:
                break
            gain = float(evaluate(model, proved.policy).gain)  # type: ignore[arg-type]
            found.append({"epochs": at, "time": walk.time, "right": gain >= wanted.least(solution.gain) - 1e-9 * abs(solution.gain),
                          "optimal": gain >= solution.gain * (1 - math.copysign(1e-9, solution.gain)),
                          "holds": proved.low <= gain + 1e-9 and solution.gain <= proved.high + 1e-9})
        at = after(at)
    return found + [{"epochs": None}] * (len(asked) - len(found))


def run(path: Path, given: argparse.Namespace) -> None:
    """Append what is missing to `path`."""
    done = {(r["model"], r["learner"], r["supports"]) for r in read(path)} if path.exists() else set()
    asked = [within(f"{100 * e:g}%", given.delta) for e in sorted(given.epsilon, reverse=True)]
    chosen = ((name, make(name), solve(make(name))) for name in given.zoo) if given.zoo else drawn(given.models, given.seed)
    for name, model, solution in chosen:
        for label in given.learners:
            if (name, label, given.supports) in done:
                continue
            began = time.perf_counter()
            runs = [stops(model, solution, label, given.supports, asked, given.epochs, i) for i in range(given.replications)]
            with path.open("a", encoding="utf-8") as file:
                for i, wanted in enumerate(asked):
                    file.write(json.dumps({"model": name, "learner": label, "supports": given.supports, "epsilon": wanted.epsilon,
                                           "delta": wanted.delta, "epochs": given.epochs, "states": model.n_states,
                                           "pairs": model.n_pairs, "least": least(model, wanted, given.supports),
                                           "runs": [r[i] for r in runs]}) + "\n")
            print(f"{name} {label}: {time.perf_counter() - began:.0f} s", flush=True)


def least(model: CTMDP, wanted: Within, supports: bool) -> float | None:
    """Return the decisions that any rule needs in the mean; None where that is not known."""
    try:
        return difficulty(model).as_told.stopping_bound(wanted, supports=supports).epochs
    except SojournError:
        return None


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def show(path: Path) -> None:
    """Print a row per model, learner and epsilon, and how often certificates were right in all."""
    print("| model | pairs | epsilon | learner | stopped | right | median decisions | any rule needs |\n" + "|---" * 8 + "|")
    rows = read(path)
    for r in sorted(rows, key=lambda r: (r["model"], -r["epsilon"], r["learner"])):
        ended = [x for x in r["runs"] if x["epochs"] is not None]
        right = f"{sum(x['right'] for x in ended)} of {len(ended)}" if ended else "-"
        bound = "-" if r["least"] is None else f"{r['least']:,.0f}"
        print(f"| {r['model']} | {r['pairs']} | {r['epsilon']:.0%} | {r['learner']} | {len(ended)} of {len(r['runs'])} | {right} | "
              f"{median(r)} | {bound} |")
    summed(rows)


def table(path: Path) -> None:
    """Print a row per model: per epsilon the median decisions of each learner, and what any rule needs."""
    rows = read(path)
    learners = list(dict.fromkeys(r["learner"] for r in rows))
    epsilons = sorted({r["epsilon"] for r in rows}, reverse=True)
    print(f"{' / '.join(learners)}\n| model | pairs | {' | '.join(f'{e:.0%}' for e in epsilons)} | any rule needs |")
    print("|---" * (3 + len(epsilons)) + "|")
    for name in dict.fromkeys(r["model"] for r in rows):
        own = {(r["learner"], r["epsilon"]): r for r in rows if r["model"] == name}
        cells = [" / ".join(median(own[label, e]) for label in learners if (label, e) in own) for e in epsilons]
        some = next(iter(own.values()))
        needs = [next(r["least"] for (_, of), r in own.items() if of == e) for e in epsilons]
        print(f"| {name} | {some['pairs']} | {' | '.join(cells)} | {', '.join('-' if n is None else f'{n:,.0f}' for n in needs)} |")
    summed(rows)


def median(row: dict[str, Any]) -> str:
    """Return the median decisions of the runs of a row, and how many ended with a certificate where not all did."""
    decisions = sorted(x["epochs"] or math.inf for x in row["runs"])
    middle = decisions[(len(decisions) - 1) // 2]
    ended = sum(d < math.inf for d in decisions)
    words = f"{middle:,}" if middle < math.inf else "later"
    return words if ended in (0, len(decisions)) else f"{words} ({ended} of {len(decisions)})"


def summed(rows: list[dict[str, Any]]) -> None:
    """Print how many certificates there were, and how many were right."""
    every = [x for r in rows for x in r["runs"] if x["epochs"] is not None]
    right, optimal, holds = (sum(x[what] for x in every) for what in ("right", "optimal", "holds"))
    asked = sum(len(r["runs"]) for r in rows)
    print(f"\n{len(every)} certificates of {asked} asked for: {right} right, {optimal} name an optimal policy, {holds} with both "
          "gains within")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show", "table"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--seed", type=int, default=31_001)
    parser.add_argument("--zoo", nargs="+", default=[], help="models of the zoo instead of drawn ones")
    parser.add_argument("--learners", nargs="+", default=["ct-kl-ucrl", "ct-joint-ucrl"])
    parser.add_argument("--supports", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.2, 0.1, 0.05])
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=3_000_000)
    parser.add_argument("--replications", type=int, default=10)
    given = parser.parse_args()
    if given.what == "run":
        run(given.path, given)
    else:
        {"show": show, "table": table}[given.what](given.path)


if __name__ == "__main__":
    main()
