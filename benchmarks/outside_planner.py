"""Does a compiled planner from outside reach the speed of a built-in one?  CT-PSRL, and the same planner from a file of its own.

    python benchmarks/outside_planner.py

The outside one is written to a file in a temporary folder, as a third party would have it: its own compiled function, declared as
`compiled_plan`.  Both take the same decisions; they are timed in turns, in processor time, and the ratio of the best times is
reported (at least 0.8).
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sojourn.learn.catalogue import learner
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

MODELS = ("two-state", "three-state", "customer-selection", "admission", "river-swim")
STEPS, ROUNDS, LEAST = 1_000_000, 25, 0.8
OUTSIDE = '''
import numpy as np
from sojourn.kernels.jit import kernel
from sojourn.kernels.sampled_plan import best_of_samples, counted_successors, finish, set_length
from sojourn.learn.ct_psrl import CTPSRL

@kernel
def plan_outside(sampler, desk, own):
    counts = desk.counts
    if not counted_successors(sampler, counts):
        return False
    desk.info[0] = best_of_samples(sampler, own, counts.visits, counts.holding_sum)
    finish(sampler, desk, np.inf, sampler.sampled, np.zeros(0, dtype=np.bool_))
    set_length(sampler, desk.plan.epochs, counts.epoch[0])
    return True

class Outside(CTPSRL):
    compiled_plan = plan_outside
'''


def outside_class(folder: str) -> type:
    """Return the learner that a file of its own defines."""
    path = Path(folder) / "outside_planner_of_mine.py"
    path.write_text(OUTSIDE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    found: type = module.Outside
    return found


def timed(walk: Walk) -> float:
    """Return the processor seconds of STEPS further decisions."""
    began = time.process_time()
    walk.advance(walk.epoch + STEPS)
    return time.process_time() - began


def ratio(name: str, outside: type) -> tuple[float, float]:
    """Return (speed of the outside planner over the built-in one, decisions per second of the built-in one)."""
    model = make(name)
    solution, knowledge = solve(model), model.knowledge()
    walks: list[Any] = [Walk(model, learner(kind, knowledge, seed=1), seed=1, solution=solution) for kind in ("ct-psrl", outside)]
    best = [np.inf, np.inf]
    for turn in range(ROUNDS + 1):
        for i, walk in enumerate(walks):
            used = timed(walk)
            if turn:  # the first one compiles
                best[i] = min(best[i], used)
    assert np.array_equal(walks[0].visits, walks[1].visits), f"{name}: other decisions"
    return best[0] / best[1], STEPS / best[0]


def main() -> int:
    slow = 0
    print(f"{'ct-psrl on':20s} {'decisions/s':>12s} {'outside/built-in':>17s} (at least {LEAST})")
    with TemporaryDirectory() as folder:
        outside = outside_class(folder)
        for name in MODELS:
            found, speed = ratio(name, outside)
            slow += found < LEAST
            print(f"{name:20s} {speed:12.3g} {found:17.2f}  {'ok' if found >= LEAST else 'SLOW'}", flush=True)
    return int(slow > 0)


if __name__ == "__main__":
    raise SystemExit(main())
