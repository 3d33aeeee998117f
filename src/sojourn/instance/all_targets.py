"""Expected costs of one policy between all pairs of states, every entry with a proved relative error, in O(S³).

To reach the targets of one half of the states, the other half is eliminated (without a subtraction, see
`sojourn.kernels.hitting`), the half that remains is treated in the same way, and the values of the eliminated states
follow from it: V_B = c_B + W V_A, with W the probabilities of entering the half A at each of its states.  All of it is
sums and products of positive numbers, most of it in matrix products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.kernels.hitting import HUGE, ROUNDING, eliminate_panel, leaf_hits, substitute_panel

LEAF = 24
PANEL = 48


class AllTargets:
    """One irreducible chain: `hits[c, s, t]` is the expected cost c of reaching t from s, right up to exp(±error[t]).

    An infinite error says that numbers left the range of floats on the way: such a column proves nothing.
    """

    def __init__(self, chain: Any, *costs: np.ndarray):
        order = band_order(chain)
        n, m = chain.shape[0], len(costs)
        full = np.zeros((n, m + n))
        full[:, m:] = chain[order][:, order].toarray()
        np.fill_diagonal(full[:, m:], 0.0)
        scale = [2.0 ** np.floor(np.log2(cost.max())) for cost in costs]
        for c, cost in enumerate(costs):
            full[:, c] = cost[order] / scale[c]
        with np.errstate(all="ignore"):
            hits, error = _hits(full, m)
            if full[:, :m].min() < 1e-270:
                error[:] = np.inf
        back = np.argsort(order)
        self.hits = hits[:, back[:, None], back[None, :]] if n > 1 else hits
        self.error = error[back] + 4 * ROUNDING
        for c in range(m):
            self.hits[c] *= scale[c]
        np.minimum(self.hits, np.finfo(float).max, out=self.hits)


def band_order(chain: Any) -> np.ndarray:
    """Return an order of the states in which jumps are short, where there is one."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = chain.shape[0]
    if chain.nnz > 0.2 * n * n:
        return np.arange(n)
    pattern = (chain + chain.T).tocsr()
    found = np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True), dtype=np.int64)
    return found if _reach(pattern, found) < _reach(pattern, np.arange(n)) else np.arange(n)


def _reach(pattern: Any, order: np.ndarray) -> int:
    """Return the longest jump in an order."""
    place = np.argsort(order)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return int(np.abs(place[rows] - place[pattern.indices]).max(initial=0))


def _hits(full: np.ndarray, costs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return hits[c, s, t] and the log error per target."""
    n = full.shape[0]
    hits, error = np.zeros((costs, n, n)), np.zeros(n)
    if n <= LEAF:
        leaf_hits(full, costs, hits, error)
        return hits, error
    half = n // 2
    _half(full.copy(), costs, half, hits, error)
    flipped = np.hstack([full[::-1, :costs], full[::-1, costs:][:, ::-1]])
    _half(flipped, costs, n - half, hits[:, ::-1, ::-1], error[::-1])
    return hits, error


def _half(full: np.ndarray, costs: int, kept: int, hits: np.ndarray, error: np.ndarray) -> None:
    """Fill the columns of the first `kept` states; `full` is overwritten."""
    spent = eliminate_tail(full, costs, kept)
    reduced, own = _hits(np.ascontiguousarray(full[:kept, : costs + kept]), costs)
    enter, more = substitute_tail(full, costs, kept)
    hits[:, :kept, :kept] = reduced
    for c in range(costs):
        through = enter[:, costs:] @ reduced[c]
        through += enter[:, c, None]
        if not np.isfinite(spent):
            np.nan_to_num(through, copy=False, nan=HUGE, posinf=HUGE)
        hits[c, kept:, :kept] = np.minimum(through, HUGE)
    error[:kept] = np.where(hits[:, :, :kept].max(axis=(0, 1)) < HUGE, own + spent + more, np.inf)


def eliminate_tail(full: np.ndarray, costs: int, kept: int) -> float:
    """Eliminate all states from `kept` on, in place, and return the log error of what remains (infinite: not trusted)."""
    error, last = 0.0, full.shape[0]
    while last > kept:
        first = max(kept, last - PANEL)
        spent, sound = eliminate_panel(full, costs, first, last)
        error += spent if sound else np.inf
        left, below = full[:first, costs + first : costs + last], full[first:last, costs : costs + first]
        full[:first, costs : costs + first] += left @ below
        touched = int((left != 0).any(axis=1).sum())
        error += 2 * touched * (last - first + 3) * ROUNDING
        last = first
    return error


def substitute_tail(full: np.ndarray, costs: int, kept: int) -> tuple[np.ndarray, float]:
    """Return per eliminated state its costs until it enters the kept states and where it does, and the log error of both."""
    n, error, first = full.shape[0], 0.0, kept
    enter = full[kept:, : costs + kept].copy()
    while first < n:
        last = min(n, first + PANEL)
        if first > kept:
            enter[first - kept : last - kept] += full[first:last, costs + kept : costs + first] @ enter[: first - kept]
        substitute_panel(full, costs, kept, first, last, enter)
        error += (first - kept + 2 + (last - first) * (last - first + 5)) * ROUNDING
        first = last
    return enter, error + (kept + 3) * ROUNDING
