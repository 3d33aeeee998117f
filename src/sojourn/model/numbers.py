"""Numbers as users hand them in: turned into float arrays, or refused with the entry, its value and the remedy."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sojourn.errors import ModelError

MAX_AXES = 4


def place(name: str, index: tuple[int, ...] | int) -> str:
    """Return `name[1, 2]`."""
    where = index if isinstance(index, tuple) else (index,)
    return f"{name}[{', '.join(str(int(i)) for i in where)}]" if where else name


def shown(value: Any, limit: int = 60) -> str:
    """Return `repr(value)`, numpy scalars as plain numbers, cut in the middle where it is long."""
    if isinstance(value, int) and value.bit_length() > 200:  # Python refuses to write out very long ones
        return f"an integer of {value.bit_length()} bits"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= limit else f"{text[: limit - 15]}...{text[-10:]}"


def _refuse(name: str, index: tuple[int, ...], value: Any) -> None:
    kind = type(value).__name__
    raise ModelError(
        f"{place(name, index)} is {shown(value)} (a {kind}); every entry must be a real number. "
        "Replace it by an int or a float."
    )


def _check_entries(name: str, value: Any, index: tuple[int, ...] = ()) -> None:
    """Raise on the first entry that is not a real number: booleans, strings, None, complex numbers, dates."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        if np.ma.is_masked(value):
            raise ModelError(f"{name} has {int(np.ma.getmaskarray(value).sum())} masked entries; fill them or use `admissible`.")
        return
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        if len(index) >= MAX_AXES:
            raise ModelError(f"{place(name, index)} is {shown(value)}; lists may be nested at most {MAX_AXES} deep.")
        for i, entry in enumerate(value):
            if type(entry) is not float:
                _check_entries(name, entry, (*index, i))
        return
    if isinstance(value, (bool, np.bool_, np.complexfloating, np.timedelta64)):
        _refuse(name, index, value)
    if not isinstance(value, (int, float, np.number, Fraction)):
        _refuse(name, index, value)
    if isinstance(value, (int, Fraction)) and not -1e308 < value < 1e308:
        raise ModelError(f"{place(name, index)} is {_digits(value)}; it is too large. Numbers must be below 1e308 in size.")


def _digits(value: int | Fraction) -> str:
    """Return a huge number in words that are short and never fail."""
    return f"a number of about {int(value).bit_length() * 0.30103:.0f} digits"


def _lengths(name: str, value: Any) -> str:
    """Return where a nested list stops being rectangular."""
    rows = value if isinstance(value, (list, tuple)) else []
    sizes = [np.shape(r) if not isinstance(r, (list, tuple)) else len(r) for r in rows]
    odd = next((i for i, n in enumerate(sizes) if n != sizes[0]), None)
    if odd is not None:
        return f"{name}[{odd}] has length {sizes[odd]} and {name}[0] has length {sizes[0]}"
    inner = next((_lengths(place(name, i), r) for i, r in enumerate(rows) if isinstance(r, (list, tuple))), None)
    return inner or f"{name} is {shown(value)}"


