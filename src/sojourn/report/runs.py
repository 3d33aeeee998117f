"""The picture of one run: its regret against the decisions, beside what no learner can beat in the long run."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.report.look import COLORS, new_figure, save, with_look
from sojourn.simulation.run import Run

KINDS = ("png", "svg", "pdf")
MANY = 60  # episodes whose starts are still marked


def check_picture(path: str | PathLike[str]) -> str:
    """Return the kind of picture that `path` asks for, or raise."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ParameterError(f"the picture {str(path)!r} ends in {kind or 'nothing'!r}; it must end in .png, .svg or .pdf.")
    return kind


@with_look
def plot_run(run: Run, path: str | PathLike[str] | None = None, difficulty: Any = None) -> Any:
    """Draw the regret of a run, linear and logarithmic in the decisions; write it to `path` if given; return the figure.

    `difficulty` (see `sojourn.difficulty`) adds C(M) log N, which no uniformly good learner beats in the long run
    (thm of eq:CM).
    """
    kind = None if path is None else check_picture(path)
    if len(run.epochs) < 2:
        raise ParameterError(f"the run has {len(run.epochs)} checkpoints; a picture needs at least 2.")
    figure, axes = new_figure(7.6, 3.3, 1, 2)
    for panel, scale in zip(axes[0], ("linear", "log")):
        _curves(panel, run, scale)
        _lower_bound(panel, run, difficulty)
        panel.set_xlabel("decisions N")
        panel.set_xscale(scale)
    axes[0][0].set_ylabel("regret (reward)")
    axes[0][1].legend(loc="upper left")
    figure.suptitle(_title(run), fontsize=10)
    if path is not None:
        save(figure, path, kind or "png")
    return figure


def _curves(panel: Any, run: Run, scale: str) -> None:
    x = run.epochs
    panel.plot(x, run.regret, color=COLORS[1], linewidth=1.0, label="regret" if _by_epochs(run) else "regret $R_T$", zorder=2)
    panel.plot(x, run.adjusted_regret, color=COLORS[2], linewidth=1.2, linestyle=(0, (4, 2)), label="adjusted", zorder=3)
    panel.plot(x, run.pseudo_regret, color=COLORS[0], linewidth=2.0, label="pseudo-regret $\\sum \\varphi^*\\, N(s,a)$", zorder=4)
    panel.axhline(0.0, color="#888888", linewidth=0.6, zorder=1)
    starts = run.episodes.start_epoch
    if 1 < len(starts) <= MANY and scale == "log":
        heights = np.interp(starts, x, run.pseudo_regret)
        panel.plot(starts, heights, linestyle="none", marker="|", markersize=7, color=COLORS[0], label="episode begins", zorder=5)


def _by_epochs(run: Run) -> bool:
    return bool(np.isclose(run.rewards[-1], run.gain * run.times[-1] - run.regret[-1]))


def _lower_bound(panel: Any, run: Run, difficulty: Any) -> None:
    constant = float(getattr(difficulty, "lower_bound_constant", np.nan))
    if np.isfinite(constant) and constant > 0:
        late = run.epochs >= 3
        panel.plot(run.epochs[late], constant * np.log(run.epochs[late]), color="black", linewidth=1.2, linestyle=(0, (2, 2)),
                   label="lower bound $C(M)\\,\\log N$", zorder=5)


def _title(run: Run) -> str:
    name = run.model.name or f"{run.model.n_states} states"
    rest = ", interrupted" if run.interrupted else ""
    return f"{type(run.learner).__name__} on {name}: {int(run.epochs[-1]):,} decisions, {run.episodes.total:,} episodes{rest}"
