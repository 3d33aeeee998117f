"""The figures of a study: regret, growth against the bounds, final values, exploration debt, time in each policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.report.look import COLORS, HATCHES, MARKERS, line_of, new_figure, save, with_look
from sojourn.study.statistics import mean_band
from sojourn.study.store import Store
from sojourn.study.summary import REGRETS, Curves, Summary, summarize

if TYPE_CHECKING:
    from sojourn.report.look import Figure

FAINT_RUNS = 50
PAIRS = 12
POLICIES = 7


def learner_numbers(summary: Summary) -> dict[str, int]:
    """Return each learner's number, which gives it its colour and dashes throughout."""
    return {label: i for i, label in enumerate(dict.fromkeys(c.learner for c in summary.curves))}


def model_labels(summary: Summary) -> list[str]:
    return list(dict.fromkeys(c.model for c in summary.curves))


def axis_of(summary: Summary, c: Curves) -> tuple[np.ndarray, str]:
    """Return the horizontal axis: decisions, or time where the horizon is a time."""
    return (c.epochs, "decisions N") if summary.horizon["epochs"] else (c.times, "time T")


def draw_curves(axes: Any, summary: Summary, model: str, divide_by_log: bool = False, runs: bool = True) -> None:
    """Draw mean, 95 % band and faint runs of every learner on `model`, and C(M) log N."""
    numbers, bounds = learner_numbers(summary), summary.bounds[model]
    shown = [c for c in summary.curves if c.model == model]
    for c in shown:
        x, _ = axis_of(summary, c)
        scale = np.log(np.maximum(c.epochs, 2.0)) if divide_by_log else np.ones(len(x))
        style, values = line_of(numbers[c.learner]), c.values / scale
        if runs and len(values) > 1:
            for run in values[:FAINT_RUNS]:
                axes.plot(x, run, color=style["color"], alpha=0.16, linewidth=0.5, rasterized=True, zorder=1)
        low, high = mean_band(values, method=summary.band)
        axes.fill_between(x, low, high, color=style["color"], alpha=0.22, linewidth=0, zorder=2)
        axes.plot(
            x,
            values.mean(axis=0),
            linewidth=1.8,
            label=c.learner,
            zorder=4,
            marker=MARKERS[numbers[c.learner] % len(MARKERS)],
            markersize=4,
            markevery=(0.05 + 0.03 * numbers[c.learner], 0.2),
            **style,
        )
    if bounds.constant > 0:
        x, _ = axis_of(summary, shown[0])
        late = shown[0].epochs >= 3
        floor = bounds.constant * (np.ones(len(x)) if divide_by_log else np.log(np.maximum(shown[0].epochs, 1.0)))
        axes.plot(
            x[late],
            floor[late],
            color="black",
            linewidth=1.2,
            linestyle=(0, (2, 2)),
            zorder=5,
            label="lower bound C(M)" + ("" if divide_by_log else " log N"),
        )


@with_look
def regret_figure(summary: Summary, model: str) -> Figure:
    """Return regret against decisions, linear and logarithmic."""
    figure, axes = new_figure(7.4, 3.1, 1, 2)
    words = REGRETS[summary.regret][1]
    for panel, scale in zip(axes[0], ("linear", "log")):
        draw_curves(panel, summary, model)
        panel.set_xscale(scale)
        panel.set_xlabel(axis_of(summary, summary.curves[0])[1] + (" (log scale)" if scale == "log" else ""))
        _top(panel, summary, model, zoom=scale == "log")
        panel.yaxis.set_major_formatter("{x:,.0f}" if panel.get_ylim()[1] >= 1000 else "{x:g}")
    axes[0][0].set_ylabel(f"{words} (reward)")
    axes[0][0].ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
    axes[0][0].locator_params(axis="x", nbins=6)
    _legend(figure, axes[0][0])
    return figure


@with_look
def growth_figure(summary: Summary, model: str) -> Figure:
    """Return regret divided by log N, and regret against the bounds on logarithmic axes."""
    figure, axes = new_figure(7.4, 3.1, 1, 2)
    left, right = axes[0]
    words = REGRETS[summary.regret][1]
    draw_curves(left, summary, model, divide_by_log=True)
    left.set_xscale("log")
    left.set_ylabel(f"{words} / log N")
    _top(left, summary, model, divide_by_log=True, zoom=True)
    draw_curves(right, summary, model, runs=False)
    shown = [c for c in summary.curves if c.model == model]
    x, _ = axis_of(summary, shown[0])
    for bound, label, color in _upper_bounds(summary, model, shown):
        right.plot(x, bound, color=color, linewidth=1.1, linestyle=(0, (1, 1.5)), label=label)
    right.set_xscale("log")
    right.set_yscale("log")
    low = min(float(c.values.mean(axis=0)[-1]) for c in shown)
    right.set_ylim(bottom=max(1e-2, low / 1e4) if low > 0 else 1e-2)
    right.set_ylabel(f"{words} (log scale)")
    for panel in axes[0]:
        panel.set_xlabel(axis_of(summary, shown[0])[1] + " (log scale)")
    _legend(figure, right)
    return figure


