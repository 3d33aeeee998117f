"""Checks of what learners are given; a `note` ends the sentence that refuses it."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from sojourn.errors import ParameterError


def number(value: Any) -> bool:
    """Return whether `value` is a finite number, Python's or NumPy's."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def positive(name: str, value: Any, note: str = "") -> float:
    """Return `value` as a float above 0."""
    if not (number(value) and value > 0):
        raise ParameterError(f"{name} is {value!r}; it must be a finite number above 0{note}.")
    return float(value)


def at_least_zero(name: str, value: Any, note: str = "") -> float:
    """Return `value` as a float, 0 or above."""
    if not (number(value) and value >= 0):
        raise ParameterError(f"{name} is {value!r}; it must be a finite number, at least 0{note}.")
    return float(value)


def whole(name: str, value: Any, least: int, note: str = "") -> int:
    """Return `value` as an int, `least` or above."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number, at least {least}{note}.")
    return int(value)


def yes_or_no(name: str, value: Any) -> bool:
    """Return `value`, which must be True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return `value`, which must be one of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}.")
    return value
