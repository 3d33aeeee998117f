"""The curves of a study: what each learner has lost, and how fast that grows, beside the slope of the lower bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.report.look import MARKERS, legend_above, line_of, literal, new_figure, with_look
from sojourn.study.growth import slopes
from sojourn.study.statistics import mean_band
from sojourn.study.summary import REGRETS, Curves, Summary

if TYPE_CHECKING:
    from sojourn.report.look import Figure

WIDTH, HEIGHT = 4.4, 3.2  # inches: two panels stand side by side on a page, one fills the width of a telephone
FAINT_RUNS = 50
APART = 10.0  # learners further apart than this get a logarithmic axis, or leave a plain one
DASHES = {"C(M)": (0, (2, 2)), "C_u(M)": (0, (6, 2)), "C_events(M)": (0, (6, 2, 1, 2))}  # of the lower bounds
FIRST = 10.0  # decisions from which on a logarithmic picture begins

Transform = Callable[[Curves], np.ndarray]


def lost(c: Curves) -> np.ndarray:
    return c.values


def per_log(c: Curves) -> np.ndarray:
    return np.asarray(c.values / np.log(np.maximum(c.epochs, 2.0)))


def slope(c: Curves) -> np.ndarray:
    return slopes(c.epochs, c.values)


def learner_numbers(summary: Summary) -> dict[str, int]:
    """Return each learner's number, which gives it its colour and dashes throughout."""
    return {label: i for i, label in enumerate(dict.fromkeys(c.learner for c in summary.curves))}


def model_labels(summary: Summary) -> list[str]:
    return list(dict.fromkeys(c.model for c in summary.curves))


def curves_on(summary: Summary, model: str) -> list[Curves]:
    return [c for c in summary.curves if c.model == model]


def axis_of(summary: Summary, c: Curves) -> tuple[np.ndarray, str]:
    """Return the horizontal axis: decisions, or time where the horizon is a time."""
    return (c.epochs, "decisions N") if summary.horizon["epochs"] else (c.times, "time T")


@with_look
def regret_figure(summary: Summary, model: str) -> Figure:
    """Return what each learner has lost against the decisions; every learner is in the picture."""
    figure, axes = new_figure(WIDTH, HEIGHT)
    draw_lost(axes[0][0], summary, model)
    legend_above(figure, axes[0][0])
    return figure


@with_look
def linear_figure(summary: Summary, model: str) -> Figure:
    """Return the same on plain axes; learners with far more regret than the others leave it, and the title says so."""
    figure, axes = new_figure(WIDTH, HEIGHT)
    draw_plain(axes[0][0], summary, model)
    legend_above(figure, axes[0][0])
    return figure


@with_look
def growth_figure(summary: Summary, model: str) -> Figure:
    """Return the regret divided by log N, with C(M) as a line."""
    figure, axes = new_figure(WIDTH, HEIGHT)
    draw_against_bound(axes[0][0], summary, model, per_log, f"{_words(summary)} / log N")
    legend_above(figure, axes[0][0])
    return figure


@with_look
def slope_figure(summary: Summary, model: str) -> Figure | None:
    """Return the growth per unit of log N from N/100 to N, with C(M) as a line; None where the checkpoints begin too late."""
    if not has_slopes(summary, model):
        return None
    figure, axes = new_figure(WIDTH, HEIGHT)
    draw_slope(axes[0][0], summary, model)
    legend_above(figure, axes[0][0])
    return figure


def has_slopes(summary: Summary, model: str) -> bool:
    """Return whether the checkpoints of every learner reach over two decades."""
    return all(np.isfinite(slope(c)).any() for c in curves_on(summary, model))


def draw_lost(panel: Any, summary: Summary, model: str) -> None:
    """Draw what was lost on a logarithmic axis of decisions; the vertical one too where learners are far apart."""
    _means(panel, summary, model, lost)
    _logarithmic(panel, summary, model, lost)
    panel.set_ylabel(f"{_words(summary)} (reward)")


def draw_slope(panel: Any, summary: Summary, model: str) -> None:
    """Draw the growth per unit of log N over the last two decades, and C(M)."""
    if not has_slopes(summary, model):
        panel.set_axis_off()
        panel.text(0.5, 0.5, "no slope: the checkpoints do not\nreach over two decades", ha="center", transform=panel.transAxes)
        return
    draw_against_bound(panel, summary, model, slope, f"slope of the {_words(summary)}", runs=False)


