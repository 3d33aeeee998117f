"""Tell every learner of the catalogue, in a controller, what cannot be, and see that it is answered and noticed.

    python benchmarks/control_misreports.py [--seeds 3] [--learners ...] [--kinds ...] [--folder /dev/shm]
    python benchmarks/control_misreports.py --power 1000           reports until the test of the rate bounds raises its alarm
    python benchmarks/control_misreports.py --false-alarms 1000    runs of right reports in which it does, at level 0.1

A plant reports rightly for 0 or 60 reports, and from then on wrongly: in another unit, Unix times, equal times, nothing, jumps
that cannot be, lost numbers (see KINDS).  What is refused counts as noticed; the plant then says `missed(state)` and goes on.
Judged are:

- every call is answered or refused with a ReportError, and takes at most a second of processor time more than the longest of a
  plant that reports rightly (with a planner that stands still: a second of the clock more);
- the first alarm or refusal comes within the number of reports that KINDS states, where one is stated;
- the journal folded again gives the same, and the file opens again.
"""

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import sojourn
from sojourn.control.bounds_test import BoundsTest
from sojourn.control.controller import Controller
from sojourn.errors import ReportError
from sojourn.learn.catalogue import LEARNERS, learner_class
from sojourn.model.events import events_of
from sojourn.model.knowledge import Knowledge

RIGHT = 60  # right reports before the wrong ones
WRONG = 30
MODELS = {"tabular": "river-swim:length=4", "events": "machine-repair:machines=4"}
SHOWN_THE_MODEL = ("oracle",)


@dataclass(frozen=True)
class Kind:
    """A way to report wrongly: `within` so many wrong reports it must be noticed (None: it cannot be), `late` behind right ones."""

    within: int | None
    late: int | None
    words: str


KINDS = {
    "right": Kind(None, None, "nothing is wrong"),
    "x1e6": Kind(2, 2, "times a million times too long"),
    "x1e3": Kind(3, 3, "times a thousand times too long"),
    "x1e-3": Kind(20, 20, "times a thousand times too short"),
    "x1e-9": Kind(20, 20, "times in units a billion times too large"),
    "unix": Kind(1, 1, "the time of the clock in the place of a time between two"),
    "clock": Kind(1, 1, "one time with 10,000 mean times added: the clock was changed"),
    "back": Kind(1, 1, "times that are negative: the clock was put back"),
    "zero": Kind(1, 1, "times of nothing"),
    "tiny": Kind(1, 1, "times of 1e-300 and 1e-320"),
    "stuck": Kind(10, 10, "the same time again and again"),
    "late": Kind(1, 1, "numbers that leave one out"),
    "jump": Kind(1, 1, "jumps that the known structure rules out"),
    "unknown": Kind(1, 1, "states that nobody has heard of"),
    "odd": Kind(1, 1, "nan, infinity, texts, truth values, None"),
    "repeated": Kind(None, None, "every report twice under its number: the same answer"),
    "doubled": Kind(None, None, "every report twice, the second time under a new number"),
    "pay": Kind(None, None, "pay a million times too much"),
    "largest": Kind(None, None, "pay of plus and minus 1e150"),
    "frozen": Kind(None, None, "a planner that stands still (max_late)"),
}
ODD = (float("nan"), float("inf"), "0.5", True, None, 1j, [0.5])


class Plant:
    """What happens in `model`, and how it is reported."""

    def __init__(self, model: Any, known: Knowledge, kind: str, seed: int):
        self.model, self.known, self.kind, self.rng = model, known, kind, np.random.default_rng(seed)
        self.state, self.clock, self.time = 0, 1.7e9, 0.0

    def step(self, action: Any) -> float:
        """Do an action; return how long that took.  One that cannot be done here is another."""
        model = self.model
        pair = int(self.known.pair_table[self.state, model.actions.position(action)])
        pair = pair if pair >= 0 else int(model.pair_start[self.state])
        self.pair, row = pair, slice(model.row_start[pair], model.row_start[pair + 1])
        self.state = int(self.rng.choice(model.next_state[row], p=model.probability[row]))
        tau = float(self.rng.exponential(1 / model.rate[pair]))
        self.clock += tau
        return tau

    def said(self, wrong: int, tau: float) -> dict[str, Any]:
        """Return how that is reported, as the `wrong`-th wrong report."""
        model, kind = self.model, self.kind
        said: dict[str, Any] = {"holding_time": tau, "next_state": model.states[self.state]}
        if kind.startswith("x"):
            said["holding_time"] = float(kind[1:]) * tau
        elif kind == "pay":
            said["reward"] = 1e6 * float(model.reward[self.pair] + model.running[self.pair] * tau + 1)
        elif kind == "largest":
            said["reward"] = (1e150, -1e150, 5e-324)[wrong % 3]
        elif kind == "jump":
            row = model.next_state[model.row_start[self.pair]:model.row_start[self.pair + 1]]
            said["next_state"] = model.states[next(s for s in range(model.n_states) if s not in row)]
        else:
            times = {"unix": self.clock, "clock": tau + (1e4 / model.rate.min() if wrong == 1 else 0), "back": -tau, "zero": 0.0,
                     "tiny": (1e-300, 1e-320)[wrong % 2], "stuck": 1 / float(model.rate[0]), "odd": ODD[wrong % len(ODD)]}
            said["holding_time"] = times.get(kind, tau)
        if kind == "unknown":
            said["next_state"] = f"nowhere {wrong}"
        return said


