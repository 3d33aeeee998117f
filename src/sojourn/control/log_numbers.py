"""The numbers of a log: decimal texts, dates, durations and numbers as an array of floats, or the first row that is none.

A text is a number if it is written in decimal digits, such as 12, -0.5 or 1e-3.  Python's own reading takes more for a number
(1_5 for 15, digits of other scripts), which in a log is a slip of the pen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sojourn.errors import FileError
from sojourn.model.scalars import is_decimal

NUMBERS = (int, float, np.integer, np.floating, np.bool_, Decimal, Fraction)  # bool is an int
MOMENTS = (date, timedelta, np.datetime64, np.timedelta64)
DATED, TIMED = ("time",), ("time", "holding_time")  # columns that may hold dates, and durations
DATE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}")
SECONDS = {"W": 604800.0, "D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}  # of units of dates and durations
PER_SECOND = {"ms": 1e3, "us": 1e6, "ns": 1e9, "ps": 1e12, "fs": 1e15, "as": 1e18}
UNEVEN = ("Y", "M")  # units of durations of no one length


def missing(value: Any) -> bool:
    """Return whether a cell is empty, or holds one of the signs that stand for that: None, NaN, NaT, NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def blank(value: Any) -> bool:
    """Return whether a cell is empty, or an empty text."""
    return missing(value) or (isinstance(value, str) and value == "")


def plus_one(i: int) -> int:
    """Return the number of the row of entry `i`."""
    return i + 1


def real_numbers(name: str, values: Any, row: Callable[[int], int] = plus_one) -> np.ndarray:
    """Return a column as floats, NaN where it is empty; dates become seconds since the first of them, durations seconds.

    `row` says in which row entry i stands first.

    >>> real_numbers("reward", ["1e3", " -.5", ""]).tolist()
    [1000.0, -0.5, nan]
    """
    found = _of_array(name, values, row) if isinstance(values, np.ndarray) else None
    if found is None:
        found = _of_values(name, values.tolist() if isinstance(values, np.ndarray) else values, row)
    return found


def _of_array(name: str, array: np.ndarray, row: Callable[[int], int]) -> np.ndarray | None:
    """Return an array of numbers, dates or durations as floats; None for any other, whose values are looked at one by one."""
    if array.dtype.kind in "biuf":
        return np.asarray(array, dtype=np.float64)
    if array.dtype.kind not in "mM":
        return None
    _check_column(name, array[:1], row(0))
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] in UNEVEN:
        array = array.astype("datetime64[s]")
    there = ~np.isnat(array)
    ticks, (unit, count) = array.astype(array.dtype.newbyteorder("=")).view(np.int64), np.datetime_data(array.dtype)
    lasted = ticks.astype(np.float64)
    if array.dtype.kind == "M" and there.any():  # differences modulo 2^64: none overflows, and none is rounded
        whole = ticks.view(np.uint64)
        lasted = (whole - whole[np.flatnonzero(there)[ticks[there].argmin()]]).astype(np.float64)
    seconds = lasted * count * SECONDS[unit] if unit in SECONDS else lasted * count / PER_SECOND.get(unit, 1.0)
    return np.where(there, seconds, np.nan)


def _check_column(name: str, moment: Any, row: int) -> None:
    """Refuse a date or a duration where numbers belong, and a duration of no one length."""
    is_date = isinstance(moment, date) or getattr(getattr(moment, "dtype", None), "kind", "") == "M"
    if name not in (DATED if is_date else TIMED):
        kind = "a date" if is_date else "a duration"
        hint = " Give how long the sojourn lasted, or dates in a column `time`." if name == "holding_time" else ""
        raise FileError(f"row {row} has {name} {np.ravel(moment)[0]!s}, which is {kind}; it must be a number.{hint}")
    if isinstance(moment, (np.timedelta64, np.ndarray)) and moment.dtype.kind == "m" and \
            np.datetime_data(moment.dtype)[0] in (*UNEVEN, "generic"):
        raise FileError(f"row {row} has {name} {np.ravel(moment)[0]!s}, a duration in months, years or no unit, which has no one "
                        "length; give it in days, hours or seconds.")


def _of_values(name: str, values: Sequence[Any], row: Callable[[int], int]) -> np.ndarray:
    kinds = set(map(type, values))
    if kinds <= {int, float}:
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:  # an integer beyond every float, which is named below
            pass
    if any(issubclass(kind, MOMENTS) and kind.__name__ != "NaTType" for kind in kinds):
        return _moments(name, values, row)
    found = np.empty(len(values))
    for i, value in enumerate(values):
        number = _number(value)
        if number is None:
            raise FileError(f"row {row(i)} has {name} {_shown(value)}, which is no number. {_hint(name, value)}.")
        found[i] = number
    return found


