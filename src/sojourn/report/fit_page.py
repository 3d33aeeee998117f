"""The page of a fit: what an event log says, in sentences and one table."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path

from sojourn.control.fit import Fit
from sojourn.control.fit_words import event_rows, pair_table, sentences
from sojourn.errors import ParameterError
from sojourn.hidden_characters import visible
from sojourn.model.files import file_path, replacing
from sojourn.report.style import PAGE
from sojourn.report.tables import html_table

ROWS = 500  # choices in the table


def write_fit(found: Fit, path: str | PathLike[str]) -> Path:
    """Write the page to `path`, which must end in .html; it is replaced at once or not touched at all."""
    file = file_path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{str(file)!r} does not say what to write; the page of a fit ends in .html.")
    with replacing(file) as stream:
        stream.write(visible(page(found)).encode())
    return file


def page(found: Fit) -> str:
    """Return the page as HTML."""
    head, rows = pair_table(found)
    events = event_rows(found)
    strong = [i for i, row in enumerate(rows[:ROWS]) if row[-1]]
    body = ["<header><h1>What the log says</h1></header>", '<ul class="findings">',
            *(f"<li>{escape(text)}</li>" for text in sentences(found)), "</ul>",
            *(f'<p class="warn">{escape(text)}</p>' for text in found.notes),
            *(["<h2>Events</h2>", html_table(*events, "Each interval holds by itself; those in the last column together.")]
              if events[1] else []),
            "<h2>Choices</h2>", html_table(head, rows[:ROWS], "Each interval holds by itself; the gains use wider ones that hold "
                                           "together.", strong=strong)]
    if len(rows) > ROWS:
        body.append(f"<p>and {len(rows) - ROWS} further choices.</p>")
    return PAGE.format(title="What the log says", body="\n".join(body))
