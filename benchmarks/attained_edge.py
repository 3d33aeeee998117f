"""How often the learner of docs/attained.md tries a pair that would just tie at the end of the rate bounds, with and without ζ.

    python benchmarks/attained_edge.py --runs 60

In the model of that page every jump leads to one state only.  So a plan's visits are known when it begins, and the sum of its
holding times in a pair is one Gamma variable.  Plans grow with t, so that 10^14 decisions take a few hundred plans.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import sojourn

OUTSIDE = Path(__file__).parents[1] / "examples" / "outside"
sys.path.insert(0, str(OUTSIDE))

from outside_learners.attains import Attains  # noqa: E402

TRIED = 1  # the pair (state 0, action 1): its gap is 0.5, its K infinite
NATS = 1 - np.log(2)  # from its rate, 1, to the end of the bounds, 2


def edge():
    """Return the model: 0 and 1 alternate; action 1 in state 0 would tie with action 0 at the rate 2, which is rate_max."""
    return sojourn.CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [0, 0]]], [[1, 1], [1, 1]], [[2, 1.5], [0, 0]],
                                     admissible=[[True, True], [True, False]], rate_bounds=(0.5, 2))


def tries(margin, seed, ends):
    """Return how often the pair was tried when the first plan at or after each of the `ends` begins."""
    rng, learner, state, found = np.random.default_rng(seed), Attains(edge().knowledge(supports=True), margin=margin), 0, []
    counts = learner.counts
    for end in ends:
        while counts.epoch < end:
            plan = learner.plan()
            here = (plan.max_epochs + 1) // 2  # visits to the state in which the plan begins
            for s, visits in ((state, here), (1 - state, plan.max_epochs - here)):
                pair = int(learner.knowledge.pair_table[s, plan.policy[s]])
                counts.add(pair, rng.gamma(visits), 1 - s)
                more = visits - 1
                counts.visits[pair] += more
                counts.slot_count[counts.head[pair]] += more
                counts.epoch += more
            state = (state + plan.max_epochs) % 2
        found.append(int(counts.visits[TRIED]))
    return found


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    given = parser.parse_args()
    ends = 10.0 ** np.array([4, 7, 10, 14])
    print("| tries, median (mean) | " + " | ".join(f"N = {end:.0e}" for end in ends) + " |\n|---|" + "---|" * len(ends))
    for name, margin in (("without ζ", 0.0), ("with ζ", 0.01)):
        found = np.array([tries(margin, seed, ends) for seed in range(given.runs)])
        cells = [f"{np.median(column):g} ({column.mean():.1f})" for column in found.T]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("| L(N)/0.307 | " + " | ".join(f"{(x + 2 * np.log1p(x)) / NATS:.1f}" for x in np.log(ends)) + " |")
    print("| log N/0.307 | " + " | ".join(f"{x / NATS:.1f}" for x in np.log(ends)) + " |")


if __name__ == "__main__":
    main()
