"""How our figures look: colours that colour-blind people tell apart, line styles and hatches that survive grey, embedded fonts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sojourn.errors import ParameterError, require
from sojourn.hidden_characters import visible

if TYPE_CHECKING:  # the figure that every picture is returned as; other folders take the name from here
    from matplotlib.figure import Figure as Figure

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito's palette, in an order in which neighbours also differ in lightness
COLORS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#404040", "#999999")
DASHES = ("-", (0, (6, 2)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 2, 2)), (0, (4, 4)), (0, (2, 3)), (0, (10, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")

KINDS = ("png", "svg", "pdf")

SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "sojourn",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "hatch.linewidth": 0.6,
    "mathtext.fontset": "dejavusans",
}


def matplotlib() -> Any:
    """Return matplotlib, or raise with the name of the extra."""
    return require("matplotlib", "plot")


def check_picture(path: str | PathLike[str]) -> str:
    """Return the kind of picture that `path` asks for, or raise: another ending, or a folder that does not exist."""
    kind, folder = Path(path).suffix.lower().lstrip("."), Path(path).parent
    if kind not in KINDS:
        raise ParameterError(f"the picture {str(path)!r} ends in {kind or 'nothing'!r}; it must end in .png, .svg or .pdf.")
    if not folder.is_dir():
        raise ParameterError(f"the picture {str(path)!r} is to go into {str(folder)!r}, a folder that does not exist; make it "
                             "first, or name another.")
    return kind


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Any]:
    """Return a figure of our look (inches) and its axes; it belongs to nobody's global state."""
    with matplotlib().rc_context(SETTINGS):
        from sojourn.report.picture import Picture

        figure = Picture(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, file: Any, kind: str) -> None:
    """Write a figure; equal figures give equal bytes."""
    with matplotlib().rc_context(SETTINGS):
        facts = {
            "svg": {"Date": None, "Creator": None},
            "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
            "png": {"Software": None},
        }
        figure.savefig(file, format=kind, dpi=200, metadata=facts[kind])


def legend_above(figure: Figure, axes: Any, across: int = 60) -> None:
    """Put the legend of `axes` over the figure, in as many columns as fit into `across` characters; long names are cut."""
    handles, names = axes.get_legend_handles_labels()
    labels = [literal(shortened(name, 28, 1)[0]) for name in names]
    for columns in range(len(labels), 0, -1):
        rows = -(-len(labels) // columns)
        if sum(max(map(len, labels[i : i + rows])) + 8 for i in range(0, len(labels), rows)) <= across:
            break
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, columns), handlelength=2.6, columnspacing=1.2)


def literal(text: str) -> str:
    """Return the text for matplotlib to write as it stands: a dollar sign does not begin a formula, and nothing hides.

    >>> literal("costs $5, not $6")
    'costs \\\\$5, not \\\\$6'
    """
    return visible(text).replace("$", r"\$")


def shortened(text: str, width: int, lines: int) -> list[str]:
    """Return the text in at most so many lines of at most so many characters, with an ellipsis where it does not fit.

    >>> shortened("a machine that waits for parts", 12, 2)
    ['a machine', 'that waits…']
    """
    from textwrap import wrap

    found = wrap(text, width) or [""]
    if len(found) > lines:
        found = [*found[: lines - 1], found[lines - 1][: width - 1].rstrip() + "…"]
    return found


def line_of(i: int) -> dict[str, Any]:
    """Return colour and dashes of the i-th learner, the same in every figure."""
    return {"color": COLORS[i % len(COLORS)], "linestyle": DASHES[i % len(DASHES)]}


def with_look(function: Callable[P, R]) -> Callable[P, R]:
    """Draw inside our settings, and leave everybody else's as they were."""
    @wraps(function)
    def drawn(*values: P.args, **options: P.kwargs) -> R:
        with matplotlib().rc_context(SETTINGS):
            return function(*values, **options)

    return drawn
