"""Words: a model for a notebook, and which texts can be shown."""

from __future__ import annotations

import unicodedata
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

ROWS = 12


def has_control(text: str) -> bool:
    """Whether a text could break a terminal, a line or a file: control characters, lone surrogates, line separators."""
    return not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text)


def model_html(model: CTMDP) -> str:
    """Return the summary line and the first choices as an HTML table."""
    head = "".join(f"<th>{h}</th>" for h in ("state", "action", "rate", "reward", "running", "next"))
    body = []
    for k in range(min(ROWS, model.n_pairs)):
        row = slice(model.row_start[k], model.row_start[k + 1])
        jumps = ", ".join(f"{model.states.label(j)}: {p:.4g}" for j, p in zip(model.next_state[row], model.probability[row]))
        cells = (model.states.label(model.pair_state[k]), model.actions.label(model.pair_action[k]), f"{model.rate[k]:.6g}",
                 f"{model.reward[k]:.6g}", f"{model.running[k]:.6g}", jumps if len(jumps) < 90 else jumps[:87] + "...")
        body.append("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
    more = f"<p>and {model.n_pairs - ROWS} more choices</p>" if model.n_pairs > ROWS else ""
    return f"<div><b>{escape(repr(model)[1:-1])}</b><table><tr>{head}</tr>{''.join(body)}</table>{more}</div>"
