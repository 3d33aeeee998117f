"""What the pictures of models share: colours that survive colour blindness and grey print, labels read as coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import require
from sojourn.report.look import literal

if TYPE_CHECKING:
    from sojourn.report.look import Figure

INK = "#1b1f24"
SOFT = "#6b7280"
PALE = "#d9dde3"
PAPER = "#ffffff"
DARK, MIDDLE, LIGHT, WARM = "#12395e", "#4c93c4", "#f4dfa3", "#c8571b"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
SPARSE = 50  # places per state from which on the numbers in the labels are names, not coordinates
FONT = {"family": "sans-serif", "size": 11}
SHOWN = "shown"  # the method of a solution that holds a policy given by the user


def figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches, drawn without any window or global state."""
    require("matplotlib", "plot")
    from sojourn.report.picture import Picture

    return Picture(figsize=(width, height), dpi=150, facecolor=PAPER, layout="constrained")


def action_colors(n: int) -> list[str]:
    """Return n colours whose lightness falls in even steps, so that they differ in grey too."""
    require("matplotlib", "plot")
    if n <= 4:
        return {1: [LIGHT], 2: [LIGHT, DARK], 3: [LIGHT, MIDDLE, DARK]}.get(n, [LIGHT, "#e59a5c", MIDDLE, DARK])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["cividis"](x)) for x in np.linspace(0.97, 0.05, n)]


def text_on(color: str) -> str:
    """Return ink or white, whichever reads better on `color`."""
    from matplotlib.colors import to_rgb

    r, g, b = to_rgb(color)
    return INK if 0.299 * r + 0.587 * g + 0.114 * b > 0.55 else "#ffffff"


def coordinates(labels: Sequence[str]) -> np.ndarray | None:
    """Return the integers in the labels as an (S, d) array, or None where the labels do not share one form or lie far apart.

    >>> coordinates(["(0, 3) at 1", "(2, 3) at 2"]).tolist()
    [[0, 3, 1], [2, 3, 2]]
    >>> coordinates(["up", "down"]) is None
    True
    """
    forms = {NUMBER.sub("#", label) for label in labels}
    if len(forms) != 1 or "#" not in next(iter(forms)):
        return None
    numbers = [[int(x) for x in NUMBER.findall(label)] for label in labels]
    spans = [max(column) - min(column) + 1 for column in zip(*numbers)]
    if len(set(map(tuple, numbers))) < len(labels) or prod(spans) > SPARSE * len(labels):
        return None
    return np.array(numbers, dtype=np.int64) if max(map(abs, chain(*numbers))) < 2**53 else None


def axis_names(model: Any, dimensions: int, given: Sequence[str] | None = None) -> list[str]:
    """Return a name per coordinate: as given, from the zoo family the model's name tells of, or x1, x2, ..."""
    names = list(given or ())
    if not names:
        from sojourn.zoo.catalogue import families, family

        name = model.name.partition(":")[0]
        names = list(family(name).axes) if name in families() else []
    if len(names) >= dimensions:
        return names[:dimensions]
    if names and names[0].endswith(" 1"):  # "customers at queue 1", and so on for a third queue
        return [f"{names[0][:-1]}{i + 1}" for i in range(dimensions)]
    return ["state"] if dimensions == 1 else [f"x{i + 1}" for i in range(dimensions)]


def title_of(model: Any, solution: Any) -> tuple[str, str]:
    """Return a headline and a line below it."""
    name, _, parameters = (model.name or "model").partition(":")
    shown = parameters.replace(",", ", ")
    shown = shown if len(shown) < 70 else shown[:67] + "..."
    size = "1 state" if model.n_states == 1 else f"{model.n_states} states"
    low, high = solution.gain_bounds
    whose = "gain of the policy shown" if solution.method == SHOWN else "optimal gain"
    width = high - low
    proved = f" (proved to {max(width, 0):.1g})" if np.isfinite(width) else ""
    proved = f"{whose} {solution.gain:.6g} per unit of time{proved}"
    return name, f"{shown + '  ·  ' if shown else ''}{size}  ·  {proved}"


def write_title(fig: Figure, model: Any, solution: Any, title: str | None, note: str = "") -> None:
    """Put the headline over a figure, and below it a line about the model and one that explains the picture."""
    head, below = title_of(model, solution)
    fig.suptitle(literal(title or head), x=0.01, ha="left", fontsize=15, fontweight="bold", color=INK)
    fig.text(0.01, -0.02, literal(below) + (f"\n{note}" if note else ""), ha="left", va="top", fontsize=9.5, color=SOFT,
             linespacing=1.5)


def plain_axes(axes: Any, grid: str = "") -> None:
    """Leave an axes with left and bottom lines only, and a faint grid along `grid` ("x", "y" or none)."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
    axes.tick_params(colors=INK, labelsize=9.5, length=3)
    if grid:
        axes.grid(axis=grid, color=PALE, linewidth=0.7)
        axes.set_axisbelow(True)
