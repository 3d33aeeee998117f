"""Nothing that the command line can print advises a Python call: all messages of the program are read, as it would say them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sojourn.cli.remedies import REMEDIES, for_shell

SRC = Path(__file__).parents[2] / "src" / "sojourn"
PYTHON = re.compile(r"\b[A-Za-z_][\w.]*\w\(|\b[a-z_]+=|\['|\{'|`[a-z]+_\w+`|`[A-Za-z]+\.\w+`")  # a call, an argument, an index

# Messages that a command cannot print, since they are about something that only a Python program hands over, by where they stand.
PYTHON_ONLY = {
    "testing.py": "tests of classes that others wrote", "gym.py": "an environment of Gymnasium", "outside.py": "other packages",
    "kernels/jit.py": "kernels called from Python", "model/explore.py": "choices as a function", "model/rates.py": "objects Rate",
    "model/knowledge.py": "choices as a mapping", "model/known_events.py": "choices as a function",
    "model/events.py": "tables of events made by hand", "model/build.py": "sparse matrices", "model/pack.py": "state() of a class",
    "learn/learner.py": "a learner's class or its knowledge", "learn/catalogue.py": "a learner's class",
    "learn/event_learner.py": "a learner's class", "learn/policies.py": "objects as policies",
    "learn/oracle.py": "the model as object",
    "learn/estimate.py": "counts made by hand", "simulation/episode.py": "what a learner's class returns",
    "simulation/fitting.py": "a learner made for another model", "simulation/walk.py": "a learner's class",
    "simulation/session.py": "sessions", "simulation/session_file.py": "sessions", "solving/solution.py": "solutions as objects",
    "instance/comparable.py": "models as objects", "instance/bound_against.py": "models as objects",
    "control/setting.py": "a learner as an object",
    "report/model_path.py": "runs as objects", "model/ctmdp.py": "a model as an object", "instance/lower_bound.py": "two arguments",
}
PYTHON_ONLY_MESSAGES = {
    "Leave them out with `other.replace(events=None)`": "models as objects",
    "was opened with write=False, to look only": "no command writes with a controller that was opened to look",
    "has no state() and restore(state)": "says which methods a learner's class lacks",
    "give either epochs= or time=": "commands have --epochs alone",
    "`CTMDP.from_pairs`": "arrays that are not in order, which no file of ours brings about",
    "Save this as `study.toml`": "a file's name", "planning=fast": "--param planning=fast",
    "erlang:stages=3": "a law of holding times, written as on the command line", "gamma:shape=2": "a law of holding times",
    "span(Tu - u)": "mathematics", "C(M)": "mathematics", "O(sqrt": "mathematics",
}


def templates(tree: ast.AST) -> Iterator[str]:
    """Yield every text in a file that is no docstring, with • for what is filled in."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and node.body and isinstance(node.body[0], ast.Expr):
            inner.add(id(node.body[0].value))
    for node in ast.walk(tree):
        if id(node) not in inner and isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "•" for part in node.values)
        elif id(node) not in inner and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def messages() -> list[tuple[str, str]]:
    """All sentences of the program: (file, text)."""
    files = [path for path in SRC.rglob("*.py") if path.relative_to(SRC).parts[0] not in ("cli", "zoo") and path.name != "style.py"]
    found = [(path.relative_to(SRC).as_posix(), text) for path in files for text in templates(ast.parse(path.read_text("utf-8")))]
    return [(file, text) for file, text in found if len(text.split()) >= 4 and not re.match(r"(SELECT|DELETE|<)\b|\n?<", text)]


def test_no_message_that_a_command_can_print_shows_python():
    said = [(file, for_shell(text)) for file, text in messages() if file not in PYTHON_ONLY]
    shown = [f"{file}: {text}" for file, text in said
             if PYTHON.search(text) and not any(part in text for part in PYTHON_ONLY_MESSAGES)]
    assert not shown, "say it in the words of the command line (cli/remedies.py):\n" + "\n".join(shown)


def test_no_message_of_a_controller_or_a_fit_advises_a_command_in_python():
    """The other way round: what is raised in Python names Python, and the command line says it in its own words."""
    said = [f"{file}: {text}" for file, text in messages() if file.startswith("control/")]
    assert not [text for text in said if re.search(r"`sojourn (?!learners`)|(?<![\w-])--[a-z]|command line", text)]


@pytest.mark.parametrize("said", [said for said, _ in REMEDIES])
def test_every_remedy_is_of_a_message_that_there_is(said):
    assert any(re.search(said, text) for _, text in messages())


@pytest.mark.parametrize("text", ["call `missed()` and", "ask status()['next_seq']", "columns={'a': 'b'}", "a `safe_action` takes",
                                  "`Controller.backup` made", "pass rate_bounds="])
def test_the_scan_knows_python_when_it_sees_it(text):
    assert PYTHON.search(text)
