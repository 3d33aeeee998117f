"""Kill a controller with -9 at random instants, again and again, and look for anything lost, doubled or different.

    python benchmarks/control_kill.py [--kills 10000] [--fresh 500] [--folder /dev/shm/control-kill] [--late 0] [--mutant early]

Each round a process (forked from this warmed one; `--fresh` of them started anew) opens the controller, carries out actions of a
plant whose events are functions of their number, and says `seq answer` through a pipe after each acknowledgement; it is killed
at a random instant.  Then every acknowledged report must be in the file, with its answer.  After every `--rounds` kills the whole
file is judged: chain, fold equal to journal, every row what the plant reported; and an uninterrupted controller fed the same
reports must be in the same state to the last byte (unless a kill in the middle of a write was noted as a torn one: `torn`).
The script can be stopped and started again: what it has counted is in the folder. A process kill does not need a real disk:
what the kernel has been given survives it. For losses of power see control_power.py.

`--late K` lets plans come late (then nothing uninterrupted can be compared, since it depends on times when they come).
`--mutant early` acknowledges before it commits, and must be caught.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _control import create, drive, judge, missing, parsed

from sojourn.control import controller as controlling
from sojourn.control.controller import Controller
from sojourn.control.journal import Journal

controlling.SNAPSHOT_ROWS = 100  # more of them, and less to fold again after each kill


def acknowledge_early() -> None:
    """Break the journal: a report is committed only when the next one comes."""
    right = Journal.append
    waiting: list[tuple] = []

    def append(self, entries, snapshot=None):
        for held in waiting:
            self.head = held[2]
            right(self, *held[:2])
        waiting.clear()
        before, self_head = self.head, self.head
        from sojourn.control.journal import Head, linked
        for entry in entries:
            chain = linked(self_head.chain, entry)
            self_head = Head(getattr(entry, "seq", self_head.seq), getattr(entry, "number", self_head.note), chain)
        waiting.append((entries, snapshot, before))
        self.head = self_head

    Journal.append = append


def work(path: Path, out: int) -> None:
    """Open, report and acknowledge until killed; now and then close and open again."""
    number = random.Random(os.urandom(8))
    while True:
        with Controller.open(path) as controller:
            last = controller.status()["next_seq"] - 1
            if last:  # the plant may not know whether its last report arrived: it says it again
                row = controller._journal.report(last)
                assert json.dumps(controller.report(last, row.holding_time, tuple(json.loads(row.next_state)))) == row.answer
            drive(controller, number.randrange(1, 200), lambda text: os.write(out, text.encode()))


def forked(path: Path) -> tuple[int, int]:
    """Start `work` in a fork; return its process id and the pipe's reading end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    return child, reading


def started(path: Path, mutant: str) -> tuple[int, int]:
    """Start `work` in a process of its own."""
    reading, writing = os.pipe()
    command = [sys.executable, __file__, "--child", str(path), "--out", str(writing), "--mutant", mutant]
    child = subprocess.Popen(command, pass_fds=[writing])
    os.close(writing)
    child.returncode = 0  # waited for below
    return child.pid, reading


def warm(folder: Path) -> None:
    """Work a little in this process, so that its forks have everything compiled."""
    path = folder / "warm.control"
    path.unlink(missing_ok=True)
    create(path)
    with Controller.open(path) as controller:
        drive(controller, 100, lambda text: None)
    path.unlink()


