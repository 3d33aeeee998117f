"""Heat maps of policy, time and bias for models whose states are points of a plane (two queues)."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.report.look import literal
from sojourn.report.model_style import INK, SOFT, action_colors, axis_names, coordinates, figure, plain_axes, text_on, write_title

if TYPE_CHECKING:
    from sojourn.report.look import Figure

MAX_SLICES = 4
LARGE = 40  # states along an axis up to which all of them are shown


def is_grid(labels: Any) -> bool:
    """Return whether the labels are points of a plane, or of a few planes."""
    at = coordinates(labels)
    if at is None or at.shape[1] not in (2, 3) or len(np.unique(at[:, 0])) < 2 or len(np.unique(at[:, 1])) < 2:
        return False
    return at.shape[1] == 2 or len(np.unique(at[:, 2])) <= MAX_SLICES


def plot_grid(model: Any, solution: Any, occupancy: np.ndarray, axes: Any = None, title: str | None = None) -> Figure:
    """Return the figure: policy, share of time and bias, a column each (a row each where there are several slices)."""
    at = coordinates(model.states.labels)
    assert at is not None
    names = axis_names(model, at.shape[1], axes)
    slices = np.unique(at[:, 2]).tolist() if at.shape[1] == 3 else [None]
    kept = lived_in(at, occupancy)
    at, policy, bias, share = at[kept], solution.policy[kept], solution.bias[kept], occupancy[kept]
    used = sorted(set(policy.tolist()))
    if len(slices) == 1:
        fig = figure(13.2, 4.6)
        panels = fig.subplots(1, 3)[:, None]
    else:
        fig = figure(3.6 * len(slices) + 1.4, 9.2)
        panels = fig.subplots(3, len(slices), sharex=True, sharey=True, squeeze=False)
    write_title(fig, model, solution, title)
    if not kept.all():
        fig.text(0.99, -0.02, f"the {kept.sum():,} states where time is spent", ha="right", va="top", fontsize=9.5, color=SOFT)
    levels = _share_levels(share)
    for column, value in enumerate(slices):
        here = np.ones(len(at), bool) if value is None else at[:, 2] == value
        _policy(panels[0, column], model, at[here], policy[here], used)
        _share(panels[1, column], fig, at[here], share[here], levels, column == len(slices) - 1)
        _bias(panels[2, column], fig, at[here], bias[here], bias, column == len(slices) - 1)
        if value is not None:
            panels[0, column].set_title(f"{names[2]}: {value}", fontsize=11, color=INK, loc="left")
    for row, words in enumerate(("what to do", "share of time spent (log scale)", "bias: head start in reward")):
        _dress(panels[row], names, words, several=len(slices) > 1, bottom=row == 2 or len(slices) == 1)
    _legend(fig, panels, model, used, several=len(slices) > 1)
    return fig


def lived_in(at: np.ndarray, occupancy: np.ndarray) -> np.ndarray:
    """Return which states to show: all, or of a large grid the part where time is spent and some more, if that is much less."""
    low, high = at.min(axis=0), at.max(axis=0)
    kept = np.ones(len(at), bool)
    if (high - low)[:2].max() < LARGE:
        return kept
    lived = at[occupancy > 1e-6 * occupancy.max()]
    for axis in (0, 1):
        first, last = lived[:, axis].min(), lived[:, axis].max()
        more = (last - first) // 2 + 3
        if last - first + 2 * more < 0.6 * (high - low)[axis]:
            kept &= (at[:, axis] >= first - more) & (at[:, axis] <= last + more)
    return kept


def _image(at: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Return values[y, x] with NaN where there is no state, and the extent of the picture (x is the first coordinate)."""
    low, high = at[:, :2].min(axis=0), at[:, :2].max(axis=0)
    image = np.full((high[1] - low[1] + 1, high[0] - low[0] + 1), np.nan)
    image[at[:, 1] - low[1], at[:, 0] - low[0]] = values
    return image, [low[0] - 0.5, high[0] + 0.5, low[1] - 0.5, high[1] + 0.5]


def _policy(ax: Any, model: Any, at: np.ndarray, policy: np.ndarray, used: list[int]) -> None:
    from matplotlib.colors import ListedColormap

    colors = action_colors(len(used))
    image, extent = _image(at, np.searchsorted(used, policy).astype(float))
    ax.imshow(image, origin="lower", extent=extent, cmap=ListedColormap(colors), vmin=-0.5, vmax=len(used) - 0.5, aspect="auto")
    _borders(ax, image, extent)
    for k in range(len(used)):
        spot = _middle(image == k)
        words = literal(fill(model.actions.label(used[k]), 11, break_on_hyphens=False))
        if spot is not None and _fits(image == k, spot, words):
            x, y = extent[0] + 0.5 + spot[1], extent[2] + 0.5 + spot[0]
            ax.text(x, y, words, ha="center", va="center", fontsize=10.5, fontweight="bold",
                    color=text_on(colors[k]), linespacing=1.1)


