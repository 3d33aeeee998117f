"""The figures of a study, by name, and written to files."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import ParameterError
from sojourn.report.bars import debt_figure, final_figure, policy_figure
from sojourn.report.curves import (
    HEIGHT,
    WIDTH,
    draw_lost,
    draw_plain,
    draw_slope,
    growth_figure,
    linear_figure,
    model_labels,
    regret_figure,
    slope_figure,
)
from sojourn.report.look import legend_above, literal, new_figure, save, with_look
from sojourn.study.store import Store
from sojourn.study.summary import Summary, summarize

if TYPE_CHECKING:
    from sojourn.report.look import Figure

FIGURES: dict[str, Callable[[Summary, str], Figure | None]] = {
    "regret": regret_figure,
    "linear": linear_figure,
    "growth": growth_figure,
    "slope": slope_figure,
    "final": final_figure,
    "policies": policy_figure,
    "debt": debt_figure,
}


def write_figures(
    store: str | PathLike[str], folder: str | PathLike[str], kind: str = "pdf", regret: str = "pseudo", band: str = "t"
) -> list[Path]:
    """Write every figure of a store as a file `<model>-<figure>.<kind>`; return the files."""
    if kind not in ("pdf", "svg", "png"):
        raise ParameterError(f"format is {kind!r}; it must be pdf, svg or png.")
    with Store(store) as opened:
        summary = summarize(opened, regret, band)
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    for model in model_labels(summary):
        for name, draw in FIGURES.items():
            figure = draw(summary, model)
            if figure is not None:
                path = Path(folder) / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', model).strip('-')}-{name}.{kind}"
                save(figure, path, kind)
                written.append(path)
    return written


@with_look
def plot_store(store: str | PathLike[str], regret: str = "pseudo", band: str = "t", log: bool = True) -> Figure:
    """Return one figure: for each model what was lost (`log=False`: on plain axes) and the slope against log N beside C(M)."""
    with Store(store) as opened:
        summary = summarize(opened, regret, band)
    models = model_labels(summary)
    figure, axes = new_figure(2 * WIDTH, HEIGHT * len(models), len(models), 2)
    for (left, right), model in zip(axes, models):
        (draw_lost if log else draw_plain)(left, summary, model)
        draw_slope(right, summary, model)
        left.set_title(literal(model), fontweight="bold", loc="left")
    legend_above(figure, max(axes.flat, key=lambda panel: len(panel.get_legend_handles_labels()[1])), across=110)
    return figure
