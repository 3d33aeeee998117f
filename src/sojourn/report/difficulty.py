"""The one-page card of a model's difficulty: where the gaps are, what must be explored, and the constants."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.instance.cautions import too_early
from sojourn.report.look import COLORS, check_picture, literal, matplotlib, save, with_look

if TYPE_CHECKING:
    from sojourn.instance.difficulty import Difficulty
    from sojourn.report.look import Figure

PAIRS = 14  # suboptimal pairs shown as bars
CELLS = 14  # rows and columns up to which every cell of the table carries its number
INK, SOFT = "#1b1f24", "#6b7280"


@with_look
def plot_difficulty(found: Difficulty, path: str | PathLike[str] | None = None, epochs: float = 1e6) -> Figure:
    """Return the card as a matplotlib Figure, and write it to `path` (.png, .svg, .pdf) if given."""
    kind = None if path is None else check_picture(path)
    matplotlib()
    from sojourn.report.picture import Picture

    fig = Picture(figsize=(11, 8.2), layout="constrained")
    notes = _notes(found)
    parts = fig.add_gridspec(4, 1, height_ratios=[3.6, 0.3, 3.2, 0.24 + 0.16 * notes.count("\n")], hspace=0.06)
    top = parts[0].subgridspec(1, 2, width_ratios=[1.15, 1])
    _gap_map(fig.add_subplot(top[0]), found)
    _constants(fig.add_subplot(top[1]), found)
    _say_when(fig.add_subplot(parts[1]), found, epochs)
    below = parts[2].subgridspec(1, 3, width_ratios=[1, 1, 1], wspace=0.04)
    _bars(fig, below, found, epochs)
    foot = fig.add_subplot(parts[3])
    foot.set_axis_off()
    foot.text(0, 1, literal(notes), va="top", ha="left", fontsize=7.2, color=SOFT, transform=foot.transAxes, linespacing=1.35)
    m = found.model
    fig.suptitle(
        f"How hard is {literal(m.name) or 'this model'} to learn?   {m.n_states} states, {m.n_pairs} pairs, rates known to lie in "
        f"[{found.rate_bounds[0]:g}, {found.rate_bounds[1]:g}]",
        fontsize=13,
        fontweight="bold",
        color=INK,
    )
    if path is not None:
        save(fig, path, kind or "png")
    return fig


def when_it_means(found: Difficulty, epochs: float) -> tuple[bool, str]:
    """Return whether C(M) log N means something at that many decisions, and that in words; without a bound the reason.

    It does once half of it can be paid: see `Difficulty.payable_bound`.
    """
    if not found.irreducible or found.lower_bound_constant == 0:
        return False, "There is no lower bound here to compare a learner with."
    bound, paid = found.lower_bound(epochs=epochs), found.payable_bound(epochs)
    start = f"At N = {epochs:.0e} decisions ".replace("e+0", "e")
    sizes = f"C(M) log N = {bound:.4g}, of which {paid:.4g} can be paid in N decisions"
    if epochs < found.meaningful_epochs():
        first = f"{found.meaningful_epochs():.0e}".replace("e+0", "e").replace("e+", "e")
        return False, f"{start}the lower bound means nothing yet: {sizes}. Use it from about N = {first} on."
    return True, f"{start}the lower bound begins to speak: {sizes}. It is a slope in the long run, not a floor at every N."


def _say_when(axis: Any, found: Difficulty, epochs: float) -> None:
    axis.set_axis_off()
    speaks, words = when_it_means(found, epochs)
    axis.text(0.0, 0.5, "\n".join(textwrap.wrap(words, 140)), va="center", ha="left", fontsize=9.5, fontweight="bold",
              color="#00694d" if speaks else "#b34700", transform=axis.transAxes)


def _notes(found: Difficulty) -> str:
    lines: list[str] = []
    for sentence in (text for text in found.warnings if text not in too_early(found)):
        lines += textwrap.wrap("! " + sentence, 196, subsequent_indent="   ")
    return "\n".join(lines) or "All assumptions of the bounds hold."


def _gap_map(axis: Any, found: Difficulty) -> None:
    """A table of gaps, states down and actions across; the optimal actions are marked, the critical pairs framed."""
    m = found.model
    gaps = found.gaps
    colour = "YlOrBr"
    image = axis.imshow(np.ma.masked_invalid(gaps), aspect="auto", cmap=colour, vmin=0.0, interpolation="nearest")
    axis.set_facecolor("#eceff3")
    axis.grid(False)
    small = m.n_states <= CELLS and m.n_actions <= CELLS
    axis.set_title("Gap $\\varphi^*(s,a)$: reward that one choice costs", loc="left", color=INK)
    if small:
        _mark_cells(axis, found, gaps)
    else:
        s, a = np.nonzero(found.optimal_actions)
        axis.plot(
            a,
            s,
            linestyle="none",
            marker="o",
            markersize=max(0.8, min(5.0, 120 / m.n_states)),
            color=COLORS[0],
            label="optimal",
        )
        axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, fontsize=7)
    _labels(axis.yaxis, m.states.labels)
    _labels(axis.xaxis, m.actions.labels)
    axis.set_xlabel(
        "action" if not small else "action   (bold: optimal; framed: critical, a learner must try it again and again)",
        fontsize=8,
    )
    axis.figure.colorbar(image, ax=axis, fraction=0.035, pad=0.02).ax.tick_params(labelsize=7)


def _mark_cells(axis: Any, found: Difficulty, gaps: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    critical = found.critical if found.irreducible else np.zeros_like(found.optimal_actions)
    top = np.nanmax(gaps) or 1.0
    size = 8 if max(gaps.shape) <= 8 else 6.5
    for s, a in np.argwhere(~np.isnan(gaps)):
        best = found.optimal_actions[s, a]
        axis.text(
            a,
            s,
            "0" if best else f"{gaps[s, a]:.3g}",
            ha="center",
            va="center",
            fontsize=size,
            color="white" if gaps[s, a] > 0.6 * top else INK,
            fontweight="bold" if best else "normal",
        )
        if critical[s, a]:
            axis.add_patch(Rectangle((a - 0.46, s - 0.46), 0.92, 0.92, fill=False, edgecolor=COLORS[0], linewidth=1.6))


def _labels(axis: Any, names: Sequence[str]) -> None:
    few = np.arange(len(names)) if len(names) <= 24 else np.unique(np.linspace(0, len(names) - 1, 12).astype(int))
    short = [name if len(name) <= 16 else name[:14] + "…" for name in (names[i] for i in few.tolist())]
    short = list(map(literal, short))
    long = axis.axis_name == "x" and max(len(x) for x in short) * len(short) > 60
    axis.set_ticks(few, short, **({"rotation": 30, "ha": "right"} if long else {}))


def _constants(axis: Any, found: Difficulty) -> None:
    from sojourn.instance.words import constants

    axis.set_axis_off()
    axis.set_title("Constants", loc="left", color=INK)
    rows = constants(found)
    for i, (name, value, words) in enumerate(rows):
        y = 0.97 - i / len(rows)
        axis.text(0.0, y, name, fontsize=10, fontweight="bold", color=INK, va="top", transform=axis.transAxes)
        axis.text(
            1.0,
            y,
            value,
            fontsize=10.5,
            color=COLORS[0],
            va="top",
            ha="right",
            transform=axis.transAxes,
            family="monospace",
        )
        axis.text(
            0.0, y - 0.056, literal("\n".join(textwrap.wrap(words, 104))), fontsize=7, color=SOFT, va="top",
            transform=axis.transAxes,
        )
        axis.plot([0, 1], [y + 0.02] * 2, color="#DDDDDD", linewidth=0.6, transform=axis.transAxes, clip_on=False)


def _bars(fig: Any, place: Any, found: Difficulty, epochs: float) -> None:
    """Gap, K and visits needed of the pairs that cost most, side by side on one list of pairs."""
    m, best = found.model, found.optimum
    pairs = np.flatnonzero(~best.optimal)
    if not found.irreducible or not pairs.size:
        axis = fig.add_subplot(place[:])
        axis.set_axis_off()
        why = "All policies are optimal." if not pairs.size else "No lower bound: " + found.irreducible.statement
        axis.text(0.5, 0.5, literal("\n".join(textwrap.wrap(why, 110))), ha="center", va="center", fontsize=10, color=SOFT)
        return
    k = found.divergences.k
    share = best.gap[pairs] / k[pairs]
    order = pairs[np.lexsort((best.gap[pairs], -share))][:PAIRS][::-1]
    visits = np.where(np.isfinite(k[order]), np.log(epochs) / k[order], 0.0)
    names = [f"{m.states.label(m.pair_state[i])}: {m.actions.label(m.pair_action[i])}" for i in order]
    names = [literal(name if len(name) <= 30 else name[:28] + "…") for name in names]
    panels = (
        ("gap $\\varphi^*$ (reward)", best.gap[order], COLORS[1]),
        (f"visits needed in $N={epochs:.0e}$ decisions: $\\log N/K$".replace("e+0", "e"), visits, COLORS[0]),
        ("share of $C(M)$: $\\varphi^*/K$ (reward)", best.gap[order] / k[order], COLORS[2]),
    )
    first = None
    for i, (title, values, color) in enumerate(panels):
        axis = fig.add_subplot(place[i], sharey=first)
        first = first or axis
        at = np.arange(len(order))
        axis.barh(at, values, color=color, height=0.68)
        axis.set_title(title, loc="left", fontsize=9, color=INK)
        if i == 1 and values.max(initial=0) > 50 * max(values[values > 0].min(initial=np.inf), 1e-300):
            axis.set_xscale("log")
        axis.margins(x=0.14)
        for y, value in zip(at, values):
            text = (
                "not critical"
                if value == 0 and i
                else f"{value:.3g}"
                if value < 1e3
                else f"{value:,.0f}"
                if value < 1e7
                else f"{value:.2g}"
            )
            axis.annotate(
                text,
                (max(value, axis.get_xlim()[0]), y),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=6.5,
                color=SOFT if text == "not critical" else INK,
            )
        axis.grid(axis="y", visible=False)
        axis.tick_params(axis="y", length=0, labelleft=i == 0)
    assert first is not None
    first.set_yticks(np.arange(len(order)), names, fontsize=7.5)
