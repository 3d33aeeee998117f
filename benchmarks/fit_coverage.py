"""Do the intervals of `sojourn.fit` hold the truth as often as they say?  Logs drawn from known models, fitted, compared.

    python benchmarks/fit_coverage.py [--logs 1000] [--rows 200] [--confidence 0.9]

Three kinds of logs: *tabular* and *events* under uniformly random choices, drawn without Sojourn's own walk, and *learned*, the
walk of a learner that chose by what it saw.  Figures are shares of intervals that hold the truth: of rates and rows each by itself
(to be at least `confidence`, up to the noise; exact for rates of pairs), of all rates together, and of the gain: what the fitted
policy earns in truth is at least the lower end, and the optimum at most the upper one.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "control"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import test_fit
import test_fit_events

import sojourn
from control_plant import MODEL

QUEUE = test_fit_events.QUEUE


def learned(model: sojourn.CTMDP, rows: int, seed: int) -> dict:
    """The walk of events-psrl as a log."""
    path, table = sojourn.simulate(model, "events-psrl", max_epochs=rows, seed=seed, record=True).trajectory, model.events
    return {"state": [model.states[s] for s in path.state], "action": [model.actions[a] for a in path.action],
            "holding_time": path.holding_time, "next_state": [model.states[s] for s in path.next_state],
            "event": [table.names[k] for k in path.event], "silent:arrive": path.silent[:, 0]}


def inside(bounds: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])


def covered(kind: str, logs: int, rows: int, confidence: float) -> dict:
    """Return the shares of intervals that hold the truth."""
    model = MODEL if kind == "tabular" else QUEUE
    best, each, row_each, together, gains, odd = sojourn.solve(model).gain, [], [], 0, 0, 0
    for seed in range(logs):
        if kind == "tabular":
            found = sojourn.fit(test_fit.simulated(rows, 1000 + seed), confidence, knowledge=test_fit.KNOWN)
            each += inside(found.rate_bounds, model.rate)[found.visits > 0].tolist()
            starts = found.estimate.row_start
            truth = test_fit.TRANSITION[np.repeat(np.arange(model.n_pairs), np.diff(starts)), found.estimate.next_state]
            row_each += inside(found.probability_bounds, truth).tolist()
            together += bool(inside(found.estimate.rate_bounds, model.rate).all())
        else:
            log = test_fit_events.simulated(rows, 1000 + seed) if kind == "events" else learned(model, rows, 1000 + seed)
            found = sojourn.fit(log, confidence, knowledge=test_fit_events.TOLD)
            possible = found.estimate.exposure > 0
            each += inside(found.event_bounds, model.events.value)[possible].tolist()
            together += bool(inside(found.estimate.rate_bounds, model.events.value).all())
            odd += found.estimate.evidence.rejected
        gains += found.gain_bounds[0] <= sojourn.evaluate(model, found.policy).gain and best <= found.gain_bounds[1]
    figures = {"logs": logs, "rows": rows, "stated": confidence, "rates": round(float(np.mean(each)), 4), "intervals": len(each),
               "all_rates_together": together / logs, "gain": gains / logs}
    more = {"rows_of_successors": round(float(np.mean(row_each)), 4)} if row_each else {"structure_rejected": odd / logs}
    return {**figures, **more}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--logs", type=int, default=1000)
    words.add_argument("--rows", type=int, default=200)
    words.add_argument("--confidence", type=float, default=0.9)
    said = words.parse_args()
    for kind in ("tabular", "events", "learned"):
        print(kind, json.dumps(covered(kind, said.logs, said.rows, said.confidence)), flush=True)


if __name__ == "__main__":
    main()