def _upper_bounds(summary: Summary, model: str, shown: list[Curves]) -> Iterator[tuple[np.ndarray, str, str]]:
    """Yield the proved bounds of the learners that are there."""
    epochs = np.maximum(shown[0].epochs, 2.0)
    for (words, bound), color in zip(summary.bounds[model].upper.items(), ("#333333", "#777777", "#AAAAAA")):
        yield np.array([bound(float(n)) for n in epochs]), words, color


def in_picture(summary: Summary, model: str) -> list[str]:
    """Return the learners to zoom in on: those left after dropping, from the top, each with ten times the regret of the next."""
    ranked = sorted((float(np.abs(c.final.mean())), c.learner) for c in summary.curves if c.model == model)
    while len(ranked) > 1 and ranked[-1][0] > 10 * max(ranked[-2][0], 1e-12) and ranked[-2][0] > 0:
        ranked.pop()
    return [learner for _, learner in ranked]


def _top(axes: Any, summary: Summary, model: str, divide_by_log: bool = False, zoom: bool = False) -> None:
    """Let the vertical axis end a little above the largest mean and its band; single bad runs may leave the picture.

    With `zoom`, learners with far more regret than the others leave it too, and the picture says so.
    """
    kept = in_picture(summary, model) if zoom else [c.learner for c in summary.curves]
    shown = [c for c in summary.curves if c.model == model]
    tops, bottoms = [], []
    for c in (c for c in shown if c.learner in kept):
        scale = np.log(np.maximum(c.epochs, 2.0)) if divide_by_log else np.ones(len(c.epochs))
        values = c.values / scale
        low, high = mean_band(values, method="t")
        tops += [float(np.nanmax(np.append(high, values.mean(axis=0).max()))), float(values.max()) / 1.5]
        bottoms += [float(np.nanmin(np.append(low, 0.0)))]
    if summary.bounds[model].constant > 0:
        tops.append(summary.bounds[model].constant if divide_by_log else summary.bounds[model].lower(float(shown[0].epochs[-1])))
    if np.isfinite(tops).all() and max(tops) > min(bottoms):
        axes.set_ylim(min(bottoms) * 1.05, max(tops) * 1.08)
    gone = [c.learner for c in shown if c.learner not in kept]
    if gone:
        axes.set_title(f"zoomed in: {', '.join(gone)} leaves the picture", fontsize=8, color="#444444", loc="left")


def _legend(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels) if len(labels) <= 4 else 3, handlelength=3.2)


