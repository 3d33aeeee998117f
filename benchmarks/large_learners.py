"""How long a plan takes, and what a learner holds, from 10 to 10,000 states (4 actions, 8 successors each).

    python benchmarks/large_learners.py [--sizes 10,100,1000,10000] [--learners ct-ucrl,...] [--visits 0,3,30]

Each pair is observed `visits` times, then the learner plans twice on the same data: `plan s` is the first plan, `again` the second,
which starts where the first one ended; kernels were compiled before, on a smaller model.  `B each` are the bytes that were counted
per different (pair, successor) observed, `learner MB` all arrays that the learner keeps, `peak MB` how far the process
grew during the second plan (memory freed earlier is used again, so it may be 0).  CPU seconds of one process.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import SojournWarning
from sojourn.kernels.counts import count_rows
from sojourn.learn.catalogue import learner
from sojourn.learn.counts import NO_SLOTS
from sojourn.model.ctmdp import CTMDP

LEARNERS = ("ct-ucrl", "ct-kl-ucrl", "ct-joint-ucrl", "ct-psrl", "ct-ce", "ct-bk", "default")
ACTIONS, SUCCESSORS = 4, 8


def random_model(n_states: int, seed: int = 0) -> CTMDP:
    """Return a random model: in each of 4 actions 8 successors, or all states where there are fewer; rates from 1 to 10."""
    rng = np.random.default_rng(seed)
    pairs, each = n_states * ACTIONS, min(SUCCESSORS, n_states)
    gaps = rng.integers(1, max(2, n_states // each), (pairs, each - 1))  # so all successors of a pair are different
    first = rng.integers(n_states, size=(pairs, 1))
    after = np.concatenate([first, (first + np.cumsum(gaps, axis=1)) % n_states], axis=1)
    row = sparse.csr_matrix((rng.dirichlet(np.ones(each), pairs).ravel(), after.ravel(), np.arange(pairs + 1) * each),
                            shape=(pairs, n_states))
    return CTMDP.from_pairs(np.repeat(np.arange(n_states), ACTIONS), np.tile(np.arange(ACTIONS), n_states), row,
                            rng.uniform(1, 10, pairs), rng.uniform(0, 1, pairs), normalize_rows=True)


def observed(subject: Any, model: CTMDP, visits: int, rng: np.random.Generator) -> None:
    """Let every pair be tried `visits` times, as the model has it."""
    if visits == 0:
        return
    pair = np.repeat(np.arange(model.n_pairs), visits)
    end = np.cumsum(model.probability)  # of all rows in one line: row i lies between i and i + 1
    at = np.minimum(np.searchsorted(end, pair + rng.random(len(pair))), model.row_start[pair + 1] - 1)
    at = np.maximum(at, model.row_start[pair])
    subject.counts.reserve(len(model.next_state))
    count_rows(subject.counts.arrays(NO_SLOTS), pair, rng.exponential(1 / model.rate[pair]), model.next_state[at].astype(np.int64),
               model.reward[pair])


def held(value: Any, seen: set[int]) -> int:
    """Return the bytes of all arrays that an object holds."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes if value.base is None else held(value.base, seen)
    if isinstance(value, dict):
        return sum(held(part, seen) for part in value.values())
    if isinstance(value, (tuple, list)):
        return sum(held(part, seen) for part in value)
    return sum(held(part, seen) for name, part in vars(value).items() if name != "knowledge") if hasattr(value, "__dict__") else 0


def memory(what: str) -> int:
    """Return VmRSS or VmHWM of this process in bytes (Linux)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def measured(name: str, model: CTMDP, supports: bool, visits: int) -> dict[str, float]:
    """Return the figures of one row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SojournWarning)
        subject: Any = learner(name, model.knowledge(supports=supports), seed=1)
    observed(subject, model, visits, np.random.default_rng(5))
    began = time.process_time()
    subject.plan()
    first = time.process_time() - began
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, began = memory("VmRSS"), time.process_time()
    subject.plan()
    seconds = time.process_time() - began
    triples, counts = int(subject.counts.used[0]), subject.counts
    size = sum(getattr(counts, part)[:triples].nbytes for part in ("slot_state", "slot_next", "slot_count"))
    return {"first": first, "seconds": seconds, "triples": triples, "counts": size / max(1, triples),
            "learner": held(subject, set()) / 1e6, "peak": (memory("VmHWM") - before) / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10,100,1000,10000")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--visits", default="0,3,30")
    given = parser.parse_args()
    print(f"{'learner':14}{'supports':9}{'states':>8}{'visits':>7}{'plan s':>9}{'again':>9}{'observed':>10}{'B each':>8}"
          f"{'learner MB':>12}{'peak MB':>9}")
    for size in map(int, given.sizes.split(",")):
        model, small = random_model(size), random_model(min(size, 300))
        for name in given.learners.split(","):
            for supports in (True, False):
                measured(name, small, supports, 1)
                for visits in map(int, given.visits.split(",")):
                    row = measured(name, model, supports, visits)
                    print(f"{name:14}{'known' if supports else 'unknown':9}{size:>8,}{visits:>7}{row['first']:>9.4f}"
                          f"{row['seconds']:>9.4f}{row['triples']:>10,}{row['counts']:>8.0f}{row['learner']:>12.1f}"
                          f"{row['peak']:>9.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