def _middle(region: np.ndarray) -> tuple[float, float] | None:
    """Return the deepest point of a region with room for a word: the cell farthest from any other cell, or None."""
    from scipy.ndimage import distance_transform_edt

    tall, wide = region.shape
    depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
    if region.sum() < 0.09 * region.size or depth.max() / max(tall, wide) < 0.14:
        return None
    best = np.argwhere(depth >= depth.max() - 0.3)
    row, column = best.mean(axis=0)
    if not region[round(row), round(column)]:
        row, column = best[len(best) // 2]
    return float(row), float(column)


def _fits(region: np.ndarray, spot: tuple[float, float], words: str) -> bool:
    """Return whether the region is wide enough about the spot for the words, at about 3 % of a panel's width a character."""
    row, column = round(spot[0]), round(spot[1])
    left = right = column
    while left > 0 and region[row, left - 1]:
        left -= 1
    while right < region.shape[1] - 1 and region[row, right + 1]:
        right += 1
    half = min(spot[1] - left, right - spot[1]) + 0.5
    return bool(2 * half / region.shape[1] >= 0.03 * max(map(len, words.split("\n"))))


def _borders(ax: Any, image: np.ndarray, extent: list[float]) -> None:
    """Draw the line between regions: what still shows when colours do not."""
    segments = []
    for y, x in np.argwhere(image[:, 1:] != image[:, :-1]):
        if np.isfinite(image[y, x]) or np.isfinite(image[y, x + 1]):
            segments.append([(extent[0] + x + 1, extent[2] + y), (extent[0] + x + 1, extent[2] + y + 1)])
    for y, x in np.argwhere(image[1:] != image[:-1]):
        if np.isfinite(image[y, x]) or np.isfinite(image[y + 1, x]):
            segments.append([(extent[0] + x, extent[2] + y + 1), (extent[0] + x + 1, extent[2] + y + 1)])
    if segments:
        from matplotlib.collections import LineCollection

        ax.add_collection(LineCollection(segments, colors=INK, linewidths=1.6, capstyle="projecting"))


def _share_levels(occupancy: np.ndarray) -> tuple[float, float]:
    top = float(occupancy.max())
    return max(top * 1e-5, float(occupancy[occupancy > 0].min())), top


def _share(ax: Any, fig: Any, at: np.ndarray, occupancy: np.ndarray, levels: tuple[float, float], bar: bool) -> None:
    from matplotlib.colors import LogNorm

    low, high = levels
    image, extent = _image(at, np.maximum(occupancy, low))
    norm = LogNorm(low, high) if high > low else None
    drawn = ax.imshow(image, origin="lower", extent=extent, cmap="Blues", norm=norm, aspect="auto")
    if bar:
        fig.colorbar(drawn, ax=ax, pad=0.02, fraction=0.05).ax.tick_params(labelsize=8.5, length=2)


def _bias(ax: Any, fig: Any, at: np.ndarray, bias: np.ndarray, everywhere: np.ndarray, bar: bool) -> None:
    image, extent = _image(at, bias)
    low, high = everywhere.min(), everywhere.max()
    drawn = ax.imshow(image, origin="lower", extent=extent, cmap="cividis", vmin=low, vmax=high, aspect="auto")
    if min(image.shape) > 2 and np.nanmax(image) > np.nanmin(image):
        x = np.arange(image.shape[1]) + extent[0] + 0.5
        y = np.arange(image.shape[0]) + extent[2] + 0.5
        levels = np.linspace(low, high, 9)[1:-1]
        ax.contour(x, y, np.ma.masked_invalid(image), levels=levels, colors="white", linewidths=0.8, linestyles="solid", alpha=0.8)
    if bar:
        fig.colorbar(drawn, ax=ax, pad=0.02, fraction=0.05).ax.tick_params(labelsize=8.5, length=2)


def _dress(row: Any, names: list[str], words: str, several: bool, bottom: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    for i, ax in enumerate(row):
        plain_axes(ax)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        if bottom:
            ax.set_xlabel(names[0], fontsize=10.5, color=INK)
        if i == 0:
            ax.set_ylabel(f"{words}\n\n{names[1]}" if several else names[1], fontsize=10.5, color=INK)
        if not several:
            ax.set_title(words, fontsize=11.5, color=INK, loc="left")


def _legend(fig: Any, panels: Any, model: Any, used: list[int], several: bool) -> None:
    from matplotlib.patches import Patch

    colors = action_colors(len(used))
    patches = [Patch(facecolor=c, edgecolor=INK, linewidth=0.8, label=literal(model.actions.label(a)))
               for a, c in zip(used, colors)]
    fig.legend(handles=patches, loc="upper right", ncols=min(len(patches), 4), frameon=False, fontsize=10, labelcolor=SOFT,
               handlelength=1.2, bbox_to_anchor=(1.0, 1.005))
