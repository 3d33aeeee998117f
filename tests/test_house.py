"""The house rules: layers, imports, cost of starting, public names, and errors that show the value."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "sojourn"
RULE = "errors < kernels < model < zoo < solving < instance < learn < simulation < control < study < report < service < cli"
LAYERS = RULE.split(" < ")
# files at the top that stand on the floor named here
BESIDE = {"gym": "simulation", "client": "service", "outside": "errors", "screen": "errors", "hidden_characters": "errors",
          "testing": "simulation", "results": "study"}
HOMES = {"numba": "kernels", "matplotlib": "report", "fastapi": "service", "uvicorn": "service", "click": "cli", "gymnasium": "gym"}
FILES = sorted(path for path in SRC.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))
IDS = [str(path.relative_to(SRC)) for path in FILES]


def module_of(path: Path) -> str:
    return "sojourn." + ".".join(path.relative_to(SRC).with_suffix("").parts)


def floor(module: str) -> int:
    part = module.split(".")[1]
    return LAYERS.index(BESIDE.get(part, part))


def imports(path: Path) -> Iterator[tuple[str, list[str], bool]]:
    """Yield (module, imported names, whether the import is lazy or for types only)."""

    def visit(node: ast.AST, lazy: bool) -> Iterator[tuple[str, list[str], bool]]:
        for child in ast.iter_child_nodes(node):
            inside = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inside = True
            if isinstance(child, ast.Import):
                yield from ((alias.name, [], lazy) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: relative import; write `from sojourn.folder.module import name`"
                names = [alias.name for alias in child.names]
                folder = SRC.joinpath(*str(child.module).split(".")[1:])
                modules = [n for n in names if str(child.module).startswith("sojourn") and (folder / f"{n}.py").exists()]
                yield from ((f"{child.module}.{name}", [], lazy) for name in modules)
                if len(modules) < len(names):
                    yield str(child.module), [n for n in names if n not in modules], lazy
            else:
                yield from visit(child, inside)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), False)


def named(node: ast.AST) -> set[str]:
    """Return the modules that one import statement may mean, however it is written."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def is_a_door(path: Path, target: str) -> bool:
    """Whether `target` is imported only inside short methods: the lazy doors such as `run.plot()`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            found = [n for n in ast.walk(node) if target in named(n)]
            statements = [n for n in node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
            if found and len(statements) > 2:
                return False
    return True


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_a_file_imports_from_its_own_floor_or_from_the_left(path):
    mine = module_of(path)
    for module, _, lazy in imports(path):
        if module.split(".")[0] == "sojourn" and len(module.split(".")) > 1 and floor(module) > floor(mine):
            assert lazy and is_a_door(path, module), f"{mine} imports {module}, which stands to the right of it"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_nobody_imports_from_a_package_s_init(path):
    for module, names, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "sojourn":
            folder = SRC.joinpath(*parts[1:])
            version_only = module == "sojourn" and names == ["__version__"]
            assert not folder.is_dir() or version_only, f"{path.name}: `from {module} import {names}`; name the defining module"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_heavy_libraries_stay_in_their_folders(path):
    part = path.relative_to(SRC).with_suffix("").parts[0]
    for module, _, _ in imports(path):
        home = HOMES.get(module.split(".")[0])
        assert home is None or part == home, f"{path.name} imports {module}, which belongs to {home}/"


def test_every_file_and_folder_that_contributing_names_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|md|toml|txt))`", text))
    named |= set(re.findall(r"\b((?:kernels|learn|simulation|study|model|solving|instance|report)/[\w/]+\.py)", text))
    made_by_others = {"mine.py", "docs/_build/html"}
    gone = [name for name in named - made_by_others
            if not ((ROOT / name).exists() or (SRC / name).exists() or list(SRC.rglob(name.strip("/"))))]
    assert len(named) > 20 and gone == []


def test_every_twin_of_a_kernel_is_compared_with_it():
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for path in (SRC / "kernels").glob("*.py"):
        functions = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
        twins = {node.name: ast.unparse(node) for node in functions if node.name.endswith("_reference")}
        for twin in twins:
            part = any(re.search(rf"\b{twin}\(", text) for name, text in twins.items() if name != twin)
            assert part or re.search(rf"\b{twin}\b", tests), f"{path.name}: no test compares {twin} with its kernel"


def test_there_is_no_import_cycle():
    graph: dict[str, set[str]] = {}
    known = {module_of(path) for path in FILES}
    for path in FILES:
        graph[module_of(path)] = {module for module, _, lazy in imports(path) if module in known and not lazy}
    done: set[str] = set()

    def walk(node: str, above: tuple[str, ...]) -> None:
        assert node not in above, "import cycle: " + " -> ".join([*above[above.index(node) :], node])
        if node not in done:
            for target in sorted(graph[node]):
                walk(target, (*above, node))
            done.add(node)

    for module in graph:
        walk(module, ())


# ---- public names --------------------------------------------------------------------------------------------------


def test_there_are_at_most_forty_public_names_and_each_can_be_imported():
    assert len(sojourn.__all__) <= 40
    for name, home in sojourn._HOME.items():
        path = SRC.joinpath(*home.split(".")[1:])
        if path.with_suffix(".py").exists():
            assert getattr(sojourn, name) is not None
        else:
            pytest.fail(f"sojourn.{name} should live in {home}, which does not exist")


def test_no_public_name_is_that_of_a_top_level_module():
    modules = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(sojourn._HOME)


def test_an_unknown_public_name_is_an_attribute_error_that_lists_the_known():
    with pytest.raises(AttributeError, match=r"no attribute 'sovle'.*solve"):
        _ = sojourn.sovle
    assert set(sojourn.__all__) <= set(dir(sojourn))


# ---- cost of starting ----------------------------------------------------------------------------------------------


def child_cpu(*command: str) -> float:
    """Return the CPU seconds (user and system) that a child process used, best of 3."""
    best = float("inf")
    for _ in range(3):
        before = os.times()
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        after = os.times()
        best = min(best, after.children_user - before.children_user + after.children_system - before.children_system)
    return best


def test_importing_sojourn_pulls_in_nothing_heavy():
    heavy = ["matplotlib", "fastapi", "click", "dask", "gymnasium", "numba", "scipy", "numpy", "pandas", "pydantic", "rich"]
    code = f"import sys, sojourn; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


def test_importing_sojourn_costs_less_than_three_tenths_of_a_second_of_cpu():
    assert child_cpu(sys.executable, "-c", "import sojourn") < 0.3


def test_help_costs_less_than_two_tenths_of_a_second_of_cpu():
    assert child_cpu(sys.executable, "-m", "sojourn", "--help") < 0.2


def test_the_first_solve_with_a_warm_cache_costs_less_than_a_second_of_cpu():
    code = "import sojourn; sojourn.solve(sojourn.make('two-state'))"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # warms the compile cache
    assert child_cpu(sys.executable, "-c", code) < 1.0


# ---- errors --------------------------------------------------------------------------------------------------------


def raised_messages() -> Iterator[tuple[str, bool]]:
    """Yield (where, whether the message shows a value) for every error of ours that src raises with a message."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                name = ast.unparse(node.exc.func)
                if re.search(r"Error$|UsageError$|BadParameter$", name):
                    shows = any(isinstance(n, (ast.FormattedValue, ast.Name, ast.Call)) for n in ast.walk(node.exc.args[0]))
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", shows


def test_at_least_four_fifths_of_the_error_messages_show_a_value():
    found = list(raised_messages())
    silent = [where for where, shows in found if not shows]
    assert len(found) > 100 and len(silent) <= 0.2 * len(found), silent


def test_every_error_message_of_the_model_shows_a_value():
    assert not [where for where, shows in raised_messages() if not shows and "/model/" in where]


def test_nobody_raises_a_bare_exception():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                assert ast.unparse(node.exc.func) not in ("Exception", "BaseException"), f"{path}:{node.lineno}"


def test_no_file_but_the_catalogue_decides_by_the_name_of_a_learner():
    """Names may stand in docstrings, messages and as the default of an option; comparing with one is the catalogue's business."""
    from sojourn.learn.catalogue import LEARNERS

    for path in FILES:
        if path.parent.name == "learn":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts: list[ast.AST] = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                parts = list(node.args[:1])
            named = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
            found = named & set(LEARNERS.built_in) - {"random", "default"}  # a policy of `sojourn show`; a word of its own
            assert not found, f"{path.name} decides by the learner {found}; declare it in the learner's line of the catalogue"
