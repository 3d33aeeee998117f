"""Single numbers and words as users hand them in, checked: the one place that says what a number is.

Each check returns the value in its Python type, or raises with name, value and rule; a `note` ends that sentence.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.numbers import shown

DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]{1,300}")


def is_whole(value: Any) -> bool:
    """Return whether `value` is an integer, Python's or NumPy's; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether `value` is a finite real number, Python's or NumPy's."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except (OverflowError, TypeError):  # an integer beyond every float; NumPy's time differences, which call themselves integers
        return False


def is_decimal(text: str) -> bool:
    """Return whether a text is a number in decimal digits; Python's `float` takes more, such as 1_5 for 15.

    >>> [is_decimal(text) for text in ("12", "-.5", "1e-3", "1_5", "nan", "infinity", "\u0663")]
    [True, True, True, False, False, False, False]
    """
    return DECIMAL.fullmatch(text) is not None


def is_whole_text(text: str) -> bool:
    """Return whether a text is a whole number in decimal digits.

    >>> [is_whole_text(text) for text in ("12", "-3", "1_5", "--5", "\u00b2")]
    [True, True, False, False, False]
    """
    return WHOLE.fullmatch(text) is not None


def positive(name: str, value: Any, note: str = "") -> float:
    """Return `value` as a float above 0."""
    if not (is_number(value) and value > 0):
        raise ParameterError(f"{name} is {shown(value)}; it must be a finite number above 0{note}.")
    return float(value)


def at_least(name: str, value: Any, least: float, note: str = "") -> float:
    """Return `value` as a float, `least` or above."""
    if not (is_number(value) and value >= least):
        raise ParameterError(f"{name} is {shown(value)}; it must be a finite number, at least {least:g}{note}.")
    return float(value)


def whole(name: str, value: Any, least: int, most: int | None = None, note: str = "") -> int:
    """Return `value` as an int within the bounds; 1e7 is how people write ten million, so floats without a fraction will do."""
    fits = (is_whole(value) or (is_number(value) and float(value).is_integer())) and value >= least
    if not fits or (most is not None and value > most):
        span = f"at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise ParameterError(f"{name} is {shown(value)}; it must be a whole number{note}, {span}.")
    return int(value)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return `value`, which must be one of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} is {shown(value)}; it must be one of {', '.join(map(repr, allowed))}.")
    return value


def yes_or_no(name: str, value: Any) -> bool:
    """Return `value`, which must be True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} is {shown(value)}; it must be True or False.")
    return bool(value)
