"""The documentation is true: every example runs, every command works, every label of the paper that is cited is explained."""

import doctest
import importlib
import re
import tomllib
from pathlib import Path

import pytest

import sojourn
from command_line import run
from generate_pages import PAGES as GENERATED_PAGES
from run_examples import FLAGS, run_page

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "sojourn"
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts)]
MODULES = sorted(
    "sojourn." + ".".join(path.relative_to(SRC).with_suffix("").parts) for path in SRC.rglob("*.py") if "__" not in path.name
)
LABEL = re.compile(r"(?<![\w/])((?:(?:eq|thm|lem|alg|remark): ?|step:)[A-Za-z][\w-]*(?::\w+)?|assume-[a-z]+|regret-def)")
EXPLAINED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_examples_of_a_page_run(page, tmp_path):
    """Python, doctests, commands with their output, model and study files; one page shares its names (docs/run_examples.py)."""
    run_page(page, tmp_path, run)


def test_an_example_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    for wrong in ("```python\n1 / 0\n```\n", "```pycon\n>>> 1 + 1\n3\n```\n", "```console\n$ sojourn solve nothing\n```\n",
                  "```console\n$ sojourn learners\nnone\n```\n", "```{code-cell} ipython3\n:tags: [x]\n\n1 / 0\n```\n",
                  '```json\n{"format": "sojourn/ctmdp"}\n```\n', "```toml\nname =\n```\n"):
        page.write_text(wrong, encoding="utf-8")
        with pytest.raises(Exception):  # noqa: B017 (whatever it is, it must not pass)
            run_page(page, tmp_path, run)
    page.write_text("<!-- not run: because -->\n```python\n1 / 0\n```\n", encoding="utf-8")
    run_page(page, tmp_path, run)


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
                made = (page.parent / target).resolve().parent == ROOT / "docs" and Path(target).name in GENERATED_PAGES
                assert made or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_generated_pages_name_every_public_name_and_every_command():
    from sojourn import errors, results
    from sojourn.cli.main import COMMANDS

    page = GENERATED_PAGES["api.md"]()
    for name in sojourn._HOME:
        assert f"### sojourn.{name}\n" in page or f"`sojourn.errors.{name}`" in page
    for name in results.__all__:
        assert f".{name}\n" in page
    for name, value in vars(errors).items():
        assert not isinstance(value, type) or not issubclass(value, errors.SojournError) or f"`sojourn.errors.{name}`" in page
    assert "max_epochs: int | float | None = None" in page and "decisions_per_second: float" in page  # arguments and fields
    commands = GENERATED_PAGES["command-line.md"]()
    assert all(f"## sojourn {name}\n" in commands for name in COMMANDS) and "## sojourn study merge\n" in commands


def test_every_page_of_the_book_can_be_reached_from_its_index():
    listed = re.findall(r"^([\w/-]+)$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES[1:]}
    assert {*listed} == {*pages, *(name.removesuffix(".md") for name in GENERATED_PAGES)} - {"index"}


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda page: page.stem)
def test_a_tutorial_runs_as_a_notebook_and_shows_its_pictures(page, tmp_path):
    import nbclient
    from myst_nb.core.read import read_myst_markdown_notebook

    book = read_myst_markdown_notebook(page.read_text(encoding="utf-8"))
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [kind for cell in book.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    assert "image/png" in kinds


def test_versions_agree_and_the_pins_are_names_and_versions_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["version"] == sojourn.__version__ and f"version: {sojourn.__version__}" in citation
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+-]+", line), line


def test_the_vision_is_five_lines():
    lines = [line for line in (ROOT / "VISION.md").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert len(lines) == 5 and "do not" in lines[-1]
