"""What mypy and editors see: the types of the public names, and real signatures."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn
from sojourn import errors, learn, results
from sojourn.report.difficulty import plot_difficulty
from sojourn.report.figures import plot_store
from sojourn.report.models import plot_model
from sojourn.report.runs import plot_run
from sojourn.report.study_page import write_report

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "sojourn"


def stub_names(path: Path) -> dict[str, str]:
    """Return {name: module} of a stub's `from module import name as name` lines."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            (alias,) = node.names
            assert alias.name == alias.asname, f"{path}: `import {alias.name} as {alias.asname}` hides the name from mypy"
            found[alias.name] = str(node.module)
    return found


def test_the_stub_holds_the_same_names_from_the_same_modules_as_the_package():
    named = stub_names(SRC / "__init__.pyi")
    assert {name for name, module in named.items() if module == "sojourn"} == sojourn._MODULES
    assert {name: module for name, module in named.items() if module != "sojourn"} == sojourn._HOME


def test_the_stub_of_learn_holds_the_same_names_from_the_same_modules():
    assert stub_names(SRC / "learn" / "__init__.pyi") == {name: f"sojourn.learn.{home}" for name, home in learn._HOME.items()}


def test_every_module_of_the_package_s_namespace_can_be_reached_from_it():
    for name in sojourn._MODULES:
        assert getattr(sojourn, name) is importlib.import_module(f"sojourn.{name}")


# ---- result and error classes ------------------------------------------------------------------------------------------


def module_file(module: str) -> Path:
    return SRC.joinpath(*module.split(".")[1:]).with_suffix(".py")