def round_of(path: Path, fresh: bool, mutant: str, chance: random.Random) -> dict[int, str]:
    """Let one process work and kill it at a random instant; return what it acknowledged.

    Most are killed a random moment after a random number of acknowledgements, however slow the machine is; some after a random
    time alone, which may be while they open the file.
    """
    child, reading = started(path, mutant) if fresh else forked(path)
    heard, wanted = b"", 1 + int(chance.expovariate(1 / 35))
    if chance.random() < (0.05 if fresh else 0.15):
        wanted = 0
    while heard.count(b"\n") < wanted and (part := os.read(reading, 1 << 16)):
        heard += part
    time.sleep(chance.expovariate(1 / 0.001) if wanted else chance.expovariate(1 / (1.0 if fresh else 0.02)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reading, 1 << 16):
        heard += part
    os.close(reading)
    return parsed(heard.decode())


def campaign(folder: Path, kills: int, fresh: int, rounds: int, mutant: str = "", late: int = 0) -> dict:
    """Go on until `kills` kills are counted in the folder; return the counts."""
    folder.mkdir(parents=True, exist_ok=True)
    book, path, heard = folder / "counts.json", folder / "plant.control", folder / "acknowledged.json"
    counts = {"kills": 0, "fresh": 0, "acknowledged": 0, "judged": 0, "wrong": []}
    if book.exists():
        counts = json.loads(book.read_text())
    acknowledged = {int(k): v for k, v in json.loads(heard.read_text()).items()} if heard.exists() else {}
    chance = random.Random(counts["kills"])
    warm(folder)
    if mutant:
        acknowledge_early()
    while counts["kills"] < kills and not counts["wrong"]:
        if not path.exists():
            create(path, max_late=late)
            acknowledged = {}
        due = counts["fresh"] < fresh and counts["kills"] * fresh >= counts["fresh"] * kills
        new = round_of(path, due, mutant, chance)
        counts["kills"] += 1
        counts["fresh"] += due
        counts["acknowledged"] += len(new)
        for seq, answer in new.items():
            if acknowledged.setdefault(seq, answer) != answer:
                counts["wrong"].append(f"report {seq} was answered twice, {acknowledged[seq]} and {answer}")
        whole = counts["kills"] % rounds == 0 or counts["kills"] == kills
        counts["wrong"] += judge(path, acknowledged) if whole else missing(path, new)
        if whole:
            counts["judged"] += 1
            wrong, torn = ([], 0) if counts["wrong"] or late else compared(folder, path)
            counts["wrong"] += wrong
            counts["torn"] = counts.get("torn", 0) + torn
            if not counts["wrong"]:
                for old in folder.glob("plant.control*"):
                    old.unlink()
                acknowledged = {}
        heard.write_text(json.dumps(acknowledged))
        book.write_text(json.dumps(counts))
        if counts["kills"] % 50 == 0:
            print(f"\r{counts['kills']} kills, {counts['acknowledged']} acknowledged", end="", file=sys.stderr, flush=True)
    return counts


def compared(folder: Path, path: Path) -> tuple[list[str], int]:
    """Compare with a controller that was never interrupted; return also how many torn writes were noted, where they differ."""
    twin = folder / "twin.control"
    twin.unlink(missing_ok=True)
    create(twin)
    with Controller.open(path) as killed, Controller.open(twin) as whole:
        whole.report_many({"seq": o.seq, "holding_time": o.holding_time, "next_state": o.next_state}
                          for o in killed.observations())
        torn = sum(alarm.kind == "torn write" for alarm in killed.alarms)
        same = torn or killed._fold.to_bytes() == whole._fold.to_bytes()
    twin.unlink()
    return ([] if same else ["the state differs from that of a controller that was never interrupted"]), torn


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--kills", type=int, default=10_000)
    words.add_argument("--fresh", type=int, default=500)
    words.add_argument("--rounds", type=int, default=200)
    words.add_argument("--folder", type=Path, default=Path("/dev/shm/control-kill"))
    words.add_argument("--late", type=int, default=0)
    words.add_argument("--mutant", choices=["", "early"], default="")
    words.add_argument("--child", type=Path)
    words.add_argument("--out", type=int)
    said = words.parse_args()
    if said.child:
        if said.mutant:
            acknowledge_early()
        work(said.child, said.out)
    counts = campaign(said.folder, said.kills, said.fresh, said.rounds, said.mutant, said.late)
    print(json.dumps(counts))
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
