"""Results in words for a notebook, a headline and a small table; which texts can be shown, and what hides in the others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

ROWS = 12
DRAWN_AS_NOTHING = re.compile(  # letters, marks and places without one that have no width (Default_Ignorable_Code_Point of Unicode)
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]")


def has_control(text: str) -> bool:
    """Whether a text could break a terminal, a line or a file: control characters, lone surrogates, line separators."""
    return not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text)


def has_hidden(text: str) -> bool:
    """Whether a text holds what nobody sees: control characters, others without width, signs that turn the direction of writing.

    >>> has_hidden("servers=2"), has_hidden("Zürich → 北京"), has_hidden("a\u200bb"), has_hidden("\u202egnp.exe")
    (False, False, True, True)
    """
    return (not text.isascii() and any(map(_is_hidden, text, f" {text}"))) or has_control(text)


def visible(text: str) -> str:
    """Return a text in which everything hidden (but the ends of lines and tabs) is written as Python would escape it.

    >>> print(visible("up\x1b[31m, \u202eback"))
    up\\x1b[31m, \\u202eback
    """
    if not has_hidden(text):
        return text
    return "".join(c.encode("unicode_escape").decode() if c not in "\n\t" and _is_hidden(c, before) else c
                   for c, before in zip(text, f" {text}"))


def _is_hidden(char: str, before: str) -> bool:
    """Whether a character behind `before` is not seen; a variant of a symbol is, as of those that can be drawn as an emoji."""
    if "\ufe00" <= char <= "\ufe0f":
        return unicodedata.category(before) not in ("So", "Sm")
    return DRAWN_AS_NOTHING.match(char) is not None or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def html_card(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> str:
    """Return a bold line, a table and a last line as HTML; everything is escaped.

    >>> html_card("<Run>", ("N",), [("1",)], "and 2 more")
    '<div><b>&lt;Run&gt;</b><table><tr><th>N</th></tr><tr><td>1</td></tr></table><p>and 2 more</p></div>'
    """
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    last = f"<p>{escape(more)}</p>" if more else ""
    return f"<div><b>{escape(title)}</b><table><tr>{top}</tr>{body}</table>{last}</div>"


def left_over(count: int, noun: str) -> str:
    """Return how many are not shown.

    >>> left_over(1, "choice"), left_over(2, "choice")
    ('1 more choice', '2 more choices')
    """
    return f"{count:,} more {noun}{'' if count == 1 else 's'}"


def model_html(model: CTMDP) -> str:
    """Return the summary line and the first choices as an HTML table."""
    rows = []
    for k in range(min(ROWS, model.n_pairs)):
        row = slice(model.row_start[k], model.row_start[k + 1])
        jumps = ", ".join(f"{model.states.label(j)}: {p:.4g}" for j, p in zip(model.next_state[row], model.probability[row]))
        rows.append((model.states.label(model.pair_state[k]), model.actions.label(model.pair_action[k]), f"{model.rate[k]:.6g}",
                     f"{model.reward[k]:.6g}", f"{model.running[k]:.6g}", jumps if len(jumps) < 90 else jumps[:87] + "..."))
    more = f"and {left_over(model.n_pairs - ROWS, 'choice')}" if model.n_pairs > ROWS else ""
    return html_card(repr(model)[1:-1], ("state", "action", "rate", "reward", "running", "next"), rows, more)
