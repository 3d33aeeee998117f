"""Gain, bias and stationary law of a chain with one recurrent class, each with a bound on its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import TooLarge
from sojourn.solving.chain import Chain
from sojourn.solving.elimination import DENSE, UNIT, Elimination, OutOfRange, eliminated, is_narrow

MANY = 2000  # states from which on another reference is tried before numbers of any size
FEW = 40  # states up to which the first recurrent state is as good as any to begin with
SHORT = 12  # jumps after which the most likely state is taken
OFTEN = 3  # times that the most likely state must be the same to be left alone
SOON = 100  # the same before it is tried instead of a reference that did not do
RARE = 0.01  # a reference visited less often than this, relative to the busiest state, is replaced by that one
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """What a policy earns: each number with a bound on its error (`law_error` relative, the others absolute)."""

    gain: float
    gain_error: float
    bias: np.ndarray  # 0 in the reference state
    bias_error: np.ndarray
    law: np.ndarray  # of the embedded chain
    law_error: float
    time: np.ndarray  # expected time until the reference is hit
    factors: Elimination | None  # None where the chain was too large for one
    beyond: tuple[np.ndarray, np.ndarray] | None = None  # (m, e) with bias m 2^e, where that is beyond floats

    @property
    def bounds(self) -> tuple[float, float]:
        """An interval that holds the gain for certain."""
        return float(np.nextafter(self.gain - self.gain_error, -np.inf)), float(np.nextafter(self.gain + self.gain_error, np.inf))

    def correction(self, rest: np.ndarray, holding: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        """Return what to add to (gain, bias) so that a residual `rest` of r - gain τ + P bias - bias becomes 0.

        The change of the bias as a sum of two floats.
        """
        assert self.factors is not None
        found = self.factors.rough_totals(np.column_stack([np.maximum(rest, 0.0), np.maximum(-rest, 0.0), holding]))
        with np.errstate(over="ignore", invalid="ignore"):
            step = (found.cycle[0] - found.cycle[1]) / found.cycle[2]
            change = found.until[:, 0] - found.until[:, 1] - step * found.until[:, 2]
            change = np.ldexp(change, found.until_power)
        return float(step), (np.where(np.isfinite(change), change, 0.0), np.zeros(len(rest)))


def value_of(chain: Chain, recurrent: np.ndarray, like: PolicyValue | None = None) -> PolicyValue:
    """Return the value of a chain with one recurrent class; `like` may be the value of one that is nearly the same.

    TooLarge is raised where the chain is too large for an elimination.
    """
    reference, known = int(recurrent[0]), None if like is None else like.factors
    if FEW < chain.n_states <= DENSE:  # where a second elimination would cost more than to look for a busy state
        reference = _likely(chain, recurrent, SHORT)
    elif like is not None and (often := int(np.argmax(like.law))) in recurrent:
        reference = often
    with suppress(OutOfRange):
        return _value(chain, *_busy(chain, reference, lambda matrix, state: eliminated(matrix, state, known)))
    if chain.n_states > MANY and not is_narrow(chain.matrix):  # from a rare reference the way may be too long for floats
        found = _from_likely(chain, reference, recurrent)
        if found is not None:
            return found
    from sojourn.solving.wide import WideElimination

    return _value(chain, *_busy(chain, reference, WideElimination))


def wide_bounds(chain: Chain, reference: int) -> tuple[float, float]:
    """Return an interval of the gain from an elimination with 32 digits; without ends where that would take too long."""
    from sojourn.solving.wide import WideElimination

    with suppress(TooLarge):
        return _value(chain, *_busy(chain, reference, WideElimination)).bounds
    return -np.inf, np.inf


def _from_likely(chain: Chain, reference: int, recurrent: np.ndarray) -> PolicyValue | None:
    """Return the value seen from a likely state where `reference` did not do, or None if floats do not suffice there either."""
    tried, last, same = {reference}, -1, 0
    for likely in _likely_states(chain, recurrent):
        if likely not in tried:
            tried.add(likely)
            with suppress(OutOfRange):
                return _value(chain, *_busy(chain, likely, eliminated))
        same = same + 1 if likely == last else 1
        last = likely
        if same == OFTEN:
            return None
    return None


def _likely(chain: Chain, recurrent: np.ndarray, jumps: int) -> int:
    """Return a state where the chain, made lazy so that it does not alternate, is most likely after some jumps from anywhere."""
    return next(_likely_states(chain, recurrent, jumps))


def _likely_states(chain: Chain, recurrent: np.ndarray, first: int = SOON) -> Iterator[int]:
    """Yield such a state after `first` jumps, after four times as many, and so on, as far as some seconds reach."""
    law = np.zeros(chain.n_states)
    law[recurrent] = 1.0 / len(recurrent)
    back, made, goal = chain.matrix.T, 0, first
    most = max(first, int(min(4 * len(recurrent), 200 + 2e9 / chain.matrix.nnz)))
    while made < most:
        for _ in range(made, min(goal, most)):
            law = (law + back @ law) / 2
        made, goal = min(goal, most), 4 * goal
        yield int(np.argmax(law))


def _busy(chain: Chain, reference: int, form: Callable[[Any, int], Elimination]) -> tuple[Elimination, np.ndarray, float]:
    """Return (factors, law, its error) with a reference that is visited often, so that expected times until it are short."""
    factors = form(chain.matrix, reference)
    law, error = factors.visits()
    if law[reference] < RARE * law.max():
        factors = form(chain.matrix, int(np.argmax(law)))
        law, error = factors.visits()
    return factors, law, error


def _value(chain: Chain, factors: Elimination, law: np.ndarray, law_error: float) -> PolicyValue:
    data_error = 2.02 * (chain.n_states * chain.matrix_error + chain.row_error) + chain.holding_error
    centre = float(law @ chain.reward / (law @ chain.holding))
    rest = chain.reward - centre * chain.holding
    blur = chain.reward_error + (4.04 * UNIT + chain.holding_error) * (abs(centre) * chain.holding + np.abs(rest)) + 5e-324
    scale, speed = power_near(max(np.abs(rest).max(), blur.max())), power_near(chain.holding.max())
    costs = np.column_stack([np.maximum(rest, 0.0) / scale, np.maximum(-rest, 0.0) / scale, blur / scale, chain.holding / speed])
    found = factors.totals(costs)
    up, down, doubt, time = found.cycle
    relative = 1.01 * (factors.error + factors.forward_error + data_error) + 4.04 * UNIT
    shift = (up - down) / time * (scale / speed)
    gain = centre + shift
    gain_error = 1.01 * (relative * (up + down) + doubt) / time * (scale / speed)
    gain_error += 2 * relative * abs(shift) + 2 * UNIT * abs(gain) + 5e-324
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        until, hold = found.until, found.until[:, 3] * speed
        bias = (until[:, 0] - until[:, 1]) * scale - shift * hold
        wrong = ((relative + factors.backward_error) * (until[:, 0] + until[:, 1]) + until[:, 2]) * scale
        wrong = 1.01 * (wrong + (gain_error + relative * abs(shift)) * hold + 4 * UNIT * np.abs(bias)) + 5e-324
        beyond = (bias, np.asarray(found.until_power)) if np.any(found.until_power) else None
        bias, wrong, hold = (_clipped(np.ldexp(x, found.until_power)) for x in (bias, wrong, hold))
    return PolicyValue(float(gain), float(gain_error), bias, wrong, law, law_error + 2 * data_error, hold, factors, beyond)


def power_near(size: float) -> float:
    """Return a power of two near `size`: dividing by it is exact and keeps the numbers away from the ends of the floats."""
    return float(2.0 ** np.clip(np.round(np.log2(size)), -1000, 1000)) if size > 0 else 1.0


def _clipped(x: np.ndarray) -> np.ndarray:
    """Return x with what is beyond floats set to the largest float."""
    clipped: np.ndarray = np.clip(x, -LARGEST, LARGEST)
    return clipped