def knowledge_for(learner: str) -> tuple[Any, Knowledge]:
    """Return a model, and what its learner is told: rate bounds and supports, or events with bounds of their rates."""
    if getattr(learner_class(learner), "needs_events", False):
        model = sojourn.make(MODELS["events"])
        known, table = model.knowledge(events=True), events_of(model)
        return model, replace(known, events=replace(table.told(), low=0.5 * table.value, high=2 * table.value))
    model = sojourn.make(MODELS["tabular"])
    return model, model.knowledge(supports=True)


def parameters_for(learner: str, model: Any) -> dict[str, Any]:
    """Return what a learner needs to be made."""
    first = [int(model.pair_action[k]) for k in model.pair_start[:-1]]
    return {"ct-ucrl": {"delta": 0.01}, "fixed": {"policy": first}}.get(learner, {})


def run(folder: str, learner: str, kind: str, right: int, wrong: int, seed: int) -> dict[str, Any]:
    """Let one plant report; return the longest answer, when the wrong reports were noticed, and what went wrong."""
    model, known = knowledge_for(learner)
    plant, found = Plant(model, known, kind, seed), {"cpu": 0.0, "wall": 0.0, "noticed": None, "wrong": []}
    path = Path(folder) / "plant.control"
    for old in Path(folder).glob("plant.control*"):
        old.unlink()
    more = {"max_late": 2} if kind == "frozen" else {}
    with Controller.create(path, known, learner, model.states[0], seed=seed, safe_action=model.actions[0],
                           parameters=parameters_for(learner, model), **more) as controller:
        silent = {"silent": {}} if controller.status()["silent_events"] else {}

        def call(what: Any, *args: Any, **said: Any) -> Any:
            cpu, wall = time.process_time(), time.perf_counter()
            try:
                return what(*args, **said)
            finally:
                found["cpu"] = max(found["cpu"], time.process_time() - cpu)
                found["wall"] = max(found["wall"], time.perf_counter() - wall)

        for n in range(1, right + wrong + 1):
            number, is_wrong = controller.status()["next_seq"], n > right
            before = controller.status()["alarms"]
            tau = plant.step(controller.action)
            said = plant.said(n - right, tau) if is_wrong else {"holding_time": tau, "next_state": model.states[plant.state]}
            said |= {**silent, "action": model.actions[int(model.pair_action[plant.pair])]}
            noticed = False
            try:
                answer = call(controller.report, number + (is_wrong and kind == "late"), **said)
                if is_wrong and kind == "repeated" and call(controller.report, number, **said) != answer:
                    found["wrong"].append(f"report {number} was answered otherwise the second time")
                if is_wrong and kind == "doubled":
                    call(controller.report, number + 1, **said)
            except ReportError as error:
                noticed = True
                if len(str(error)) > 1000:
                    found["wrong"].append(f"{len(str(error))} characters: {str(error)[:80]}")
                call(controller.missed, model.states[plant.state])
            if controller.status()["state"] != model.states[plant.state]:
                call(controller.missed, model.states[plant.state])  # a jump that was not believed, or a state nobody knows
                noticed = True
            noticed |= controller.status()["alarms"] > before
            if noticed and is_wrong and found["noticed"] is None:
                found["noticed"] = n - right
            elif noticed and not is_wrong:
                found["wrong"].append(f"right report {n}: {controller.status()['last_alarm']}")
            if is_wrong and kind == "frozen" and controller._plans._planner is not None and n % 10 == 0:
                process = controller._plans._planner._process
                if process is not None and controller._plans._planner._ready.wait(60):
                    process.send_signal(signal.SIGSTOP)
        found["alarms"] = sorted({alarm.kind for alarm in controller.alarms})
        if controller.verify()["answers_that_differ"]:
            found["wrong"].append("folded again, it answers otherwise")
        last = controller._fold.to_bytes()
    with Controller.open(path) as controller:
        if controller._fold.to_bytes() != last:
            found["wrong"].append("opened again, it is another")
    return found


