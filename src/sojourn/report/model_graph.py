"""The state graph of a small model: circles for states, arrows for jumps, the optimal ones bold."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.report.look import literal, shortened
from sojourn.report.model_style import DARK, INK, PALE, SOFT, figure, text_on, write_title

if TYPE_CHECKING:
    from sojourn.report.look import Figure

RADIUS = 0.58  # of a state's circle; its neighbours in a line stand 2.6 away
SMALL = 12  # states up to which a graph is drawn by itself
EXPLAINED = ("Circles are states: the action taken there in italics, the share of time spent there in percent (darker: more). "
             "Arrows are the jumps that follow, with their rates per unit of time (thicker: faster).")
PALE_ARROWS = " Pale arrows belong to other actions."


def layout(model: Any) -> np.ndarray:
    """Return a place (x, y) per state: in a line where jumps go to neighbours only, else around a circle."""
    n = model.n_states
    start = model.pair_state[np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))]
    if n > 2 and np.abs(start - model.next_state).max() <= 1:
        return np.column_stack([np.arange(n) * 2.6, np.zeros(n)])
    if n == 2:
        return np.array([[0.0, 0.0], [3.4, 0.0]])
    angle = np.pi / 2 - 2 * np.pi * _round_trip(model) / n
    radius = max(1.6, 0.42 * n)
    places: np.ndarray = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return places


def _round_trip(model: Any) -> np.ndarray:
    """Return each state's place on a circle: walk greedily to the likeliest neighbour not yet placed."""
    n = model.n_states
    start = model.pair_state[np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))]
    near = np.zeros((n, n))
    np.add.at(near, (start, model.next_state), model.probability)
    near = near + near.T
    order, left = [0], set(range(1, n))
    while left:
        here = order[-1]
        order.append(max(left, key=lambda j: (near[here, j], -j)))
        left.remove(order[-1])
    place = np.empty(n)
    place[order] = np.arange(n)
    return place


def plot_graph(model: Any, solution: Any, occupancy: np.ndarray, axes: Any = None, title: str | None = None) -> Figure:
    """Return the figure: states shaded by their share of time, the jumps of the optimal policy bold with their intensities."""
    place = layout(model)
    flat = bool(np.ptp(place[:, 1]) == 0)
    margin = 1.2 if flat else 1.25
    wide, tall = np.ptp(place[:, 0]) + 2.6, np.ptp(place[:, 1]) + 2 * margin
    scale = min(1.05, 13 / wide)
    fig = figure(max(6.0, wide * scale), tall * scale + 0.6)
    note = EXPLAINED + PALE_ARROWS * any(mine == 0 for mine, _ in _edges(model, solution.policy).values())
    write_title(fig, model, solution, title, "\n".join(wrap(note, int(max(6.0, wide * scale) * 13))))
    ax = fig.add_subplot()
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(place[:, 0].min() - 1.3, place[:, 0].max() + 1.3)
    ax.set_ylim(place[:, 1].min() - margin, place[:, 1].max() + margin)
    circles = _circles(ax, model, solution.policy, occupancy, place, flat)
    _arrows(ax, model, solution.policy, place, flat, circles)
    return fig


