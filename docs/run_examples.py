"""The examples on a page of the documentation, run as a reader would run them: by the tests and by the build of the book.

Blocks `python`, and the cells of a notebook page, are executed in order and share their names; `pycon` are doctests; `console` are
commands, compared with the output shown under them; `json` and `toml` must be readable.  A block under a comment
`<!-- not run: reason -->` is left out.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^(<!-- not run: [^>]+-->\n+)?```(\{code-cell\}|\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    text: str
    line: int


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that are to be run; the language of a notebook's cell is `cell`."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        if not match[1]:
            language = "cell" if match[2] == "{code-cell}" else match[2]
            code = re.sub(r"\A(:[\w-]+:[^\n]*\n)+", "", match[3]) if language == "cell" else match[3]
            found.append(Block(language, code, text.count("\n", 0, match.start(2)) + 1))
    return found


def run_page(page: Path, folder: Path, command: Callable[..., Ran], cells: bool = True) -> None:
    """Run the blocks of a page in an empty `folder`; `command` runs `sojourn WORDS`.  What fails raises."""
    names: dict[str, object] = {"__name__": "__main__"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for block in blocks(page):
            where = f"{page.name}:{block.line}"
            if block.language == "python" or (cells and block.language == "cell"):
                exec(compile(block.text, where, "exec"), names)
            elif block.language == "pycon":
                _doctest(block, names, page)
            elif block.language == "console":
                _commands(block, command, where)
            elif block.language == "json":
                _json(block, folder)
            elif block.language == "toml":
                tomllib.loads(block.text)
    finally:
        os.chdir(before)


def _doctest(block: Block, names: dict[str, object], page: Path) -> None:
    example = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(example, clear_globs=False)
    names.update(example.globs)
    if result.failed:
        raise AssertionError(f"{page.name}:{block.line}: {result.failed} of the examples print something else than the page says")


def _json(block: Block, folder: Path) -> None:
    import sojourn

    read = json.loads(block.text)
    if isinstance(read, dict) and read.get("format") == "sojourn/ctmdp":
        (folder / f"block{block.line}.json").write_text(block.text, encoding="utf-8")
        sojourn.load(folder / f"block{block.line}.json")


def _commands(block: Block, command: Callable[..., Ran], where: str) -> None:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = shlex.split(line, comments=True)
        if words[0] != "sojourn":
            raise AssertionError(f"{where}: only `sojourn` commands are run; mark others as not run")
        ran = command(*words[1:])
        if ran.code != 0:
            raise AssertionError(f"{where}: {line} ended with {ran.code}: {ran.err}")
        if shown.strip() and rounded(ran.out) != rounded(shown):
            raise AssertionError(f"{where}: {line} printed\n{ran.out}")


def rounded(text: str) -> list[str]:
    """Return the lines with numbers rounded and the times taken out, so that any machine prints the same."""
    text = re.sub(r"\d+\.\d+ s\b|width [\d.e+-]+", "...", text)
    return [re.sub(r"-?\d+\.\d{9,}", lambda m: f"{float(m[0]):.7g}", line).rstrip() for line in text.strip().splitlines()]
