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


def fitting(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a table of figures that is at most `width` characters wide (0: any): the last columns are left out until it is.

    >>> fitting(("N", "regret", "time"), [("10", "2.5", "7.25")], 12)
    [' N  regret', '10     2.5']
    """
    for kept in range(len(head), 0, -1):
        table = columns(head[:kept], [row[:kept] for row in rows], right=range(kept))
        if not width or max(map(len, table)) <= width:
            break
    return table


def stacked(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a table as lines, or, where it is wider than `width` (0: any), each row as a block of `name  value` lines.

    >>> stacked(("model", "mean"), [("queue", "2.5"), ("river", "7")], 10)
    ['model  queue', 'mean   2.5', '', 'model  river', 'mean   7', '']
    """
    table = columns(head, rows)
    if not width or max(map(len, table)) <= width:
        return table
    return [line for row in rows for line in (*columns((head[0], row[0]), list(zip(head[1:], row[1:])), right=()), "")]