def _edges(model: Any, policy: np.ndarray) -> dict[tuple[int, int], tuple[float, float]]:
    """Return {(from, to): (intensity under the policy or 0, largest intensity under any action)}."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for k in range(model.n_pairs):
        s = int(model.pair_state[k])
        chosen = model.pair_action[k] == policy[s]
        for i in range(model.row_start[k], model.row_start[k + 1]):
            key = (s, int(model.next_state[i]))
            intensity = float(model.rate[k] * model.probability[i])
            mine, most = found.get(key, (0.0, 0.0))
            found[key] = (intensity if chosen else mine, max(most, intensity))
    return found


def _arrows(ax: Any, model: Any, policy: np.ndarray, place: np.ndarray, flat: bool, circles: list[Any]) -> None:
    from matplotlib.patches import FancyArrowPatch

    edges = _edges(model, policy)
    top = max(mine for mine, _ in edges.values())
    center = place.mean(axis=0)
    for (s, j), (mine, _) in sorted(edges.items(), key=lambda e: e[1][0]):
        color, width = (DARK, 1.2 + 2.0 * (mine / top) ** 0.5) if mine else (PALE, 1.1)
        if s == j:
            out = np.array([0.0, 1.0]) if flat else _unit(place[s] - center)
            _loop(ax, place[s], out, color, width, mine)
            continue
        bend = _bend(model.n_states, float(np.hypot(*(place[j] - place[s])))) if (j, s) in edges else 0.0
        ax.add_patch(FancyArrowPatch(
            _point(place[s]), _point(place[j]), connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=13,
            color=color, linewidth=width, patchA=circles[s], patchB=circles[j], shrinkA=1, shrinkB=2, zorder=2 if mine else 1))
        if mine:
            _number(ax, _on_arrow(place[s], place[j], bend, 0.5 if flat or model.n_states < 4 else 0.36), mine)


def _bend(n_states: int, length: float) -> float:
    """Return how much to bend one of two opposite arrows: a long one little, lest it runs through another state."""
    return 0.22 if n_states < 4 or length < 3.2 else 0.07


def _on_arrow(start: np.ndarray, end: np.ndarray, bend: float, share: float) -> np.ndarray:
    """Return the point of a bent arrow after `share` of its course; not its middle, where the arrows of a circle cross."""
    along = end - start
    control = (start + end) / 2 + np.array([along[1], -along[0]]) * bend
    curve: np.ndarray = (1 - share) ** 2 * start + 2 * share * (1 - share) * control + share**2 * end
    return curve


def _loop(ax: Any, at: np.ndarray, out: np.ndarray, color: str, width: float, mine: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    side = np.array([-out[1], out[0]]) * 0.24
    ax.add_patch(FancyArrowPatch(
        _point(at + out * 0.53 + side), _point(at + out * 0.53 - side), connectionstyle="arc3,rad=-1.5", arrowstyle="-|>",
        mutation_scale=11, color=color, linewidth=width, zorder=2 if mine else 1))
    if mine:
        _number(ax, at + out * 0.9, mine)


def _number(ax: Any, at: np.ndarray, value: float) -> None:
    ax.text(at[0], at[1], f"{value:.3g}", ha="center", va="center", fontsize=9.5, color=INK, zorder=5,
            bbox={"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": "none", "alpha": 0.92})


def _point(at: np.ndarray) -> tuple[float, float]:
    return float(at[0]), float(at[1])


def _unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.hypot(*vector))
    return vector / length if length else np.array([0.0, 1.0])


def _circles(ax: Any, model: Any, policy: np.ndarray, occupancy: np.ndarray, place: np.ndarray, flat: bool) -> list[Any]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex
    from matplotlib.patches import Circle

    top = float(occupancy.max())
    circles = []
    for s in range(model.n_states):
        shade = to_hex(colormaps["Blues"](0.08 + 0.75 * occupancy[s] / top))
        spot = _point(place[s])
        circles.append(Circle(spot, RADIUS, facecolor=shade, edgecolor=INK, linewidth=1.6, zorder=3))
        ax.add_patch(circles[-1])
        _inside(ax, model, s, model.actions.label(policy[s]), occupancy[s], spot, text_on(shade), flat)
    return circles


def _inside(ax: Any, model: Any, s: int, action: str, share: float, spot: tuple[float, float], ink: str, flat: bool) -> None:
    """Write a state's label, what to do there and its share of time into its circle (in a line: what to do below it)."""
    label = shortened(model.states.label(s), 13, 2)
    small = len(label) > 1 or len(label[0]) > 9
    lines = [(text, {"fontsize": 8.5 if small else 10.5, "fontweight": "bold"}) for text in label]
    if flat:
        below = "\n".join(shortened(action, 30, 3))
        ax.text(spot[0], spot[1] - RADIUS - 0.12, literal(below), ha="center", va="top", fontsize=10, color=SOFT, style="italic",
                zorder=4)
    else:
        told = shortened(action, 14, 2)
        lines += [(text, {"fontsize": 8 if len(told) > 1 else 9, "style": "italic"}) for text in told]
    lines.append((f"{share:.0%}", {"fontsize": 9}))
    step = {2: 0.24, 3: 0.29, 4: 0.22}.get(len(lines), 0.185)
    for i, (text, how) in enumerate(lines):
        ax.text(spot[0], spot[1] + step * ((len(lines) - 1) / 2 - i) - 0.02, literal(text), ha="center", va="center", color=ink,
                zorder=6, **how)
