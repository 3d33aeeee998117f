"""Every family of the zoo over sizes, loads and scales of rates: solved with proof, evaluated with proof, and never wrong.

    python benchmarks/zoo_sweep.py                          or with --quick: some seconds
    python benchmarks/zoo_sweep.py --all --workers 2        the whole sweep; stop it and start it again, it goes on
    python benchmarks/zoo_sweep.py --limit 1000 --family tandem --family admission
    python benchmarks/zoo_sweep.py --table                  only the table of what is in the file

Each case runs in a process of its own kind that is ended when one call (solve, evaluate) takes more than 60 s (on a machine that
does other work too, give a larger --budget: the table shows seconds of the processor).  A record per case goes to a file of JSON
lines; cases found there are not run again, except with --again those that were not proved.
"""

import argparse
import json
import multiprocessing as mp
import sys
import time
from collections import Counter, defaultdict
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from zoo_cases import FAMILIES, ZooCase, cases, quick_cases, run

STEPS = ("solve", "optimal", "random")
FINE = ("proved", "tiny gain", "several classes")


def serve(pipe: Connection) -> None:
    """A worker: runs the cases it is sent, tells each step as it begins, and sends the record."""
    while True:
        case, only = pipe.recv()
        try:
            record = run(case, lambda step, so_far: pipe.send(("step", (step, so_far))), only)
        except Exception as error:
            record = {**vars(case), "states": 0, "wrong": [f"the sweep itself: {type(error).__name__}: {error}"]}
        pipe.send(("done", record))


class Worker:
    """A process with a pipe, the case it works on, what is known of it, and since when its present step runs."""

    def __init__(self) -> None:
        self.pipe, other = mp.Pipe()
        self.process = mp.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.case: ZooCase | None = None
        self.lost = False
        self.begin("build", {})

    def begin(self, step: str, record: dict) -> None:
        self.step, self.record, self.since = step, record, time.monotonic()

    def give(self, case: ZooCase, only: str = "") -> None:
        self.case = case
        self.begin("build", {})
        self.pipe.send((case, only))

    def end(self, why: str) -> dict:
        """End the process; return the record of the case up to here."""
        self.process.kill()
        self.process.join()
        record = self.record or {**vars(self.case), "states": self.case.size, "wrong": []}
        spent = round(time.monotonic() - self.since, 3)
        return {**record, self.step: {"status": why, "seconds": spent, "why": f"{why} in {self.step}"}}


def records(todo: list[ZooCase], workers: int, budget: float):
    """Yield the record of every case, in the order in which they end.

    Where solving or the optimal policy gets no answer, the random policy is evaluated all the same, by another process.
    """
    queue: list[tuple[ZooCase, str]] = [(case, "") for case in reversed(todo)]
    begun: dict[str, dict] = {}
    team = [Worker() for _ in range(min(workers, len(todo)))]
    while queue or any(w.case for w in team):
        for worker in team:
            if not worker.case and queue:
                worker.give(*queue.pop())
        for pipe in wait([w.pipe for w in team if w.case], timeout=1.0):
            worker = next(w for w in team if w.pipe is pipe)
            try:
                kind, content = pipe.recv()
            except EOFError:
                kind, content = "lost", "crashed"
            if kind == "step":
                worker.begin(*content)
            elif kind == "done":
                yield {**content, **begun.pop(worker.case.name, {})}
                worker.case = None
            else:
                worker.lost = True
        for i, worker in enumerate(team):
            over = worker.step in STEPS and time.monotonic() - worker.since > budget
            if worker.case and (over or worker.lost):
                case, step, record = worker.case, worker.step, worker.end("crashed" if worker.lost else "stuck")
                team[i] = Worker()
                if step in ("solve", "optimal"):
                    begun[case.name] = {name: record[name] for name in ("solve", "optimal") if name in record}
                    queue.append((case, "random"))
                else:
                    yield {**record, **begun.pop(case.name, {})}
    for worker in team:
        worker.process.kill()


def fine(record: dict) -> bool:
    """Whether everything was proved and nothing is wrong."""
    return not record["wrong"] and all(record.get(step, {}).get("status") in FINE for step in STEPS)


def size_class(size: int) -> str:
    return "to 10^3" if size <= 1000 else "to 10^4" if size <= 10_000 else "10^5"


def table(found: list[dict]) -> str:
    """Counts of cases by family and size, and of calls by how they ended."""
    head = ("cases", "all proved", "wide", "refused", "stuck", "traceback", "wrong", "tiny gain", "checked", "slowest s")
    rows, slow = defaultdict(Counter), defaultdict(float)
    for record in found:
        for key in ((record["family"], size_class(record["size"])), ("all", size_class(record["size"]))):
            count = rows[key]
            states = [record.get(step, {}) for step in STEPS]
            count["cases"] += 1
            count["all proved"] += fine(record)
            count["wrong"] += bool(record["wrong"])
            for kind in ("wide", "refused", "stuck", "traceback", "tiny gain"):
                count[kind] += any(s.get("status") == kind for s in states)
            count["traceback"] += any(s.get("status") == "crashed" for s in states)
            count["checked"] += any(s.get("checked") for s in states)
            slow[key] = max(slow[key], *(s.get("seconds", 0.0) for s in states))
    lines = ["| family | states | " + " | ".join(head) + " |", "|---|---|" + "---:|" * len(head)]
    for key in sorted(rows, key=lambda k: (k[0] == "all", k[0], len(k[1]), k[1])):
        cells = [str(rows[key][name]) for name in head[:-1]]
        lines.append(f"| {key[0]} | {key[1]} | {' | '.join(cells)} | {slow[key]:.2f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default="zoo_sweep.jsonl", help="where the records are kept")
    parser.add_argument("--limit", type=int, default=100_000, help="largest size")
    parser.add_argument("--smallest", type=int, default=0, help="smallest size")
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for one call")
    parser.add_argument("--all", action="store_true", help="the whole sweep")
    parser.add_argument("--quick", action="store_true", help="a few cases of each family (the default without arguments)")
    parser.add_argument("--again", action="store_true", help="run again what was not proved")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.quick |= len(sys.argv) == 1
    path = Path(options.file)
    found = {}
    if path.exists() and not options.quick:
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            found[ZooCase(record["family"], record["size"], record["load"], record["scale"]).name] = record
        if options.again:
            found = {name: record for name, record in found.items() if fine(record)}
    if not options.table:
        wanted = quick_cases() if options.quick else cases(options.limit, options.family)
        todo = [case for case in wanted if case.name not in found and case.size >= options.smallest]
        began = time.monotonic()
        for i, record in enumerate(records(todo, options.workers, options.budget), 1):
            case = ZooCase(record["family"], record["size"], record["load"], record["scale"])
            found[case.name] = record
            if not options.quick:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
            if not fine(record):
                why = record["wrong"] or [f"{s}: {record[s].get('why', record[s]['status'])}" for s in STEPS
                                          if record.get(s, {}).get("status", "proved") not in FINE]
                print(f"{case.name}: {str(why)[:300]}", file=sys.stderr)
            if i % 100 == 0:
                print(f"{i} of {len(todo)} in {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(table(list(found.values())))
    return 0 if all(fine(record) for record in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
