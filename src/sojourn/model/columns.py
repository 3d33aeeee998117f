"""A table as aligned lines of text, wherever one is printed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

FIGURES = "-0123456789<∞"  # what a figure begins with


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] | None = None) -> list[str]:
    """Return the lines; the columns numbered in `right` are flush right, by default those that hold figures only.

    >>> print("\\n".join(columns(("state", "bias"), [("idle", "0.0"), ("busy", "-1.5")])))
    state  bias
    idle    0.0
    busy   -1.5
    """
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    if right is None:
        right = [i for i in range(len(head)) if all(row[i][:1] in FIGURES for row in rows)]
    return ["  ".join(cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip()
            for row in table]
