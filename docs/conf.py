"""How the book is built: `make docs`.  Every example on every page is run in the build; one that fails fails the build."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from sphinx.errors import ExtensionError  # noqa: E402

from generate_pages import PAGES  # noqa: E402
from run_examples import Ran, run_page  # noqa: E402
from sojourn import __version__  # noqa: E402

logging.basicConfig(level=logging.WARNING)  # before a package of styles does so with INFO

project = "Sojourn"
author = "The Sojourn authors"
copyright = "the Sojourn authors, MIT licence"
version = release = __version__

extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["mystnb.unknown_mime_type"]

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"  # such as that kernels are compiled, which the next build would not say

html_theme = "furo"
html_title = f"Sojourn {version}"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_sourcelink = False


def command(*words: str) -> Ran:
    """Run `sojourn WORDS` in a process of its own."""
    ran = subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def write_pages(app: Any) -> None:
    """Write the pages that follow from the code, anew in every build."""
    for file, page in PAGES.items():
        path, text = HERE / file, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def check_page(app: Any, name: str, source: list[str]) -> None:
    """Run the examples of a page as it is read; cells of a notebook are run by the notebook itself."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        try:
            run_page(HERE / f"{name}.md", Path(folder), command, cells=False)
        except Exception as error:
            raise ExtensionError(f"an example on the page {name}.md fails: {type(error).__name__}: {error}") from error


def add_decisions(app: Any, name: str, source: list[str]) -> None:
    """Put the decisions, which live outside this folder, on a page of their own, and lead links to them there."""
    source[0] = re.sub(r"\]\((?:\.\./)+decisions/(\d+)[^)]*\)", r"](#decision-\1)", source[0])
    if name == "decisions":
        for path in sorted(HERE.parent.glob("decisions/*.md")):
            source[0] += f"\n(decision-{path.name[:4]})=\n```{{include}} ../decisions/{path.name}\n:heading-offset: 1\n```\n"


def setup(app: Any) -> None:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", check_page)
    app.connect("source-read", add_decisions)
