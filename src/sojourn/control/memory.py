"""Do holding times and jumps depend on the past?  In a Markov decision process they do not, given the state and the action.

Six questions to each pair.  Its holding times: do they depend on the last one of the pair, on the sojourn just before, on the
state before, on where the sojourn leads?  Its jumps: do they depend on where the last one led, on the state before?  Each
question is answered by a p-value; where one asks of many states, it is multiplied by their number.

A question about times is answered by the larger one of two p-values: one is right where sojourns are cut short (by martingale
residuals, or the shares of time), the other whatever the law of the times (by ranks).  Jumps are compared with the
hypergeometric law that they have if their order does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from sojourn.control.log import Log
from sojourn.model.knowledge import Knowledge

LEAST = 20  # sojourns of a pair, with something before them, from which it is tested
FAR = 2.5  # standard deviations from which a p-value is worked out
SCREEN = 0.0125  # the p-value of so many; what is larger speaks for nothing, and is given as 1


@dataclass(frozen=True, eq=False)
class Path:
    """All sojourns of a log in the order of its rows, unfinished ones included.

    `after` is where each led, -1 where it is unfinished; `last` the sojourn just before it in its trajectory, `own` the one
    before it of the same pair, -1 where there is none.
    """

    pair: np.ndarray
    time: np.ndarray
    after: np.ndarray
    last: np.ndarray
    own: np.ndarray

    @property
    def whole(self) -> np.ndarray:
        """Which sojourns are complete."""
        return np.asarray(self.after >= 0)


def path_of(rows: Log, knowledge: Knowledge) -> Path:
    """Return the sojourns of a log in order."""
    row = np.concatenate([rows.row, rows.censored_row])
    order = np.argsort(row, kind="stable")
    state = np.concatenate([rows.state, rows.censored_state])[order]
    action = np.concatenate([rows.action, rows.censored_action])[order]
    pair = knowledge.pair_table[state, action].astype(np.int64)
    after = np.concatenate([rows.next_state, np.full(len(rows.censored_row), -1)]).astype(np.int64)[order]
    time = np.concatenate([rows.holding_time, rows.censored_time])[order]
    # an unfinished sojourn stands in the last row of a trajectory, so that a complete one in the row before led to it
    follows = np.concatenate([rows.follows, np.ones(len(rows.censored_row), dtype=bool)])[order]
    before = np.arange(-1, len(row) - 1)
    next_row = np.concatenate([[False], (np.diff(row[order]) == 1) & (after[:-1] >= 0)])
    known = pair >= 0  # what was cut short in a choice that the model does not have says nothing
    place = np.cumsum(known) - 1
    last = np.where(follows & next_row, before, -1)[known]
    last = np.where(last >= 0, place[last], -1)
    pair = pair[known]
    return Path(pair, time[known], after[known], last, _own_last(pair))


def _own_last(pair: np.ndarray) -> np.ndarray:
    """Return for each entry the last one before it of the same pair, -1 where there is none."""
    order = np.argsort(pair, kind="stable")
    found = np.full(len(pair), -1, dtype=np.int64)
    same = pair[order][1:] == pair[order][:-1]
    found[order[1:][same]] = order[:-1][same]
    return found


class PValues(NamedTuple):
    """Per pair: the p-value (NaN where it was not tested), and what it is about: a context and a successor, -1 where none."""

    p: np.ndarray
    context: np.ndarray
    successor: np.ndarray


def memory_tests(path: Path, state_of: np.ndarray, n_pairs: int) -> dict[str, PValues]:
    """Return {question: answer}; `state_of` is the state of each pair."""
    if not len(path.pair):
        nothing = np.full(n_pairs, np.nan)
        return {name: PValues(nothing, nothing.astype(int), nothing.astype(int)) for name in QUESTIONS}
    before = np.where(path.last >= 0, state_of[path.pair[path.last]], -1)
    led = np.where(path.own >= 0, path.after[path.own], -1)
    return {
        "last time": _of_times(path, path.own, n_pairs, 1.0),
        "time before": _of_times(path, path.last, n_pairs, 0.0),
        "state before": _of_contexts(path, before, n_pairs),
        "time and successor": _of_contexts(path, path.after, n_pairs),
        "last successor": _of_jumps(path, led, n_pairs),
        "successor and state before": _of_jumps(path, before, n_pairs),
    }


QUESTIONS = ("last time", "time before", "state before", "time and successor", "last successor", "successor and state before")


# ---- holding times -----------------------------------------------------------------------------------------------------


def _of_times(path: Path, earlier: np.ndarray, n_pairs: int, shift: float) -> PValues:
    """Return whether times depend on how long an earlier sojourn was."""
    use = np.flatnonzero((earlier >= 0) & path.whole[earlier])
    pair, time, whole = path.pair[use], path.time[use], path.whole[use]
    total = np.bincount(path.pair, path.time, minlength=n_pairs)
    mean = total / np.maximum(1, np.bincount(path.pair, path.whole, minlength=n_pairs))
    former = earlier[use]
    score = 0.5 - np.exp(-path.time[former] / mean[path.pair[former]])
    n = np.bincount(pair[whole], minlength=n_pairs)
    unit = np.where(n > 0, np.bincount(pair, time, minlength=n_pairs) / np.maximum(1, n), 1.0)
    spent = np.divide(time, unit[pair], out=np.zeros(len(time)), where=unit[pair] > 0)  # in units in which the rate is 1
    gap = np.bincount(pair, score * (whole - spent), minlength=n_pairs)
    info = np.bincount(pair, score**2 * spent, minlength=n_pairs) - np.bincount(pair, score * spent, minlength=n_pairs) ** 2 / \
        np.maximum(1, n)
    by_residuals = _two_sided(np.divide(gap, np.sqrt(np.maximum(info, 0)), out=np.zeros(n_pairs), where=info > 0))
    odd = whole & ((by_residuals < SCREEN) & (n >= LEAST))[pair]
    now, then = (_centred_ranks(pair[odd], values[odd], n_pairs) for values in (time, score))
    both = [np.bincount(pair[odd], part, minlength=n_pairs) for part in (now * then, now**2, then**2)]
    spread = np.sqrt(both[1] * both[2])
    link = np.divide(both[0], spread, out=np.zeros(n_pairs), where=spread > 0)
    by_ranks = _two_sided((link + shift / np.maximum(1, n)) * np.sqrt(np.maximum(0, n - 1)))
    p = np.where(by_residuals < SCREEN, np.maximum(by_residuals, by_ranks), 1.0)
    nothing = np.full(n_pairs, -1)
    return PValues(np.where(n >= LEAST, p, np.nan), nothing, nothing)


def _of_contexts(path: Path, context: np.ndarray, n_pairs: int) -> PValues:
    """Return whether times depend on a context: the share of each in the time of its pair, and its ranks."""
    use = np.flatnonzero(context >= 0)
    pair, time, whole = path.pair[use], path.time[use], path.whole[use]
    group, owner, label = _groups(pair, context[use])
    spent, seen = np.bincount(group, time), np.bincount(group, whole)
    n, total = np.bincount(pair, whole, minlength=n_pairs), np.bincount(pair, time, minlength=n_pairs)
    rest = n[owner] - seen
    share = np.clip(np.divide(spent, total[owner], out=np.zeros(len(spent)), where=total[owner] > 0), 0.0, 1.0)
    fast = special.betainc(np.maximum(seen, 1e-9), rest + 1, share)
    slow = special.betainc(np.maximum(rest, 1e-9), seen + 1, 1 - share)
    by_shares = np.minimum(1.0, 2 * np.minimum(np.where(seen > 0, fast, 1.0), np.where(rest > 0, slow, 1.0)))
    hopeful = np.zeros(n_pairs, dtype=bool)
    hopeful[owner[by_shares < SCREEN]] = True
    odd = whole & (hopeful & (n >= LEAST))[pair]
    rank = np.bincount(group[odd], _centred_ranks(pair[odd], time[odd], n_pairs), minlength=len(owner))
    var = seen * rest * (n[owner] + 1) / 12
    by_ranks = _two_sided(np.divide(rank, np.sqrt(var), out=np.zeros(len(rank)), where=var > 0))
    p = np.where(by_shares < SCREEN, np.maximum(by_shares, by_ranks), 1.0)
    contexts = np.bincount(owner, minlength=n_pairs)
    return _smallest(p, owner, label, np.full(len(label), -1), _independent(contexts),
                     (n >= LEAST) & (contexts > 1))


# ---- jumps -------------------------------------------------------------------------------------------------------------


def _of_jumps(path: Path, context: np.ndarray, n_pairs: int) -> PValues:
    """Return whether jumps depend on a context: how often each successor came in each, against the hypergeometric law."""
    use = np.flatnonzero((context >= 0) & path.whole)
    pair = path.pair[use]
    n = np.bincount(pair, minlength=n_pairs)
    place, owner, label = _groups(pair, context[use])
    there, owner_after, label_after = _groups(pair, path.after[use])
    in_context, to = np.bincount(place), np.bincount(there)
    contexts, successors = np.bincount(owner, minlength=n_pairs), np.bincount(owner_after, minlength=n_pairs)
    key, cell = _distinct(place * np.int64(len(to)) + there)
    hits = np.bincount(cell)
    row, column = key // max(1, len(to)), key % max(1, len(to))
    dense = contexts * successors <= n  # there the cells that stayed empty are looked at too
    row, column, hits = _with_empty(row, column, hits, owner, owner_after, dense, successors)
    draws, marked, size = in_context[row], to[column], n[owner[row]]
    mean = draws * marked / size
    var = mean * (1 - marked / size) * (size - draws) / np.maximum(1, size - 1)
    far = np.flatnonzero((np.abs(hits - mean) > FAR * np.sqrt(var)) & (size >= LEAST))
    p = np.ones(len(row))
    law = stats.hypergeom(size[far], marked[far], draws[far])
    p[far] = np.minimum(1.0, 2 * np.minimum(law.cdf(hits[far]), law.sf(hits[far] - 1)))
    return _smallest(p, owner[row], label[row], label_after[column], _independent(contexts) * _independent(successors),
                     (n >= LEAST) & (contexts > 1) & (successors > 1))


def _with_empty(row: np.ndarray, column: np.ndarray, hits: np.ndarray, owner: np.ndarray, owner_after: np.ndarray,
                dense: np.ndarray, successors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells of a table per pair, those of the pairs in `dense` with their empty ones."""
    first = np.searchsorted(owner_after, np.arange(len(dense)))
    whole = np.flatnonzero(dense[owner])
    width = successors[owner[whole]]
    rows = np.repeat(whole, width)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(width) - width, width) + first[owner[rows]]
    wide = np.int64(len(owner_after))
    here = dense[owner[row]]
    filled = np.zeros(len(rows), dtype=np.int64)
    filled[np.searchsorted(rows * wide + columns, (row * wide + column)[here])] = hits[here]
    return (np.concatenate([row[~here], rows]), np.concatenate([column[~here], columns]), np.concatenate([hits[~here], filled]))


