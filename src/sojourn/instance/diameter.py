"""The diameter: the longest of the shortest expected times between two states, with a proof.   Paper: eq:diameter

Up to 3,000 states all pairs of states are compared (`diameter_search`), above that the diameter is bracketed without an
array of S x S: models with short jumps by a hub (`diameter_net`), others block by block (`diameter_bracket`).
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.instance.cycles import short_jumps
from sojourn.instance.diameter_bracket import Bracket
from sojourn.instance.diameter_net import Net
from sojourn.instance.diameter_search import PROVED, UP, Search
from sojourn.instance.first_passage import Passage
from sojourn.model.ctmdp import CTMDP, require_model

EXACT_STATES = 3000  # up to here all pairs of states are compared; above, the diameter is bracketed
NETTED = 6e8  # multiplications of an elimination, of which a net takes hundreds
SLACK = 1e-10
EPSILON = float(np.finfo(float).eps)
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True, eq=False)
class Diameter(float):
    """D(M) in units of time: a float that knows the pair of states (from, to) attaining it and a proved interval."""

    value: float
    pair: tuple[Any, Any]
    bounds: tuple[float, float]
    exact: bool
    solved: int
    seconds: float

    def __new__(cls, value: float, *details: Any, **named: Any) -> Diameter:
        return super().__new__(cls, value)

    def __str__(self) -> str:
        return repr(self.value)


def diameter(model: CTMDP, tolerance: float = SLACK) -> Diameter:
    """Return max over (s, t) of min over policies of E[time from s to t], in units of time.   Paper: eq:diameter

    `bounds` hold for certain; `exact` says that they are within 1e-9 of each other (relative).  That is so up to 3,000 states
    unless the time is beyond floats; above, for models that mix slowly, the upper bound may be loose, or infinite (an open end):
    then `value` is the lower bound, and the shortest time between the two states of `pair` is no less.  Targets that cannot beat
    the best found by more than `tolerance` are not solved.
    Infinite, with the pair, if some state cannot be reached from another.

    >>> float(diameter(CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]])))
    0.2
    """
    require_model(model)
    began = clock.perf_counter()
    if model.n_states == 1:
        return Diameter(0.0, (model.states[0], model.states[0]), (0.0, 0.0), True, 0, clock.perf_counter() - began)
    unit = 2.0 ** -np.floor(np.log2(model.rate.min()))  # about the longest mean holding time: the numbers inside are near 1
    passage = Passage(model.matrix, model.pair_state, 1.0 / (model.rate * unit))
    lost = unreachable(passage)
    if lost is not None:
        return Diameter(float("inf"), _own(model, lost), (float("inf"), float("inf")), True, 0, clock.perf_counter() - began)
    search = _search(passage)
    search.run(tolerance)
    low, high = search.bounds()
    with np.errstate(over="ignore"):
        low, value, high = np.array([max(low, passage.cost.min()) * (1 - 4 * EPSILON), search.value, high * UP]) * unit
    low = min(float(low), LARGEST)
    value, high = min(max(float(value), low), LARGEST), float(high)
    return Diameter(
        value, _own(model, search.pair), (low, high), high <= low * (1 + PROVED), len(search.solved), clock.perf_counter() - began
    )


def _search(passage: Passage) -> Search | Net | Bracket:
    if passage.n_states <= EXACT_STATES:
        return Search(passage)
    return Net(passage) if short_jumps(passage.n_states, passage.band, NETTED) else Bracket(passage)


def _own(model: CTMDP, pair: tuple[int, int]) -> tuple[Any, Any]:
    """Return two states as the user calls them."""
    return model.states[pair[0]], model.states[pair[1]]


def unreachable(passage: Passage) -> tuple[int, int] | None:
    """Return (s, t) such that t cannot be reached from s, or None if the model is communicating."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = passage._backward()
    if connected_components(graph, connection="strong")[0] == 1:
        return None
    for t in range(passage.n_states):
        seen = np.zeros(passage.n_states, dtype=bool)
        seen[breadth_first_order(graph, t, return_predecessors=False)] = True
        if not seen.all():
            return int(np.flatnonzero(~seen)[0]), t
    return None


