"""Load mutated files: each must load, and then be valid, or be refused in one sentence.

    python benchmarks/fuzz_files.py [--count 2000] [--seconds N] [--seed K] [--kinds json,npz,drn,toml,store] [--keep FOLDER]
                                    [--first N]

With `--first` file N is the first one: a long campaign goes on where it was stopped.  Every 10,000 files a line says where it is.

Models (.json, .npz, .drn), study files (.toml) and stores (.sqlite) are damaged at random: bits flipped, bytes cut, doubled, moved,
numbers replaced by huge, tiny and impossible ones, values by others of another type, members of the zip swapped, renamed,
packed otherwise, rows of the store edited.  A model that loads is checked again and must come back equal from both formats.
Anything else than a SojournError that names the file, more than LIMIT_SECONDS, or more than LIMIT_BYTES of memory is a failure;
its file goes to FOLDER and the exit code is 1.  The same seed makes the same files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _damage import damaged_json, damaged_npz, damaged_store, damaged_toml, pick

import sojourn
from sojourn.errors import SojournError, SojournWarning
from sojourn.model.ctmdp import CTMDP
from sojourn.study.failures import failures_in
from sojourn.study.spec import read_study
from sojourn.study.store import Store
from sojourn.study.study import Study, status
from sojourn.study.summary import summarize

LIMIT_SECONDS = 5.0
LIMIT_BYTES = 500_000_000
KINDS = ("json", "npz", "drn", "toml", "store")
SHARES = {"json": 0.25, "npz": 0.25, "drn": 0.25, "toml": 0.15, "store": 0.1}

STUDY = """
[study]
name = "fuzz"
epochs = 400
replications = 2
seed = 5
checkpoints = [10, 100, 400]
common_random_numbers = true
start = 0

[[models]]
zoo = "admission"
capacity = 3
rate_bounds = [0.01, 100.0]

[[models]]
file = "model.json"
label = "ours"
holding_times = "erlang:stages=3"

[[learners]]
name = "ct-ucrl"
delta = 0.1

[[learners]]
name = "random"
label = "dice"
supports = true
"""

STORM = (  # as Storm writes them: rates, a reward model without a name, valuations; immediate states, one of them with a rate too
    """// Exported by storm
@type: CTMC
@value_type: rational
@parameters

@placeholders
$0 : 1.5
@reward_models
 reward\x20
@nr_states
3
@nr_choices
3
@model
state 0 !$0 [0, 1] init "two words"
//[x=0\t& !y]
\taction __NOLABEL__ [0, 0]
\t\t1 : $0
state 1 !7/2 [1, 0]
\taction go [2.857142857, 1e-3]
\t\t0 : 2
\t\t2 : 1.5
state 2 !2 [2, 0]
\taction 0 [0, 0]
\t\t1 : 2
""",
    """@type: Markov Automaton
@parameters

@reward_models
cust
@nr_states
5
@nr_choices
7
@model
state 0 !0 [0] init
\taction a [5]
\t\t0 : 0.1
\t\t1 : 0.4
\t\t2 : 0.5
\taction a [0]
\t\t4 : 1
state 1 !3 [1]
\t\t0 : 1
state 2 !2 [2]
\taction 0 [0]
\t\t0 : 0.333333
\t\t3 : 0.666666
state 3 !0.5 [3]
\taction 0 [0]
\t\t1 : 1
\taction b [0.1]
\t\t1 : 0.5
\t\t4 : 0.5
state 4 !0 [0]
\taction 0 [1]
\t\t1 : 0.25
\t\t2 : 0.75
""",
)


class TooLong(BaseException):
    """A file took longer than it may; no `except Exception` on the way catches it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLong where what is inside takes longer, in seconds of this process, so that a busy machine does not matter."""

    def ring(number: int, frame: Any) -> None:
        raise TooLong(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def peak() -> int:
    """Return the most memory this process has ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ---- good files ---------------------------------------------------------------------------------------------------


def models(rng: np.random.Generator) -> list[CTMDP]:
    """Return a few small models of every shape that files know: labels, bounds, transition rewards, unit holding times."""
    found = [sojourn.make(name) for name in ("two-state", "three-state")] + [sojourn.make("admission", capacity=3)]
    rows = rng.dirichlet(np.ones(4), (4, 2))
    names = ["a b", "é", '"quoted"', "(1, 2)"]
    found.append(
        CTMDP.from_arrays(
            rows,
            rng.uniform(0.5, 2, (4, 2)),
            rng.normal(size=(4, 2)),
            states=names,
            rate_bounds=(0.1, 5.0),
            transition_reward=rng.normal(size=(4, 2, 4)),
            name="paid",
        )
    )
    found.append(CTMDP.from_mdp(rows, rng.normal(size=(4, 2))))
    return found


def good_files(folder: Path, rng: np.random.Generator) -> dict[str, list[bytes]]:
    """Return the bytes of good files of every kind; `model.json` is left in the folder for the study that names it."""
    found: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    for model in models(rng):
        for kind in ("json", "npz", "drn"):
            path = folder / f"model.{kind}"
            model.save(path)
            found[kind].append(path.read_bytes())
    found["drn"] += [text.encode() for text in STORM]
    found["toml"].append(STUDY.encode())
    study = Study(
        "fuzz", models=["two-state"], learners=["random"], epochs=60, replications=3, checkpoints=8, store=folder / "good.sqlite"
    )
    study.run(workers=1)
    found["store"].append((folder / "good.sqlite").read_bytes())
    return found


