"""`solve` beside the solvers of other packages: the same models, the same precision (1e-6 relative), a process for each.

    python benchmarks/solving.py --peers PYTHON [--states 1000000] [--minutes 10] [--only TEXT] [--json FILE] [--programs A,B]
    python benchmarks/solving.py --json FILE --markdown

PYTHON is the interpreter of an environment with `stormpy`, `mdpsolver` and `pymdptoolbox`; without it only our own figures are
printed.  Every process is held to one processor.  Storm reads `.drn` files: the uniformized model as an MDP, and the model itself
as a Markov automaton; the others get the uniformized model.  Building (or reading) and solving are timed apart; CPU seconds
decide, for short ones the best of three.  `--json` keeps a line for each model and program and goes on where it was left; a program
that did not end within `--minutes` of CPU time on a model is not tried on larger ones of the same family and load.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _large_models import suite
from scipy import sparse

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import solve

TOLERANCE = 1e-6
PROGRAMS = ("sojourn", "storm", "storm-ma", "mdpsolver", "pymdptoolbox")
HERE = Path(__file__).resolve()


def uniformized(model: CTMDP) -> tuple[sparse.csr_matrix, np.ndarray, float]:
    """Return (transition rows, cost per step, uniform rate), every state staying where it is now and then."""
    uniform = 1.02 * float(model.rate.max())
    stay = sparse.csr_matrix((1 - model.rate / uniform, (np.arange(model.n_pairs), model.pair_state)), shape=model.matrix.shape)
    rows = (sparse.diags(model.rate / uniform) @ model.matrix + stay).tocsr()
    rows.sort_indices()
    rows.data /= np.repeat(np.asarray(rows.sum(axis=1)).ravel(), np.diff(rows.indptr))
    return rows, -(model.expected_reward * model.rate + model.running) / uniform, uniform


def write_arrays(model: CTMDP, path: Path) -> None:
    """Write the uniformized model for the packages that take arrays."""
    rows, cost, uniform = uniformized(model)
    np.savez(path, pair_start=model.pair_start, row_start=rows.indptr, next_state=rows.indices, probability=rows.data, cost=cost,
             uniform=uniform)


def write_mdp(model: CTMDP, path: Path) -> None:
    """Write the uniformized model as a `.drn` file, costs per unit of time: its average is the average cost of the model."""
    rows, cost, uniform = uniformized(model)
    start, to, p, paid = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist(), (cost * uniform).tolist()
    pairs = model.pair_start.tolist()
    with path.open("w") as file:
        file.write(f"@type: MDP\n@parameters\n\n@reward_models\ncost \n@nr_states\n{model.n_states}\n@nr_choices\n{model.n_pairs}\n"
                   "@model\n")
        for s in range(model.n_states):
            lines = [f"state {s}{' init' if s == 0 else ''}\n"]
            for k in range(pairs[s], pairs[s + 1]):
                lines.append(f"\taction {k - pairs[s]} [{paid[k]!r}]\n")
                lines.extend(f"\t\t{to[i]} : {p[i]!r}\n" for i in range(start[k], start[k + 1]))
            file.write("".join(lines))


def write_automaton(model: CTMDP, path: Path) -> None:
    """Write the model as a Markov automaton: an immediate state per state, a timed state per choice, costs per unit of time."""
    n, start, to = model.n_states, model.row_start.tolist(), model.next_state.tolist()
    p, rate, pairs = model.probability.tolist(), model.rate.tolist(), model.pair_start.tolist()
    cost = (-(model.expected_reward * model.rate + model.running)).tolist()
    with path.open("w") as file:
        file.write(f"@type: Markov Automaton\n@parameters\n\n@reward_models\ncost \n@nr_states\n{n + model.n_pairs}\n@nr_choices\n"
                   f"{2 * model.n_pairs}\n@model\n")
        for s in range(n):
            file.write(f"state {s} !0 [0]{' init' if s == 0 else ''}\n" + "".join(
                f"\taction {k - pairs[s]} [0]\n\t\t{n + k} : 1\n" for k in range(pairs[s], pairs[s + 1])))
        for k in range(model.n_pairs):
            file.write(f"state {n + k} !{rate[k]!r} [{cost[k]!r}]\n\taction 0 [0]\n" + "".join(
                f"\t\t{to[i]} : {p[i]!r}\n" for i in range(start[k], start[k + 1])))


WRITERS = {"storm": (write_mdp, "mdp.drn"), "storm-ma": (write_automaton, "ma.drn"), "mdpsolver": (write_arrays, "arrays.npz"),
           "pymdptoolbox": (write_arrays, "arrays.npz")}


def our_own(name: str) -> dict[str, Any]:
    """Build and solve in this process; compiled code is loaded and warm."""
    for warm in ("random 1000", "tandem 30x30 load 0.6", "line 10000 load 0.6"):
        solve(suite(10**7)[warm](), tolerance=TOLERANCE)
    began = time.perf_counter(), time.process_time()
    model = suite(10**7)[name]()
    built = time.perf_counter() - began[0], time.process_time() - began[1]
    seconds = []
    for _ in range(3 if model.n_states < 50_000 else 1):
        began = time.perf_counter(), time.process_time()
        found = solve(model, tolerance=TOLERANCE)
        seconds.append((time.process_time() - began[1], time.perf_counter() - began[0]))
    cpu, wall = min(seconds)
    return {"gain": -found.gain, "build": built, "solve": (wall, cpu), "method": found.method,
            "width": (found.gain_bounds[1] - found.gain_bounds[0]) / abs(found.gain),
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def processor_seconds(process: subprocess.Popen[str]) -> float:
    """Return what a running process has used, from /proc: a limit set in the process itself would make its own clock coarse."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command: list[str], minutes: float) -> dict[str, Any]:
    """Run a process on one processor, for `minutes` of its time at most, and return what it prints, or why there is nothing."""
    def one_processor() -> None:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=one_processor,
                               env=one_thread)
    while True:
        try:
            printed, trouble = process.communicate(timeout=1)
            break
        except subprocess.TimeoutExpired:
            if processor_seconds(process) > 60 * minutes:
                process.kill()
                process.communicate()
                return {"failed": f"not ended after {minutes:g} min of CPU time"}
    if process.returncode:
        return {"failed": (trouble.strip().splitlines() or ["ended without a word"])[-1][:70]}
    return dict(json.loads(printed.strip().splitlines()[-1]))