@with_look
def final_figure(summary: Summary, model: str) -> Figure:
    """Return the final regret of every run, with mean and 95 % band of the mean, and the median."""
    shown, numbers = [c for c in summary.curves if c.model == model], learner_numbers(summary)
    figure, axes = new_figure(7.4, 0.9 + 0.55 * len(shown))
    panel = axes[0][0]
    rng = np.random.default_rng(0)
    for row, c in enumerate(shown):
        style = line_of(numbers[c.learner])
        panel.plot(
            c.final,
            row + rng.uniform(-0.22, 0.22, len(c.final)),
            MARKERS[numbers[c.learner] % len(MARKERS)],
            color=style["color"],
            alpha=0.45,
            markersize=3.5,
            markeredgewidth=0,
            rasterized=len(c.final) > 500,
        )
        low, high = mean_band(c.final, method=summary.band)
        panel.plot(
            [low, high],
            [row, row],
            color="black",
            linewidth=2.4,
            solid_capstyle="butt",
            label="mean and 95 % band" if row == 0 else None,
        )
        panel.plot(c.final.mean(), row, "o", color="white", markeredgecolor="black", markersize=6)
        panel.plot(
            [np.median(c.final)] * 2, [row - 0.28, row + 0.28], color="black", linewidth=1.0, label="median" if row == 0 else None
        )
    if summary.bounds[model].constant > 0:
        panel.axvline(
            summary.bounds[model].lower(float(shown[0].epochs[-1])),
            color="black",
            linestyle=(0, (2, 2)),
            linewidth=1.1,
            label="lower bound C(M) log N",
        )
    panel.set_yticks(range(len(shown)), [c.learner for c in shown])
    panel.set_ylim(len(shown) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
    positive = min(c.final.min() for c in shown) > 0
    if positive and max(c.final.max() for c in shown) / min(c.final.min() for c in shown) > 30:
        panel.set_xscale("log")
    panel.set_xlabel(f"final {REGRETS[summary.regret][1]} (reward), one mark per run")
    _legend(figure, panel)
    return figure


@with_look
def debt_figure(summary: Summary, model: str) -> Figure | None:
    """Return, for the critical pairs that matter most, visits over log N / K; None where no pair is critical."""
    debts = [d for d in summary.debts if d.model == model]
    if not debts:
        return None
    worth = {(d.state, d.action): d.gap / d.divergence for d in debts}
    pairs = sorted(worth, key=lambda pair: -worth[pair])[:PAIRS]
    numbers = learner_numbers(summary)
    figure, axes = new_figure(7.4, 1.1 + 0.3 * len(pairs))
    panel = axes[0][0]
    here = list(dict.fromkeys(d.learner for d in debts))
    for learner in here:
        i = numbers[learner]
        paid = {(d.state, d.action): d.paid for d in debts if d.learner == learner}
        offset = (here.index(learner) - (len(here) - 1) / 2) * 0.6 / max(1, len(here))
        panel.plot(
            [max(paid[pair], 1e-3) for pair in pairs],
            np.arange(len(pairs)) + offset,
            MARKERS[i % len(MARKERS)],
            color=COLORS[i % len(COLORS)],
            markersize=6,
            label=learner,
        )
    panel.axvline(1.0, color="black", linewidth=1.1, linestyle=(0, (2, 2)), label="log N / K")
    panel.set_xscale("log")
    panel.set_yticks(range(len(pairs)), [f"{_clip(s)}, {_clip(a)}" for s, a in pairs])
    panel.set_ylim(len(pairs) - 0.5, -0.5)
    panel.set_xlabel("mean visits / (log N / K)     (left of 1: fewer than any uniformly fast learner takes in the long run)")
    _legend(figure, panel)
    return figure


@with_look
def policy_figure(summary: Summary, model: str) -> Figure | None:
    """Return the share of decisions under each policy, the optimal one first; None for learners without policies."""
    shown = [c for c in summary.curves if c.model == model and c.policies]
    if not shown:
        return None
    best = summary.bounds[model].policy
    optimal = tuple(int(a) for a in best) if best is not None else ()
    total: dict[tuple[int, ...], float] = {}
    for c in shown:
        for policy, share in c.policies:
            if share > 1e-3:
                total[policy] = total.get(policy, 0.0) + share
    ranked = sorted(total, key=lambda policy: (policy != optimal, -total[policy], policy))[:POLICIES]
    figure, axes = new_figure(7.4, 1.2 + 0.42 * len(shown))
    panel = axes[0][0]
    left = np.zeros(len(shown))
    greys = ("#0072B2", "#F0E442", "#56B4E9", "#D55E00", "#BBBBBB", "#CC79A7", "#009E73")
    for i, policy in enumerate(ranked):
        width = np.array([dict(c.policies).get(policy, 0.0) for c in shown])
        name = _policy_name(policy) + (" (optimal)" if policy == optimal else "")
        panel.barh(
            range(len(shown)),
            width,
            left=left,
            color=greys[i % len(greys)],
            hatch=HATCHES[i % len(HATCHES)],
            edgecolor="black",
            linewidth=0.5,
            label=name,
            height=0.62,
        )
        left += width
    rest = np.maximum(0.0, 1.0 - left)
    if rest.max() > 2e-3:
        panel.barh(
            range(len(shown)), rest, left=left, color="white", edgecolor="black", linewidth=0.5, label="other policies", height=0.62
        )
    panel.set_yticks(range(len(shown)), [c.learner for c in shown])
    panel.set_ylim(len(shown) - 0.5, -0.5)
    panel.set_xlim(0, 1)
    panel.grid(axis="y", visible=False)
    panel.set_xlabel("share of decisions under each policy (action per state), mean over runs")
    _legend(figure, panel)
    return figure


def _policy_name(policy: tuple[int, ...]) -> str:
    text = "-".join(map(str, policy))
    return text if len(text) <= 24 else text[:21] + "..."


def _clip(label: str) -> str:
    return label if len(label) <= 22 else label[:19] + "..."


FIGURES: dict[str, Callable[[Summary, str], Figure | None]] = {
    "regret": regret_figure,
    "growth": growth_figure,
    "final": final_figure,
    "debt": debt_figure,
    "policies": policy_figure,
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
def plot_store(store: str | PathLike[str], regret: str = "pseudo", band: str = "t", log: bool = False) -> Figure:
    """Return one figure with the regret curves of every model side by side (for a notebook)."""
    with Store(store) as opened:
        summary = summarize(opened, regret, band)
    models = model_labels(summary)
    columns = min(3, len(models))
    rows = -(-len(models) // columns)
    figure, axes = new_figure(3.8 * columns, 3.2 * rows, rows, columns)
    for panel, model in zip(axes.flat, models):
        draw_curves(panel, summary, model)
        panel.set_title(model)
        panel.set_xscale("log" if log else "linear")
        panel.set_xlabel(axis_of(summary, summary.curves[0])[1])
        _top(panel, summary, model)
    for panel in list(axes.flat)[len(models) :]:
        panel.set_visible(False)
    axes[0][0].set_ylabel(f"{REGRETS[regret][1]} (reward)")
    _legend(figure, axes[0][0])
    return figure
