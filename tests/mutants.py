"""Would the tests notice?  Faults are planted one at a time, and the tests that run the changed line must fail.

    python tests/mutants.py --seed 30 --modules 5 --mutants 10
    python tests/mutants.py --module learn/ct_ucrl --mutants 40 --before c6189f7

The modules are drawn from those of at least 60 lines of code that were changed between two commits (`--changed`), or named.  In
each, faults are drawn from all that `faults` can make: a comparison turned or off by its edge, + for -, `or` for `and`, a condition
negated, a number off by one or doubled, min for max, a statement dropped, nothing returned.

Everything happens in copies of the tree below --folder; the tree itself is only read.  First the tests in the folder of the same
name and those that import a module run once without a fault (but those marked slow), and for each it is noted which lines it runs.
Then each fault meets the tests that run its line, the fastest first, until one fails.  A line that runs in a fixture counts for
every test of that file, and one that runs on import for every test that runs anything of the module.  What runs in other processes
is not seen: before a fault counts as missed, run those tests by hand.  `--before` asks the tests of an earlier commit as well,
about the same fault in the code of then.

Each fault that is not caught is either without effect, or a test is missing; the exit code is 1.  Nothing random but the drawing.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT, SOURCE = Path(__file__).resolve().parents[1], "src/sojourn"
LEFT_OUT = ("cli/", "report/")  # words and pictures: their tests compare with what was approved
ALWAYS = ("instance/gaps.py", "control/journal.py", "learn/ct_ucrl.py")  # issue 30 names faults in these
MIN_LINES = 60
STARTING = 60  # seconds that a run of tests may take besides three times what its tests took without a fault

EDGE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}
SWAPPED = {a: b for one, two in (("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"), ("argmin", "argmax"))
           for a, b in ((one, two), (two, one))}

PLUGIN = '''# Notes for each test whether it passes, its seconds, and which lines of MUTANTS_FILES it and its fixtures run.
import json, os, sys, threading, time
import pytest

FILES = json.loads(os.environ["MUTANTS_FILES"])
seen, setup, failed = set(), set(), set()

def line(frame, event, argument):
    seen.add((FILES[frame.f_code.co_filename], frame.f_lineno))
    return line

def call(frame, event, argument):
    return line(frame, event, argument) if frame.f_code.co_filename in FILES else None

def pytest_runtest_logreport(report):
    if report.failed:
        failed.add(report.nodeid)

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield
    setup.update(seen)

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    seen.clear(), setup.clear()
    began = time.monotonic()
    threading.settrace(call)
    sys.settrace(call)
    yield
    sys.settrace(None)
    threading.settrace(None)
    row = {"test": item.nodeid, "passed": item.nodeid not in failed, "seconds": time.monotonic() - began,
           "lines": sorted(seen), "setup": sorted(setup)}
    with open(os.environ["MUTANTS_NOTES"], "a") as file:
        file.write(json.dumps(row) + chr(10))
'''


class Fault(NamedTuple):
    """One change of a module's text."""

    where: str  # class and function
    text: str  # the line where it begins, as it was
    what: str  # "old -> new"
    line: int
    last: int
    source: str  # the whole module with the fault

    @property
    def name(self) -> tuple[str, str, str]:
        """What makes it the same fault in another version of the module."""
        return self.where, self.text, self.what


class Tested(NamedTuple):
    """What a test does without a fault: its seconds, and lines (module, number) that it and its fixtures run."""

    name: str
    seconds: float
    lines: set[tuple[str, int]]
    setup: set[tuple[str, int]]


