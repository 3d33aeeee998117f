"""What is known where nobody tells: the choices that a log contains, what they pay, and bounds of their rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from sojourn.control.log import Log
from sojourn.errors import ParameterError
from sojourn.learn.counts import Counts
from sojourn.learn.kl_set import rate_sets
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import shown
from sojourn.model.scalars import is_number

TIED = 1e-9  # relative: how closely what was paid must follow from lump sum and running reward to be taken as known


class Seen(NamedTuple):
    """The choices of a log as knowledge, how far the gain may be off because payments vary, and the confidence that is left."""

    knowledge: Knowledge
    doubt: float
    confidence: float


def seen_knowledge(rows: Log, reward: Any, running: Any, rate_bounds: tuple[float, float] | None, confidence: float,
                   notes: list[str]) -> Seen:
    """Return the choices that were seen with what they pay.

    Where payments vary, half of what may go wrong is spent on them.  Rate bounds from the log cost nothing: they are the outermost
    ends of the intervals of the estimate itself (learn/kl_set.py), at the confidence that is left for it.
    """
    n_actions = len(rows.actions)
    used = np.unique(rows.state.astype(np.int64) * n_actions + rows.action)
    states, actions = used // n_actions, used % n_actions
    never = sorted(set(range(len(rows.states))) - set(states.tolist()))
    if never:
        raise ParameterError(f"state {rows.states[never[0]]!r} was reached and never left ({len(never)} such states), so "
                             "nothing is known about it. Say which choices there are: `knowledge=`, such as model.knowledge().")
    pair = np.searchsorted(used, rows.state.astype(np.int64) * n_actions + rows.action)
    visits, time, cut = _spent(rows, pair, used, notes)
    where = {(rows.states[int(s)], rows.actions[int(a)]): k for k, (s, a) in enumerate(zip(states, actions))}
    lump, flow, off = np.zeros(len(used)), np.zeros(len(used)), None
    if reward is None and running is None and rows.reward is not None:
        lump, flow, off = paid(rows, pair, cut, (1 - confidence) / (2 * len(used)))
        few = int((visits < 3).sum())
        if few:
            notes.append(f"what {few} choices pay was seen fewer than three times; it is taken for a lump sum.")
    sure = confidence if off is None else (1 + confidence) / 2
    low, high = rate_sets(visits, time, cut, (1 - sure) / (2 * len(used)))
    if rate_bounds is None:
        rate_bounds = float(low.min()), float(high.max())
        notes.append(f"the rate bounds {rate_bounds[0]:.4g} to {rate_bounds[1]:.4g} were taken from the log: at {sure:.15g} "
                     "confidence all rates lie between them, and all intervals hold; tell closer ones if you can.")
    doubt = 0.0
    if off is not None:
        doubt = float(np.maximum(off.at(np.clip(low, *rate_bounds)), off.at(np.clip(high, *rate_bounds))).max())
        notes.append(f"what choices pay varies in the log; the gains allow {doubt:.4g} per unit of time for that.")
    for name, given, into in (("reward", reward, lump), ("running", running, flow)):
        for key, value in _payments(name, given).items():
            if key not in where:
                raise ParameterError(f"{name} names {key!r}, which is not a (state, action) of this log, such as "
                                     f"{next(iter(where))!r}.")
            into[where[key]] = value
    if rows.reward is None and not lump.any() and not flow.any():
        notes.append("nothing is paid, so there is no gain: give a column `reward`, or say what choices pay (`reward=`, `running=` "
                     "or `knowledge=`).")
    start = np.concatenate([[0], np.cumsum(np.bincount(states, minlength=len(rows.states)))]).astype(np.int64)
    known = Knowledge(pair_start=start, pair_action=actions.astype(np.int64), reward=lump, running=flow, states=rows.states,
                      rate_min=float(rate_bounds[0]), rate_max=float(rate_bounds[1]), actions=rows.actions)
    return Seen(known, doubt, sure)


def _payments(name: str, given: Any) -> dict[Any, float]:
    """Return {(state, action): number} as floats, or refuse what is something else."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{name} is {shown(given)}; it must map choices to numbers, as in {{('up', 'run'): 1.0}}.")
    for key, value in given.items():
        if not is_number(value):
            raise ParameterError(f"{name}[{shown(key)}] is {shown(value)}; it must be a finite number.")
    return {key: float(value) for key, value in given.items()}


def note_wrong_bounds(counts: Counts, knowledge: Knowledge, confidence: float, notes: list[str]) -> None:
    """Say which choices contradict the rate bounds that were told; with `confidence` none does where the bounds are right."""
    cut = np.zeros(knowledge.n_pairs, dtype=bool) if counts.unfinished is None else counts.unfinished > 0
    low, high = rate_sets(counts.visits, counts.holding_sum, cut, (1 - confidence) / (2 * knowledge.n_pairs))
    least, most = np.full(len(low), knowledge.rate_min), np.full(len(low), knowledge.rate_max)
    names = [f"{knowledge.actions[int(a)]!r} in state {knowledge.states[int(s)]!r}"
             for s, a in zip(knowledge.pair_state, knowledge.pair_action)]
    notes += contradictions("choices", names, np.stack([low, high], axis=1), np.stack([least, most], axis=1))


