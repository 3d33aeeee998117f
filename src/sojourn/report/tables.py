"""Tables of a study as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", strong: Sequence[int] = ()) -> str:
    """Return a table; columns of figures are set to the right, repeated entries of the first column are not seen.

    Every cell knows its column's head: on a narrow screen the rows are stacked, and each cell stands beside it.

    >>> html_table(("a", "b"), [("x", "1")])[:24]
    '<table><thead><tr><th sc'
    """
    right = [bool(rows) and all(row[i][:1] in "-−0123456789<∞" and row[i][:1] for row in rows) for i in range(len(head))]
    lines = ["<table>"]
    if caption:
        lines[0] += f"<caption>{escape(caption)}</caption>"
    lines[0] += (
        "<thead><tr>" + "".join(f'<th scope="col"{_side(r)}>{escape(h)}</th>' for h, r in zip(head, right)) + "</tr></thead>"
    )
    lines.append("<tbody>")
    before = None
    for number, row in enumerate(rows):
        first = row[0] != before
        before = row[0]
        mark = (
            ' class="' + " ".join(c for c in ("first" if first and number else "", "best" if number in strong else "") if c) + '"'
        )
        cells = [
            f'<td data-head="{escape(head[i], quote=True)}"{_side(r)}>{_again(cell, again=not (i or first or right[0]))}</td>'
            for i, (cell, r) in enumerate(zip(row, right))
        ]
        lines.append(f"<tr{mark if mark != ' class=' + chr(34) * 2 else ''}>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _again(cell: str, again: bool) -> str:
    return f'<span class="again">{escape(cell)}</span>' if again else escape(cell)


def _side(right: bool) -> str:
    return ' class="n"' if right else ""