# ---- small parts -------------------------------------------------------------------------------------------------------


def _groups(pair: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (group of each entry, pair of each group, context of each group), sorted by pair and context."""
    wide = np.int64(context.max(initial=0) + 1)
    key, group = _distinct(pair * wide + context)
    return group, key // wide, key % wide


def _distinct(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (the different keys in order, the place of each key among them); without sorting where they are small."""
    size = int(key.max(initial=0)) + 1
    if size > 4 * len(key):
        values, group = np.unique(key, return_inverse=True)
        return values, group
    there = np.zeros(size, dtype=bool)
    there[key] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[key]


def _centred_ranks(pair: np.ndarray, values: np.ndarray, n_pairs: int) -> np.ndarray:
    """Return the rank of each value among those of its pair, ties shared, minus the middle one."""
    order = np.lexsort((values, pair))
    count = np.bincount(pair, minlength=n_pairs)
    rank = np.arange(len(pair)) - (np.cumsum(count) - count)[pair[order]]
    new = np.concatenate([[True], (np.diff(pair[order]) != 0) | (np.diff(values[order]) != 0)]) if len(pair) else np.zeros(0, bool)
    tie = np.cumsum(new) - 1
    shared = np.bincount(tie, rank) / np.maximum(1, np.bincount(tie)) if len(pair) else np.zeros(0)
    found = np.empty(len(pair))
    found[order] = shared[tie]
    centred: np.ndarray = found - (count[pair] - 1) / 2
    return centred


def _two_sided(z: np.ndarray) -> np.ndarray:
    found: np.ndarray = special.erfc(np.abs(z) / np.sqrt(2))
    return found


def _smallest(p: np.ndarray, owner: np.ndarray, context: np.ndarray, successor: np.ndarray, number: np.ndarray,
              tested: np.ndarray) -> PValues:
    """Return the smallest p-value of each pair times the `number` of them, and what it is about."""
    order = np.lexsort((p, owner))
    pairs, first = np.unique(owner[order], return_index=True)
    best = order[first]
    found = np.full(len(tested), np.nan)
    about = [np.full(len(tested), -1), np.full(len(tested), -1)]
    found[pairs] = np.minimum(1.0, p[best] * number[pairs])
    about[0][pairs], about[1][pairs] = context[best], successor[best]
    found[~tested] = np.nan
    return PValues(found, *about)


def _independent(number: np.ndarray) -> np.ndarray:
    """Return how many of so many questions are different ones: of two, one says what the other does."""
    return np.where(number > 2, number, 1)