def _hint(name: str, value: Any) -> str:
    """Return what to do about a cell that is no number."""
    numbers = "Numbers are written as 12, -0.5 or 1e-3. If the columns are swapped, rename them"
    dates = "write seconds, or give a data frame or a Parquet file whose column holds dates"
    if name not in DATED:
        return numbers
    if not isinstance(value, (str, bytes)):
        return f"Times are numbers or dates: {dates}"
    dated = DATE.match(value.strip()) if isinstance(value, str) else None
    return f"A date that is a text is not read: {dates}" if dated else f"{numbers}; dates that are texts are not read: {dates}"


def _number(value: Any) -> float | None:
    """Return a cell as a float, NaN where it is empty, None where it is no number."""
    if missing(value):
        return float("nan")
    text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
    if isinstance(text, str):
        text = text.strip()
        return float(text) if is_decimal(text) else float("nan") if text.lower() in ("", "nan") else None
    if not isinstance(value, NUMBERS):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # a decimal that signals
        return None


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or value.bit_length() < 200 else f"a number of {value.bit_length()} bits"
    return text if len(text) <= 60 else f"{text[:45]}...{text[-10:]}"


# ---- dates and durations -----------------------------------------------------------------------------------------------


def _moments(name: str, values: Sequence[Any], row: Callable[[int], int]) -> np.ndarray:
    """Return seconds: durations as they are, dates since the first of them, those with a time zone by the clock of the world."""
    exact = _exact_moments(name, values, row)
    if exact is not None:
        return exact
    first: Any = None
    begin = 0
    found = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if _no_moment(value):
            continue
        moment = _moment(name, value, row(i))
        if first is None:
            first, begin = moment, i
        if _kind(moment) != _kind(first):
            raise FileError(f"row {row(i)} has {name} {value!s} ({_kind(moment)}) and row {row(begin)} {values[begin]!s} "
                            f"({_kind(first)}); they cannot be subtracted. Give all of them in one form.")
        found[i] = (moment - first if isinstance(moment, datetime) else moment).total_seconds()
    return found


def _no_moment(value: Any) -> bool:
    return blank(value) or (isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value)))


def _exact_moments(name: str, values: Sequence[Any], row: Callable[[int], int]) -> np.ndarray | None:
    """Return seconds where all values are dates of NumPy, or all durations, in whatever units; None where they are not."""
    there = [i for i, value in enumerate(values) if not _no_moment(value)]
    kinds = {values[i].dtype.kind if isinstance(values[i], (np.datetime64, np.timedelta64)) else "" for i in there}
    if kinds not in ({"M"}, {"m"}):
        return None
    found, first = np.full(len(values), np.nan), None
    for i in there:
        value = values[i]
        _check_column(name, value, row(i))
        if np.datetime_data(value.dtype)[0] in UNEVEN:
            value = value.astype("datetime64[s]")
        unit, count = np.datetime_data(value.dtype)
        lasted = Fraction(int(value.astype(np.int64)) * count)
        lasted = lasted * Fraction(SECONDS[unit]) if unit in SECONDS else lasted / Fraction(PER_SECOND[unit])
        if first is None:
            first = lasted if value.dtype.kind == "M" else Fraction(0)
        found[i] = float(lasted - first)
    return found


def _moment(name: str, value: Any, row: int) -> datetime | timedelta:
    """Return one date or duration; a date with a time zone in UTC, since Python subtracts two of one zone as wall clocks."""
    if isinstance(value, MOMENTS):
        _check_column(name, value, row)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        whole = value.astype("datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]")
        value = whole.item() if whole == value else value  # one that Python's dates cannot hold is refused below
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, (datetime, timedelta)):
        raise FileError(f"row {row} has {name} {_shown(value)}, which is no date or duration as others of this column are. Give "
                        "all of them in one form.")
    if isinstance(value, datetime) and _zoned(value):
        try:
            return value.astimezone(UTC)
        except (OverflowError, ValueError):
            raise FileError(f"row {row} has {name} {value!s}, which has no moment in UTC; give dates after the year 1 and before "
                            "9999.") from None
    return value


def _zoned(moment: datetime | timedelta) -> bool:
    return isinstance(moment, datetime) and moment.utcoffset() is not None


def _kind(moment: datetime | timedelta) -> str:
    if isinstance(moment, timedelta):
        return "a duration"
    return "a date with a time zone" if _zoned(moment) else "a date without a time zone"
