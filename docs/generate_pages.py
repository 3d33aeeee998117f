"""The pages of the book that follow from the code: docs/api.md and docs/command-line.md.

They are made anew in every build of the book and are not kept, so they cannot grow old.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from math import inf
from typing import Any

import click

import sojourn
from sojourn import errors, results
from sojourn.cli.main import sojourn as command_line

MADE = "<!-- made by docs/generate_pages.py: change the docstring or the help text instead -->\n"
GROUPS = {
    "Models": ["CTMDP", "Choice", "Rate", "EventTable", "event_table", "Knowledge", "make", "load", "check"],
    "Solving": ["solve", "evaluate"],
    "Difficulty": ["difficulty", "gaps", "gain_gap", "diameter"],
    "Learning": ["learner", "Learner", "Plan", "History", "CTUCRL", "DoublingCTUCRL"],
    "Running": ["simulate", "Session"],
    "Studies": ["Study"],
}


def api_page() -> str:
    """Return docs/api.md: every public name with its signature, its words, what it holds and what it can do."""
    grouped = {name for names in GROUPS.values() for name in names}
    given_back = sorted({*results.__all__, *sojourn._HOME} - grouped - set(vars(errors)))
    mistakes = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, (Exception, Warning))
                and value.__module__ == "sojourn.errors"]
    parts = [MADE, "# Python, name by name\n",
             "Everything here is imported from `sojourn`; what is given back also from `sojourn.results`, errors from",
             "`sojourn.errors`.\n"]
    for head, names in GROUPS.items():
        parts += [f"## {head}\n", *(_entry(sojourn, name, "sojourn") for name in names)]
    parts += ["## What is given back\n"]
    for name in given_back:
        parts.append(_entry(*(sojourn, name, "sojourn") if name in sojourn._HOME else (results, name, "sojourn.results")))
    parts += ["## Errors and warnings\n", *(f"`sojourn.errors.{name}`\n: {_words(getattr(errors, name))}" for name in mistakes)]
    return "\n".join(parts)


def _entry(package: Any, name: str, home: str) -> str:
    value = getattr(package, name)
    node = _source(value)
    heading = f"### {home}.{name}\n"
    if isinstance(node, ast.FunctionDef):
        return f"{heading}\n```text\n{_signature(node)}\n```\n\n{_words(value)}"
    shown = "\n".join([f"class {name}{_bases(node)}", *(f"    {line}" for line in _fields(value, node))])
    return f"{heading}\n```text\n{shown}\n```\n\n{_words(value)}\n{''.join(_methods(node))}"


def _source(value: Any) -> Any:
    """Return the definition of a function or class in its file; of several of one name (overloads) the last."""
    tree = ast.parse(inspect.getsource(importlib.import_module(value.__module__)))
    return [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == value.__name__][-1]


def _bases(node: ast.ClassDef) -> str:
    bases = [ast.unparse(base) for base in node.bases]
    return f"({', '.join(bases)})" if bases else ""


def _signature(node: ast.FunctionDef, width: float = 100) -> str:
    """Return `name(arguments) -> what`, one argument a line where it is longer than `width`."""
    arguments = [part for part in _arguments(node) if part.partition(":")[0] not in ("self", "cls")]
    arrow = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    line = f"{node.name}({', '.join(arguments)}){arrow}"
    if len(line) <= width:
        return line
    return "\n".join([f"{node.name}(", *(f"    {argument}," for argument in arguments), f"){arrow}"])


def _arguments(node: ast.FunctionDef) -> Iterator[str]:
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for argument, default in zip(plain, defaults):
        yield _argument(argument, default)
    if given.vararg:
        yield "*" + _argument(given.vararg, None)
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults):
        yield _argument(argument, default)
    if given.kwarg:
        yield "**" + _argument(given.kwarg, None)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default is not None else "")


def _fields(value: type, node: ast.ClassDef) -> Iterator[str]:
    """Yield the declared fields as they stand in the source, with what is said beside them."""
    lines = inspect.getsource(importlib.import_module(value.__module__)).splitlines()
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_"):
            yield from (line.strip() for line in lines[part.lineno - 1 : part.end_lineno])


def _methods(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if not isinstance(part, ast.FunctionDef) or (part.name.startswith("_") and part.name != "__init__"):
            continue
        marks = {ast.unparse(mark) for mark in part.decorator_list}
        text = ast.get_docstring(part)
        if marks & {"property", "cached_property"}:
            head = f"{part.name}: {ast.unparse(part.returns)}" if part.returns else part.name
        elif part.name == "__init__":
            part.name, part.returns = node.name, None
            head = _signature(part, inf)
        else:
            head = _signature(part, inf)
        if text or part.name == node.name:
            words = textwrap.indent(_markdown(text or "Makes one."), "  ").strip()
            yield f"\n`{head}`\n: {words}\n"


def _words(value: Any) -> str:
    return _markdown(inspect.getdoc(value) or "")


def _markdown(text: str) -> str:
    """Return a docstring as Markdown: stars stay stars, and examples are set off (they are run where they are written)."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"<!-- not run: a doctest of its docstring -->\n```pycon\n{block}\n```")
        elif all(line.startswith("    ") for line in block.splitlines()):
            blocks.append(f"<!-- not run: shows the form only -->\n```python\n{inspect.cleandoc(block)}\n```")
        else:
            parts = re.split(r"(`[^`]*`)", block)
            blocks.append("".join(part if part.startswith("`") else re.sub(r"([*<])", r"\\\1", part) for part in parts))
    return "\n\n".join(blocks) + "\n"


def command_page() -> str:
    """Return docs/command-line.md: the help of every command."""
    parts = [MADE, "# The command line\n",
             "What `sojourn COMMAND --help` prints. A MODEL is a file or a zoo name with parameters, such as",
             "`admission:servers=3`; `--json` prints one strict JSON object and nothing else. Exit codes: 0 done, 1 bad input, 2",
             "wrong usage, 130 interrupted.\n"]
    for path, command, context in _commands(command_line, click.Context(command_line, info_name="sojourn", terminal_width=100)):
        parts += [f"## {path}\n", f"```text\n{command.get_help(context).rstrip()}\n```\n"]
    return "\n".join(parts)


def _commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, click.Context(inner, info_name=name, parent=context, terminal_width=100))


PAGES = {"api.md": api_page, "command-line.md": command_page}