def real_array(name: str, value: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return `value` as a new float64 array; booleans, strings, ragged rows and a wrong shape are errors."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    _check_entries(name, value)
    try:
        array = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise ModelError(f"{_lengths(name, value)}; it must be a rectangular array. Give rows of equal length.") from None
    if shape is not None and array.shape != shape:
        raise ModelError(f"{name} has shape {array.shape}; it must be {shape}. Check the order of its axes.")
    return array


def index_array(name: str, value: Any) -> np.ndarray:
    """Return a flat list of 0-based indices as int64; anything that is not an integer is an error."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if not isinstance(value, (list, tuple, range, np.ndarray)):
        raise ModelError(f"{name} is {shown(value)}; it must be a flat list of 0-based indices.")
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        for i, entry in enumerate(value):
            if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, (int, np.integer)):
                raise ModelError(f"{name}[{i}] is {shown(entry)}; it must be an integer, a 0-based index.")
            if not -(2**63) <= int(entry) < 2**63:
                raise ModelError(f"{name}[{i}] is {shown(entry)}; it must be a 0-based index, below 2^63.")
    elif value.dtype == np.uint64 and value.size and value.max() >= 2**63:
        raise ModelError(f"{name} holds {shown(value.max())}; it must be a 0-based index, below 2^63.")
    index = np.asarray(value, dtype=np.int64) if len(np.shape(value)) != 1 or np.size(value) else np.zeros(0, np.int64)
    if index.ndim != 1:
        raise ModelError(f"{name} has shape {index.shape}; it must be a flat list of 0-based indices.")
    if index.size == 0:
        raise ModelError(f"{name} is {shown(value)}; a model needs at least one pair.")
    return index


def boolean_table(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a boolean array of the given shape (all True where `value` is None), or raise."""
    if value is None:
        return np.ones(shape, dtype=bool)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    try:
        mask = np.array(value)
    except ValueError:
        raise ModelError(f"{_lengths(name, value)}; it must be a boolean table of shape {shape}.") from None
    if mask.dtype != bool or mask.shape != shape:
        entry = f"{name}[{', '.join('0' * mask.ndim)}] is {shown(mask.flat[0])}; " if mask.size else ""
        raise ModelError(f"{entry}{name} has type {mask.dtype} and shape {mask.shape}; it must be boolean with shape {shape}.")
    return mask


def real_number(name: str, value: Any) -> float:
    """Return one finite real number, or raise."""
    if isinstance(value, (list, tuple)) or np.ndim(value):
        raise ModelError(f"{name} is {shown(value)} (a {type(value).__name__}); it must be one real number.")
    number = float(real_array(name, value, ()))
    if not np.isfinite(number):
        raise ModelError(f"{name} is {number}; it must be finite. Give an ordinary number.")
    return number


def require_all(name: str, values: np.ndarray, good: np.ndarray, rule: str, remedy: str, label: Any = None) -> None:
    """Raise on the first entry of `values` that is not `good`; `label(i)` names entry i."""
    bad = np.flatnonzero(~good)
    if bad.size:
        first = int(bad[0])
        where = label(first) if label else place(name, first)
        raise ModelError(f"{where} is {shown(values[first])}; {rule} ({bad.size} of {values.size} entries do not). {remedy}")


def rate_bounds_pair(value: Any) -> tuple[float, float]:
    """Return (rate_min, rate_max), checked: two finite numbers, 0 < lo <= hi."""
    if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, str) or len(value) != 2:
        raise ModelError(f"rate_bounds is {shown(value)}; it must be a pair (rate_min, rate_max).")
    low, high = real_number("rate_bounds[0]", value[0]), real_number("rate_bounds[1]", value[1])
    if low <= 0:
        raise ModelError(f"rate_bounds[0] is {low!r}; rate_min must be positive (assume-rate). Give the least rate "
                         "that may occur, above 0.")
    if low > high:
        raise ModelError(f"rate_bounds is ({low!r}, {high!r}); rate_min must not exceed rate_max. Swap them?")
    return low, high


def spread(values: Any, pair_state: np.ndarray, pair_action: np.ndarray, shape: tuple[int, int], fill: float) -> np.ndarray:
    """Return per-pair values as an (S, A, ...) table, `fill` where the pair is not admissible."""
    array = np.asarray(values)
    if array.shape[:1] != pair_action.shape:
        raise ModelError(f"there are {np.shape(array)} values for {len(pair_action)} pairs; give one per pair.")
    kind = array.dtype if np.can_cast(type(fill), array.dtype) else np.result_type(array.dtype, type(fill))
    out = np.full((*shape, *array.shape[1:]), fill, dtype=kind)
    out[pair_state, pair_action] = array
    return out