def draw_against_bound(panel: Any, summary: Summary, model: str, transform: Transform, words: str, runs: bool = True) -> None:
    """Draw a quantity that tends to at least the lower bound, and the bounds of what the learners were told."""
    _means(panel, summary, model, transform, runs)
    for name, constant in summary.floors(model).items():
        panel.axhline(constant, color="black", linewidth=1.2, linestyle=DASHES[name], zorder=5, label=f"{name}, the long-run bound")
    _logarithmic(panel, summary, model, transform)
    panel.set_ylabel(words)


def draw_plain(panel: Any, summary: Summary, model: str) -> None:
    """Draw what was lost on plain axes, without the learners that would flatten the others."""
    kept = in_picture(summary, model)
    _means(panel, summary, model, lost)
    tops, bottoms = [], [0.0]
    for c in (c for c in curves_on(summary, model) if c.learner in kept):
        low, high = mean_band(c.values, method="t")
        tops += [float(np.nanmax(np.append(high, c.values.mean(axis=0).max()))), float(c.values.max()) / 1.5]
        bottoms += [float(np.nanmin(np.append(low, 0.0)))]
    if np.isfinite(tops).all() and max(tops) > min(bottoms):
        panel.set_ylim(min(bottoms) * 1.05, max(tops) * 1.08)
    gone = [c.learner for c in curves_on(summary, model) if c.learner not in kept]
    if gone:
        leaves = "leaves" if len(gone) == 1 else "leave"
        panel.set_title(f"zoomed in: {literal(', '.join(gone))} {leaves} the picture", fontsize=8, color="#444444", loc="left")
    panel.set_xlabel(axis_of(summary, summary.curves[0])[1])
    panel.set_ylabel(f"{_words(summary)} (reward)")
    panel.yaxis.set_major_formatter("{x:,.0f}" if panel.get_ylim()[1] >= 1000 else "{x:g}")
    panel.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
    panel.locator_params(axis="x", nbins=5)


def in_picture(summary: Summary, model: str) -> list[str]:
    """Return the learners to zoom in on: those that end with at most ten times the least loss."""
    ends = {c.learner: float(np.abs(c.final.mean())) for c in curves_on(summary, model)}
    least = min((end for end in ends.values() if end > 0), default=np.inf)
    return [learner for learner, end in ends.items() if end <= APART * least]


def _words(summary: Summary) -> str:
    return REGRETS[summary.regret][1]


def _means(panel: Any, summary: Summary, model: str, transform: Transform, runs: bool = True) -> None:
    """Draw mean, 95 % band and faint runs of every learner."""
    numbers = learner_numbers(summary)
    for c in curves_on(summary, model):
        i = numbers[c.learner]
        x, values, style = axis_of(summary, c)[0], transform(c), line_of(i)
        if runs and len(values) > 1:
            for run in values[:FAINT_RUNS]:
                panel.plot(x, run, color=style["color"], alpha=0.16, linewidth=0.5, rasterized=True, zorder=1)
        low, high = mean_band(values, method=summary.band)
        panel.fill_between(x, low, high, color=style["color"], alpha=0.22, linewidth=0, zorder=2)
        panel.plot(x, values.mean(axis=0), linewidth=1.8, label=c.learner, zorder=4, marker=MARKERS[i % len(MARKERS)],
                   markersize=4, markevery=(0.05 + 0.03 * i, 0.2), **style)


def _logarithmic(panel: Any, summary: Summary, model: str, transform: Transform) -> None:
    """Make the decisions logarithmic, and the vertical axis too where the learners end far apart and none below zero."""
    panel.set_xscale("log")
    panel.set_xlabel(axis_of(summary, summary.curves[0])[1] + " (log scale)")
    shown = curves_on(summary, model)
    means = {c.learner: transform(c).mean(axis=0) for c in shown}
    last = [float(mean[-1]) for mean in means.values()]
    paid = [value for value in last if value > 0]
    if min(last) < 0 or not paid or not max(paid) > APART * min(paid):
        panel.set_ylim(bottom=min(0.0, *(float(np.nanmin(mean)) for mean in means.values())))
        return
    late = {c.learner: c.epochs >= FIRST for c in shown}
    early = [float(mean[late[name] & (mean > 0)].min(initial=np.inf)) for name, mean in means.items()]
    panel.set_yscale("log")
    panel.set_ylim(max(min(early) / 2, max(paid) * 1e-7), max(paid) * 3)
    begins = [axis_of(summary, c)[0][late[c.learner]] for c in shown]
    panel.set_xlim(left=min((float(x[0]) for x in begins if len(x)), default=None))
    nothing = [name for name, mean in means.items() if mean[-1] == 0]
    if nothing:
        panel.set_title(f"{literal(', '.join(nothing))}: 0 at the end, below the picture", fontsize=8, color="#444444", loc="left")
