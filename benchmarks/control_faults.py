"""Let every write of a controller fail, one after the other: input/output error, full disk, short write, death in the middle.

    python benchmarks/control_faults.py [--folder /dev/shm/control-faults] [--most 0] [--work report|migration]

A process goes on with a controller: it opens it, reports twelve times (a report that raises is said again, as a plant would), with
snapshots in between, and closes it; `--work migration` brings an older file up to date first.  It runs under `strace`, which lets
the n-th call of one kind on the controller's files fail (EIO, ENOSPC, once or from then on) or kills the process there, for every
kind of call that writes and every n.  Short writes come from a limit on the size of files.  Afterwards the file is judged without
faults: every acknowledged report is there, once, and the fold equals the journal.  A campaign that was stopped goes on where it
stopped.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _control import create, drive, judge, parsed

from sojourn.control import controller as controlling
from sojourn.errors import SojournError

CALLS = ("pwrite64", "write", "ftruncate", "fdatasync", "fsync", "unlink", "rename", "link", "openat")
FAULTS = ("error=EIO:when={n}", "error=ENOSPC:when={n}", "error=ENOSPC:when={n}+", "signal=KILL:when={n}")
REPORTS = 12


def as_before(path: Path) -> None:
    """Turn a new file into one of the first format, which had no silent events."""
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE reports DROP COLUMN silent")
    database.execute("PRAGMA user_version = 1")
    database.commit()
    database.execute("VACUUM")
    database.close()


def work(path: Path, limit: int) -> None:
    """Open, report, close; after an error try again, as a plant would, a few times."""
    controlling.SNAPSHOT_ROWS = 4
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for _ in range(4):
        try:
            with controlling.Controller.open(path) as controller:
                for _ in range(4):
                    try:
                        drive(controller, REPORTS, lambda text: os.write(1, text.encode()))
                        return
                    except SojournError as error:
                        os.write(2, f"{error}\n".encode())
        except SojournError as error:
            os.write(2, f"{error}\n".encode())


def run(folder: Path, kind: str, inject: list[str], limit: int = 0) -> tuple[dict[int, str], str]:
    """Run `work` on a copy of the file; return what was acknowledged, and what strace wrote."""
    for old in folder.glob("plant.control*"):
        old.unlink()
    path = folder / "plant.control"
    shutil.copy(folder / f"base-{kind}", path)
    names = [str(path), *(f"{path}{suffix}" for suffix in ("-wal", "-journal", ".format-1")), str(folder)]
    which = [part for name in names for part in ("-P", name)] if kind != "migration" else []
    command = ["strace", "-f", "-qq", "-o", str(folder / "calls"), *which, *inject, sys.executable, __file__,
               "--child", str(path), "--work", kind, "--limit", str(limit)]
    ran = subprocess.run(command, capture_output=True, text=True)
    return parsed(ran.stdout), (folder / "calls").read_text(errors="replace")


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
    _, calls = run(folder, kind, ["-e", f"trace={','.join(CALLS)}"])
    found = Counter(re.findall(r"^\d+ +(\w+)\(", calls, re.MULTILINE))
    plan = [(call, fault.format(n=n)) for call, count in sorted(found.items()) for fault in FAULTS for n in range(1, count + 1)
            if not (kind == "migration" and call in ("openat", "write"))]  # those of Python itself
    plan += [("limit", str(size)) for size in range(4096, 160_000, 4096 * 3 + 1000)]
    if most:
        plan = random.Random(1).sample(plan, min(most, len(plan)))
    done = json.loads(book.read_text()) if book.exists() and not most else {"runs": 0, "acknowledged": 0, "killed": 0, "wrong": []}
    for call, fault in plan[done["runs"]:]:
        if call == "limit":
            acknowledged, _ = run(folder, kind, ["-e", "trace=none"], int(fault))
        else:
            acknowledged, _ = run(folder, kind, ["-e", f"trace={call}", "-e", f"inject={call}:{fault}"])
        done["runs"] += 1
        done["acknowledged"] += len(acknowledged)
        done["killed"] += "KILL" in fault
        done["wrong"] += [f"{call} {fault}: {text}" for text in verdict(folder, kind, acknowledged)]
        book.write_text(json.dumps(done))
        print(f"\r{done['runs']} of {len(plan)} runs, {len(done['wrong'])} wrong", end="", file=sys.stderr, flush=True)
    return {**done, "calls": dict(found), "planned": len(plan)}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--folder", type=Path, default=Path("/dev/shm/control-faults"))
    words.add_argument("--work", choices=["report", "migration"], default="report")
    words.add_argument("--most", type=int, default=0)
    words.add_argument("--child", type=Path)
    words.add_argument("--limit", type=int, default=0)
    said = words.parse_args()
    if said.child:
        work(said.child, said.limit)
        return
    counts = campaign(said.folder, said.work, said.most)
    print(json.dumps(counts))
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
