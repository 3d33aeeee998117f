"""A two-queue model of a million states from a plain function: explored with a progress line, saved, loaded, solved, drawn.

    python benchmarks/building.py [--side 1000] [--picture policy.png] [--method auto] [--no-files] [--no-solve]

Jobs arrive at two queues; one server works on the one it chooses, faster on the first.  Prints wall and CPU seconds of each step
and the most memory the process has had.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sojourn
from sojourn.model.ctmdp import CTMDP
from sojourn.model.explore import Choice

ARRIVE, SERVE, HOLD = (0.3, 0.35), (1.0, 0.8), (1.0, 1.5)


def two_queues(side: int) -> Callable[[tuple[int, int]], dict[str, Choice]]:
    """Return `choices` of two queues of up to side - 1 jobs each, one server, and a cost per job and unit of time."""
    last = side - 1

    def choices(state: tuple[int, int]) -> dict[str, Choice]:
        first, second = state
        cost = HOLD[0] * first + HOLD[1] * second
        arrivals = {}
        if first < last:
            arrivals[first + 1, second] = ARRIVE[0]
        if second < last:
            arrivals[first, second + 1] = ARRIVE[1]
        found = {}
        if first:
            found["first"] = Choice({**arrivals, (first - 1, second): SERVE[0]}, running_cost=cost)
        if second:
            found["second"] = Choice({**arrivals, (first, second - 1): SERVE[1]}, running_cost=cost)
        return found or {"wait": Choice(arrivals, running_cost=cost)}

    return choices


def closed_form() -> float:
    """Return the least cost per unit of time with unlimited buffers: the second queue first (cμ rule), by its mean numbers of jobs.

    Preemptive priority of two M/M/1 classes (Cobham 1954; White and Christie 1958).
    """
    load = [a / s for a, s in zip(ARRIVE, SERVE)]
    left = sum(a / s**2 for a, s in zip(ARRIVE, SERVE))  # mean work left of the job in service, over time
    stay = 1 / SERVE[0] / (1 - load[1]) + left / ((1 - load[1]) * (1 - sum(load)))
    return HOLD[0] * ARRIVE[0] * stay + HOLD[1] * load[1] / (1 - load[1])


def timed(what: str, step: Callable[[], Any]) -> Any:
    """Do one step and say what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = step()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    took, busy = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:22}{took:>9.2f} s{busy:>9.2f} CPU s{peak:>8.2f} GB at most so far", flush=True)
    return found


def through_a_file(model: CTMDP) -> None:
    """Save the model, load it, and hold the two against each other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        timed("saved as .npz", lambda: model.save(path))
        print(f"{'':22}{path.stat().st_size / 1e6:>9.1f} MB")
        again = timed("loaded", lambda: sojourn.load(path))
    if not timed("is the same", lambda: again.equals(model)):
        sys.exit("it is another model")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--no-files", action="store_true")
    parser.add_argument("--no-solve", action="store_true")
    given = parser.parse_args()
    model: CTMDP = timed("explored", lambda: CTMDP.explore((0, 0), two_queues(given.side), name="two queues", progress=True))
    print(model)
    timed("renamed", lambda: model.replace(name="two queues, again"))
    if not given.no_files:
        through_a_file(model)
    if given.no_solve:
        return
    solution = timed("solved to 1e-6", lambda: sojourn.solve(model, method=given.method, tolerance=1e-6, progress=True))
    print(f"cost {-solution.gain:.7f}, by the cμ rule with unlimited buffers {closed_form():.7f}; {solution!r:.150}...")
    if given.picture:
        timed("drawn", lambda: model.plot(solution=solution, path=given.picture))


if __name__ == "__main__":
    main()
