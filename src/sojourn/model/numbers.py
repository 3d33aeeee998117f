"""Numbers as users hand them in: turned into float arrays, or refused with the entry, its value and the remedy."""

from fractions import Fraction
from typing import Any

import numpy as np

from sojourn.errors import ModelError


def place(name: str, index: tuple[int, ...] | int) -> str:
    """Return `name[1, 2]`."""
    where = index if isinstance(index, tuple) else (index,)
    return f"{name}[{', '.join(str(int(i)) for i in where)}]"


def _refuse(name: str, index: tuple[int, ...], value: Any) -> None:
    kind = type(value).__name__
    where = place(name, index) if index else name
    raise ModelError(f"{where} is {value!r} (a {kind}); every entry must be a real number. Replace it by an int or a float.")


def _check_entries(name: str, value: Any, index: tuple[int, ...]) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        for i, entry in enumerate(value):
            if type(entry) is not float:
                _check_entries(name, entry, (*index, i))
    elif isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number, Fraction)):
        _refuse(name, index, value)
    elif isinstance(value, np.complexfloating):
        _refuse(name, index, value)


def real_array(name: str, value: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return `value` as a new float64 array; booleans, strings, ragged rows and a wrong shape are errors."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    _check_entries(name, value, ())
    try:
        array = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(f"{name} is not a rectangular array of numbers ({error}). Give rows of equal length.") from None
    if shape is not None and array.shape != shape:
        raise ModelError(f"{name} has shape {array.shape}; it must be {shape}. Check the order of its axes.")
    return array


def real_number(name: str, value: Any) -> float:
    """Return one finite real number, or raise."""
    _check_entries(name, value, ())
    number = float(real_array(name, value, ()))
    if not np.isfinite(number):
        raise ModelError(f"{name} is {number}; it must be finite.")
    return number


def require_all(name: str, values: np.ndarray, good: np.ndarray, rule: str, remedy: str, label: Any = None) -> None:
    """Raise on the first entry of `values` that is not `good`; `label(i)` names entry i."""
    bad = np.flatnonzero(~good)
    if bad.size:
        first = int(bad[0])
        where = label(first) if label else place(name, first)
        raise ModelError(f"{where} is {values[first]:g}; {rule} ({bad.size} of {values.size} entries do not). {remedy}")


def rate_bounds_pair(value: Any) -> tuple[float, float]:
    """Return (rate_min, rate_max), checked: two finite numbers, 0 < lo <= hi."""
    try:
        lo, hi = value
    except (TypeError, ValueError):
        raise ModelError(f"rate_bounds is {value!r}; it must be a pair (rate_min, rate_max).") from None
    low, high = real_number("rate_bounds[0]", lo), real_number("rate_bounds[1]", hi)
    if low <= 0:
        raise ModelError(f"rate_bounds[0] is {low:g}; rate_min must be positive (assume-rate).")
    if low > high:
        raise ModelError(f"rate_bounds is ({low:g}, {high:g}); rate_min must not exceed rate_max. Swap them?")
    return low, high
