"""A sample path with the regret under it."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.abilities import called
from sojourn.report.look import literal, shortened
from sojourn.report.model_style import DARK, INK, MIDDLE, SOFT, WARM, axis_names, coordinates, figure, plain_axes
from sojourn.report.models import save_figure

if TYPE_CHECKING:
    from sojourn.report.look import Figure

MOST = 4000  # epochs drawn one by one
FEW = 14  # states up to which each has its own tick


def plot_path(run: Any, title: str | None = None, path: str | PathLike[str] | None = None) -> Figure:
    """Return a Figure of a recorded run (`simulate(..., record=True)`): the state over time, and the regret under it.

    The regret at time t is gain x t minus what was earned until then; the pseudo-regret adds the gap of every decision.
    Sojourns after a decision that was not optimal are drawn warm and thick.
    """
    if run.trajectory is None or not len(run.trajectory):
        raise ParameterError("the run holds no trajectory; record one with simulate(..., record=True).")
    walked, model = run.trajectory, run.model
    pairs = _pairs(model, walked)
    gaps = _gaps(run)[pairs]
    ends = np.cumsum(walked.holding_time)
    earned = np.cumsum(walked.reward)
    fig = figure(10.5, 5.6)
    above, below = fig.subplots(2, 1, sharex=True, height_ratios=[1.5, 1])
    head = (model.name or "model").partition(":")[0]
    shown = literal(title or f"{head}: a sample path and its regret")
    fig.suptitle(shown, x=0.01, ha="left", fontsize=15, fontweight="bold", color=INK)
    _state(above, model, walked, ends, gaps)
    _regret(below, ends, run.gain * ends - earned, np.cumsum(gaps))
    wrong = float(np.mean(gaps > 1e-9))
    words = literal("  ·  ".join((f"{len(walked):,} decisions, {wrong:.0%} of them not optimal", f"walked by {called(run.learner)}",
                          f"optimal gain {run.gain:.5g}")))
    fig.text(0.01, -0.02, words, ha="left", va="top", fontsize=9.5, color=SOFT)
    if path is not None:
        save_figure(fig, path)
    return fig


def _pairs(model: Any, walked: Any) -> np.ndarray:
    table = model.table(np.arange(model.n_pairs), fill=-1)
    return np.asarray(table[walked.state, walked.action])


def _gaps(run: Any) -> np.ndarray:
    """Return the gap of every pair.   Paper: eq:sub-gap"""
    m = run.model
    values = -m.expected_reward + (run.gain - m.running) / m.rate - m.matrix @ run.bias + run.bias[m.pair_state]
    return np.where(values > 1e-9 * max(1.0, abs(run.gain)), values, 0.0)


def _state(ax: Any, model: Any, walked: Any, ends: np.ndarray, gaps: np.ndarray) -> None:
    from matplotlib.ticker import MaxNLocator

    at = coordinates(model.states.labels)
    several = at is not None and at.shape[1] > 1
    values = at if several else np.arange(model.n_states)[:, None] if at is None else at
    assert values is not None
    names = axis_names(model, values.shape[1])
    begins = np.concatenate([[0.0], ends[:-1]])
    shown = slice(0, MOST)
    edges = np.concatenate([begins[shown], ends[shown][-1:]])
    for column, color, style in zip(range(min(2, values.shape[1])), (DARK, MIDDLE), ("-", (0, (2.5, 1.2)))):
        ax.stairs(values[walked.state[shown], column], edges, baseline=None, color=color, linewidth=1.4, linestyle=style,
                  label=names[column])
    wrong = np.flatnonzero(gaps[shown] > 0)
    ax.hlines(values[walked.state[wrong], 0], begins[wrong], ends[wrong], color=WARM, linewidth=3.2, zorder=3,
              label="after a decision that was not optimal")
    plain_axes(ax, grid="y")
    if at is None and model.n_states <= FEW:
        ax.set_yticks(range(model.n_states), [literal("\n".join(shortened(s, 18, 2))) for s in model.states.labels])
    else:
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    ax.set_ylabel("state" if several or at is None else names[0], fontsize=10.5, color=INK)
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=9.5, labelcolor=SOFT,
              borderaxespad=0.2)


def _regret(ax: Any, ends: np.ndarray, regret: np.ndarray, pseudo: np.ndarray) -> None:
    shown = slice(0, MOST)
    ax.axhline(0.0, color=SOFT, linewidth=0.8)
    ax.plot(ends[shown], regret[shown], color=DARK, linewidth=1.4, label="regret")
    ax.plot(ends[shown], pseudo[shown], color=WARM, linewidth=2.2, linestyle=(0, (4, 1.5)), label="pseudo-regret")
    plain_axes(ax, grid="y")
    ax.set_ylabel("reward lost", fontsize=10.5, color=INK)
    ax.set_xlabel("time", fontsize=10.5, color=INK)
    ax.legend(loc="upper left", frameon=False, fontsize=9.5, labelcolor=SOFT, ncols=2)
