"""How many times C(M) log N no learner can stay below, in an instance and in one near it: proved, not measured.

    python benchmarks/no_learner.py                       # the lines on which the default learner fails
    python benchmarks/no_learner.py river-13002 --epochs 1e6

For each instance M (as in families.py, or a model of the zoo), models M' nearby in which another way to play is best are tried one
after the other.  `ratio` is the largest x for which `difficulty(M).bound_against(M', N, elsewhere=x C(M') log N)` is at least
x C(M) log N: every learner has a mean pseudo-regret of at least x C log N in M or in M'.  Learners are meant that see jumps and
holding times only, as with C(M).  Printed with it: by how much M' differs at most in a chance and in a rate, and what the default
pays in M, where families.jsonl has it.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from families import FAMILIES, instance, ratio, read

from sojourn.instance.difficulty import Difficulty, difficulty
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.catalogue import make

LINES = ("river-13002", "river-15007", "river-8006", "river-swim:small_reward=0.35")
ELSEWHERE = (0.5, 1, 1.5, 2, 3, 4, 6, 9)  # times C(M) log N that may be lost nearby: what the models to be tried are found for
DEAREST = 3  # of them, for each of these


def named(name: str) -> CTMDP:
    """Return FAMILY-SEED, or a model of the zoo as on the command line."""
    return instance(name) if name.rpartition("-")[0] in FAMILIES and name.rpartition("-")[2].isdigit() else make(name)


def proved_ratio(hard: Difficulty, other: CTMDP, there: Difficulty, epochs: float) -> float:
    """Return the largest x such that every learner loses x C(M) log N in M or x C(M') log N in M'."""
    here, elsewhere = (one.lower_bound_constant_bounds[1] * math.log(epochs) for one in (hard, there))
    low, high = 0.0, 64.0
    for _ in range(16):
        x = (low + high) / 2
        low, high = (x, high) if hard.bound_against(other, epochs, x * elsewhere, events=False) >= x * here else (low, x)
    return low


def best_alternative(hard: Difficulty, epochs: float) -> dict[str, Any] | None:
    """Return the alternative with the largest ratio, of those that bounds at N decisions are owed to."""
    model, found = hard.model, None
    for elsewhere in ELSEWHERE:
        for other in hard.bound_at(epochs, True, elsewhere * hard.lower_bound(epochs=epochs), events=False).models[:DEAREST]:
            there = difficulty(other, hard.rate_bounds)
            x = proved_ratio(hard, other, there, epochs)
            if found is None or x > found["ratio"]:
                found = {"ratio": x, "there": there.lower_bound(epochs=epochs),
                         "chance": float(np.abs(other.matrix - model.matrix).max()),
                         "rate": float(np.abs(other.rate / model.rate - 1).max())}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=LINES)
    parser.add_argument("--epochs", type=float, default=1e6)
    given = parser.parse_args()
    measured = read(Path(__file__).with_name("families.jsonl"))
    rows = {r["instance"]: r for r in measured if r["supports"] and r["epochs"] == given.epochs}
    print("| instance | C(M) log N | default | bound at N | proved of it | C(M') log N | differs in a chance, a rate by | "
          "no learner below |\n|---|---|---|---|---|---|---|---|")
    for name in given.names:
        hard = difficulty(named(name))
        bound, found = hard.bound_at(given.epochs, events=False), best_alternative(hard, given.epochs)
        proved = float(hard.bound_against(bound.models, given.epochs, events=False)) if bound.models else 0.0
        pays = f"{ratio(rows[name]).mean():.2f}" if name in rows else ""
        words = "none found | |" if found is None else (f"{found['there']:.0f} | {found['chance']:.3f}, {found['rate']:.1%} | "
                                                        f"{found['ratio']:.2f}")
        log_bound = hard.lower_bound(epochs=given.epochs)
        print(f"| {name} | {log_bound:.0f} | {pays} | {bound:.0f} | {proved:.0f} | {words} |", flush=True)


if __name__ == "__main__":
    main()
