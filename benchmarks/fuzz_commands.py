"""Run random command lines: each must end with a known exit code, and never with a traceback.

    python benchmarks/fuzz_commands.py [--count 200] [--seconds N] [--seed K]

Commands and options are those of `sojourn` itself, so a new one is tried without a change here.  Values are good ones and
numbers beyond every float, NaN, negative numbers, empty texts, odd characters, bytes that are not UTF-8, files that are cut,
missing, folders, devices.  Every line runs in this process through `main`, as a user would call it, in a folder of its own.
Anything else than exit code 0, 1, 2, 130 or 141, a traceback, or more than LIMIT_SECONDS is a failure; the exit code is then 1.
The same seed makes the same lines.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import click
import numpy as np
from _damage import pick
from fuzz_files import TooLong, at_most

import sojourn
from sojourn.cli.main import COMMANDS, main
from sojourn.cli.main import sojourn as group
from sojourn.study.study import Study

LIMIT_SECONDS = 60.0
CODES = {0, 1, 2, 130, 141}
NUMBERS = [
    "0", "1", "2", "-1", "3.5", "1e-3", "nan", "inf", "-inf", "1e400", "9" * 400, "1e-400", "", " ", "x", "0x10", "1_000", "½",
    "٣", "-0.0", "1e308", "True",
]
SMALL = [
    "1", "10", "200", "1e3", "-1", "0", "nan", "inf", "-inf", "2.5", "1e400", "", "x",
]  # of what would run as long as it is told
WORDS = [
    "", " ", "x", "-", "--", "=", ":", ",", "a=b", "\x01", "\udcff", "é", "\u2028", "%s", "{0}", "~", "*", "0", "nan",
    "a" * 5000, "[" * 2000,
]
FILES = [
    "good.json", "good.npz", "cut.json", "cut.npz", "empty.json", "folder", "folder.json", "none.json", "none/none.npz",
    "good.toml", "cut.toml", "good.control", "cut.control", "good.csv", "cut.csv",
    "good.sqlite", "cut.sqlite", "empty.sqlite", "none.sqlite", "text.sqlite", ".", "", "/",
    "/dev/null", "\udcff.json", "a\n.json", "é.npz", "new.json", "new.npz", "x" * 300 + ".json", "locked/x.json",
]
OUTPUTS = [
    "new.json", "new.npz", "new.png", "new.svg", "new.pdf", "new.html", "new.md", "new.csv", "new.parquet", "new.sqlite", "new",
    "folder", "folder/new.csv", "none/new.png", "", "\udcff.png", "x" * 300 + ".png", "new.txt", "a\n.csv", "good.json",
    "/dev/null",
]
MODELS = [
    "two-state", "three-state", "three_state", "admission:capacity=3", "admission:capacity=-1", "admission:capacity=nan",
    "admission:capacity=1e9", "admission:capacity=1e400", "admission:x=1", "admission:capacity=3,capacity=4",
    "admission:capacity", "admission:=3", "admission:capacity=[1]", "random:states=3", "random:states=3,seed=-1",
    "random:seed=1e30", "river-swim:length=4", "service-rate:capacity=5", "tow-state", "two-state:", "two-state:" + "[" * 2000,
    "machine-maintenance", "customer-selection:servers=0",
]
TOML = """
[study]
name = "fuzz"
epochs = 100
replications = 2
checkpoints = 5
[[models]]
zoo = "two-state"
[[learners]]
name = "random"
"""


LOG = "state,action,holding_time,next_state\n" + "A,quick,0.5,B\nB,slow,1.5,C\nC,quick,0.2,A\n" * 20


def prepare(folder: Path) -> None:
    """Fill the folder with good, damaged and odd files."""
    model = sojourn.make("three-state")
    for suffix in ("json", "npz"):
        model.save(folder / f"good.{suffix}")
        data = (folder / f"good.{suffix}").read_bytes()
        (folder / f"cut.{suffix}").write_bytes(data[: len(data) // 2])
    (folder / "empty.json").touch()
    for name in ("folder", "folder.json", "locked"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "good.toml").write_text(TOML)
    (folder / "cut.toml").write_text(TOML[:60])
    store = folder / "good.sqlite"
    if not store.exists():
        Study("fuzz", models=["two-state"], learners=["random"], epochs=100, replications=2, checkpoints=5, store=store).run(
            workers=1
        )
    control = folder / "good.control"
    if not control.exists():
        with sojourn.Controller.create(control, model.knowledge(), learner="ct-ce", start="A", safe_action="slow") as made:
            made.report(1, 0.4, "C")
    (folder / "cut.control").write_bytes(control.read_bytes()[:9000])
    (folder / "good.csv").write_text(LOG)
    (folder / "cut.csv").write_text(LOG[:50])
    (folder / "cut.sqlite").write_bytes(store.read_bytes()[:9000])
    (folder / "empty.sqlite").touch()
    (folder / "text.sqlite").write_text("no store at all " * 200)


def tree(command: click.Command, context: click.Context, words: list[str]) -> list[tuple[list[str], click.Command]]:
    """Return every command that does something, with the words that lead to it."""
    if not isinstance(command, click.Group):
        return [(words, command)]
    found = []
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found += tree(below, context, [*words, name])
    return found


GOOD = {  # values that mostly go through
    "model": ["two-state", "three-state", "admission:capacity=3", "good.json", "good.npz"],
    "source": ["two-state", "good.json"],
    "target": ["new.json", "new.npz"],
    "method": ["auto", "policy-iteration", "value-iteration", "linear-programming"],
    "tolerance": ["1e-9", "1e-6"],
    "rate_bounds": ["0.001", "1000"],
    "rows": ["0", "5"],
    "picture": ["new.png", "new.svg"],
    "sample": ["new.pdf"],
    "kind": ["auto", "graph", "curves"],
    "learner_name": ["random", "optimal"],
    "seed": ["0", "7"],
    "start": ["0"],
    "epochs": ["100", "1e3"],
    "max_time": ["20"],
    "delta": ["0.1"],
    "horizon": ["1e3"],
    "reward_range": ["auto", "-2,12"],
    "param": ["x=1"],
    "checkpoints": ["5", "20"],
    "holding_times": ["erlang:stages=3", "deterministic"],
    "file": ["good.toml"],
    "workers": ["1"],
    "replications": ["0:1", "1:2"],
    "wait": ["0"],
    "checkpoint_seconds": ["1"],
    "report": ["new.html", "new.md"],
    "replication": ["0", "1"],
    "stores": ["good.sqlite"],
}


def value_of(parameter: click.Parameter, words: list[str], rng: np.random.Generator, sober: bool = False) -> str:
    """Return a value for an option or an argument: one that suits its kind, or anything at all."""
    name, kind = parameter.name or "", parameter.type
    if sober:
        own = {
            "study model": ["two-state"],
            "study learner": ["random"],
            "learn name": ["random", "default", "ct-ucrl"],
            "zoo name": ["admission"],
            "fit log": ["good.csv"],
            "control path": [f"made-{rng.integers(10**9)}"] if words[-1] == "create" else ["good.control"],
            "control model": ["three-state"],
            "control log": ["good.csv"],
            "control target": [f"copy-{rng.integers(10**9)}"],
            "control seq": [str(rng.integers(1, 30))],
            "control holding_time": ["0.5", "1e-3"],
            "control state": ["A", "B"],
            "control next_state": ["A", "B", "C"],
            "control start": ["A"],
            "control learner": ["ct-ce", "default"],
        }
        outs = {"export": ["new.csv", "new.parquet"], "merge": ["merged.sqlite"], "report": ["new.html"], "plot": ["figures"]}
        stores = {"run": ["run.sqlite"]}
        last = words[-1]
        options = own.get(f"{words[0]} {name}") or (outs.get(last) if name == "out" else None) or GOOD.get(name)
        options = stores.get(last, ["good.sqlite"]) if name == "store" else options
        if isinstance(kind, click.Choice):
            options = list(kind.choices)
        if options:
            return str(pick(rng, options))
    if name in ("epochs", "max_time", "replication", "checkpoints", "checkpoint_seconds", "rows", "wait"):
        return str(pick(rng, SMALL))  # a number that is taken at its word must be small
    if rng.random() < 0.15:
        return str(pick(rng, [*NUMBERS, *WORDS]))
    if isinstance(kind, click.Choice):
        return str(pick(rng, list(kind.choices)))
    if name == "workers":
        return str(pick(rng, ["1", "1", "1", "0", "-1", "1025", "x", "nan", ""]))
    if name == "dask":
        return str(pick(rng, ["", "x", "tcp://", "\udcff"]))
    if name in ("picture", "sample", "out", "target", "report"):
        return str(pick(rng, OUTPUTS))
    if name == "model" and words[0] == "study":
        return str(pick(rng, ["two-state", "tow-state", ""]))
    if name in ("model", "source"):
        return str(pick(rng, MODELS if rng.random() < 0.7 else FILES))
    if name == "file":
        return str(pick(rng, ["good.toml", "good.toml", "cut.toml", "none.toml", "folder", ""]))
    if name in ("path", "log"):
        own = "good.csv" if name == "log" else "good.control"
        return str(pick(rng, [own, "new.control"] if rng.random() < 0.5 else FILES))
    if name in ("state", "next_state", "action", "start", "safe_action"):
        return str(pick(rng, ["A", "B", "quick", "fire", *WORDS]))
    if name in ("store", "stores"):
        return str(pick(rng, ["good.sqlite", "good.sqlite", "new.sqlite"] if rng.random() < 0.5 else FILES))
    if name in ("learner", "name", "learner_name"):
        return str(
            pick(rng, ["random", "default", "ct-ucrl", "ct-psrl", "fixed", "oracle", "ctucrl", "admission", "two-state", ""])
        )
    if name == "param":
        return str(
            pick(
                rng,
                [
                    "radius_scale=2", "radius_scale=nan", "x=1", "=", "delta=0.5", "policy=[1,0]", "policy=[[nan]]", "seed=3",
                    "draws=0",
                ],
            )
        )
    if name == "holding_times":
        return str(
            pick(rng, ["erlang:stages=3", "lognormal:cv=1e200", "gamma", "unit", "pareto:shape=1", "weibull:shape=0.1"])
        )
    return str(pick(rng, NUMBERS))


def line(commands: list[tuple[list[str], click.Command]], rng: np.random.Generator) -> list[str]:
    """Return the words of one random command line."""
    if rng.random() < 0.03:
        return [str(pick(rng, [*WORDS, *COMMANDS])) for _ in range(int(rng.integers(0, 4)))]
    path, command = pick(rng, commands)
    words, sober = list(path), rng.random() < 0.6
    for parameter in command.params:
        argument = isinstance(parameter, click.Argument)
        wanted = 0.97 if argument or parameter.required else 0.9 if parameter.name in ("epochs", "workers") else 0.25
        if rng.random() > wanted:
            if parameter.name == "epochs" and "max_time" not in {p.name for p in command.params}:
                continue
            if parameter.name not in ("epochs", "workers"):
                continue
        flag = [] if argument else [pick(rng, parameter.opts)]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            words += flag
            continue
        if sober and parameter.name in (
            "dask", "max_time", "holding_times", "param", "horizon", "delta", "reward_range", "rate_bounds", "salvage",
        ):
            continue
        size = int(rng.integers(1, 3)) if parameter.nargs == -1 else parameter.nargs
        words += flag + [value_of(parameter, path, rng, sober and rng.random() < 0.95) for _ in range(size)]
    if rng.random() < 0.05:
        words.insert(int(rng.integers(len(words) + 1)), str(pick(rng, [*WORDS, "--help", "--json", "-h", "--none"])))
    return words


def run(words: list[str]) -> tuple[int | str, str]:
    """Run `sojourn WORDS` in this process; return its exit code, or what escaped, and what it wrote to stderr."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    old, sys.argv = sys.argv, ["sojourn", *words]
    answer: int | str = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), at_most(LIMIT_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("always")
            main()
    except SystemExit as stop:
        answer = stop.code if isinstance(stop.code, int) else 0
    except TooLong as error:
        answer = f"{error}\n{traceback.format_exc()}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        answer = f"{type(error).__name__}: {str(error)[:300]}\n{traceback.format_exc()}"
    finally:
        sys.argv = old
    err.flush()
    return answer, err.buffer.getvalue().decode("utf-8", "backslashreplace")  # type: ignore[attr-defined]


def fuzz(count: int, seconds: float | None, seed: int, only: set[str] | None = None) -> tuple[Counter, list[str]]:
    """Run `count` command lines, or as many as `seconds` allow; return the counts by (command, exit code) and what failed."""
    counts: Counter = Counter()
    failures: list[str] = []
    end = float("inf") if seconds is None else time.monotonic() + seconds
    commands = [(words, c) for words, c in tree(group, click.Context(group), []) if only is None or words[0] in only]
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        try:
            os.chdir(name)
            for number in range(count):
                if time.monotonic() > end:
                    break
                if number % 25 == 0:
                    prepare(Path())
                words = line(commands, np.random.default_rng([seed, number]))
                answer, said = run(words)
                command = " ".join(words[: 2 if words[:1] in (["study"], ["control"]) else 1])
                command = command if any(" ".join(path) == command for path, _ in commands) else "(other)"
                good = answer in CODES and ("Traceback" not in said or command == "study repeat")
                counts[command, answer if good else "failed"] += 1
                if not good:
                    failures.append(f"line {number} of seed {seed}: sojourn {shlex.join(words)!r:.400}\n{answer}\n{said[-2000:]}")
                    print(failures[-1].encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)
        finally:
            os.chdir(home)
            (Path(name) / "locked").chmod(0o755)
    return counts, failures


def table(counts: Counter) -> list[str]:
    """Return the counts as lines."""
    answers = [0, 1, 2, 130, 141, "failed"]
    lines = [f"{'command':20}{'lines':>7}" + "".join(f"{f'exit {a}' if a != 'failed' else a:>10}" for a in answers)]
    for command in [*sorted({c for c, _ in counts}), "all"]:
        row = [sum(n for (c, a), n in counts.items() if command in (c, "all") and a == answer) for answer in answers]
        lines.append(f"{command:20}{sum(row):>7}" + "".join(f"{n:>10}" for n in row))
    return lines


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=None, help="how many command lines (200 unless --seconds is given)")
    parser.add_argument("--seconds", type=float, default=None, help="or for how long")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    many = given.count if given.count is not None else (200 if given.seconds is None else sys.maxsize)
    began = time.perf_counter()
    tried, failed = fuzz(many, given.seconds, given.seed)
    print("\n".join(table(tried)))
    print(f"{time.perf_counter() - began:.0f} s, seed {given.seed}")
    sys.exit(1 if failed else 0)
