"""A run of 10^9 decisions in constant memory; Ctrl-C (sent by itself with a number of seconds) leaves a partial result.

    python benchmarks/long_run.py [decisions] [seconds until Ctrl-C]
"""

import resource
import signal
import sys
import threading
import time
import warnings

from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.simulation.progress import ProgressBar
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make


class Memory:
    """A listener that notes the peak memory at every tenth of the run and passes on to the progress bar."""

    def __init__(self, decisions: int):
        self.decisions, self.bar, self.peaks = decisions, ProgressBar(decisions, None), [0.0] * 11

    def __call__(self, walk: Walk) -> None:
        self.peaks[10 * walk.epoch // self.decisions] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.bar(walk)

    def close(self) -> None:
        self.bar.close()


def main() -> None:
    decisions = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**9
    model = make("three-state")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = CTUCRL(model.knowledge(), horizon=decisions)
    if len(sys.argv) > 2:
        threading.Timer(float(sys.argv[2]), signal.raise_signal, [signal.SIGINT]).start()
    memory, began = Memory(decisions), time.process_time()
    run = simulate(model, learner, max_epochs=decisions, seed=1, progress=memory)
    print(run)
    print(f"{time.process_time() - began:.1f} CPU seconds, {run.decisions_per_second:.3g} decisions per second, interrupted: "
          f"{run.interrupted}, checkpoints reached: {len(run.epochs)}")
    print("peak memory (MB) at each tenth: " + ", ".join(f"{peak:.1f}" for peak in memory.peaks if peak))


if __name__ == "__main__":
    main()
