"""Are the decisions still the same?  Every learner of the catalogue, 10^4 decisions each, in two trees.

    python benchmarks/same_decisions.py --save before.json       in a tree as it was;
    python benchmarks/same_decisions.py --compare before.json    then, in another tree: bit for bit the same?
    python benchmarks/same_decisions.py --table                  the fast rows of learners.jsonl: their first regrets, to 1e-9

A run is told apart by a digest of what was visited, decided, waited for and planned.  Tabular learners run on MODELS with supports
known and unknown, learners of events on EVENT_MODELS, and CT-UCRL also with its other estimators and ways to plan (SETTINGS).  A
learner that one of the trees does not have is named and not compared.  Rows of the table are fast above 10^6 decisions a second.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from learners import GIVEN, instance
from learners_table import rows

from sojourn.cli.common import read_model
from sojourn.errors import RewardScaleWarning
from sojourn.learn.catalogue import LEARNERS, learner, learner_class, learner_for
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve

TABLE = Path(__file__).with_name("learners.jsonl")
FAST = 1e6
EPOCHS = 10**4
MODELS = ("three-state", "river-swim", "maintenance", "sis-epidemic")
EVENT_MODELS = ("machine-repair:machines=4", "service-rate:capacity=6")
SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "ct-ucrl": ({}, {"estimator": "kl"}, {"estimator": "mean"}, {"estimator": "median-of-means"}, {"planning": "fast"},
                {"stop": "gain"}, {"radius_scale": 0.05}),
    "ct-ucrl-doubling": ({}, {"radius_scale": 0.05}),
    "ct-kl-ucrl": ({}, {"horizon": EPOCHS}, {"delta": 0.1}),
    "ct-joint-ucrl": ({}, {"horizon": EPOCHS}, {"delta": 0.1}),
}


def runs() -> Iterator[tuple[str, CTMDP, Any]]:
    """Yield (name, model, learner) of every run that is compared; those shown the model or told a policy have nothing to lose."""
    for label in LEARNERS.built_in:
        kind = learner_class(label)
        events = bool(getattr(kind, "needs_events", False))
        for name in EVENT_MODELS if events else MODELS:
            model = read_model(name)
            for known in (True,) if events else (True, False):
                knowledge = model.knowledge(events=True) if events else model.knowledge(supports=known)
                for given in SETTINGS.get(label, ({},)):
                    if label == "fixed":
                        given = {"policy": solve(model).policy}
                    said = "".join(f" {key}={value}" for key, value in given.items() if key != "policy")
                    yield (f"{label}{said}, {name}, supports {'known' if known else 'unknown'}", model,
                           learner_for(model, label, knowledge=knowledge, seed=5, parameters=given))


def digest(model: CTMDP, subject: Any) -> str:
    """Return a digest of 10^4 decisions: states, actions, holding times, plans, visits and regret."""
    run = simulate(model, subject, max_epochs=EPOCHS, seed=7, record=True)
    told = run.trajectory
    parts = [told.state, told.action, told.holding_time, told.next_state, told.reward, run.visits, run.pseudo_regret]
    if run.episodes is not None:
        parts += [*run.episodes.policies, run.episodes.policy_number]
    found = hashlib.sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()[:24]


def catalogue(save: Path | None, compare: Path | None) -> int:
    """Run every learner; save the digests or compare them.  Return how many differ."""
    found = {name: digest(model, subject) for name, model, subject in runs()}
    if save:
        save.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    old = json.loads(compare.read_text(encoding="utf-8")) if compare else found
    for name in sorted(found.keys() ^ old.keys()):
        print(f"only in one tree: {name}")
    differ = [name for name in found if name in old and old[name] != found[name]]
    for name in differ:
        print(f"differs: {name}")
    print(f"{len(found)} runs of {len(LEARNERS.built_in)} learners, {len(differ)} differ")
    return len(differ)


def table() -> int:
    """Run the first replication of every fast row of the table.  Return how many regrets differ."""
    wanted = [row for row in rows(TABLE) if row["decisions_per_second"] > FAST]
    models: dict[str, tuple[Any, Any]] = {}
    wrong = 0
    for row in wanted:
        if row["instance"] not in models:
            model = instance(row["instance"])
            models = {row["instance"]: (model, solve(model))}  # rows of one instance follow each other
        model, solution = models[row["instance"]]
        given = GIVEN.get(row["learner"], {})
        epochs = row["epochs"]
        subject = learner(row["learner"], model.knowledge(supports=row["supports"]), seed=0, **given)
        run = simulate(model, subject, max_epochs=epochs, seed=10**6, solution=solution,
                       checkpoints=[epochs // 100, epochs // 10, epochs])
        if not np.allclose(run.pseudo_regret, row["regret"][0], rtol=1e-9, atol=1e-9):
            wrong += 1
            print(f"{row['instance']} {row['learner']} {'known' if row['supports'] else 'unknown'}: another run, pseudo-regret "
                  f"{run.pseudo_regret.tolist()}, was {row['regret'][0]}", flush=True)
    print(f"{len(wanted)} rows of the table, {wrong} differ")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", RewardScaleWarning)
    return int((table() if given.table else catalogue(given.save, given.compare)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
