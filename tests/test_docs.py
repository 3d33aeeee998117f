"""The documentation is true: every example runs, every command works, every label of the paper that is cited is explained."""

import doctest
import importlib
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import sojourn
from command_line import run

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "sojourn"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    "sojourn." + ".".join(path.relative_to(SRC).with_suffix("").parts) for path in SRC.rglob("*.py") if "__" not in path.name
)
LABEL = re.compile(r"(?<![\w/])((?:eq|thm|lem|alg|step|remark): ?[A-Za-z][\w-]*(?::\w+)?|assume-[a-z]+|regret-def)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EXPLAINED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page; one that follows a comment `<!-- not run: reason -->` is left out."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^(<!-- not run: [^>]+-->\n+)?```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if not match[1]:
            found.append(Block(match[2], match[3], text.count("\n", 0, match.start(2)) + 1))
    return found


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """Blocks `python` are executed in order, blocks `pycon` are doctests; one page shares its names."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.text, f"{page.name}:{block.line}", "exec"), names)
        elif block.language == "pycon":
            example = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
            result = doctest.DocTestRunner(optionflags=FLAGS).run(example, clear_globs=False)
            names.update(example.globs)
            assert result.failed == 0
        elif block.language == "json":
            (tmp_path / f"block{block.line}.json").write_text(block.text, encoding="utf-8")
            if json.loads(block.text).get("format") == "sojourn/ctmdp":
                sojourn.load(tmp_path / f"block{block.line}.json")
        elif block.language == "toml":
            tomllib.loads(block.text)


def rounded(text: str) -> list[str]:
    """Return the lines with numbers rounded and the times taken out, so that any machine prints the same."""
    text = re.sub(r"\d+\.\d+ s\b|width [\d.e+-]+", "...", text)
    return [re.sub(r"-?\d+\.\d{9,}", lambda m: f"{float(m[0]):.7g}", line).rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_commands_of_a_page_work_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language != "console":
            continue
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            words = shlex.split(command, comments=True)
            assert words[0] == "sojourn", f"{page.name}:{block.line}: only `sojourn` commands are run; mark others as not run"
            code, printed, complaint = run(*words[1:])
            assert code == 0, f"{command}: {complaint}"
            if shown.strip():
                assert rounded(printed) == rounded(shown), command


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name, tmp_path):
    """An example may use `tmp`, an empty folder."""
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=FLAGS, extraglobs={"tmp": tmp_path}).failed == 0


def test_every_label_of_the_paper_in_the_source_is_explained_in_the_notation():
    explained = set(EXPLAINED.findall((ROOT / "docs" / "notation.md").read_text(encoding="utf-8")))
    missing = {}
    for path in SRC.rglob("*.py"):
        for label in LABEL.findall(path.read_text(encoding="utf-8")):
            if label.replace(": ", ":") not in {known.replace(": ", ":") for known in explained}:
                missing[label] = str(path.relative_to(ROOT))
    assert not missing


def test_every_link_to_a_file_leads_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "VISION.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http:", "https:", "mailto:")):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_versions_agree_and_the_pins_are_names_and_versions_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["version"] == sojourn.__version__ and f"version: {sojourn.__version__}" in citation
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+-]+", line), line


def test_the_vision_is_five_lines():
    lines = [line for line in (ROOT / "VISION.md").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert len(lines) == 5 and "do not" in lines[-1]
