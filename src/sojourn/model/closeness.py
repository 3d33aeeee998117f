"""How close to the best gain is close enough: an amount of gain, or a share of the best gain.

Both are held against an interval [low, high] that contains the best gain: an amount is itself, and a share is taken of the least
absolute value in the interval, which the best gain has at least.  So a share of an interval that contains 0 allows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sojourn.errors import ParameterError
from sojourn.model.numbers import shown
from sojourn.model.scalars import is_decimal, is_number

DELTA = 0.05  # of a certificate, unless told
EXAMPLES = 'give an amount of gain such as 0.05, or a share of the best gain such as "5%"'


@dataclass(frozen=True)
class Within:
    """Ask for a policy whose gain falls short of the best one by at most `epsilon`, but with probability `delta`.

    `epsilon` is an amount of gain (reward per unit of time), or with `relative` a share of the absolute value of the best gain.
    """

    epsilon: float
    relative: bool = False
    delta: float = DELTA

    def allowed(self, low: float, high: float) -> float:
        """Return the shortfall in gain units that is small enough whatever best gain lies in [low, high]."""
        return self.epsilon * max(low, -high, 0.0) if self.relative else self.epsilon

    def least(self, best: float) -> float:
        """Return the least gain that is good enough where the best gain is `best`."""
        return best - self.epsilon * (abs(best) if self.relative else 1.0)

    def best_for(self, gain: float) -> float:
        """Return the best gain for which `gain` is the least that is good enough: the inverse of `least`."""
        if not self.relative:
            return gain + self.epsilon
        return gain / (1 - self.epsilon if gain > 0 else 1 + self.epsilon)

    @property
    def text(self) -> str:
        """The epsilon as it is written: `5%`, or `0.05`."""
        return f"{100 * self.epsilon:.12g}%" if self.relative else f"{self.epsilon:.12g}"

    def as_table(self) -> dict[str, Any]:
        """Return what a study file says."""
        return {"epsilon": self.text if self.relative else self.epsilon, "delta": self.delta}

    def __str__(self) -> str:
        amount = f"{100 * self.epsilon:.6g} % of the best gain" if self.relative else f"{self.epsilon:.6g} of the best gain"
        return f"{amount}, with {100 * (1 - self.delta):.6g} % confidence"


def within(epsilon: float | str | Within, delta: float = DELTA) -> Within:
    """Return the wish for a policy within `epsilon` of the best, wrong with probability at most `delta`.

    `epsilon` is an amount of gain in reward per unit of time (0.05), or a share of the absolute value of the best gain ("5%").

    >>> within("5%"), within(0.2, delta=0.01).allowed(1.9, 2.1)
    (Within(epsilon=0.05, relative=True, delta=0.05), 0.2)
    >>> within("5%").allowed(1.8, 2.0), within("5%").allowed(-0.1, 0.1)
    (0.09000000000000001, 0.0)
    """
    if isinstance(epsilon, Within):
        return epsilon
    if not (is_number(delta) and 0 < delta < 1):
        raise ParameterError(f"delta is {shown(delta)}; it must be a probability strictly between 0 and 1, such as 0.05.")
    relative, value = False, epsilon
    if isinstance(epsilon, str):
        digits = epsilon.strip()
        relative = digits.endswith("%")
        digits = digits.removesuffix("%").strip()
        if not is_decimal(digits):
            raise ParameterError(f"epsilon is {shown(epsilon)}; {EXAMPLES}.")
        value = float(digits) / (100 if relative else 1)
    if not (is_number(value) and value > 0):  # type: ignore[operator]
        raise ParameterError(f"epsilon is {shown(epsilon)}; it must be above 0: {EXAMPLES}.")
    if relative and not value < 1:  # type: ignore[operator]
        raise ParameterError(f"epsilon is {shown(epsilon)}; a share of the best gain must be below 100%.")
    return Within(float(value), relative, float(delta))