def source_classes() -> dict[tuple[str, str], ast.ClassDef]:
    """Return {(module, name): class} of all classes outside kernels and the command line."""
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        if parts[0] not in ("kernels", "cli"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found[".".join(("sojourn", *parts)), node.name] = node
    return found


def homes(module: str) -> dict[str, str]:
    """Return {name: module it was imported from} of a module's imports, those for types only included."""
    tree = ast.parse(module_file(module).read_text(encoding="utf-8"))
    return {alias.asname or alias.name: str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            for alias in node.names}


def given_back(node: ast.AST) -> Iterator[str]:
    """Yield the names in the annotations of what a function returns, or of what an object of a class holds and returns."""
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield from re.findall(r"\w+", ast.unparse(node.returns))
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_"):
            yield from re.findall(r"\w+", ast.unparse(part.annotation))
        elif isinstance(part, ast.FunctionDef) and (not part.name.startswith("_") or part.name in ("__iter__", "__getitem__")):
            yield from given_back(part)


def public_node(name: str) -> ast.AST:
    nodes = ast.parse(module_file(sojourn._HOME[name]).read_text(encoding="utf-8")).body
    return next(n for n in nodes if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name == name)


def test_every_class_that_a_user_is_given_can_be_imported_from_sojourn_or_from_results():
    classes, places = source_classes(), {*sojourn.__all__, *results.__all__, *learn.__all__}
    waiting, seen = [(sojourn._HOME[name], public_node(name)) for name in sojourn._HOME], set()
    while waiting:
        module, node = waiting.pop()
        imported = homes(module)
        for name in set(given_back(node)):
            key = (imported.get(name, module), name)
            if key not in classes or key in seen:
                continue
            seen.add(key)
            if name in learn.__all__ and name not in results.__all__:
                continue  # the parts of a learner are its own business
            assert name in places, f"{name} of {key[0]} is handed to users; add it to sojourn/results.py"
            waiting.append((key[0], classes[key]))
    assert {"Summary", "Evaluation", "Verdict", "Point", "Failure"} <= {name for _, name in seen}


def test_every_error_and_warning_of_ours_can_be_imported_from_errors():
    for (module, name), node in source_classes().items():
        bases = {ast.unparse(base) for base in node.bases}
        if any(isinstance(getattr(errors, base, None), type) for base in bases):
            assert module == "sojourn.errors", f"{name} is defined in {module}; move it to sojourn/errors.py"


# ---- signatures --------------------------------------------------------------------------------------------------------

OPEN = {"make", "learner", "CTMDP.replace"}  # further arguments: those of the family, of the learner; the fields of a model


def public_callables() -> Iterator[tuple[str, inspect.Signature]]:
    for name in sojourn._HOME:
        value = getattr(sojourn, name)
        if inspect.isfunction(value):
            yield name, inspect.signature(value)
        elif isinstance(value, type) and not issubclass(value, Exception):
            for method, member in inspect.getmembers(value, callable):
                if not method.startswith("_") and str(getattr(member, "__module__", "")).startswith("sojourn"):
                    yield f"{name}.{method}", inspect.signature(member)


def test_no_public_signature_hides_its_arguments():
    for name, signature in public_callables():
        hidden = [p for p in signature.parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        assert not hidden or name in OPEN, f"sojourn.{name} takes {hidden[0]}; write its arguments out"


@pytest.mark.parametrize("name", ["from_arrays", "from_pairs", "from_generators", "from_mdp", "explore"])
def test_a_way_to_a_model_takes_the_arguments_of_the_function_behind_it(name):
    behind = getattr(importlib.import_module("sojourn.model.explore" if name == "explore" else "sojourn.model.build"), name)
    arguments = [[(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()] for f in
                 (getattr(sojourn.CTMDP, name), behind)]
    assert arguments[0] == arguments[1]


@pytest.mark.parametrize(("method", "function", "given"), [
    (sojourn.CTMDP.plot, plot_model, "model"), (sojourn.Run.plot, plot_run, "run"), (sojourn.Study.plot, plot_store, "store"),
    (sojourn.Study.report, write_report, "store"), (sojourn.Difficulty.plot, plot_difficulty, "found"),
], ids=["CTMDP.plot", "Run.plot", "Study.plot", "Study.report", "Difficulty.plot"])
def test_a_method_takes_the_arguments_of_the_function_behind_it(method, function, given):
    mine = {p.name: p.default for p in inspect.signature(method).parameters.values() if p.name != "self"}
    behind = {p.name: p.default for p in inspect.signature(function).parameters.values() if p.name != given}
    assert mine == behind


# ---- mypy on a user's script -------------------------------------------------------------------------------------------

SCRIPT = '''
import sojourn
from sojourn.results import Evaluation

model = sojourn.make("two-state")
reveal_type(model)
reveal_type(sojourn.solve(model))
reveal_type(sojourn.simulate(model, "default", max_epochs=10))
reveal_type(sojourn.learner("ct-ucrl", model.knowledge()))
reveal_type(sojourn.difficulty(model))
reveal_type(sojourn.Study("s", models=[model], learners=["default"]).summary())
reveal_type(sojourn.zoo.make("two-state"))
reveal_type(sojourn.learner(sojourn.CTUCRL, model.knowledge()))
value: Evaluation = sojourn.evaluate(model, [0, 0])
'''
REVEALED = [
    "model.ctmdp.CTMDP", "solving.solution.Solution", "simulation.run.Run", "learn.learner.Learner",
    "instance.difficulty.Difficulty", "study.summary.Summary", "model.ctmdp.CTMDP", "learn.ct_ucrl.CTUCRL",
]
WRONG = '''
import sojourn
sojourn.sovle(sojourn.make("two-state"))
sojourn.solve(sojourn.make("two-state"), tolerence=1e-9)
sojourn.simulate(sojourn.make("two-state"), "default", epochs=10)
'''


def mypy(text: str, folder: Path) -> str:
    """Return what `mypy --strict` says about a user's script that lies outside the repository."""
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir",
               str(ROOT / ".mypy_cache"), str(script)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "MYPYPATH": str(SRC.parent)}).stdout


@pytest.mark.slow
@pytest.mark.xdist_group("mypy")
def test_mypy_sees_the_class_of_what_a_user_is_given(tmp_path):
    said = mypy(SCRIPT, tmp_path)
    assert re.findall(r'Revealed type is "sojourn\.(.*?)"', said) == REVEALED, said
    assert "Success" in said, said


@pytest.mark.slow
@pytest.mark.xdist_group("mypy")
def test_mypy_finds_a_wrong_name_and_an_unknown_argument(tmp_path):
    said = mypy(WRONG, tmp_path)
    assert re.findall(r"\[([a-z-]+)\]", said) == ["attr-defined", "call-arg", "call-arg"], said
