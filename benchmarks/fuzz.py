"""Random models of many shapes against exact rational arithmetic, for as long as told.

    python benchmarks/fuzz.py all --count 10000 --seed 1
    python benchmarks/fuzz.py evaluate --seconds 600 --shape wells --shape walk
    python benchmarks/fuzz.py --repeat failing.jsonl          the failing cases of an earlier run again
    python benchmarks/fuzz.py solve --seed 1 --first 4711 --count 1

Case i of seed k is the same always.  A table of shape x verdict is printed; false intervals, nan and tracebacks, and cases
without an answer after 60 s of the processor, are written to a file and make the exit code 1.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from shapes import SHAPES, case
from verdicts import FAILURES, JUDGES, judged


def cases(options: argparse.Namespace):
    """Yield (question, case) until the count or the time is used up, or the file to repeat ends."""
    if options.repeat:
        for line in Path(options.repeat).read_text(encoding="utf-8").splitlines():
            old = json.loads(line)
            yield old["question"], case(old["seed"], old["index"], tuple(old["shapes"]) if old["shapes"] else None)
        return
    questions = list(JUDGES) if options.question == "all" else [options.question]
    until, index = time.monotonic() + options.seconds, options.first
    while index < options.first + options.count and time.monotonic() < until:
        drawn = case(options.seed, index, tuple(options.shape) if options.shape else None)
        for question in questions:
            yield question, drawn
        index += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default="all", choices=[*JUDGES, "all"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--count", type=int, default=200, help="number of models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only this shape (may be repeated)")
    parser.add_argument("--repeat", help="a file of failing cases")
    parser.add_argument("--failing", default="failing.jsonl", help="where failing cases are written")
    options = parser.parse_args()
    counts: dict[tuple[str, str], Counter] = defaultdict(Counter)
    widest: dict[tuple[str, str], float] = defaultdict(float)
    slowest: dict[tuple[str, str], float] = defaultdict(float)
    models, failures, began = set(), [], time.monotonic()
    for question, drawn in cases(options):
        verdict = judged(question, drawn)
        key = question, drawn.shape
        models.add(drawn.name)
        counts[key][verdict.kind] += 1
        widest[key], slowest[key] = max(widest[key], verdict.width), max(slowest[key], verdict.seconds)
        if verdict.kind in FAILURES:
            failures.append({"question": question, "seed": drawn.seed, "index": drawn.index, "shape": drawn.shape,
                             "shapes": options.shape, "kind": verdict.kind, "detail": verdict.detail})
            words = verdict.detail.splitlines()[0][:200]
            print(f"{question} {drawn.name} ({drawn.shape}): {verdict.kind}: {words}", file=sys.stderr)
    kinds = ["proved", "refused", "not judged", *(k for k in FAILURES if any(c[k] for c in counts.values()))]
    print(f"{'':32}" + "".join(f"{kind:>12}" for kind in kinds) + f"{'widest':>12}{'slowest s':>12}")
    for key in sorted(counts):
        print(f"{key[0]:12}{key[1]:20}" + "".join(f"{counts[key][kind]:12}" for kind in kinds)
              + f"{widest[key]:12.1e}{slowest[key]:12.2f}")
    total = sum(counts.values(), Counter())
    print(f"{'all':32}" + "".join(f"{total[kind]:12}" for kind in kinds))
    print(f"{len(models)} models in {time.monotonic() - began:.0f} s, {len(failures)} failures")
    if failures and not options.repeat:
        Path(options.failing).write_text("".join(json.dumps(f) + "\n" for f in failures), encoding="utf-8")
        print(f"failing cases in {options.failing}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
