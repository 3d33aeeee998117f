"""Does `events-ucrl` ever keep to the wrong action?  Models on which one that cut its intervals against the data did so for ever.

    python benchmarks/events_linear.py --epochs 1e5 --runs untold=800 told=200 for-nothing=200 dear=200

In state 0 "risky" shows a rare event that costs 0.1 over its rate, so it earns 0.9 per unit of time; "safe" earns 0.8.  One line
per model: how many runs had a tenth or more of wrong decisions (among those with a choice) in their last half, the largest share
of wrong decisions there, and its mean.  `tests/learn/test_events_ucrl.py` is the short form.

"dear" has a long beginning: some 20 of the rare events must be seen, each after about 1,000 wrong decisions.  At 10^5 decisions a
third of its runs are still wrong; at 10^6 none of 100 was.
"""

import argparse
import time

import numpy as np

from sojourn.learn.catalogue import learner_for
from sojourn.model.explore import Choice, explore
from sojourn.model.rates import Rate
from sojourn.simulation.walk import Walk

WRONG = 0.1  # of the decisions with a choice in the last half: from here on a run counts as linear
MODELS = {  # the rate of the rare event, what is told of it, what it costs over its rate, whether "safe" sees it for nothing
    "untold": (1e-3, None, 0.1, False),
    "told": (1e-5, (1e-6, 1e-4), 0.1, False),
    "for-nothing": (1e-3, None, 0.1, True),
    "dear": (1e-3, None, 1.0, False),  # here "safe" is right
}


def rare_event(rate, bounds, cost, seen_for_nothing):
    """Return the model, and its right and wrong pair in state 0."""
    tick, rare = Rate("tick", 1.0), Rate("rare", rate, bounds=bounds)
    free = {rare: 0.0} if seen_for_nothing else {}

    def choices(state):
        if state == 1:
            return {"back": Choice({0: tick})}
        return {"risky": Choice({1: tick}, running=1.0, silent={rare: -cost / rate}),
                "safe": Choice({1: tick}, running=0.8, silent=free)}

    model = explore(0, choices)
    pairs = model.pair(0, "risky"), model.pair(0, "safe")
    return model, *(pairs if 1 - cost > 0.8 else pairs[::-1])


def wrong_share(model, right, wrong, epochs, seed, name="events-ucrl", **parameters):
    """Return the share of wrong decisions, among those with a choice, in the last half of a run."""
    walk = Walk(model, learner_for(model, name, seed=seed, parameters=parameters), seed=seed)
    walk.advance(epochs // 2)
    before = walk.visits.copy()
    walk.advance(epochs)
    late = walk.visits - before
    return float(late[wrong] / (late[wrong] + late[right]))


def main(runs, epochs, first_seed):
    """Run and print."""
    for name, count in runs.items():
        model, right, wrong = rare_event(*MODELS[name])
        began = time.process_time()
        share = np.array([wrong_share(model, right, wrong, epochs, seed) for seed in range(first_seed, first_seed + count)])
        print(f"{name:12s} {count} runs of {epochs:,} decisions: {(share >= WRONG).sum()} with {WRONG:.0%} or more of wrong "
              f"decisions in the last half; largest share {share.max():.4f}, mean {share.mean():.2e}; "
              f"{time.process_time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=float, default=1e5)
    parser.add_argument("--runs", nargs="+", default=["untold=800", "told=200", "for-nothing=200", "dear=200"], help="MODEL=RUNS")
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    asked = {part.split("=")[0]: int(part.split("=")[1]) for part in given.runs}
    main(asked, int(given.epochs), given.first_seed)
