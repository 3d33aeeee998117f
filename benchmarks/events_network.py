"""A network that no table could learn: the criss-cross network at medium load, from unknown rates.

    python benchmarks/events_network.py --capacity 40 --epochs 2e5

Arrivals 0.6 and 0.6, service 2 and 2 at station 1 and 1.0 at station 2 (Dai and Gluzman 2022, balanced medium load: least cost
2.829 customers).  Prints, whenever the learner has replanned, the average cost of its policy under the true rates against the least
cost, and at the end from when on it stayed within 1 %, with the seconds of processor time that learning took (evaluation apart).
"""

import argparse
import time

import numpy as np

from sojourn.kernels.event_planning import event_sweeps
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_planner import EventPlanner
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make


def cost(planner, table, pair, bias, tolerance):
    """Return the average cost of a policy under the true rates (the middle of a proved interval), and a bias to go on from."""
    rows = planner.rows
    only = rows._replace(
        pair_start=np.arange(len(pair) + 1),
        row_start=np.concatenate([[0], np.cumsum(np.diff(rows.row_start)[pair])]),
        reward=rows.reward[pair], running=rows.running[pair],
        **{name: np.concatenate([getattr(rows, name)[rows.row_start[i]:rows.row_start[i + 1]] for i in pair])
           for name in ("next_state", "event", "coefficient", "payment")})
    uniform = 1.0001 * float(table.rate(table.value).max())
    least, most, bias, _ = event_sweeps(only, table.value, table.value, bias, uniform, 20_000, tolerance)
    return -(least + most) / 2, bias


def main(capacity, epochs, name, seed, parameters):
    """Walk and print."""
    model = make("criss-cross", capacity=capacity, arrival_rates=(0.6, 0.6), first_rates=(2.0, 2.0), second_rate=1.0,
                 costs=(1.0, 1.0, 1.0))
    table = model.events
    learner = learner_for(model, name, seed=seed, parameters=parameters)
    planner = EventPlanner(learner.knowledge, learner.table)
    uniform = 1.0001 * float(model.rate.max())
    least, most, bias, _ = event_sweeps(planner.rows, table.value, table.value, np.zeros(model.n_states), uniform, 50_000, 1e-4)
    best = -(least + most) / 2
    print(f"{model.n_states:,} states, {model.n_pairs:,} pairs, {table.n_events} unknown rates; least cost in "
          f"[{-most:.4f}, {-least:.4f}]", flush=True)
    walk = Walk(model, learner, seed=seed)
    marks = np.unique(np.geomspace(30, epochs, 24).astype(int))
    spent, since, last = 0.0, None, None
    for mark in marks.tolist():
        began = time.process_time()
        walk.advance(mark)
        spent += time.process_time() - began
        if last is None or not np.array_equal(last, learner.found.pair):
            last = learner.found.pair.copy()
            played, bias = cost(planner, table, last, bias, 1e-3)
        within = played <= 1.01 * best
        since = (since or mark) if within else None
        print(f"{mark:8,} decisions, {spent:7.1f} s: cost {played:.4f}, {100 * (played / best - 1):6.2f} % above the least",
              flush=True)
    print(f"within 1 % from {since} decisions on" if since else "not within 1 % at the end")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capacity", type=int, default=40)
    parser.add_argument("--epochs", type=float, default=1e5)
    parser.add_argument("--learner", default="events-ce", help="events-psrl plans five times as often")
    parser.add_argument("--growth", type=float, default=0.5, help="by how much exposures grow until the next plan")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.capacity, int(given.epochs), given.learner, given.seed, {"growth": given.growth})
