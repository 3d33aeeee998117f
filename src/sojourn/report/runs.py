"""The picture of one run: its regret against the decisions, beside what no learner can beat in the long run."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError, SojournError
from sojourn.instance.difficulty import Difficulty, difficulty
from sojourn.learn.abilities import called
from sojourn.learn.doubling import Doubling
from sojourn.report.look import COLORS, new_figure, save, with_look
from sojourn.simulation.run import Run

if TYPE_CHECKING:
    from sojourn.report.look import Figure

KINDS = ("png", "svg", "pdf")
MANY = 60  # episodes whose starts are still marked
LARGE = 2000  # states beyond which the lower bound is left to `sojourn difficulty`


def check_picture(path: str | PathLike[str]) -> str:
    """Return the kind of picture that `path` asks for, or raise."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ParameterError(f"the picture {str(path)!r} ends in {kind or 'nothing'!r}; it must end in .png, .svg or .pdf.")
    if not Path(path).absolute().parent.is_dir():
        raise ParameterError(f"the picture {str(path)!r} is to go into a folder that does not exist; make it first.")
    return kind


@with_look
def plot_run(run: Run, path: str | PathLike[str] | None = None, bounds: bool = True) -> Figure:
    """Draw the regret of a run, on plain and on logarithmic axes; write it to `path` if given; return the figure.

    With `bounds`, the lower bound C(M) log N (thm:main) is drawn beside it, and the proved upper bound of CT-UCRL where the
    learner is one it holds for: delta = 1/N (thm:UCRL, a point at N) or doubling (thm:UCRL2, a line).
    """
    kind = None if path is None else check_picture(path)
    if len(run.epochs) < 2:
        raise ParameterError(f"the run has {len(run.epochs)} checkpoints; a picture needs at least 2.")
    figure, axes = new_figure(7.8, 3.4, 1, 2)
    plain, logarithmic = axes[0]
    card = _card(run) if bounds else None
    for panel in (plain, logarithmic):
        _curves(panel, run)
        _lower_bound(panel, run, card)
        panel.set_xlabel("decisions N")
    _upper_bound(logarithmic, run, card)
    _plain_axes(plain, run)
    _logarithmic_axes(logarithmic, run)
    handles, labels = logarithmic.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels) if len(labels) < 5 else 3, handlelength=2.8)
    figure.suptitle(_title(run), fontsize=10)
    if path is not None:
        save(figure, path, kind or "png")
    return figure


def _card(run: Run) -> Difficulty | None:
    """Return the model's difficulty, as far as the learner's rate bounds define it; None where there is none."""
    known = getattr(run.learner, "knowledge", None)
    if run.model.n_states > LARGE or known is None:
        return None
    try:
        card = difficulty(run.model, (known.rate_min, known.rate_max))
        _ = card.lower_bound_constant
        return card
    except SojournError:
        return None


def _curves(panel: Any, run: Run) -> None:
    panel.plot(run.epochs, run.regret, color=COLORS[1], linewidth=1.0, label="regret", zorder=2)
    panel.plot(run.epochs, run.adjusted_regret, color=COLORS[2], linewidth=1.1, linestyle=(0, (5, 2)), label="adjusted regret",
               zorder=3)
    panel.plot(run.epochs, run.pseudo_regret, color=COLORS[0], linewidth=2.0, label="pseudo-regret", zorder=4)
    starts = run.episodes.start_epoch
    if 1 < len(starts) <= MANY:
        heights = np.interp(starts, run.epochs, run.pseudo_regret)
        panel.plot(starts, heights, linestyle="none", marker="|", markersize=8, markeredgewidth=0.9, color="black",
                   label="an episode begins", zorder=5)


def _lower_bound(panel: Any, run: Run, card: Difficulty | None) -> None:
    if card is not None and card.lower_bound_constant > 0:
        late = run.epochs >= 3
        panel.plot(run.epochs[late], card.lower_bound_constant * np.log(run.epochs[late]), color="black", linewidth=1.2,
                   linestyle=(0, (2, 2)), label=r"lower bound $C(\mathcal{M})\,\log N$", zorder=6)


def _upper_bound(panel: Any, run: Run, card: Difficulty | None) -> None:
    """Draw the theorem's bound only where its learner is walking: as printed, with the labels of the paper."""
    if card is None:
        return
    style = {"color": "#777777", "linewidth": 1.1, "zorder": 1}
    last = int(run.epochs[-1])
    try:
        if isinstance(run.learner, Doubling):
            late = run.epochs[run.epochs >= 4]
            panel.plot(late, [card.upper_bound_doubling(epochs=float(n)) for n in late], linestyle=(0, (1, 1.5)),
                       label="upper bound, doubling (as printed)", **style)
        elif getattr(run.learner, "radius_scale", None) == 1.0 and np.isclose(getattr(run.learner, "delta", 0.0) * last, 1.0):
            panel.plot([last], [card.upper_bound(float(last))], linestyle="none", marker="v", markersize=5,
                       label=r"upper bound at $\delta = 1/N$ (as printed)", **style)
    except SojournError:
        return


def _plain_axes(panel: Any, run: Run) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    panel.set_ylabel("regret (reward)")
    panel.axhline(0.0, color="#888888", linewidth=0.6, zorder=1)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(6))
        axis.set_major_formatter(EngFormatter(sep=" "))


def _logarithmic_axes(panel: Any, run: Run) -> None:
    """Both axes logarithmic, from the first regret that can be seen; negative values cannot be shown there."""
    panel.set_xscale("log")
    positive = run.pseudo_regret[run.pseudo_regret > 0]
    if positive.size:
        top = max(1.0, float(np.nanmax([run.pseudo_regret.max(), run.regret.max()])))
        panel.set_yscale("log")
        marks = [float(np.max(line.get_ydata())) for line in panel.lines if str(line.get_label()).startswith("upper bound")]
        panel.set_ylim(max(float(positive.min()) / 2, top * 1e-7), 3 * max([top, *marks]))


def _title(run: Run) -> str:
    name = run.model.name or f"{run.model.n_states} states"
    unit = f"time {run.times[-1]:.3g}, " if run.times[-1] < 1e3 else ""
    rest = ", interrupted" if run.interrupted else ""
    return f"{called(run.learner)} on {name}: {int(run.epochs[-1]):,} decisions, {unit}{run.episodes.total:,} episodes{rest}"
