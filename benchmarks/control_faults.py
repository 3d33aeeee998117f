"""Let every write of a controller fail, one after the other: input/output error, full disk, short write, death in the middle.

    python benchmarks/control_faults.py [--folder /dev/shm/control-faults] [--most 0] [--work report|migration] [--mutant careless]

A process goes on with a controller: it opens it, reports twelve times (a report that raises is said again, as a plant would), with
snapshots in between, and closes it; `--work migration` brings an older file up to date first.  It runs under `strace`, which lets
the n-th call of one kind on the controller's files fail (EIO, ENOSPC, once or from then on) or kills the process there, for every
kind of call that writes and every n.  Short writes come from a limit on the size of files.  Afterwards the file is judged without
faults: every acknowledged report is there, once, and the fold equals the journal.  A campaign that was stopped goes on where it
stopped.

`--mutant careless` acknowledges a report whose write failed, and must be caught.

The processes are forked from this warmed one and wait until strace has taken hold of them, so that only their own work is traced.
"""

import argparse
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _control import create, drive, judge, parsed

from sojourn.control import controller as controlling
from sojourn.control.journal import Journal
from sojourn.errors import SojournError

CALLS = ("pwrite64", "write", "ftruncate", "fdatasync", "fsync", "unlink", "rename", "link", "openat")
FAULTS = ("error=EIO:when={n}", "error=ENOSPC:when={n}", "error=ENOSPC:when={n}+", "signal=KILL:when={n}")
REPORTS = 12
NOTHING = {"runs": 0, "injected": 0, "acknowledged": 0, "killed": 0}


def as_before(path: Path) -> None:
    """Turn a new file into one of the first format, which had no silent events."""
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE reports DROP COLUMN silent")
    database.execute("PRAGMA user_version = 1")
    database.commit()
    database.execute("VACUUM")
    database.close()


def careless() -> None:
    """Break the journal: an error on writing is passed over."""
    right = Journal.append

    def append(self, entries, snapshot=None):
        with contextlib.suppress(SojournError):
            right(self, entries, snapshot)

    Journal.append = append


def work(path: Path, limit: int, out: int) -> None:
    """Open, report, close; after an error try again, as a plant would, a few times."""
    controlling.SNAPSHOT_ROWS = 4
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for _ in range(4):
        try:
            with controlling.Controller.open(path) as controller:
                for _ in range(4):
                    try:
                        drive(controller, REPORTS, lambda text: os.write(out, text.encode()))
                        return
                    except SojournError:
                        continue
        except SojournError:
            continue


def run(folder: Path, kind: str, traced: list[str], limit: int = 0) -> tuple[dict[int, str], str, int]:
    """Let a fork work on a copy of the file, under strace; return what it acknowledged, what strace wrote, and how it ended."""
    for old in folder.glob("plant.control*"):
        old.unlink()
    path, calls = folder / "plant.control", folder / "calls"
    shutil.copy(folder / f"base-{kind}", path)
    (go, ready), (reading, out) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(go, 1)
            work(path, limit, out)
        finally:
            os._exit(0)
    os.close(out)
    names = [str(path), *(f"{path}{suffix}" for suffix in ("-wal", "-journal", ".format-1", f".format-1.{child}.new")), str(folder)]
    which = [part for name in names for part in ("-P", name)]
    calls.unlink(missing_ok=True)
    tracer = subprocess.Popen(["strace", "-qq", "-o", str(calls), *which, *traced, "-p", str(child)], stderr=subprocess.PIPE)
    while "TracerPid:\t0" in Path(f"/proc/{child}/status").read_text():
        if tracer.poll() is not None:
            raise SystemExit(f"strace cannot trace here: {tracer.stderr.read().decode()}")
        time.sleep(0.001)
    os.write(ready, b"x")
    heard = b""
    while part := os.read(reading, 1 << 16):
        heard += part
    _, status = os.waitpid(child, 0)
    tracer.wait()
    for end in (go, ready, reading):
        os.close(end)
    return parsed(heard.decode()), calls.read_text(errors="replace"), status


def verdict(folder: Path, kind: str, acknowledged: dict[int, str]) -> list[str]:
    """Judge the file; after a migration also the copy that was kept."""
    wrong = judge(folder / "plant.control", acknowledged)
    if kind == "migration" and not wrong and not (folder / "plant.control.format-1").exists():
        wrong = ["the file was migrated and its old content is not there"]
    return wrong


def campaign(folder: Path, kind: str, most: int) -> dict:
    """Let every call fail in every way; `most` draws that many at random instead."""
    folder.mkdir(parents=True, exist_ok=True)
    base, book = folder / f"base-{kind}", folder / f"{kind}.json"
    if not base.exists():
        create(base)
        with controlling.Controller.open(base) as controller:
            drive(controller, 7, lambda text: None)
        if kind == "migration":
            as_before(base)
    _, calls, _ = run(folder, kind, ["-e", f"trace={','.join(CALLS)}"])
    found = Counter(re.findall(r"^(\w+)\(", calls, re.MULTILINE))
    plan = [(call, fault.format(n=n)) for call, count in sorted(found.items()) for fault in FAULTS for n in range(1, count + 1)]
    plan += [("limit", str(size)) for size in range(4096, 160_000, 4096 * 3 + 1000)]
    if most:
        plan = random.Random(1).sample(plan, min(most, len(plan)))
    done = json.loads(book.read_text()) if book.exists() and not most else dict(NOTHING, wrong=[])
    for call, fault in plan[done["runs"]:]:
        if call == "limit":
            acknowledged, calls, status = run(folder, kind, ["-e", "trace=pwrite64"], int(fault))
            done["injected"] += "EFBIG" in calls or bool(re.search(r", (\d+), \d+\) += (?!\1\b)\d+$", calls, re.MULTILINE))
        else:
            acknowledged, calls, status = run(folder, kind, ["-e", f"trace={call}", "-e", f"inject={call}:{fault}"])
            done["injected"] += "INJECTED" in calls or os.WIFSIGNALED(status)
        done["runs"] += 1
        done["acknowledged"] += len(acknowledged)
        done["killed"] += os.WIFSIGNALED(status)
        done["wrong"] += [f"{call} {fault}: {text}" for text in verdict(folder, kind, acknowledged)]
        book.write_text(json.dumps(done))
        print(f"\r{done['runs']} of {len(plan)} runs, {len(done['wrong'])} wrong", end="", file=sys.stderr, flush=True)
    return {**done, "calls": dict(found), "planned": len(plan)}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--folder", type=Path, default=Path("/dev/shm/control-faults"))
    words.add_argument("--work", choices=["report", "migration"], default="report")
    words.add_argument("--most", type=int, default=0)
    words.add_argument("--mutant", choices=["", "careless"], default="")
    said = words.parse_args()
    if said.mutant:
        careless()
    counts = campaign(said.folder, said.work, said.most)
    print(json.dumps(counts))
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