def contradictions(kind: str, names: Sequence[str], found: np.ndarray, told: np.ndarray) -> list[str]:
    """Return a sentence about the rates whose intervals have nothing in common with what was told; none where there are none."""
    wrong = np.flatnonzero((found[:, 1] < told[:, 0]) | (found[:, 0] > told[:, 1]))
    if not len(wrong):
        return []
    k = int(wrong[0])
    one = f"{told[k, 0]:.4g}" if told[k, 0] == told[k, 1] else f"{told[k, 0]:.4g} to {told[k, 1]:.4g}"
    return [f"what was told of rates contradicts the log in {len(wrong)} of {len(names)} {kind}: the rate of {names[k]} is "
            f"{found[k, 0]:.4g} to {found[k, 1]:.4g}, and {one} was told. Intervals and gains that rely on it are wrong. Check the "
            "unit of the holding times, and the rate bounds."]


def _spent(rows: Log, pair: np.ndarray, used: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return per pair the visits, all time, and whether some of it was unfinished; say which choices were never seen to end."""
    begun = rows.censored_state.astype(np.int64) * len(rows.actions) + rows.censored_action
    ended = np.isin(begun, used)
    if not ended.all():
        i = int(np.argmin(ended))
        notes.append(f"{len(np.unique(begun[~ended]))} choices were begun and never seen to end, such as "
                     f"{rows.actions[int(rows.censored_action[i])]!r} in state {rows.states[int(rows.censored_state[i])]!r}: where "
                     "they lead is not known, and they are left out. `knowledge` says which choices there are.")
    cut = np.bincount(np.searchsorted(used, begun[ended]), rows.censored_time[ended], minlength=len(used))
    return np.bincount(pair, minlength=len(used)), np.bincount(pair, rows.holding_time, minlength=len(used)) + cut, cut > 0


def power_of_two(size: np.ndarray) -> np.ndarray:
    """Return powers of two just above sizes, 1 for 0: numbers are divided by them without rounding.

    >>> power_of_two(np.array([0.0, 3.0, 5e-324])).tolist()
    [1.0, 4.0, 1e-323]
    """
    return np.asarray(np.where(size > 0, np.ldexp(1.0, np.frexp(size)[1]), 1.0))


class Off(NamedTuple):
    """How far, per unit of time, the pay of each pair may be off at a rate λ: sqrt((a λ)² + b² (1 - λ t)²)."""

    a: np.ndarray
    b: np.ndarray
    t: np.ndarray

    def at(self, rate: np.ndarray) -> np.ndarray:
        """Return it at these rates; it is largest at an end of an interval."""
        return np.asarray(np.hypot(self.a * rate, self.b * (1 - rate * self.t)))


def paid(rows: Log, pair: np.ndarray, cut: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, Off | None]:
    """Return lump sum and running reward per pair where they explain all that was paid, else its mean per sojourn; and how far
    that may be off, but with probability `level` for each pair (None where nothing varies).

    Where unfinished sojourns of a pair are missing (`cut`), those that were seen to end are the short ones, and so is their mean
    pay: there a line in the holding time is fitted, whose lump sum and slope do not depend on which times were seen.
    """
    assert rows.reward is not None
    largest = np.zeros(len(cut))
    np.maximum.at(largest, pair, np.abs(rows.reward))
    unit = power_of_two(largest)  # so that what is squared below is near 1
    tau, given = rows.holding_time, rows.reward / unit[pair]
    n = np.bincount(pair, minlength=len(cut)).astype(float)

    def mean(x: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.bincount(pair, x, minlength=len(cut)) / n
        return found

    t, r = mean(tau), mean(given)
    var = mean((tau - t[pair]) ** 2)
    slope = np.divide(mean((tau - t[pair]) * (given - r[pair])), var, out=np.zeros(len(n)), where=var > 0)
    slope[n < 3] = 0.0
    scale = np.maximum(mean(np.abs(given)), 1e-300)
    rest = np.sqrt(mean((given - r[pair] - slope[pair] * (tau - t[pair])) ** 2))
    plain = np.sqrt(mean((given - r[pair]) ** 2))
    tied = rest <= TIED * scale
    line = cut & ~tied & (n >= 3) & (var > 0)
    slope = np.where((tied & (plain > TIED * scale)) | line, slope, 0.0)
    lump = r - slope * t
    lump[np.abs(lump) <= TIED * scale] = 0.0
    free = np.maximum(n - 1 - line, 1)
    half = special.stdtrit(free, 1 - level / 2) * np.where(line, rest, plain) / np.sqrt(free)
    half = np.where(tied, 0.0, half)
    off = Off(half * unit, np.where(line, half / np.sqrt(np.where(line, var, 1.0)), 0.0) * unit, t)
    return lump * unit, slope * unit, off if half.any() else None
