"""Curves for models whose states stand in a line: what to do, how long one is there, and the bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.report.look import literal
from sojourn.report.model_style import DARK, INK, MIDDLE, PALE, axis_names, coordinates, figure, plain_axes, write_title

if TYPE_CHECKING:
    from sojourn.report.look import Figure

FEW = 25  # states up to which every one gets its tick and its dot
MANY = 300  # states from which on bars would be too many, and most of the line is empty


def plot_curves(model: Any, solution: Any, occupancy: np.ndarray, axes: Any = None, title: str | None = None) -> Figure:
    """Return the figure: policy, share of time and bias against the state, one under the other."""
    at = coordinates(model.states.labels)
    numbers = at is not None and at.shape[1] == 1
    x = at[:, 0] if numbers and at is not None else np.arange(model.n_states)
    used = _by_place(solution.policy, x)
    tall = min(0.9 + 0.34 * len(used), 4.5)
    fig = figure(8.6, 4.6 + tall)
    panels = fig.subplots(3, 1, sharex=True, height_ratios=[tall, 1.7, 1.7])
    write_title(fig, model, solution, title)
    _policy(panels[0], model, x, solution.policy, used)
    _shares(panels[1], x, occupancy)
    panels[1].set_ylabel("share of time", fontsize=10.5, color=INK)
    order = np.argsort(x)
    panels[2].plot(x[order], solution.bias[order], color=DARK, linewidth=2, marker="o" if len(x) <= FEW else None, markersize=4.5)
    panels[2].set_ylabel("bias (reward)", fontsize=10.5, color=INK)
    for ax in panels:
        plain_axes(ax, grid="y")
    if numbers and len(x) > MANY:
        _zoom(panels[2], x, occupancy, solution.bias)
    _ticks(panels[2], model, x, numbers)
    panels[2].set_xlabel(_below(model, numbers, axes), fontsize=10.5, color=INK)
    fig.align_ylabels(panels)
    return fig


def _below(model: Any, numbers: bool, axes: Any) -> str:
    """Return what stands along the line: the coordinate's name, or that it is only the order of the states."""
    if numbers or axes:
        return axis_names(model, 1, axes)[0]
    return "state" if model.n_states <= FEW else "state, numbered in the model's order"


def _shares(ax: Any, x: np.ndarray, occupancy: np.ndarray) -> None:
    """Draw the share of time: bars, or one filled outline where bars would be too many."""
    if len(x) <= MANY:
        edge = DARK if len(x) <= FEW else "none"
        ax.bar(x, occupancy, width=0.72 if len(x) <= 200 else 1.0, color=MIDDLE, edgecolor=edge, linewidth=0.7)
    else:
        order = np.argsort(x)
        ax.fill_between(x[order], occupancy[order], step="mid", color=MIDDLE, linewidth=0)
        ax.set_ylim(bottom=0)


def _zoom(ax: Any, x: np.ndarray, occupancy: np.ndarray, bias: np.ndarray) -> None:
    """Show of a long line the part where time is spent, and some more, if that is less than half of it."""
    lived = x[occupancy > 1e-6 * occupancy.max()]
    low, high = lived.min(), lived.max()
    more = 0.5 * (high - low) + 5
    if high - low + 2 * more < 0.5 * np.ptp(x):
        left, right = max(low - more, x.min() - 0.5), min(high + more, x.max() + 0.5)
        seen = bias[(x >= left) & (x <= right)]
        ax.set_xlim(left, right)
        ax.set_ylim(seen.min() - 0.05 * np.ptp(seen) - 1e-9, seen.max() + 0.05 * np.ptp(seen) + 1e-9)


def _by_place(policy: np.ndarray, x: np.ndarray) -> list[int]:
    """Return the actions in use, in the order in which they appear along the line."""
    seen: dict[int, float] = {}
    for action in sorted(set(policy.tolist())):
        seen[action] = float(x[policy == action].mean())
    return sorted(seen, key=lambda a: seen[a])


def _policy(ax: Any, model: Any, x: np.ndarray, policy: np.ndarray, used: list[int]) -> None:
    level = np.array([used.index(a) for a in policy.tolist()])
    order = np.argsort(x)
    if np.mean(level[order][1:] != level[order][:-1]) < 0.3 or len(x) <= MANY:  # else only a grey wall
        ax.step(x[order], level[order], where="mid", color=PALE, linewidth=1.5, zorder=1)
    ax.scatter(x, level, s=46 if len(x) <= FEW else 8, color=DARK, zorder=2)
    ax.set_yticks(range(len(used)), [literal(_short(model.actions.label(a))) for a in used])
    ax.set_ylim(-0.6, len(used) - 0.4)
    ax.set_ylabel("what to do", fontsize=10.5, color=INK)


def _short(label: str) -> str:
    return label if len(label) <= 26 else label[:24] + "…"


def _ticks(ax: Any, model: Any, x: np.ndarray, numbers: bool) -> None:
    if numbers or len(x) > FEW:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    else:
        labels = [literal(_short(s)) for s in model.states.labels]
        ax.set_xticks(x, labels, rotation=0 if len(x) <= 9 else 45, ha="center" if len(x) <= 9 else "right")