def campaign(folder: str, learners: list[str], kinds: list[str], seeds: int, right: int = RIGHT,
             wrong: int = WRONG) -> Iterator[dict]:
    """Run every kind with every learner; yield each run with what is wrong about it."""
    for learner in learners:
        usual = {"cpu": 0.0, "wall": 0.0}
        for kind in dict.fromkeys(["right", *kinds]):
            for before, within in ((0, KINDS[kind].within), (right, KINDS[kind].late)):
                for seed in range(seeds):
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        try:
                            found = run(folder, learner, kind, before, wrong, seed)
                        except Exception as error:  # whatever it is, it is what is looked for
                            found = {"cpu": 0.0, "wall": 0.0, "noticed": None, "alarms": [],
                                     "wrong": [f"{type(error).__name__}: {str(error)[:200]}"]}
                    if kind == "right":
                        usual = {clock: max(usual[clock], found[clock]) for clock in usual}
                        if found["noticed"] is not None:
                            found["wrong"].append(f"alarm on right reports, after {found['noticed']}")
                    clock = "wall" if kind == "frozen" else "cpu"
                    if found[clock] > usual[clock] + 1:
                        found["wrong"].append(f"an answer took {found[clock]:.2f} s ({clock}), usually {usual[clock]:.2f} at most")
                    if within is not None and (found["noticed"] or 10**9) > within:
                        found["wrong"].append(f"noticed after {found['noticed']} wrong reports, stated {within}")
                    yield {"learner": learner, "kind": kind, "right": before, "seed": seed, **found}


def until_alarm(factor: float, right: int, runs: int, seed: int, most: int = 5000) -> list[int]:
    """Return after how many wrong reports the alarm comes, in each run: times `factor` times beyond the bound (< 1: too short)."""
    known, rng = Knowledge.from_choices({s: ["go", "wait"] for s in range(10)}, rate_bounds=(0.5, 2.0)), np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        test, pairs = BoundsTest(known, 100, 0.01), rng.integers(known.n_pairs, size=right + most)
        rate = np.where(np.arange(right + most) < right, 1.0, (0.5 if factor > 1 else 2.0) / factor)
        times, visits, total = rng.exponential(1 / rate), np.zeros(known.n_pairs, dtype=int), np.zeros(known.n_pairs)
        for n, (pair, tau) in enumerate(zip(pairs.tolist(), times.tolist())):
            visits[pair] += 1
            total[pair] += tau
            if (test.tell(pair, tau) or test.of_pair(pair, int(visits[pair]), float(total[pair]))) and n >= right:
                break
        found.append(n + 1 - right)
    return found


def false_alarms(runs: int, level: float = 0.1, reports: int = 1000, seed: int = 1) -> dict[str, int]:
    """Return in how many runs right reports raise an alarm, at both ends of the bounds and between them."""
    known, found = Knowledge.from_choices({s: ["go"] for s in range(4)}, rate_bounds=(0.5, 2.0)), {}
    for rate in (0.5, 1.0, 2.0):
        rng, found[str(rate)] = np.random.default_rng(seed), 0
        for _ in range(runs):
            test, total = BoundsTest(known, 100, level), np.zeros(4)
            for n, tau in enumerate(rng.exponential(1 / rate, reports).tolist()):
                total[n % 4] += tau
                if test.tell(n % 4, tau) or test.of_pair(n % 4, n // 4 + 1, float(total[n % 4])):
                    found[str(rate)] += 1
                    break
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--learners", nargs="*", default=[n for n in LEARNERS if n not in SHOWN_THE_MODEL and LEARNERS[n].built_in])
    words.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--folder", default=None)
    words.add_argument("--power", type=int, default=0)
    words.add_argument("--false-alarms", type=int, default=0)
    said = words.parse_args()
    if said.power:
        for factor in (1e9, 1e6, 1e3, 100, 10, 3, 2, 1.5, 1 / 1.5, 1 / 2, 1 / 3, 0.1, 0.01, 1e-3, 1e-6, 1e-9):
            for right in (0, 1000):
                found = np.array(until_alarm(factor, right, said.power if right == 0 else said.power // 10, 1))
                print(json.dumps({"factor": factor, "right": right, "runs": len(found), "median": float(np.median(found)),
                                  "99 %": float(np.quantile(found, 0.99)), "most": int(found.max())}), flush=True)
        return
    if said.false_alarms:
        print(json.dumps({"level": 0.1, "runs": said.false_alarms, "with an alarm, by rate": false_alarms(said.false_alarms)}))
        return
    rows: list[dict] = []
    with contextlib.ExitStack() as stack:
        folder = said.folder or stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))
        Path(folder).mkdir(parents=True, exist_ok=True)
        for row in campaign(folder, said.learners, said.kinds, said.seeds):
            rows.append(row)
            if row["wrong"]:
                print(json.dumps(row), flush=True)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        for before in (0, RIGHT):
            mine = [row for row in rows if row["kind"] == kind and row["right"] == before]
            seen = [row["noticed"] for row in mine if row["noticed"] is not None]
            print(json.dumps({"kind": kind, "after": before, "runs": len(mine), "noticed": len(seen),
                              "at most after": max(seen, default=None),
                              "longest answer, s of cpu": round(max(row["cpu"] for row in mine), 3),
                              "s of clock": round(max(row["wall"] for row in mine), 3),
                              "alarms": sorted({a for row in mine for a in row["alarms"]})}))
    wrong = sum(bool(row["wrong"]) for row in rows)
    print(json.dumps({"runs": len(rows), "learners": len(said.learners), "wrong": wrong}))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