def row_of(name: str, program: str, python: str | None, minutes: float, files: Path, gain: float | None) -> dict[str, Any]:
    """Run one program on one model; its file is written to `files` unless it is there.

    Where tolerances are absolute they are relative to `gain`, as another program found it, or to the mean cost.
    """
    if program == "sojourn":
        return run([sys.executable, str(HERE), "--own", name], minutes)
    assert python is not None
    write, suffix = WRITERS[program]
    path = files / suffix
    model = suite(10**7)[name]()
    if not path.exists():
        write(model, path)
    scale = abs(gain) if gain is not None else float(np.abs(model.expected_reward * model.rate + model.running).mean())
    del model
    peer = [program.removesuffix("-ma"), str(path), str(TOLERANCE), str(scale)]
    return run([python, str(HERE.parent / "_peers.py"), *peer], minutes)


Rows = dict[tuple[str, str], dict[str, Any]]


def smaller_that_failed(name: str, program: str, rows: Rows) -> str | None:
    """Return a smaller model of the same family and load on which the program did not end."""
    def family(model: str) -> tuple[str, str]:
        words = model.split()
        return words[0], words[-1] if len(words) > 2 else ""

    names = list(suite(10**7))
    for other in names[: names.index(name)]:
        if family(other) == family(name) and "not ended" in rows.get((other, program), {}).get("failed", ""):
            return other
    return None


