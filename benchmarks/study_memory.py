"""The coordinator's memory does not grow with the number of replications.

python benchmarks/study_memory.py [--replications 10000]
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from sojourn.study.study import Study

LIMIT = 500  # MB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        peaks = []
        for count in (given.replications // 10, given.replications):
            study = Study(
                "memory",
                models=["two-state"],
                learners=["random"],
                epochs=2000,
                replications=count,
                checkpoints=40,
                store=Path(folder) / "s.sqlite",
            )
            began = time.perf_counter()
            study.run(workers=2)
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            size = study.store_path.stat().st_size / 2**20
            print(
                f"{count} replications: coordinator at most {peaks[-1]:.0f} MB, store {size:.0f} MB, "
                f"{time.perf_counter() - began:.0f} s, "
                f"{study.tally.tasks} tasks",
                flush=True,
            )
    if peaks[-1] > LIMIT:
        sys.exit(f"FAILED: {peaks[-1]:.0f} MB; at most {LIMIT} MB are wanted")


if __name__ == "__main__":
    main()
