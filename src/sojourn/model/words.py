"""Results in words for a notebook: a headline and a small table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

ROWS = 12


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
