"""How long `sojourn.fit` takes for a large log, and how much memory.

    python benchmarks/fit_size.py [--rows 10000000] [--folder .cache/fit]

A log of a simulated queue is written once as CSV and as Parquet (needs pyarrow); each is then fitted in a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import sojourn


def write(folder: Path, rows: int) -> None:
    """Write the log of random choices in a queue."""
    import pyarrow
    from pyarrow import csv, parquet

    model = sojourn.make("service-rate:capacity=8")
    path = sojourn.simulate(model, "random", max_epochs=rows, seed=1, record=True).trajectory

    def texts(names, codes):
        coded = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes.astype(np.int32)), pyarrow.array(list(map(str, names))))
        return coded.cast("string")

    table = pyarrow.table({"state": texts(model.states, path.state), "action": texts(model.actions, path.action),
                           "holding_time": path.holding_time, "next_state": texts(model.states, path.next_state),
                           "reward": path.reward})
    parquet.write_table(table, folder / f"{rows}.parquet")
    csv.write_csv(table, folder / f"{rows}.csv")


def measure(path: Path) -> dict:
    """Fit one file."""
    sojourn.fit({"state": ["a", "b"] * 9, "action": ["x"] * 18, "holding_time": [1.0, 2.0] * 9, "next_state": ["b", "a"] * 9},
                running={("a", "x"): 1.0})  # so that everything is compiled
    begun, worked = time.perf_counter(), time.process_time()
    found = sojourn.fit(path)
    return {"file": path.name, "rows": len(found.log), "seconds": round(time.perf_counter() - begun, 1),
            "cpu_seconds": round(time.process_time() - worked, 1), "load": round(os.getloadavg()[0], 1),
            "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2), "gain_bounds": found.gain_bounds}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rows", type=int, default=10**7)
    words.add_argument("--folder", type=Path, default=Path(".cache/fit"))
    words.add_argument("--file", type=Path)
    said = words.parse_args()
    if said.file:
        print(json.dumps(measure(said.file)))
        return
    said.folder.mkdir(parents=True, exist_ok=True)
    if not (said.folder / f"{said.rows}.csv").exists():
        write(said.folder, said.rows)
    for kind in ("csv", "parquet"):
        subprocess.run([sys.executable, __file__, "--file", str(said.folder / f"{said.rows}.{kind}")], check=True)


if __name__ == "__main__":
    main()