# ---- what must hold -----------------------------------------------------------------------------------------------


def check_model(path: Path, folder: Path) -> None:
    """Load a model; it must be valid, and come back equal from both formats."""
    model = sojourn.load(path)
    again = model.replace()
    for suffix in ("json", "npz"):
        model.save(folder / f"again.{suffix}")
        if not (model.equals(again) and sojourn.load(folder / f"again.{suffix}").equals(model)):
            raise AssertionError(f"the model does not come back equal from .{suffix}")


def check_study(path: Path, folder: Path) -> None:
    spec = read_study(path)
    assert spec.models and spec.learners and spec.text and [m.key for m in spec.models] and [e.key for e in spec.learners]
    json.dumps(spec.horizon)


def check_store(path: Path, folder: Path) -> None:
    with Store(path) as store:
        store.verify()
        status(store)
        failures_in(store)
        summarize(store)


CHECKS: dict[str, Callable[[Path, Path], None]] = {
    "json": check_model,
    "npz": check_model,
    "drn": check_model,
    "toml": check_study,
    "store": check_store,
}


def try_one(kind: str, data: bytes, folder: Path, memory: int) -> str:
    """Return "loaded" or "refused", or what went wrong; so much memory had been used before."""
    path = folder / f"fuzzed.{'sqlite' if kind == 'store' else kind}"
    path.write_bytes(data)
    try:
        with at_most(LIMIT_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error")  # a stray warning of numpy's is a failure too
            warnings.simplefilter("ignore", SojournWarning)
            CHECKS[kind](path, folder)
        answer = "loaded"
    except SojournError as error:
        words = str(error)
        if len(words) > 30_000 or not words or (kind != "toml" and path.name not in words):
            return f"a poor sentence of {len(words)} characters: {words[:300]!r}"
        answer = "refused"
    except TooLong as error:
        return f"{error}\n{traceback.format_exc()}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {str(error)[:300]}\n{traceback.format_exc()}"
    return answer if (more := peak() - memory) <= LIMIT_BYTES else f"{more / 1e6:.0f} MB of memory"


def fuzz(
    count: int, seconds: float | None, seed: int, kinds: tuple[str, ...] = KINDS, keep: Path | None = None, first: int = 0
) -> tuple[Counter, list[str]]:
    """Try `count` damaged files from number `first` on, or as many as `seconds` allow; return the counts by (kind, answer) and
    what failed."""
    counts: Counter = Counter()
    failures: list[str] = []
    end = float("inf") if seconds is None else time.monotonic() + seconds
    shares = np.array([SHARES[kind] for kind in kinds])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = good_files(folder, np.random.default_rng(seed))
        memory = peak()
        for number in range(first, first + count):
            if number > first and number % 10_000 == 0:
                print(f"{number:,}: {dict(Counter(a for _, a in counts.elements()))}", file=sys.stderr, flush=True)
            if time.monotonic() > end:
                break
            rng = np.random.default_rng([seed, number])
            kind = kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]
            data = pick(rng, good[kind])
            way = {"json": damaged_json, "npz": damaged_npz, "toml": damaged_toml, "drn": damaged_toml}.get(kind)
            data = way(data, rng) if way else damaged_store(data, rng, folder)
            answer = try_one(kind, data, folder, memory)
            memory = max(memory, peak()) if answer not in ("loaded", "refused") else memory
            counts[kind, answer if answer in ("loaded", "refused") else "failed"] += 1
            if answer not in ("loaded", "refused"):
                failures.append(f"{kind} file {number} of seed {seed}: {answer}")
                print(failures[-1], file=sys.stderr, flush=True)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{seed}-{number}.{kind}").write_bytes(data)
    return counts, failures


def table(counts: Counter, kinds: tuple[str, ...]) -> list[str]:
    """Return the counts as lines."""
    lines = [f"{'kind':8}{'files':>8}{'loaded':>8}{'refused':>9}{'failed':>8}"]
    for kind in (*kinds, "all"):
        row = [
            sum(n for (k, a), n in counts.items() if kind in (k, "all") and a == answer)
            for answer in ("loaded", "refused", "failed")
        ]
        lines.append(f"{kind:8}{sum(row):>8}{row[0]:>8}{row[1]:>9}{row[2]:>8}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=None, help="how many files (2000 unless --seconds is given)")
    parser.add_argument("--seconds", type=float, default=None, help="or for how long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--keep", type=Path, default=None, help="where files that failed are kept")
    given = parser.parse_args()
    kinds = tuple(given.kinds.split(","))
    count = given.count if given.count is not None else (2000 if given.seconds is None else sys.maxsize)
    began = time.perf_counter()
    counts, failures = fuzz(count, given.seconds, given.seed, kinds, given.keep, given.first)
    print("\n".join(table(counts, kinds)))
    print(f"{time.perf_counter() - began:.0f} s, seed {given.seed}, at most {peak() / 1e6:.0f} MB of memory in all")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
