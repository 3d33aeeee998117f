"""Named rates, and linear forms of them: `2 * mu + nu` may stand wherever a model takes an intensity.

A form knows its value, worked out in the order in which it was written, and how much of each rate it holds (its coefficients,
numbers or whole arrays).  What a learner may be told are the coefficients, never the value.
"""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.hidden_characters import has_hidden
from sojourn.model.numbers import real_number, shown

REAL = (int, float, np.integer, np.floating, np.bool_)


class Form:
    """A sum of rates times known factors: `value`, and `terms` of (rate, coefficient)."""

    __array_ufunc__ = None  # so that array * rate asks us

    def __init__(self, value: Any, terms: tuple[tuple[Rate, Any], ...]):
        self.value = value
        self.terms = terms

    def __mul__(self, factor: Any) -> Form:
        if isinstance(factor, Form):
            raise ModelError(f"{self!r} times {factor!r} is a product of two rates; an intensity must be linear in the rates. "
                             "Name the product as a Rate of its own.")
        known = _factor(self, factor)
        return Form(self.value * known, tuple((rate, coefficient * known) for rate, coefficient in self.terms))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Form:
        if isinstance(divisor, Form):
            raise ModelError(f"{self!r} over {divisor!r} is a quotient of two rates; an intensity must be linear in the rates. "
                             "Name the quotient as a Rate of its own.")
        if np.any(np.equal(_factor(self, divisor, "over"), 0)):
            raise ModelError(f"{self!r} over {shown(divisor)}: a rate cannot be divided by 0. Leave out what cannot happen.")
        known = divisor
        return Form(self.value / known, tuple((rate, coefficient / known) for rate, coefficient in self.terms))

    def __rtruediv__(self, other: Any) -> Form:
        raise ModelError(f"{shown(other)} over {self!r} is not linear in the rate; name it as a Rate of its own.")

    def __add__(self, other: Any) -> Form:
        if _is_number(other) and np.all(np.equal(other, 0)):  # so that sum() works
            return Form(self.value + other, self.terms)
        if not isinstance(other, Form):
            raise ModelError(f"{self!r} plus {shown(other)}: a number that is no factor is a rate that is known; say so with "
                             "Rate(name, value, known=True).")
        return Form(self.value + other.value, self.terms + other.terms)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Form:
        raise ModelError(f"{self!r} minus {shown(other)}: the coefficients of rates must not be negative.")

    __rsub__ = __sub__

    def __neg__(self) -> Form:
        raise ModelError(f"minus {self!r}: the coefficients of rates must not be negative.")

    def __pow__(self, power: Any) -> Form:
        raise ModelError(f"{self!r} to the power of {shown(power)}: an intensity must be linear in the rates. Name the power as a "
                         "Rate of its own.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def strength(self) -> Any:
        """The value, with 1 for every rate that has none: positive where something can happen."""
        return sum(coefficient * (rate.value if rate.value == rate.value else 1.0) for rate, coefficient in self.terms)

    @property
    def without_value(self) -> str:
        """The name of a rate in it that has no value, or ""."""
        return next((rate.name for rate, _ in self.terms if rate.value != rate.value), "")

    def _key(self) -> tuple[Any, ...]:
        return tuple((rate.name, coefficient) for rate, coefficient in self.terms)

    def __repr__(self) -> str:
        return " + ".join(rate.name if np.ndim(c) == 0 and c == 1 else f"{_number(c)} * {rate.name}" for rate, c in self.terms)


def _number(coefficient: Any) -> str:
    """Return a coefficient in words: 2 rather than 2.0."""
    return f"{coefficient:.12g}" if np.ndim(coefficient) == 0 else shown(coefficient, 20)


class Rate(Form):
    """A named rate: how often an event happens per unit of time (and per unit of its coefficient).

    `value` is what the simulator uses and no learner is told, unless `known=True`; `bounds=(lo, hi)` are told.  Without a value,
    Rate("serve") is a rate that nobody knows: for `Knowledge.explore`, as a model needs values.  Times a number, divided by a
    number and plus another rate it is a linear form, which `Choice(rates=...)` takes in place of a number.

    >>> serve = Rate("serve", 1.5)
    >>> 2 * serve, (2 * serve + Rate("abandon", 0.1)).value
    (2 * serve, 3.1)
    """

    def __init__(self, name: str, value: float | None = None, *, known: bool = False, bounds: tuple[float, float] | None = None):
        if not isinstance(name, str) or not name:
            raise ModelError(f"the name of a rate is {shown(name)}; it must be a word such as \"arrive\".")
        if has_hidden(name):
            raise ModelError(f"the name of a rate is {shown(name)}; it may hold no control characters and no others that nobody "
                             "sees. Rename it.")
        number = nan if value is None else real_number(f"the rate {name!r}", value)
        if value is not None and not (isfinite(number) and number > 0):
            raise ModelError(f"the rate {name!r} is {number!r}; it must be positive and finite.")
        if value is None and known:
            raise ModelError(f"the rate {name!r} is known and has no value; give it.")
        self.name = name
        self.known = bool(known)
        self.bounds = _bounds(name, number, known, bounds)
        super().__init__(number, ((self, 1.0),))

    @property
    def facts(self) -> tuple[float | None, tuple[float, float]]:
        """What two rates of one name must agree on."""
        return None if self.value != self.value else float(self.value), self.bounds

    def __repr__(self) -> str:
        return self.name


def _bounds(name: str, value: float, known: bool, bounds: Any) -> tuple[float, float]:
    """Return the bounds that a learner is told: (value, value) for a known rate, (0, inf) where nothing is declared."""
    if known:
        if bounds is not None:
            raise ModelError(f"the rate {name!r} is known and has bounds {shown(bounds)}; give one of the two.")
        return value, value
    if bounds is None:
        return 0.0, inf
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ModelError(f"the bounds of the rate {name!r} are {shown(bounds)}; they must be a pair (lo, hi).") from None
    if not 0 <= low < high:
        raise ModelError(f"the bounds of the rate {name!r} are ({low!r}, {high!r}); they must satisfy 0 <= lo < hi.")
    if value < low or value > high:
        raise ModelError(f"the rate {name!r} is {value!r}, outside its bounds ({low!r}, {high!r}). Widen them.")
    return low, high


def _factor(form: Form, value: Any, said: str = "times") -> Any:
    """Return a known factor, a number or an array of them: finite and not negative."""
    if not _is_number(value) or not np.all(np.isfinite(value)) or np.any(np.less(value, 0)):
        raise ModelError(f"{form!r} {said} {shown(value)}; the factor of a rate must be a finite number that is not negative.")
    return value


def _is_number(value: Any) -> bool:
    """Return whether a value is a real number or an array of them."""
    return isinstance(value, REAL) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
