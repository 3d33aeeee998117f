"""Losses of power: disk images as they could be found after one, built from the recorded system calls of a working controller.

    python benchmarks/control_power.py [--images 2000] [--reports 400] [--folder .cache/control-power] [--mutant no-fsync|normal]

A process creates a controller and reports, under `strace`, which records every write with its bytes, and every sync.  Replaying the
record up to any call gives what the disk must hold (all that was synced) and what it may hold: each sector of 512 bytes written
since the last sync is there or not, independently; each name made or removed since the folder's last sync likewise.  Such images
are drawn at random instants, opened, and judged: every report that was acknowledged before that instant must be in the file.

The mutants must be caught: `no-fsync` (SQLite's synchronous = OFF) and `normal` (synchronous = NORMAL, which syncs the log only
when it is copied into the file).
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _control import MODEL, START, drive, judge, parsed

from sojourn.control import controller as controlling
from sojourn.control import journal as journals

SECTOR = 512
CALLS = "openat,open,creat,close,write,pwrite64,ftruncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,link,linkat"
LINE = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+)", re.DOTALL)
ARGUMENT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?|([^,\s"]+)')


def work(path: Path, reports: int, mutant: str) -> None:
    """Create, report, close, open again and report more; say each acknowledgement on stdout."""
    if mutant:
        right = journals.open_writing

        def careless(where):
            database = right(where)
            database.execute(f"PRAGMA synchronous = {'OFF' if mutant == 'no-fsync' else 'NORMAL'}")
            return database

        journals.open_writing = careless
    controlling.SNAPSHOT_ROWS = 20
    controller = controlling.Controller.create(path, MODEL.knowledge(), "ct-ucrl", START, parameters={"delta": 0.01})
    os.write(1, b"0 created\n")
    for part in (reports // 2, reports - reports // 2):
        drive(controller, part, lambda text: os.write(1, text.encode()))
        controller.close()
        controller = controlling.Controller.open(path)
    controller.close()


def recorded(folder: Path, reports: int, mutant: str) -> list[tuple[str, list, int]]:
    """Run `work` under strace; return its calls as (name, arguments, result)."""
    log = folder / "calls"
    command = ["strace", "-f", "-qq", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-e", "signal=none",
               "-o", str(log), sys.executable, __file__, "--child", str(folder / "live" / "plant.control"),
               "--reports", str(reports), "--mutant", mutant]
    (folder / "live").mkdir(parents=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    calls = []
    with open(log, encoding="ascii") as lines:
        for line in lines:
            found = LINE.match(line)
            if found and int(found[3]) >= 0:
                parts = [bytes.fromhex(m[1].replace("\\x", "")) if m[3] is None else m[3] for m in ARGUMENT.finditer(found[2])]
                calls.append((found[1], parts, int(found[3])))
    log.unlink()
    return calls


class File:
    """A file's content: what is synced, and the writes since."""

    def __init__(self) -> None:
        self.synced, self.now, self.since = b"", bytearray(), []

    def write(self, at: int, data: bytes) -> None:
        self.now[len(self.now):at] = b"\0" * (at - len(self.now))
        self.now[at:at + len(data)] = data
        self.since.append((at, bytes(data)))

    def cut(self, size: int) -> None:
        self.now[size:] = b""
        self.now += b"\0" * (size - len(self.now))
        self.since.append((size, None))

    def sync(self) -> None:
        self.synced, self.since = bytes(self.now), []

    def after_power_loss(self, chance: random.Random) -> bytes:
        """Return a content that may be found: each sector written since the last sync is there or not."""
        share = chance.choice([0.0, 0.5, 0.9, 1.0])
        found = bytearray(self.synced)
        for at, data in self.since:
            if data is None:
                if chance.random() < share:
                    found[at:] = b""
                    found += b"\0" * (at - len(found))
                continue
            for begin in range(0, len(data), SECTOR):
                if chance.random() < share:
                    place = at + begin
                    found[len(found):place] = b"\0" * (place - len(found))
                    found[place:place + SECTOR] = data[begin:begin + SECTOR]
        return bytes(found)