# ---- faults --------------------------------------------------------------------------------------------------------


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            for table in (EDGE, OPPOSITE):
                if type(operator) in table:
                    yield ast.Compare(node.left, [*node.ops[:i], table[type(operator)](), *node.ops[i + 1 :]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER and not has_text(node):
        yield ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(OTHER[type(node.op)](), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield from (ast.Constant(value) for value in {node.value + 1, node.value * 2} - {node.value})
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in SWAPPED:
            swapped = SWAPPED[name]
            function = ast.Name(swapped) if isinstance(node.func, ast.Name) else ast.Attribute(node.func.value, swapped)
            yield ast.Call(function, node.args, node.keywords)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or (
            isinstance(node, ast.Assign) and not isinstance(node.targets[0], (ast.Name, ast.Tuple))):
        yield ast.Pass()


def has_text(node: ast.AST) -> bool:
    """Return whether a sum or product is one of texts, as far as one can see."""
    return any(isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
               for part in ast.walk(node))


def nodes(node: ast.AST, where: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that may be replaced, and the function they stand in: no types, decorators, or parts of an f-string."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            inside = f"{where}.{child.name}".strip(".") if named else where  # type: ignore[attr-defined]
            yield child, inside
            plain = isinstance(child, ast.Compare) and len(child.ops) == 1  # is turned anyway
            if field == "test" and not plain and not isinstance(child, ast.UnaryOp) and not isinstance(node, ast.Assert):
                yield ast.copy_location(ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), child)), child), inside
            yield from nodes(child, inside)


def faults(source: str) -> list[Fault]:
    """Return every fault that can be planted in a module, each a text that compiles; no two are the same."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    whole, found = source.encode(), {}
    for node, where in nodes(ast.parse(source)):
        if not hasattr(node, "lineno"):
            continue
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        for new in replacements(node):
            text = ast.unparse(ast.fix_missing_locations(new))
            put = f"({text})" if isinstance(new, ast.expr) else text
            changed = (whole[:begin] + put.encode() + whole[end:]).decode()
            what = f"{' '.join(whole[begin:end].decode().split())} -> {text}"
            try:
                compile(changed, "a fault", "exec")
            except (SyntaxError, ValueError):
                continue
            fault = Fault(where, lines[node.lineno - 1].decode().strip(), what, node.lineno, node.end_lineno, changed)
            found.setdefault(ast.dump(ast.parse(changed)), fault)
    return list(found.values())


# ---- modules -------------------------------------------------------------------------------------------------------


def size(path: Path) -> int:
    """Return how many lines of code a file has, without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return sum(line.strip() not in ("", "pass") for line in ast.unparse(tree).splitlines())


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


def drawn(changed: str, count: int, seed: int) -> list[str]:
    """Return `count` modules out of those that changed between two commits, as "folder/name.py"."""
    names = {name.removeprefix(f"{SOURCE}/") for name in git("diff", "--name-only", changed, "--", SOURCE).decode().split()}
    known = [name for name in sorted(names | set(ALWAYS)) if name.endswith(".py") and not name.endswith("__init__.py")
             and not name.startswith(LEFT_OUT) and (ROOT / SOURCE / name).exists() and size(ROOT / SOURCE / name) >= MIN_LINES]
    print(f"{len(known)} modules of at least {MIN_LINES} lines of code were changed ({changed})")
    return random.Random(seed).sample(known, count)


# ---- tests ---------------------------------------------------------------------------------------------------------


class Tree:
    """A copy of the project: this tree as it is, or an earlier commit."""

    def __init__(self, folder: Path, modules: list[str], commit: str = ""):
        self.folder, self.modules, self.commit = folder, modules, commit
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if commit:
            subprocess.run(["tar", "-x", "-C", str(folder)], input=git("archive", commit), check=True)
        else:
            for name in git("ls-files", "-co", "--exclude-standard").decode().splitlines():
                if not (ROOT / name).is_file():
                    continue
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)  # with its time, by which numba knows compiled files again
        (folder / "mutants_plugin.py").write_text(PLUGIN, encoding="utf-8")
        self.tests: list[Tested] = []

    def path(self, module: str) -> Path:
        return self.folder / SOURCE / module

    def run(self, arguments: list[str], limit: float, **more: str) -> tuple[int | None, str]:
        """Run pytest; return its exit code, None after `limit` seconds, and what it printed."""
        environment = {**os.environ, "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{self.folder}", **more}
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
        with subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, start_new_session=True) as process:
            try:
                said, _ = process.communicate(timeout=limit)
                return process.returncode, said
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def measure(self, limit: float) -> None:
        """Run the tests that concern the modules, without a fault; keep those that pass."""
        notes, names = self.folder / "notes.jsonl", set()
        for module in self.modules:
            folder, name = module.removesuffix(".py").rsplit("/", 1)
            names.add(f"tests/{folder}")
            uses = re.compile(rf"sojourn\.{folder.replace('/', '.')}(\.{name}\b| import .*\b{name}\b)")
            names |= {str(file.relative_to(self.folder)) for file in (self.folder / "tests").rglob("test_*.py")
                      if uses.search(file.read_text(encoding="utf-8"))}
        chosen = sorted(name for name in names if (self.folder / name).exists()
                        and not any(name != other and name.startswith(f"{other}/") for other in names))
        files = json.dumps({str(self.path(module)): module for module in self.modules})
        options = ["-m", "not slow", "-p", "mutants_plugin"]
        _, said = self.run([*options, *chosen], limit, MUTANTS_FILES=files, MUTANTS_NOTES=str(notes))
        print(f"{said.strip().splitlines()[-1] if said.strip() else 'the time is over'}: {self.folder.name}, {', '.join(chosen)}")
        for text in notes.read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            if row["passed"]:
                lines, setup = ({(module, line) for module, line in row[key]} for key in ("lines", "setup"))
                self.tests.append(Tested(row["test"], row["seconds"], lines, setup))

    def concerned(self, module: str, fault: Fault, seconds: float) -> list[Tested]:
        """Return the tests that run the lines of a fault, fastest first, as many as take `seconds` in all."""
        lines = {(module, line) for line in range(fault.line, fault.last + 1)}
        files = {test.name.split("::")[0] for test in self.tests if test.setup & lines}
        found = [test for test in self.tests if test.lines & lines or test.name.split("::")[0] in files]
        if not fault.where or not found:  # on import; or in another process only
            found = [test for test in self.tests if any(name == module for name, _ in test.lines)]
        chosen, total = [], 0.0
        for test in sorted(found, key=lambda test: test.seconds):
            total += test.seconds
            if total <= seconds:
                chosen.append(test)
        return chosen

    def judge(self, module: str, fault: Fault, seconds: float) -> tuple[bool, str]:
        """Return whether a fault is caught, and by which test."""
        tests, path = self.concerned(module, fault, seconds), self.path(module)
        right = path.read_bytes()
        arguments = self.folder / "tests.txt"
        arguments.write_text("\n".join(test.name for test in tests), encoding="utf-8")
        try:
            path.write_text(fault.source, encoding="utf-8")
            for old in path.parent.glob(f"__pycache__/{path.stem}.*"):
                old.unlink()
            code, said = self.run(["-x", f"@{arguments}"], STARTING + 3 * sum(test.seconds for test in tests))
        finally:
            path.write_bytes(right)
            for old in path.parent.glob(f"__pycache__/{path.stem}.*"):
                old.unlink()
        if code == 0:
            return False, f"not by {len(tests)} tests"
        found = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
        return True, "does not end" if code is None else found[0] if found else "nothing can be imported"


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seed", type=int, default=30)
    words.add_argument("--modules", type=int, default=5, help="how many modules are drawn")
    words.add_argument("--module", action="append", default=[], help="this module, as learn/ct_ucrl (may be repeated)")
    words.add_argument("--mutants", type=int, default=10, help="how many faults in each")
    words.add_argument("--changed", default="c6189f7..973e5d0", help="modules are drawn from what changed between these")
    words.add_argument("--before", default="", help="the tests of this commit are asked as well")
    words.add_argument("--seconds", type=float, default=60, help="how long the tests of one fault may take without it")
    words.add_argument("--limit", type=float, default=1800, help="seconds for all concerned tests without a fault")
    words.add_argument("--folder", type=Path, default=Path("/tmp/sojourn-mutants"))
    words.add_argument("--out", type=Path, help="write a line of JSON for each fault to this file")
    said = words.parse_args()
    modules = [f"{name.removesuffix('.py')}.py" for name in said.module] or drawn(said.changed, said.modules, said.seed)
    commits = [("now", "")] + ([("before", said.before)] if said.before else [])
    trees = {when: Tree(said.folder / when, modules, commit) for when, commit in commits}
    for tree in trees.values():
        tree.measure(said.limit)
    rows = []
    for module in modules:
        every = faults((ROOT / SOURCE / module).read_text(encoding="utf-8"))
        chosen = random.Random(f"{said.seed} {module}").sample(every, min(said.mutants, len(every)))
        print(f"{module}: {len(chosen)} of {len(every)} faults")
        for fault in sorted(chosen, key=lambda fault: fault.line):
            row = {"module": module, "line": fault.line, "where": fault.where, "what": fault.what}
            for when, tree in trees.items():
                began = time.monotonic()
                there = tree.path(module).exists() and [same for same in faults(tree.path(module).read_text(encoding="utf-8"))
                                                        if same.name == fault.name]
                row[when] = tree.judge(module, there[0], said.seconds) if there else (None, "there was no such line")
                row[f"seconds {when}"] = round(time.monotonic() - began)
            rows.append(row)
            verdicts = "; ".join(f"{when}: {'caught, ' if row[when][0] else ''}{row[when][1]}" for when in trees)
            print(f"  {fault.line} {fault.where}: {fault.what[:150]}: {verdicts}", flush=True)
            if said.out:
                said.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for module in modules:
        mine = [row for row in rows if row["module"] == module]
        counts = "; ".join(f"{when}: {sum(row[when][0] is True for row in mine)} of {sum(row[when][0] is not None for row in mine)}"
                           for when in trees)
        print(f"{module}: caught {counts}")
    return int(any(row["now"][0] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
