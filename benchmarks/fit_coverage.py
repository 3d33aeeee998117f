"""Do the intervals of `sojourn.fit` and of a controller that imported a log hold the truth as often as they say?

    python benchmarks/fit_coverage.py whole [--logs 400] [--rows 200] [--confidence 0.9]
    python benchmarks/fit_coverage.py cut [--logs 100] [--kind tabular|events|untold]

*whole*: logs of a given number of complete sojourns, *tabular* and per *event* under uniformly random choices, drawn without
Sojourn's own walk, and *learned*, the walk of a learner that chose by what it saw.  *cut*: logs cut by the clock, *one* long
trajectory, or *many* that are each cut at time 1, with about 5 to 500 sojourns, at three confidences; a table in Markdown.
*Untold*: nobody says which choices there are, and the rate bounds are taken from the log.

Shares of intervals that hold the truth: `each` rate (and each successor) by itself, as `Fit.rate_bounds`, `event_bounds` and
`probability_bounds` have them; `all` rates together, as in `Fit.estimate` and in the estimate of a controller after `import_log`;
and the `gain`: what the fitted policy earns in truth is at least the lower end, and the optimum at most the upper one.  p is the
chance of a share as small as that, or smaller, if the truth were covered exactly as often as stated.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "control"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import test_fit
import test_fit_events

import sojourn
from cut_logs import stamped, two_state
from sojourn.control.fit import Fit
from sojourn.control.fold import Fold
from sojourn.control.log import read_log
from sojourn.control.log_unfinished import stored, unfinished
from sojourn.control.setting import checked_setting
from sojourn.errors import FileError, ParameterError

MODELS = {"tabular": test_fit.MODEL, "events": test_fit_events.QUEUE, "learned": test_fit_events.QUEUE}
TOLD = {"tabular": test_fit.KNOWN, "events": test_fit_events.TOLD, "learned": test_fit_events.TOLD}
PAID = {("up", "x"): 1.0}  # of the untold: up, left at rate 0.5, and down, left at 2
SIZES, CONFIDENCES = (5, 20, 50, 200, 500), (0.8, 0.95, 0.99)


def learned(rows: int, seed: int) -> dict:
    """The walk of events-psrl as a log."""
    model = MODELS["learned"]
    path, table = sojourn.simulate(model, "events-psrl", max_epochs=rows, seed=seed, record=True).trajectory, model.events
    return {"state": [model.states[s] for s in path.state], "action": [model.actions[a] for a in path.action],
            "holding_time": path.holding_time, "next_state": [model.states[s] for s in path.next_state],
            "event": [table.names[k] for k in path.event], "silent:arrive": path.silent[:, 0]}


def whole_log(kind: str, rows: int, seed: int) -> dict:
    return learned(rows, seed) if kind == "learned" else (test_fit if kind == "tabular" else test_fit_events).simulated(rows, seed)


def inside(bounds: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])


class Cell:
    """How often intervals of each sort held the truth."""

    def __init__(self, kind: str):
        self.model, self.told = MODELS[kind], TOLD[kind]
        self.best = sojourn.solve(self.model).gain
        self.rate = self.model.rate if kind == "tabular" else self.model.events.value
        self.held: dict[str, list[bool]] = {}

    def note(self, what: str, held: object) -> None:
        self.held.setdefault(what, []).extend(np.atleast_1d(held).tolist())

    def judge_fit(self, found: Fit) -> None:
        if found.event_bounds is None:
            self.note("each rate", inside(found.rate_bounds, self.rate)[found.exposure > 0])
            pair = np.repeat(np.arange(self.model.n_pairs), np.diff(found.estimate.row_start))
            self.note("each successor", inside(found.probability_bounds, test_fit.TRANSITION[pair, found.estimate.next_state]))
        else:
            self.note("each rate", inside(found.event_bounds, self.rate)[found.estimate.exposure > 0])
        self.judge_estimate("fit", found.estimate, found.gain_bounds)

    def judge_estimate(self, who: str, found: object, gain_bounds: tuple[float, float]) -> None:
        low, high = gain_bounds
        self.note(f"all rates, {who}", inside(found.rate_bounds, self.rate).all())
        self.note(f"gain, {who}", low <= sojourn.evaluate(self.model, found.policy_labels).gain and self.best <= high)

    def summary(self, stated: float) -> dict:
        return {what: (round(float(np.mean(held)), 3), len(held), float(stats.binom.cdf(sum(held), len(held), stated)))
                for what, held in self.held.items()}


def whole(logs: int, rows: int, confidence: float) -> None:
    for kind in MODELS:
        cell = Cell(kind)
        for seed in range(logs):
            cell.judge_fit(sojourn.fit(whole_log(kind, rows, 1000 + seed), confidence, knowledge=TOLD[kind]))
        print(kind, json.dumps({"logs": logs, "rows": rows, "stated": confidence, **cell.summary(confidence)}), flush=True)


def imported(kind: str, log: dict) -> Fold:
    """Return the state of a controller that has imported a log, without its file."""
    which = "ct-kl-ucrl" if kind == "tabular" else "events-ce"
    setting = checked_setting(TOLD[kind], which, MODELS[kind].states[0], 0, None, None, None, False, 100, 0.01, 0)
    fold, rows = Fold(setting), read_log(log, TOLD[kind])
    fold.learn({**rows.parts(fold.told), **stored(unfinished(rows, fold.told))})
    return fold


def ends(kind: str, shape: str, size: int) -> np.ndarray:
    """Return when each trajectory is cut, so that about `size` sojourns are seen to end."""
    model, many = MODELS[kind], np.full(4000, 1.0)
    rows = read_log(stamped(model, many, 1) if shape == "many" else stamped(model, np.array([4000.0]), 1), TOLD[kind])
    each = len(rows) / (len(many) if shape == "many" else 4000.0)
    return np.full(max(1, round(size / each)), 1.0) if shape == "many" else np.array([size / each])


def untold(logs: int) -> None:
    """Logs of two states of which nothing is told but what they pay."""
    truth, each, least = np.array([2.0, 0.5]), {"one": 0.8, "many": 0.59}, (1.0, "")
    print("| untold | sojourns | stated | each rate | all rates, fit | gain, fit |\n|---|---|---|---|---|---|", flush=True)
    for shape in ("one", "many"):
        for size in SIZES:
            n, end = (1, size / each[shape]) if shape == "one" else (round(size / each[shape]), 1.0)
            held: dict[float, list[tuple[list[bool], bool, bool]]] = {c: [] for c in CONFIDENCES}
            for seed in range(logs):
                for c in CONFIDENCES:
                    try:
                        found = sojourn.fit(two_state(n, end, 1000 + seed), c, running=PAID)
                    except (FileError, ParameterError):  # a state that was reached, and not seen to be left
                        continue
                    low, high = found.gain_bounds
                    held[c].append((inside(found.rate_bounds, truth).tolist(), inside(found.estimate.rate_bounds, truth).all(),
                                    low <= 0.8 <= high))
            for c, rows in held.items():
                single = [is_held for row in rows for is_held in row[0]]
                together, gain = [row[1] for row in rows], [row[2] for row in rows]
                refused = f" ({logs - len(rows)} refused)" if len(rows) < logs else ""
                print(f"| {shape}{refused} | {size} | {c:g} | {np.mean(single):.3f} of {len(single)} | {np.mean(together):.3f} of "
                      f"{len(rows)} | {np.mean(gain):.3f} of {len(rows)} |", flush=True)
                for what, values in (("each rate", single), ("all rates", together), ("gain", gain)):
                    p = float(stats.binom.cdf(sum(values), len(values), c))
                    least = min(least, (p, f"{what}, untold, {shape}, {size} sojourns, stated {c:g}"))
    print(f"\nleast p: {least[0]:.3g} ({least[1]})")


def cut(logs: int, kinds: list[str]) -> None:
    least, worst = 1.0, ""
    for kind in kinds:
        names = ["each rate", "each successor", "all rates, fit", "all rates, import", "gain, fit", "gain, import"]
        names = [name for name in names if kind == "tabular" or name != "each successor"]
        print(f"| {kind} | sojourns | stated | {' | '.join(names)} |\n|---|---|---|{'---|' * len(names)}", flush=True)
        for shape in ("one", "many"):
            for size in SIZES:
                when = ends(kind, shape, size)
                cells, none = {c: Cell(kind) for c in CONFIDENCES}, 0
                for seed in range(logs):
                    log = stamped(MODELS[kind], when, 1000 + seed)
                    try:
                        fold = imported(kind, log)
                    except FileError:  # no sojourn was seen to end
                        none += 1
                        continue
                    for c, cell in cells.items():
                        cell.judge_fit(sojourn.fit(log, c, knowledge=TOLD[kind]))
                        found = fold.session.estimate(c)
                        cell.judge_estimate("import", found, found.gain_bounds)
                for c, cell in cells.items():
                    table = cell.summary(c)
                    print(f"| {shape}{f' ({none} refused)' if none else ''} | {size} | {c:g} | "
                          + " | ".join(f"{table[n][0]:.3f} of {table[n][1]}" for n in names) + " |", flush=True)
                    for n in names:
                        if table[n][2] < least:
                            least, worst = table[n][2], f"{n}, {kind}, {shape}, {size} sojourns, stated {c:g}: {table[n][0]}"
    if kinds:
        print(f"\nleast p: {least:.3g} ({worst})")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("what", choices=("whole", "cut"))
    words.add_argument("--logs", type=int)
    words.add_argument("--rows", type=int, default=200)
    words.add_argument("--confidence", type=float, default=0.9)
    words.add_argument("--kind", choices=("tabular", "events", "untold"))
    said = words.parse_args()
    if said.what == "whole":
        whole(said.logs or 400, said.rows, said.confidence)
        return
    cut(said.logs or 100, [kind for kind in ("tabular", "events") if said.kind in (None, kind)])
    if said.kind in (None, "untold"):
        untold(said.logs or 100)


if __name__ == "__main__":
    main()