class Disk:
    """The files of one folder while calls are replayed, and what has been acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.names, self.synced_names, self.open, self.places = os.fsencode(folder), {}, {}, {}, {}
        self.acknowledged, self.created = {}, False

    def inside(self, name: bytes) -> bytes | None:
        return name[len(self.folder) + 1:] if name.startswith(self.folder + b"/") else None

    def call(self, name: str, args: list, result: int) -> None:
        """Replay one call."""
        paths = [self.inside(a) for a in args if isinstance(a, bytes) and a.startswith(b"/")]
        if name in ("openat", "open", "creat"):
            whole = next(a for a in args if isinstance(a, bytes))
            self.open.pop(result, None)
            self.places[result] = 0
            if whole == self.folder:
                self.open[result] = "folder"
            elif paths and paths[0] is not None:
                self.open[result] = self.names.setdefault(paths[0], File()) if "O_CREAT" in str(args) else self.names.get(paths[0])
                if "O_TRUNC" in str(args):
                    self.open[result].cut(0)
        elif name == "close":
            self.open.pop(int(args[0]), None)
        elif name == "write" and args[0] == "1":
            for seq, answer in parsed(args[1].decode()).items():
                self.created = True
                if seq:
                    self.acknowledged[seq] = answer
        elif name in ("write", "pwrite64", "ftruncate", "fsync", "fdatasync") and self.open.get(int(args[0])) is not None:
            self.on(name, self.open[int(args[0])], args, result)
        elif name.startswith("unlink") and paths and paths[0] is not None:
            self.names.pop(paths[0], None)
        elif name.startswith("rename") and paths and paths[0] is not None:
            self.names[paths[1]] = self.names.pop(paths[0])
        elif name.startswith("link") and paths and paths[0] is not None:
            self.names[paths[1]] = self.names[paths[0]]

    def on(self, name: str, file, args: list, result: int) -> None:
        if file == "folder":
            if "sync" in name:
                self.synced_names = dict(self.names)
        elif name == "pwrite64":
            file.write(int(args[3]), args[1][:result])
        elif name == "write":
            file.write(self.places[int(args[0])], args[1][:result])
            self.places[int(args[0])] += result
        elif name == "ftruncate":
            file.cut(int(args[1]))
        else:
            file.sync()

    def image(self, target: Path, chance: random.Random) -> None:
        """Write a folder as it may be found after a loss of power now."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in {*self.names, *self.synced_names}:
            choices = {id(f): f for f in (self.names.get(name), self.synced_names.get(name))}
            file = choices[chance.choice(list(choices))]
            if file is not None and not name.endswith(b"-shm"):  # the index of the log, which is made anew
                (target / os.fsdecode(name)).write_bytes(file.after_power_loss(chance))


def campaign(folder: Path, reports: int, images: int, mutant: str, seed: int) -> dict:
    """Record, draw images, judge each; stop at the first that is wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    calls = recorded(folder, reports, mutant)
    disk, chance = Disk(folder / "live"), random.Random(seed)
    counts = {"calls": len(calls), "syncs": sum("sync" in c[0] for c in calls), "images": 0, "wrong": []}
    first = next(i for i, c in enumerate(calls) if any(isinstance(a, bytes) and disk.inside(a) for a in c[1]))
    each = images / (len(calls) - first)
    for i, call in enumerate(calls):
        disk.call(*call)
        for _ in range(int(each) + (chance.random() < each % 1) if i >= first else 0):
            disk.image(folder / "image", chance)
            counts["images"] += 1
            path = folder / "image" / "plant.control"
            if path.exists() or disk.created:
                wrong = judge(path, disk.acknowledged)
                if wrong:
                    counts["wrong"] = [f"after call {i} of {len(calls)}: {text}" for text in wrong]
                    return counts
    counts["acknowledged"] = len(disk.acknowledged)
    return counts


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--images", type=int, default=2000)
    words.add_argument("--reports", type=int, default=400)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--folder", type=Path, default=Path(".cache/control-power"))
    words.add_argument("--mutant", choices=["", "no-fsync", "normal"], default="")
    words.add_argument("--child", type=Path)
    said = words.parse_args()
    if said.child:
        work(said.child, said.reports, said.mutant)
        return
    counts = campaign(said.folder.absolute(), said.reports, said.images, said.mutant, said.seed)
    print(json.dumps(counts))
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
