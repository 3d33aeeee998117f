"""Read mutated files: each must be read, and then be valid, or be refused in one sentence.

    python benchmarks/fuzz_files.py [--count 2000] [--seconds N] [--seed K] [--kinds json,npz,run,...] [--keep FOLDER]
                                    [--first N] [--blocks N]

Every reader of the package: models (json, npz, drn, gz), study files (toml), stores, runs, sessions, logs (csv, parquet), policies,
controllers.  Files are damaged at random: bits flipped, bytes cut, doubled, moved; numbers replaced by huge, tiny and impossible
ones, values by others of another type; shapes, sizes, counts, names, packings and depths that lie.  What has checksums is damaged
inside, too, and sealed again (_seal.py).  What is read is then used: a model comes back equal, a session decides and goes on, a
controller folds its journal and answers, a store is summed up.

Anything else than a SojournError that names the file, more than LIMIT_SECONDS of the processor, or more than LIMIT_BYTES of
memory is a failure; its file goes to FOLDER and the exit code is 1.  Files are read in blocks of a child process each, so that a
crash of the interpreter or a loop without end is one failure, too (--blocks 0: all in this process).  The same seed makes the
same files; with `--first` a long campaign goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import mmap
import os
import pickle
import resource
import signal
import sqlite3
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
from _damage import (
    damaged_bytes,
    damaged_csv,
    damaged_json,
    damaged_npz,
    damaged_parquet,
    damaged_policy,
    damaged_store,
    damaged_toml,
    pick,
)
from _seal import damaged_run, damaged_session, sealed_controller, sealed_store

import sojourn
from sojourn.control.controller import Controller
from sojourn.control.log import read_log
from sojourn.errors import SojournError, SojournWarning
from sojourn.learn.policies import read_policy
from sojourn.model.ctmdp import CTMDP
from sojourn.study.failures import failures_in
from sojourn.study.spec import read_study
from sojourn.study.store import Store
from sojourn.study.study import Study, status
from sojourn.study.summary import summarize
from sojourn.zoo.syntax import parse_parameters

LIMIT_SECONDS = 5.0
LIMIT_BYTES = 500_000_000
SILENCE = 300.0  # seconds without a next file after which a child is ended: it hangs in compiled code
BLOCK = 2000
SHARES = {"json": 16, "npz": 16, "drn": 10, "gz": 3, "toml": 3, "run": 12, "session": 12, "csv": 12, "parquet": 6, "policy": 8,
          "store": 1, "controller": 1}
KINDS = tuple(SHARES)
SUFFIX = {"store": "sqlite", "gz": "drn.gz", "run": "npz", "controller": "control"}
COMES_BACK = 10  # every so many-th model is written and read again
LEARNERS = ("ct-ucrl", "default", "ct-kl-ucrl", "ct-psrl", "smart", "kl-ucrl", "ct-ce", "events-ce", "events-ucrl", "scal",
            "ct-ucrl-unknown-rates", "ct-joint-ucrl")  # of the sessions

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


def memory(what: str) -> int:
    """Return the memory of this process in bytes: VmRSS, what it has now; VmHWM, the most since `forget_peak`.  Linux only."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"the system does not say {what}")


