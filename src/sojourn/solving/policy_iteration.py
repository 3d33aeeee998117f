"""Policy iteration: evaluate by elimination, improve, until nothing improves.

A policy on the way may have several recurrent classes, even where the model communicates.  Then at least one of them
earns strictly more than the policy before it, so the best class is kept and every other state is led there: the gain
still rises at each such step, and the method ends.

On large models improving state by state is slow: where a decision has to suit those around it (which of two queues to join), whole
regions change to and fro.  So the Bellman equation is swept some times before a policy is evaluated again; from the value of a
policy such sweeps only go up, and the policy they end with earns no less.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.arrays import Arrays, arrays_of
from sojourn.solving.chain import Chain, differences, reward_size, visit_reward
from sojourn.solving.elimination import OutOfRange
from sojourn.solving.optimality import EPSILON, advantages, better_pairs, noise
from sojourn.solving.structure import one_class, towards_most_income
from sojourn.solving.value import PolicyValue, value_of

PATIENCE = 25  # improvements in a row that gain nothing, by rounding or where one practically never is, before it is left at that
CLEAR = 1e4  # an advantage over its rounding error, from which on it is certainly one
LARGE = 1000  # states above which the Bellman equation is swept between two policies
SWEEPS = 50  # at most so many times, and at no more cost than the elimination that comes next
Answer = tuple[np.ndarray, PolicyValue, int]  # pair per state, its value, evaluations
Enough = Callable[[np.ndarray, PolicyValue], bool]


def improve_until_optimal(model: CTMDP, pairs: np.ndarray, enough: Enough | None = None) -> Answer:
    """Return (optimal pair per state, its value, evaluations), starting from `pairs`; or the first policy that is `enough`.

    Where improvements go on without gaining anything, or in circles by rounding, far from where the time is spent, another
    beginning is tried too: to go where most is earned.
    """
    answer, finished = _climb(model, pairs, enough)
    if finished:
        return answer
    other, _ = _climb(model, towards_most_income(model), enough)
    best = answer if answer[1].gain > other[1].gain + other[1].gain_error else other
    return best[0], best[1], answer[2] + other[2]


def _climb(model: CTMDP, pairs: np.ndarray, enough: Enough | None) -> tuple[Answer, bool]:
    """Return the last policy of a row of improvements, and whether nothing was better than it, or it was `enough`."""
    arrays = arrays_of(model) if model.n_states > LARGE else None
    seen: set[int] = set()
    answer: Answer | None = None
    same = 0
    while True:
        pairs, chain, recurrent = one_class(model, pairs)
        key = hash(pairs.tobytes())
        if answer is not None and (key in seen or same > PATIENCE):  # nothing improves, or only what is practically never visited
            return answer, np.array_equal(pairs, answer[0])
        seen.add(key)
        value = value_of(chain, recurrent, answer[1] if answer is not None else None)
        better, clear = _improved(model, pairs, value)
        if not clear:
            value = polished(chain, value)
            better, _ = _improved(model, pairs, value)
        same = same + 1 if answer is not None and abs(value.gain - answer[1].gain) <= 8 * EPSILON * abs(value.gain) else 0
        answer = pairs, value, len(seen)
        if (enough is not None and enough(pairs, value)) or np.array_equal(better, pairs):
            return answer, True
        pairs = better if arrays is None else _swept(arrays, better, value)


def _swept(model: Arrays, pairs: np.ndarray, value: PolicyValue) -> np.ndarray:
    """Return the policy after some sweeps of the Bellman equation from the value of the one before; `pairs` is where they begin."""
    from sojourn.solving.embedded import Guess, smooth

    most = min(SWEEPS, int(getattr(value.factors, "work", 0.0) / len(model.next_state)))
    if value.beyond is not None or not most:
        return pairs
    guess = Guess(pairs, value.gain, value.bias.copy())
    with np.errstate(over="ignore", invalid="ignore"):
        smooth(model, guess, most)
    return guess.pairs


def _improved(model: CTMDP, pairs: np.ndarray, value: PolicyValue) -> tuple[np.ndarray, bool]:
    """Return the policy with better pairs, and whether one of them is better by so much that it cannot be rounding."""
    if value.beyond is not None:
        return improved_beyond(model, pairs, value), True
    values, error = advantages(model, value.gain, value.bias), noise(model, value.gain, value.bias)
    better = better_pairs(model, pairs, values, error)
    return better, bool((values[better] - values[pairs] > CLEAR * (error[better] + error[pairs])).any())


def polished(chain: Chain, value: PolicyValue) -> PolicyValue:
    """Return the value with the rounding errors of its bias taken out, so that only true improvements are seen as such."""
    if value.beyond is not None:
        return value
    with suppress(OutOfRange), np.errstate(over="ignore", invalid="ignore"):
        rest = chain.reward - value.gain * chain.holding + differences(chain.matrix, value.bias)
        _, (change, _) = value.correction(rest, chain.holding)
        return replace(value, bias=value.bias + change, bias_error=value.bias_error + np.abs(change))
    return value


def improved_beyond(model: CTMDP, pairs: np.ndarray, value: PolicyValue) -> np.ndarray:
    """Return the policy with better pairs where the bias is beyond floats: each state is judged in a unit of its own."""
    assert value.beyond is not None
    mantissa, power = value.beyond
    power = np.where(mantissa == 0, -(2**30), power)
    owner = np.repeat(model.pair_state, np.diff(model.row_start))
    unit = np.maximum(power, 0)
    np.maximum.at(unit, owner, power[model.next_state])
    own = np.ldexp(mantissa, np.clip(power - unit, -2000, 0))
    there = np.ldexp(mantissa[model.next_state], np.clip(power[model.next_state] - unit[owner], -2000, 0))
    moves = np.add.reduceat(model.probability * (there - own[owner]), model.row_start[:-1])
    size = np.add.reduceat(model.probability * (np.abs(there) + np.abs(own[owner])), model.row_start[:-1])
    shrink = -np.minimum(unit, 2000)[model.pair_state]
    paid = np.ldexp(visit_reward(model) - value.gain / model.rate, shrink)
    around = np.ldexp(reward_size(model) + (np.abs(model.running) + abs(value.gain)) / model.rate, shrink)
    return better_pairs(model, pairs, paid + moves, 32 * EPSILON * (around + size))
