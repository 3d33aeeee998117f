"""Pictures of a model: a graph for a small one, heat maps for two queues, curves for a line of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from sojourn.errors import ParameterError, unknown_name
from sojourn.model.choosing import Policy
from sojourn.model.ctmdp import CTMDP
from sojourn.report.look import check_picture
from sojourn.report.model_curves import plot_curves
from sojourn.report.model_graph import SMALL, plot_graph
from sojourn.report.model_grid import is_grid, plot_grid
from sojourn.report.model_style import SHOWN, coordinates
from sojourn.report.rough_time import rough_time
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solution import Solution, require_solution_of
from sojourn.solving.solve import solve

if TYPE_CHECKING:
    from sojourn.report.look import Figure

KINDS = {"graph": plot_graph, "grid": plot_grid, "curves": plot_curves}
MAX_GRAPH = 40
LARGE = 100_000  # states above which the time spent is found roughly
TINY = 5  # states up to which even a line of states is drawn as a graph


def plot_model(model: CTMDP, kind: str = "auto", solution: Solution | None = None, policy: Policy | None = None,
               axes: Sequence[str] | None = None, title: str | None = None, path: str | PathLike[str] | None = None) -> Figure:
    """Return a matplotlib Figure of the model under its optimal policy (needs the extra `plot`).

    `kind` is `graph` (states and jumps), `grid` (heat maps of policy, time and bias; labels like `(3, 5)`), `curves`
    (policy, time and bias along a line of states), or `auto`.  `solution` saves solving again; `policy` shows another
    policy instead of the optimal one; `axes` names the numbers in the labels; `path` also writes the picture.
    """
    if kind not in ("auto", *KINDS):
        raise ParameterError(unknown_name("kind of picture", kind, ("auto", *KINDS)))
    if path is not None:
        check_picture(path)
    chosen = kind_of(model) if kind == "auto" else kind
    if chosen == "grid" and not is_grid(model.states.labels):
        raise ParameterError(f"state labels like {model.states.label(0)!r} are no points of a plane; `grid` needs some like "
                             "'(3, 5)'. Use kind='curves' or kind='graph'.")
    if chosen == "graph" and model.n_states > MAX_GRAPH:
        raise ParameterError(f"the model has {model.n_states} states; a graph is readable up to {MAX_GRAPH}. Use kind='curves'.")
    require_solution_of(model, solution)
    answer = solve(model) if solution is None else solution
    if policy is not None:
        answer = _shown(model, answer, policy)
    spent = evaluate(model, answer.policy).occupancy if model.n_states <= LARGE else rough_time(model, answer.policy)
    fig = KINDS[chosen](model, answer, spent, axes=axes, title=title)
    if path is not None:
        save_figure(fig, path)
    return fig


def kind_of(model: CTMDP) -> str:
    """Return the kind of picture that suits the model."""
    if is_grid(model.states.labels):
        return "grid"
    at = coordinates(model.states.labels)
    line = at is not None and at.shape[1] == 1 and model.name.partition(":")[0] not in ("random", "random-ties")
    return "graph" if model.n_states <= (TINY if line else SMALL) else "curves"


def save_figure(fig: Figure, path: str | PathLike[str]) -> None:
    """Write a figure to a .png, .svg or .pdf file."""
    check_picture(path)
    fig.savefig(path, bbox_inches="tight", pad_inches=0.15)


def _shown(model: CTMDP, answer: Solution, policy: Policy) -> Solution:
    """Return the solution with another policy in its place: its own gain and bias."""
    pairs = model.policy_pairs(policy)
    value = evaluate(model, policy)
    return replace(answer, policy=model.pair_action[pairs], gain=value.gain, bias=value.bias, gain_bounds=value.gain_bounds,
                   method=SHOWN)