def forget_peak() -> int:
    """Let VmHWM begin anew, so that what a file was made with does not count when it is read; return the memory in use now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return memory("VmRSS")


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


def good_files(folder: Path, rng: np.random.Generator, kinds: tuple[str, ...] = KINDS) -> dict[str, list[bytes]]:
    """Return the bytes of good files of these kinds; `model.json` is left in the folder for the study that names it."""
    found: dict[str, list[bytes]] = {kind: [] for kind in kinds}
    for model in models(rng):
        for kind in ("json", "npz", "drn"):
            model.save(folder / f"model.{kind}")
            found.setdefault(kind, []).append((folder / f"model.{kind}").read_bytes())
    found["drn"] += [text.encode() for text in STORM]
    found["gz"] = [gzip.compress(data, 1, mtime=0) for data in found["drn"]]
    for kind, make in (("toml", _studies), ("store", _stores), ("run", _runs), ("session", _sessions), ("csv", _logs),
                       ("parquet", _logs), ("policy", _policies), ("controller", _controllers)):
        if kind in kinds:
            found[kind] = make(folder, kind)
    return {kind: found[kind] for kind in kinds}


def _studies(folder: Path, kind: str) -> list[bytes]:
    return [STUDY.encode()]


def _stores(folder: Path, kind: str) -> list[bytes]:
    study = Study("fuzz", models=["two-state"], learners=["random"], epochs=60, replications=3, checkpoints=8,
                  store=folder / "good.sqlite")
    study.run(workers=1)
    return [(folder / "good.sqlite").read_bytes()]


def _runs(folder: Path, kind: str) -> list[bytes]:
    found = []
    for learner in ("ct-ucrl", "default", "random"):
        run = sojourn.simulate(sojourn.make("two-state"), learner, max_epochs=120, seed=1, record=learner == "random")
        run.save(folder / "run.npz")
        found.append((folder / "run.npz").read_bytes())
    return found


def _sessions(folder: Path, kind: str) -> list[bytes]:
    found = []
    for learner in LEARNERS:
        events = learner.startswith("events")
        model = sojourn.make("server-switching" if events else "three-state")
        known = model.knowledge(events=events, supports=learner == "ct-psrl")
        session = sojourn.Session(learner, known.states[0], knowledge=known, seed=1)
        _live(session, 40, 1)
        session.save(folder / "good.session")
        found.append((folder / "good.session").read_bytes())
    return found


def _live(session: sojourn.Session, epochs: int, seed: int) -> None:
    """Let a session live through made-up epochs; reports that cannot be are refused, and that is all."""
    rng, known = np.random.default_rng(seed), session.knowledge
    for _ in range(epochs):
        _ = session.action
        start, states = known.support_start, known.support_state
        pair = session._pair
        after = states[start[pair] : start[pair + 1]] if start is not None else np.arange(known.n_states)
        silent = None if known.events is None else {known.events.names[k]: 0 for k in known.events.silent}
        event = None
        if known.events is not None:
            table = known.events
            rows = np.flatnonzero((table.pair == pair) & (table.next_state >= 0))
            row = int(pick(rng, rows))
            event, after = table.names[table.event[row]], table.next_state[[row]]
        session.report(float(rng.exponential()), known.states[int(pick(rng, after))], event=event, silent=silent)


def _logs(folder: Path, kind: str) -> list[bytes]:
    rng = np.random.default_rng(1)
    state = ["up", "down", "b,c"]
    walk = [0]
    for _ in range(40):
        walk.append(int(rng.integers(3)))
    tau = rng.exponential(size=40)
    sojourns = {"state": [state[i] for i in walk[:-1]], "action": [str(pick(rng, ["go", "wait"])) for _ in range(40)],
                "holding_time": tau.tolist(), "next_state": [state[i] for i in walk[1:]], "reward": rng.normal(size=40).tolist(),
                "event": ["", "e"] * 20, "silent:x": [0, 1] * 20, "trajectory": [1] * 40}
    moves = [i for i in range(40) if walk[i] != walk[i + 1]]
    stamps = {"time": np.cumsum(tau)[moves].tolist(), "state": [state[walk[i]] for i in moves], "action": ["go"] * len(moves)}
    found = []
    for columns in (sojourns, {k: sojourns[k] for k in ("state", "action", "holding_time", "next_state")}, stamps):
        if kind == "parquet":
            import pyarrow
            import pyarrow.parquet

            out = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.table(columns), out)
            found.append(out.getvalue())
        else:
            rows = ["\t".join(columns)] + ["\t".join(map(str, row)) for row in zip(*columns.values())]
            cells = [[f'"{cell}"' if "," in cell else cell for cell in row.split("\t")] for row in rows]
            found.append("\n".join(",".join(row) for row in cells).encode())
    return found


def _policies(folder: Path, kind: str) -> list[bytes]:
    return [text.encode() for text in ('[0, 1, 1]', '["quick", "slow", "quick"]', '{"A": "slow", "B": 1, "C": "quick"}',
                                       "[[1, 0], [0.5, 0.5], [0, 1]]", "policy=[0,1,1],delta=0.1")]


def _controllers(folder: Path, kind: str) -> list[bytes]:
    found = []
    for learner in ("ct-ucrl", "default", "ct-ce"):
        path = folder / f"{learner}.control"
        known = sojourn.make("three-state").knowledge()
        late = 3 if learner == "default" else 0
        with Controller.create(path, known, learner, "A", safe_action=known.actions[0], max_late=late) as made:
            rng = np.random.default_rng(1)
            made.import_log({"state": ["A", "B"], "action": [0, 0], "holding_time": [1.0, 2.0], "next_state": ["B", "A"]})
            for seq in range(1, 16):
                made.report(seq, float(rng.exponential()), known.states[int(rng.integers(3))])
            made.missed("B")
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode = DELETE")
        found.append(path.read_bytes())
    return found


# ---- what must hold -----------------------------------------------------------------------------------------------


def check_model(path: Path, folder: Path) -> None:
    """Load a model; it must be valid, and come back equal from both formats."""
    model = sojourn.load(path)
    if hash(path.stat().st_size) % COMES_BACK:
        return
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
        str(summarize(store))


def check_run(path: Path, folder: Path) -> None:
    run = sojourn.Run.load(path)
    repr(run), run.points(), run.settings, list(run.episodes), run.columns(), repr(run.learner)


def check_session(path: Path, folder: Path) -> None:
    session = sojourn.Session.load(path)
    repr(session)
    with contextlib.suppress(SojournError):  # what it learned may be such that no plan follows
        _live(session, 3, 2)
        session.save(folder / "again.session")


def check_log(path: Path, folder: Path) -> None:
    log = read_log(path, contiguous=len(path.name) % 2 == 0)
    repr(log.states), len(log)


def check_policy(path: Path, folder: Path) -> None:
    text, known = path.read_bytes().decode("utf-8", "replace"), KNOWN.knowledge()
    if text[:1] in ("[", "{"):
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            raise SojournError("it is not JSON") from None
        read_policy(said, known)
        sojourn.evaluate(KNOWN, said)
    else:
        given = parse_parameters(text)
        read_policy(given.get("policy"), known)


def check_controller(path: Path, folder: Path) -> None:
    for write in (False, True):
        with Controller.open(path, write=write) as controller:
            status_now = controller.status()
            list(controller.alarms), sum(1 for _ in controller.observations())
            controller.verify()
            with contextlib.suppress(SojournError):
                if write:
                    controller.report(status_now["next_seq"], 0.5, "A")


KNOWN = sojourn.make("three-state")
CHECKS: dict[str, Callable[[Path, Path], None]] = {
    "json": check_model, "npz": check_model, "drn": check_model, "gz": check_model, "toml": check_study, "store": check_store,
    "run": check_run, "session": check_session, "csv": check_log, "parquet": check_log, "policy": check_policy,
    "controller": check_controller,
}
UNNAMED = {"toml", "csv", "parquet", "policy"}  # errors that need not name the file: the command line does, or there is none


def damaged(kind: str, data: bytes, rng: np.random.Generator, folder: Path) -> bytes:
    """Return a damaged copy of a good file."""
    if kind == "store":
        return sealed_store(data, rng, folder) if rng.random() < 0.7 else damaged_store(data, rng, folder)
    if kind == "controller":
        return sealed_controller(data, rng, folder) if rng.random() < 0.85 else damaged_bytes(data, rng)
    if kind == "gz":
        packed = gzip.compress(damaged_toml(gzip.decompress(data), rng), 1, mtime=0) if rng.random() < 0.8 else data
        if packed is not data and rng.random() < 0.8:
            return packed
        bomb = rng.random() < 0.002
        return gzip.compress(bytes(10**8), 9, mtime=0) if bomb else damaged_bytes(packed, rng)
    ways = {"json": damaged_json, "npz": damaged_npz, "toml": damaged_toml, "drn": damaged_toml, "run": damaged_run,
            "session": damaged_session, "csv": damaged_csv, "parquet": damaged_parquet, "policy": damaged_policy}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ways[kind](data, rng)


def try_one(kind: str, data: bytes, folder: Path, seconds: float | None = None) -> str:
    """Return "loaded" or "refused", or what went wrong."""
    path = folder / f"fuzzed.{SUFFIX.get(kind, kind)}"
    for beside in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{beside}").unlink(missing_ok=True)
    path.write_bytes(data)
    before = forget_peak()
    try:
        with at_most(LIMIT_SECONDS if seconds is None else seconds), warnings.catch_warnings():
            warnings.simplefilter("error")  # a stray warning of numpy's is a failure too
            warnings.simplefilter("ignore", SojournWarning)
            CHECKS[kind](path, folder)
        answer = "loaded"
    except SojournError as error:
        words = str(error)
        if len(words) > 30_000 or not words or (kind not in UNNAMED and path.name not in words):
            return f"a poor sentence of {len(words)} characters: {words[:300]!r}"
        answer = "refused"
    except TooLong as error:
        return f"{error}\n{traceback.format_exc()}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {str(error)[:300]}\n{traceback.format_exc()}"
    return answer if (more := memory("VmHWM") - before) <= LIMIT_BYTES else f"{more / 1e6:.0f} MB of memory"


# ---- the campaign -------------------------------------------------------------------------------------------------


class Campaign:
    """Good files, a folder to work in, and where the answers are counted."""

    def __init__(self, folder: Path, seed: int, kinds: tuple[str, ...], keep: Path | None):
        self.folder, self.seed, self.kinds, self.keep = folder, seed, kinds, keep
        self.good = good_files(folder, np.random.default_rng(seed), kinds)
        shares = np.array([SHARES[kind] for kind in kinds], dtype=float)
        self.edges = np.cumsum(shares / shares.sum())
        self.counts: Counter = Counter()
        self.failures: list[str] = []
        self._read_good_files()

    def _read_good_files(self) -> None:
        """Good files must be read; it also loads every compiled part that the children then have."""
        for kind, files in self.good.items():
            for data in files:
                answer = try_one(kind, data, self.folder, seconds=600.0)
                if answer != "loaded":
                    raise AssertionError(f"a good {kind} file: {answer}")

    def file(self, number: int) -> tuple[str, bytes]:
        """Return the kind and the bytes of file `number`."""
        rng = np.random.default_rng([self.seed, number])
        kind = self.kinds[min(int(np.searchsorted(self.edges, rng.random(), side="right")), len(self.kinds) - 1)]
        return kind, damaged(kind, pick(rng, self.good[kind]), rng, self.folder)

    def read(self, numbers: range, end: float, at: Any = None) -> int:
        """Read these files until `end` of the clock; return the number of the first one that was not read."""
        for number in numbers:
            if time.monotonic() > end:
                return number
            if at is not None:
                at[:8] = number.to_bytes(8, "little")
            kind, data = self.file(number)
            answer = try_one(kind, data, self.folder)
            if answer not in ("loaded", "refused"):
                self.fail(kind, number, answer, data)
            else:
                self.counts[kind, answer] += 1
        return numbers.stop

    def fail(self, kind: str, number: int, answer: str, data: bytes) -> None:
        self.counts[kind, "failed"] += 1
        self.failures.append(f"{kind} file {number} of seed {self.seed}: {answer}")
        print(self.failures[-1], file=sys.stderr, flush=True)
        if self.keep is not None:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{self.seed}-{number}.{kind}").write_bytes(data)

    def block(self, numbers: range, end: float) -> int:
        """Read these files in a child process; one that dies or hangs has failed on the file that it was at."""
        at, answers = mmap.mmap(-1, 8), self.folder / "answers"
        answers.unlink(missing_ok=True)
        at[:8] = numbers.start.to_bytes(8, "little")
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            self.counts, self.failures = Counter(), []
            try:
                stop = self.read(numbers, end, at)
                answers.write_bytes(pickle.dumps((stop, self.counts, self.failures, peak())))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        code = _waited(child, at)
        if code == 0 and answers.exists():
            stop, counts, failures, most = pickle.loads(answers.read_bytes())  # our own child wrote it
            self.counts += counts
            self.failures += failures
            self.most = max(getattr(self, "most", 0), most)
            return stop
        number = int.from_bytes(at[:8], "little")
        done = self.block(range(numbers.start, number), end) if number > numbers.start else number
        if done < number:
            return done
        kind, data = self.file(number)
        self.fail(kind, number, f"the interpreter {'hung' if code is None else f'died (status {code})'}", data)
        return number + 1


def _waited(child: int, at: Any) -> int | None:
    """Return how the child ended; None where it hung and was ended."""
    seen, since = bytes(at[:8]), time.monotonic()
    while True:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            return code
        now = bytes(at[:8])
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > SILENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.05)


def fuzz(count: int, seconds: float | None, seed: int, kinds: tuple[str, ...] = KINDS, keep: Path | None = None, first: int = 0,
         blocks: int = 0) -> tuple[Counter, list[str]]:
    """Read `count` damaged files from number `first` on, or as many as `seconds` allow, in child processes of `blocks` files each
    (0: here); return the counts by (kind, answer) and what failed."""
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(Path(name), seed, kinds, keep)
        began = time.monotonic()
        end = float("inf") if seconds is None else began + seconds
        at, stop, said = first, first + count, first
        while at < stop and time.monotonic() < end:
            part = range(at, min(stop, at + (blocks or count)))
            at = campaign.block(part, end) if blocks else campaign.read(part, end)
            if blocks and at - said >= 10_000:
                said = at
                print(f"{at:,} files, {len(campaign.failures)} failures, {time.monotonic() - began:.0f} s, at most "
                      f"{getattr(campaign, 'most', 0) / 1e6:.0f} MB", flush=True)
                print("\n".join(table(campaign.counts, kinds)), flush=True)
        return campaign.counts, campaign.failures


def table(counts: Counter, kinds: tuple[str, ...]) -> list[str]:
    """Return the counts as lines."""
    lines = [f"{'kind':11}{'files':>10}{'read':>10}{'refused':>10}{'failed':>8}"]
    for kind in (*kinds, "all"):
        row = [
            sum(n for (k, a), n in counts.items() if kind in (k, "all") and a == answer)
            for answer in ("loaded", "refused", "failed")
        ]
        lines.append(f"{kind:11}{sum(row):>10,}{row[0]:>10,}{row[1]:>10,}{row[2]:>8,}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=None, help="how many files (2000 unless --seconds is given)")
    parser.add_argument("--seconds", type=float, default=None, help="or for how long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--keep", type=Path, default=None, help="where files that failed are kept")
    parser.add_argument("--blocks", type=int, default=BLOCK, help="files of each child process; 0 reads all in this one")
    given = parser.parse_args()
    kinds = tuple(given.kinds.split(","))
    count = given.count if given.count is not None else (2000 if given.seconds is None else sys.maxsize)
    began = time.perf_counter()
    counts, failures = fuzz(count, given.seconds, given.seed, kinds, given.keep, given.first, given.blocks)
    print("\n".join(table(counts, kinds)))
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    most = max(peak(), children.ru_maxrss * 1024) / 1e6
    print(f"{time.perf_counter() - began:.0f} s, seed {given.seed}, at most {most:.0f} MB of memory, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
