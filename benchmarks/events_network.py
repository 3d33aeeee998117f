"""A network that no table could learn: the criss-cross network at medium load, from unknown rates.

    python benchmarks/events_network.py --learners events-psrl events-ce --seeds 3 --epochs 2000 --talk

Arrivals 0.6 and 0.6, service 2 and 2 at station 1 and 1.0 at station 2 (Dai and Gluzman 2022, balanced medium load: least cost
2.829 customers), 68,921 states at capacity 40.  Whenever a learner has planned anew, the average cost of its policy under the true
rates is worked out.  Printed per run: from which decision on every policy cost at most 1 % more than the least; from when on the
average cost so far (each decision counted with what it loses in the long run) did too; the regret; plans and seconds of processor
time (walking and planning; kernels compiled before, evaluation apart).  The last policy's cost is proved by `evaluate`.
"""

import argparse
import time

import numpy as np

from sojourn.kernels.event_steps import event_step, policy_equations
from sojourn.learn.catalogue import learner_for
from sojourn.simulation.walk import Walk
from sojourn.solving.evaluate import evaluate
from sojourn.solving.multigrid import Multigrid
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


class Cost:
    """The average cost of policies under the true rates, each from the bias of the one before."""

    def __init__(self, model, rows):
        self.rows, self.value = rows, model.events.value
        self.gain, self.bias, self.chosen = 0.0, np.zeros(model.n_states), np.zeros(len(rows.event))
        event_step(rows, self.value, self.value, 0.0, self.bias, np.inf, np.array(model.pair_start[:-1]), self.chosen)

    def __call__(self, pair):
        *equations, income = policy_equations(self.rows, self.chosen, pair)
        self.gain = Multigrid(tuple(equations)).improve(income, self.bias, self.gain,
                                                        lambda least, most, cycles: most - least <= 1e-5 or cycles > 200)
        return -self.gain


def run(model, solution, name, seed, epochs, talk):
    """Return (decision from which on all policies are within 1 %, the same of the average so far, regret, plans, seconds, walk)."""
    learner = learner_for(model, name, seed=seed)
    walk = Walk(model, learner, seed=seed, solution=solution)
    cost, least = Cost(model, learner.planner.rows), -solution.gain
    spent, since, so_far, last = 0.0, None, None, None
    while walk.epoch < epochs:
        began, before = time.process_time(), learner.found
        walk.step(until_epoch=epochs)
        spent += time.process_time() - began
        regret = float(walk.yardstick.gap @ walk.visits)
        so_far = (so_far or walk.epoch) if regret <= 0.01 * least * walk.time else None
        if learner.found is not before and (last is None or not np.array_equal(last, learner.found.pair)):
            last = learner.found.pair.copy()
            played = cost(last)
            since = (since if since is not None else walk.epoch) if played <= 1.01 * least else None
            if talk:
                print(f"  {walk.epoch:8,} decisions, {spent:6.1f} s: cost {played:.4f}, {100 * (played / least - 1):6.2f} % above; "
                      f"on average so far {100 * regret / max(walk.time, 1e-9) / least:6.2f} % above", flush=True)
    return since, so_far, regret, walk.episode.index, spent, walk, cost(last)


def main(capacity, epochs, names, seeds, talk):
    """Run and print."""
    model = make("criss-cross", capacity=capacity, arrival_rates=(0.6, 0.6), first_rates=(2.0, 2.0), second_rate=1.0,
                 costs=(1.0, 1.0, 1.0))
    began = time.process_time()
    solution = solve(model, tolerance=1e-6)
    print(f"{model.n_states:,} states, {model.n_pairs:,} pairs, {model.events.n_events} unknown rates; least cost "
          f"{-solution.gain:.6f}, solved in {time.process_time() - began:.1f} s of processor time", flush=True)
    run(model, solution, names[0], 0, 4, False)  # compiles what there is to compile
    for name in names:
        for seed in range(seeds):
            since, so_far, regret, plans, spent, walk, played = run(model, solution, name, seed, epochs, talk)
            print(f"{name:12s} seed {seed}: policies within 1 % from decision {since} on, average so far from {so_far} on; regret "
                  f"{regret:.1f} after {walk.epoch:,} decisions; {plans} plans, {spent:.1f} s", flush=True)
    proved = -evaluate(model, model.knowledge().pair_action[walk.learner.found.pair]).gain
    print(f"the last policy costs {proved:.6f} (proved), {played:.6f} (here)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capacity", type=int, default=40)
    parser.add_argument("--epochs", type=float, default=1e5)
    parser.add_argument("--learners", nargs="+", default=["events-psrl"], help="events-ucrl plans slowly at first")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--talk", action="store_true", help="print every policy")
    given = parser.parse_args()
    main(given.capacity, int(given.epochs), given.learners, given.seeds, given.talk)
