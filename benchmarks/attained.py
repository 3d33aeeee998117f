"""What a learner that is proved to attain C(M) pays, in multiples of C(M) log N, beside the default and Burnetas and Katehakis.

    python benchmarks/attained.py --epochs 1e6 --runs 40
    python benchmarks/attained.py --epochs 1e8 --runs 10 --models three-state --learners attains

One line per model and learner: mean, median and worst pseudo-regret over C(M) log N at N; the slope, which is the growth of the
mean per unit of log N over the last factor of 100, over C(M); how many runs paid more than 5 C(M) log N; how many were late (45 %
of all they paid, and more than C(M), was paid in the last half of the decisions); processor seconds per run.  Supports are told.
Run i has learner seed i and world seed 10^6 + i.  docs/attained.md has the theorem; the learner is in examples/outside.
"""

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

from sojourn.instance.difficulty import difficulty
from sojourn.kernels.bk import upper_choice
from sojourn.kernels.imed import skeleton_reference
from sojourn.kernels.jit import from_python
from sojourn.kernels.planning import best_policy
from sojourn.learn.catalogue import learner_for
from sojourn.learn.learner import Learner, Plan
from sojourn.learn.posterior import Posterior
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

OUTSIDE = Path(__file__).parents[1] / "examples" / "outside"
MANY = 5  # times C(M) log N
CHOICE = from_python(upper_choice)


class MinimalBK(Learner):
    """Burnetas and Katehakis 1997 in continuous time: the largest worth within N KL <= log t, by the bias of the tried actions.

    Tried is what has log² of its state's visits; a greedy action about to fall below that is played.  Choices stand for a
    thousandth of the decisions so far, but no action other than the greedy one is taken twice in that time.
    """

    memory = ("greedy",)

    def __init__(self, knowledge, seed=0):
        super().__init__(knowledge, seed)
        self.fitted = Posterior(knowledge)
        self.fitted.fades = True  # weight 1/(k (1 + N)) off the data
        self.greedy = np.array(knowledge.pair_start[:-1])

    def plan(self):
        known, visits, epoch = self.knowledge, self.counts.visits, self.counts.epoch
        self.fitted.update(self.counts)
        model = self.fitted.mean()
        gain, bias, self.greedy = best_policy(model, skeleton_reference(model.pair_start, visits), self.greedy)
        pair = CHOICE(model, visits, gain, bias, self.greedy, known.rate_min, known.rate_max, np.log(epoch), 0.0)
        seen = np.add.reduceat(visits, known.pair_start[:-1])
        leaving = visits[self.greedy] < np.log(seen + 1) ** 2
        pair = np.where(leaving, self.greedy, pair)
        quota = np.ones(len(visits), dtype=np.int64)
        quota[self.greedy] = max(1, epoch // 1000)
        return Plan(known.pair_action[pair], quota, max(1, epoch // 1000))


LEARNERS = {  # what is simulated, and with which parameters
    "attains": ("outside_learners.attains:Attains", {}),
    "minimal-bk": (MinimalBK, {}),
    "ct-bk": ("ct-bk", {"draws": 0}),  # the index as the catalogue has it, without posterior sampling
    "default": ("default", {}),
}


def paid(name, learner, epochs, runs):
    """Return (runs, 3) pseudo-regrets at N/100, N/2 and N, C(M), and the processor seconds per run."""
    model = make(name)
    solution, knowledge = solve(model), model.knowledge(supports=True)
    what, parameters = LEARNERS[learner]
    first = learner_for(model, what, knowledge=knowledge, parameters=parameters)
    simulate(model, first, max_epochs=2000, solution=solution)  # compile
    found, began = [], time.process_time()
    for i in range(runs):
        subject = learner_for(model, what, seed=i, knowledge=knowledge, parameters=parameters)
        run = simulate(model, subject, max_epochs=epochs, seed=10**6 + i, solution=solution,
                       checkpoints=[epochs // 100, epochs // 2, epochs])
        found.append(run.pseudo_regret)
    return np.array(found), difficulty(model).lower_bound_constant, (time.process_time() - began) / runs


def row(name, learner, epochs, runs):
    """Return one line of the table."""
    regret, constant, seconds = paid(name, learner, epochs, runs)
    ratio = regret[:, 2] / (constant * math.log(epochs))
    slope = (regret[:, 2] - regret[:, 0]).mean() / math.log(100) / constant
    late = regret[:, 2] - regret[:, 1]
    slow = (late > 0.45 * regret[:, 2]) & (late > constant)
    return (f"| {name} | {learner} | {ratio.mean():.2f} | {np.median(ratio):.2f} | {ratio.max():.2f} | {slope:.2f} | "
            f"{(ratio > MANY).sum()} | {slow.sum()} | {seconds:.2f} |")


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--models", nargs="+", default=["three-state", "river-swim", "maintenance"])
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    given = parser.parse_args()
    sys.path.insert(0, str(OUTSIDE))
    print(f"| N = {given.epochs:g}, {given.runs} runs | learner | mean | median | worst | slope | above {MANY} | late | "
          "s per run |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for name in given.models:
        for learner in given.learners:
            print(row(name, learner, int(given.epochs), given.runs), flush=True)


if __name__ == "__main__":
    main()