def measure(names: list[str], programs: list[str], python: str | None, minutes: float, rows: Rows, keep: Path | None) -> None:
    """Fill in the rows that are missing, smallest models first, and append each to `keep` as a line of JSON."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for program in programs:
                if (name, program) in rows:
                    continue
                smaller = smaller_that_failed(name, program, rows) if program != "sojourn" else None
                gain = next((row["gain"] for (model, _), row in rows.items() if model == name and "gain" in row), None)
                row = {"failed": f"not tried: not ended on {smaller}"} if smaller else row_of(
                    name, program, python, minutes, Path(folder), gain)
                rows[name, program] = row
                if keep is not None:
                    with keep.open("a") as file:
                        file.write(json.dumps({"model": name, "program": program, "minutes": minutes, **row}) + "\n")
        of_model = {program: rows[name, program] for program in PROGRAMS if (name, program) in rows}
        print("\n".join(table_lines(name, of_model)), flush=True)


def table_lines(name: str, found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line for each program, ratios of CPU seconds to our own."""
    lines, own = [], found.get("sojourn", {}).get("solve", (np.nan, np.nan))[1]
    for who, got in found.items():
        if "failed" in got:
            lines.append(f"{name:<28}{who:<14}{got['failed']}")
            continue
        lines.append(f"{name:<28}{who:<14}{got['gain']:>14.8g}{got['build'][1]:>10.3f}{got['solve'][1]:>11.4f}{got['solve'][0]:>11.4f}"
                     f"{got['solve'][1] / own:>9.1f}{got['megabytes']:>9.0f}  {got.get('method', '')}")
    ended = [got["solve"][1] for who, got in found.items() if who != "sojourn" and "failed" not in got]
    if ended:
        lines.append(f"{name:<28}{'fastest peer':<14}{min(ended) / own:>14.2f} x our CPU seconds")
    return lines


def cell(row: dict[str, Any] | None) -> str:
    """Return CPU seconds and megabytes, or why there are none."""
    if row is None:
        return "not run"
    if "failed" in row:
        return "no memory" if "Memory" in row["failed"] else row["failed"].split(":")[0].removesuffix(" of CPU time")
    return f"{row['solve'][1]:.3g} ({row['megabytes']:.0f})"


def markdown(rows: Rows) -> list[str]:
    """Return the table of the documentation: CPU seconds of solving (and MB), and how many times ours the fastest peer needs."""
    head = ["model", *PROGRAMS, "method", "fastest peer over ours"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * len(PROGRAMS) + "---|---:|"]
    for name in suite(10**7):
        found = {program: rows.get((name, program)) for program in PROGRAMS}
        ended = [row["solve"][1] for program, row in found.items() if row and "solve" in row and program != "sojourn"]
        own = found["sojourn"] or {}
        ratio = f"{min(ended) / own['solve'][1]:.1f}" if ended and "solve" in own else ""
        lines.append(f"| {name} | " + " | ".join(cell(row) for row in found.values()) + f" | {own.get('method', '')} | {ratio} |")
    return lines


def read_rows(keep: Path | None) -> Rows:
    """Return the rows that were kept; of several, the last."""
    if keep is None or not keep.exists():
        return {}
    return {(row["model"], row["program"]): row for row in map(json.loads, keep.read_text().splitlines())}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--peers")
    options.add_argument("--states", type=int, default=100_000)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--only", default="")
    options.add_argument("--json")
    options.add_argument("--programs", default="", help="of these only, with commas between; all by default")
    options.add_argument("--markdown", action="store_true", help="only print the table of what `--json` keeps")
    options.add_argument("--own", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.own:
        print(json.dumps(our_own(chosen.own)))
        return
    if chosen.markdown:
        print("\n".join(markdown(read_rows(Path(chosen.json)))))
        return
    print(f"{'model':<28}{'program':<14}{'average cost':>14}{'build s':>10}{'solve CPU':>11}{'solve wall':>11}{'ratio':>9}"
          f"{'MB':>9}")
    programs = chosen.programs.split(",") if chosen.programs else list(PROGRAMS if chosen.peers else PROGRAMS[:1])
    keep = Path(chosen.json) if chosen.json else None
    names = [name for name in suite(chosen.states) if chosen.only in name]
    measure(names, programs, chosen.peers, chosen.minutes, read_rows(keep), keep)


if __name__ == "__main__":
    main()
