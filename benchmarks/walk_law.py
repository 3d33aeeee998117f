"""The law of the simulator at 10^8 transitions: holding times and jumps as the compiled walk draws them.

Holding times: every pair's times are binned in 1,000 equal-probability classes of its exponential law and tested by
chi-square, and a sample of a million per pair by Kolmogorov-Smirnov.  Jumps: each row by chi-square.  Independence: each
holding time against the jump that follows it (4 x successors table).  All tests together raise a false alarm with
probability at most ALARM (Bonferroni over their number).

    python benchmarks/walk_law.py [transitions]
"""

import sys
import time
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make

ALARM = 1e-3
CLASSES = 1000
SAMPLE = 10**6


@dataclass
class Seen:
    """What was seen from one pair."""

    size: int
    classes: np.ndarray = field(default_factory=lambda: np.zeros(CLASSES, dtype=np.int64))
    sample: list[np.ndarray] = field(default_factory=list)
    kept: int = 0
    table: np.ndarray = field(default_factory=lambda: np.zeros((4, 0), dtype=np.int64))


def collect(model: CTMDP, transitions: int, seed: int, judge: CTMDP | None = None) -> list[Seen]:
    """Walk `model` with every admissible action equally likely; sort what happened by pair, judged by the rates of `judge`."""
    rate = (judge or model).rate
    table = model.admissible / model.admissible.sum(axis=1, keepdims=True)
    walk = Walk(model, table, seed=seed, record=True)
    seen = [Seen(int(n)) for n in np.diff(model.row_start)]
    for one in seen:
        one.table = np.zeros((4, one.size), dtype=np.int64)
    pair_table = model.table(np.arange(model.n_pairs), fill=-1)
    while walk.epoch < transitions:
        walk.step(until_epoch=transitions)
        for chunk in walk.recorded:
            pairs = pair_table[chunk.state, chunk.action]
            for k, one in enumerate(seen):
                mine = pairs == k
                level = -np.expm1(-rate[k] * chunk.holding_time[mine])  # uniform if the law is right
                one.classes += np.bincount((level * CLASSES).astype(int), minlength=CLASSES)[:CLASSES]
                entry = np.searchsorted(model.next_state[model.row_start[k]:model.row_start[k + 1]], chunk.next_state[mine])
                np.add.at(one.table, ((level * 4).astype(int), entry), 1)
                if one.kept < SAMPLE:
                    one.sample.append(level[: SAMPLE - one.kept])
                    one.kept += len(one.sample[-1])
        walk.recorded.clear()
    return seen


def p_values(model: CTMDP, seen: list[Seen]) -> dict[str, float]:
    """Return the p-value of every test."""
    found = {}
    for k, one in enumerate(seen):
        law = model.probability[model.row_start[k]:model.row_start[k + 1]]
        found[f"pair {k}: holding times, chi-square"] = float(stats.chisquare(one.classes).pvalue)
        found[f"pair {k}: holding times, KS"] = float(stats.kstest(np.concatenate(one.sample), "uniform").pvalue)
        if one.size > 1:
            jumps = one.table.sum(axis=0)
            found[f"pair {k}: jumps, chi-square"] = float(stats.chisquare(jumps, law / law.sum() * jumps.sum()).pvalue)
            found[f"pair {k}: independence"] = float(stats.chi2_contingency(one.table).pvalue)
    return found


def verdict(models: list[CTMDP], transitions: int, seed: int = 20) -> tuple[bool, dict[str, float]]:
    """Return whether no test alarms at level ALARM in all, and the p-values."""
    values: dict[str, float] = {}
    for model in models:
        found = p_values(model, collect(model, transitions // len(models), seed))
        values |= {f"{model.name}, {name}": p for name, p in found.items()}
    return min(values.values()) > ALARM / len(values), values


def main() -> None:
    transitions = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    began = time.perf_counter()
    models = [make("three-state"), make("random", states=6, actions=2, branching=4)]
    good, values = verdict(models, transitions)
    worst = min(values, key=lambda name: values[name])
    print(f"{transitions:.0e} transitions, {len(values)} tests, least p-value {values[worst]:.3g} ({worst}), "
          f"alarm below {ALARM / len(values):.2g} (all together {ALARM:g}); {time.perf_counter() - began:.0f} s")
    print("law holds" if good else "LAW REJECTED")
    sys.exit(not good)


if __name__ == "__main__":
    main()
