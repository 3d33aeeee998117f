"""Flipped bits, reports said again and out of order, and processes that race for one controller.

    python benchmarks/control_damage.py flips [--count 10000] [--folder /dev/shm/control-damage]
    python benchmarks/control_damage.py again [--count 1000000]
    python benchmarks/control_damage.py race [--count 1000] [--mutant no-lock]

- flips: one bit of the file (closed, or as a crash leaves it, with its log) is flipped; then everything is read and verified.
  Either that is noticed, or nothing at all has changed; a flip that changes what is read and is not noticed is *silent*, and
  there must be none.
- again: reports that came before, late, altered, or too early leave every count as it was.
- race: two processes open the same controller again and again; never are two of them owners at once, and nothing acknowledged is
  lost. With `--mutant no-lock` the kernel's lock is left out: two owners must then be seen, and by the token in the file
  no report is acknowledged twice. (Since files have a mark for their log, such a file may be refused afterwards.)
"""

import argparse
import json
import os
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _control import create, drive, judge, parsed

from sojourn.control import controller as controlling
from sojourn.control import lock
from sojourn.control.controller import Controller
from sojourn.errors import ControlError, ReportError, SojournError


def seen(path: Path) -> tuple:
    """Return everything that can be read from a controller's file, verified; an alarm about a torn write is an error."""
    with Controller.open(path) as controller:
        if any(alarm.kind == "torn write" for alarm in controller.alarms):
            raise ControlError(f"{controller.alarms[-1].text}")
        rows = tuple(controller.observations())
        checked = controller.verify()
        again = tuple(controller.report(o.seq, o.holding_time, o.next_state) for o in rows[::7])
        return rows, again, checked["chain"], controller._fold.to_bytes()


def images(folder: Path) -> list[Path]:
    """Make a closed controller, and one as a crash leaves it; return both paths."""
    closed, live, crashed = (folder / name / "plant.control" for name in ("closed", "live", "crashed"))
    controlling.SNAPSHOT_ROWS = 25
    for path in (closed, live):
        path.parent.mkdir(parents=True, exist_ok=True)
        create(path)
    for path in (closed, live):
        with Controller.open(path) as controller:
            drive(controller, 40, lambda text: None)
            controller.missed(("up", 0))
            drive(controller, 30, lambda text: None)
            if path is live:
                shutil.copytree(path.parent, crashed.parent, dirs_exist_ok=True)
    (crashed.parent / "plant.control-shm").unlink(missing_ok=True)
    return [closed, crashed]


def flips(folder: Path, count: int, seed: int) -> dict:
    """Flip `count` bits, one at a time."""
    shutil.rmtree(folder, ignore_errors=True)
    found = {"flips": 0, "noticed": 0, "without_effect": 0, "silent": []}
    chance, work = random.Random(seed), folder / "work"
    for source in images(folder):
        files = {file.name: file.read_bytes() for file in source.parent.iterdir()}
        right = None
        for trial in range(count // 2 + 1):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            for name, data in files.items():
                (work / name).write_bytes(data)
            if trial == 0:
                right = seen(work / source.name)
                continue
            name = chance.choices(list(files), [len(data) for data in files.values()])[0]
            at, bit = chance.randrange(len(files[name])), chance.randrange(8)
            broken = bytearray(files[name])
            broken[at] ^= 1 << bit
            (work / name).write_bytes(broken)
            found["flips"] += 1
            try:
                if seen(work / source.name) == right:
                    found["without_effect"] += 1
                else:
                    found["silent"].append(f"{source.parent.name}/{name} byte {at} bit {bit}")
            except SojournError:
                found["noticed"] += 1
            if found["flips"] % 100 == 0:
                print(f"\r{found['flips']} flips, {len(found['silent'])} silent", end="", file=sys.stderr, flush=True)
    return found


def again(folder: Path, count: int, seed: int) -> dict:
    """Say reports again, late, altered and too early."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path, chance, counts = folder / "plant.control", random.Random(seed), {"same": 0, "altered": 0, "early": 0}
    create(path)
    with Controller.open(path) as controller:
        drive(controller, 2000, lambda text: None)
        rows, before = list(controller.observations()), (controller.status(), controller._fold.to_bytes())
        for _ in range(count):
            row, kind = chance.choice(rows), chance.choices(["same", "altered", "early"], [8, 1, 1])[0]
            counts[kind] += 1
            try:
                if kind == "same":
                    assert controller.report(row.seq, row.holding_time, row.next_state) == row.advised
                    continue
                if kind == "altered":
                    controller.report(row.seq, row.holding_time * 2, row.next_state)
                else:
                    controller.report(len(rows) + 2 + chance.randrange(100), row.holding_time, row.next_state)
            except ReportError:
                continue
            raise AssertionError(f"a report that was {kind} was taken")
        assert (controller.status(), controller._fold.to_bytes()) == before
        assert list(controller.observations()) == rows and controller.verify()["reports"] == len(rows)
    return {"reports": len(rows), **counts, "counts_changed": 0}


def contend(path: Path, diary: int, end: float, out: int, chance: random.Random) -> None:
    """Open whenever it can be, write into the diary when one is owner, report a few times, close."""
    while time.monotonic() < end:
        try:
            with Controller.open(path) as controller:
                os.write(diary, b"+")
                drive(controller, chance.randrange(1, 4), lambda text: os.write(out, text.encode()))
                os.write(diary, b"-")
        except ControlError:
            time.sleep(0.001 * chance.random())


def race(folder: Path, count: int, seed: int, mutant: str) -> dict:
    """Let two processes contend until the diary has `count` turns."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "plant.control"
    create(path)
    if mutant:
        lock.locked = lambda file: True
    diary = os.open(folder / "diary", os.O_CREAT | os.O_APPEND | os.O_RDWR)
    outs, end = [], time.monotonic() + count * 0.12 + 2
    for i in range(2):
        outs.append(os.open(folder / f"said-{i}", os.O_CREAT | os.O_APPEND | os.O_RDWR))
        if os.fork() == 0:
            try:
                contend(path, diary, end, outs[i], random.Random(seed + i))
            finally:
                os._exit(0)
    for _ in range(2):
        os.wait()
    lock.locked = RIGHT_LOCK
    turns = (folder / "diary").read_bytes()
    two = turns.count(b"++")
    said = [parsed((folder / f"said-{i}").read_text()) for i in range(2)]
    both = set(said[0]) & set(said[1])
    wrong = judge(path, {**said[0], **said[1]}) + ([f"reports {sorted(both)[:5]} were acknowledged twice"] if both else [])
    return {"turns": turns.count(b"+"), "turns_of_each": [len(s) for s in said], "two_owners_at_once": two, "wrong": wrong}


RIGHT_LOCK = lock.locked


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("part", choices=["flips", "again", "race"])
    words.add_argument("--count", type=int)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--folder", type=Path, default=Path("/dev/shm/control-damage"))
    words.add_argument("--mutant", choices=["", "no-lock"], default="")
    said = words.parse_args()
    if said.part == "flips":
        found = flips(said.folder, said.count or 10_000, said.seed)
        bad = bool(found["silent"])
    elif said.part == "again":
        found, bad = again(said.folder, said.count or 1_000_000, said.seed), False
    else:
        found = race(said.folder, said.count or 1000, said.seed, said.mutant)
        bad = bool(found["wrong"] or found["two_owners_at_once"])
    print(json.dumps(found))
    sys.exit(bad)


if __name__ == "__main__":
    main()
