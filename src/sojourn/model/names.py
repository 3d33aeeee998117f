"""What the user calls the states, or the actions: their own values (whole numbers, texts, tuples, ...), kept as they are.

Arrays speak of positions, 0 to n-1; people speak of states.  Where one becomes the other there is one rule, `Names.position`:

- a value equal to one of the names is that one (and so is its label, the text it is shown by);
- where all names are texts, a whole number is a position, unless a name that reads like it stands elsewhere: that is refused.

What has no names is called 0, 1, ..., n-1, which costs nothing however many there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from math import isfinite, isnan
from typing import Any, SupportsIndex, overload

import numpy as np

from sojourn.errors import ModelError, unknown_name
from sojourn.hidden_characters import has_control, has_hidden
from sojourn.model.numbers import shown

SHOWN = 10  # names listed in an error


class Names(Sequence[Any]):
    """A fixed sequence of different names, all with different labels; equal to any sequence of equal names.

    `labels` are the texts to show them by, where these are not `str(name)`.  Names that nobody can see whole (with characters
    without width, or that turn the direction of writing) are refused, unless they are `stored`: admitted once, and in a file since.

    >>> states = Names("state", [(2, 0), (1, 0), (0, 0)])
    >>> states[1], states.position((0, 0)), states.label(2), states.position("(1, 0)")
    ((1, 0), 2, '(0, 0)', 1)
    >>> Names("state", ["idle", "busy"]).position(1)
    1
    """

    def __init__(self, kind: str, values: Any, labels: Any = None, size: int | None = None, stored: bool = False):
        self.kind, self.stored = kind, stored
        self.values: tuple[Any, ...] | range = _checked(kind, values, size, stored)
        self.labelled: tuple[str, ...] | None = None
        if labels is not None:
            self.labelled = tuple(_text(kind, i, x, stored) for i, x in enumerate(_listed(kind, labels, len(self.values))))
            _refuse_twice(kind, "label", self.labelled)
        elif not (isinstance(self.values, range) or self.all_text or self._label_themselves):
            _refuse_alike(kind, self.values, tuple(_text(kind, i, str(value), stored) for i, value in enumerate(self.values)))

    # ---- as a sequence -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        return tuple(self.values[at]) if isinstance(at, slice) else self.values[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __contains__(self, value: object) -> bool:
        return self._find(value) is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self.labelled == other.labelled and _same(self.values, other.values)
        return isinstance(other, (tuple, list, range)) and self.labelled is None and _same(self.values, other)

    def __hash__(self) -> int:
        return hash(tuple(self.values))

    def __repr__(self) -> str:
        return repr(self.values if isinstance(self.values, range) else tuple(self.values))

    def some(self, positions: Any) -> Names:
        """Return the names at some positions, with their labels."""
        labels = None if self.labelled is None else [self.labelled[i] for i in positions]
        return Names(self.kind, [self.values[i] for i in positions], labels, stored=self.stored)

    # ---- shown to people -----------------------------------------------------------------------------------------

    def label(self, position: SupportsIndex) -> str:
        """Return the text that the name at `position` is shown by."""
        return self.labelled[position] if self.labelled is not None else str(self.values[position])

    @property
    def labels(self) -> Labels:
        """All labels, as a sequence of texts that are made when they are asked for."""
        return Labels(self)

    # ---- from the user's word to a position ----------------------------------------------------------------------

    def position(self, value: Any, what: str = "", error: type[Exception] = ModelError, after: str = "") -> int:
        """Return the position of the name that `value` stands for, by the rule at the head of this file, or raise `error`.

        `what` begins the message ("next_state"), `after` ends it ("Nothing was counted.").
        """
        found = self._find(value)
        if found is not None:
            return found
        try:
            return self._by_label_or_number(value)
        except ModelError as problem:
            end = ("" if str(problem).endswith(".") else ".") + f" {after}" if after else ""
            raise error(f"{what} is {shown(value)}: {problem}{end}" if what else f"{problem}") from None

    @cached_property
    def all_text(self) -> bool:
        """Whether every name is a text, so that a whole number can only be a position."""
        return not isinstance(self.values, range) and all(type(value) is str for value in self.values)

    @cached_property
    def _label_themselves(self) -> bool:
        """Whether `str` gives all of them different texts for sure: whole numbers, and tuples of plain values."""
        values: Sequence[Any] = self.values
        kinds = set(map(type, values))
        return kinds <= {int} or (kinds == {tuple} and all(type(part) in (int, str) for value in values for part in value))

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {value: i for i, value in enumerate(self.values)}

    @cached_property
    def _label_index(self) -> dict[str, int]:
        return {self.label(i): i for i in range(len(self))}

    @cached_property
    def _booleans(self) -> bool:
        return any(type(value) is bool for value in self.values)

    def _find(self, value: Any) -> int | None:
        """Return the position of the name equal to `value`; True and False are no numbers."""
        value = plain(value)
        if isinstance(self.values, range):
            whole = isinstance(value, (int, float)) and not isinstance(value, bool)
            return int(value) if whole and 0 <= value < len(self.values) and value == int(value) else None
        if isinstance(value, bool) and not self._booleans:
            return None
        return self._index.get(value) if _is_hashable(value) else None

    def _by_label_or_number(self, value: Any) -> int:
        value, count = plain(value), len(self)
        if isinstance(value, str):
            if isinstance(self.values, range):
                if len(value) < 20 and value.isascii() and value.isdigit() and str(int(value)) == value and int(value) < count:
                    return int(value)
            elif (not self.all_text or self.labelled) and value in self._label_index:
                return self._label_index[value]
            if self.all_text:
                raise ModelError(unknown_name(self.kind, value, self._index))
        elif self.all_text and isinstance(value, int) and not isinstance(value, bool):
            elsewhere = self._index.get(str(value), value) if value.bit_length() < 64 else value  # or too long to write
            if elsewhere != value:
                raise ModelError(f"{self.kind} {value} could be position {value} or {self.kind} {str(value)!r}, which stands at "
                                 f"position {elsewhere}. Say {str(value)!r}"
                                 + (f" or {self.values[value]!r}." if 0 <= value < count else "."))
            if 0 <= value < count:
                return value
            raise ModelError(f"{self.kind} {shown(value)} does not exist; positions run from 0 to {count - 1}.")
        elif self.all_text:
            one = "an" if self.kind[0] in "aeiou" else "a"
            raise ModelError(f"{self.kind} {shown(value)} is a {type(value).__name__}; {one} {self.kind} is given by its name, "
                             f"such as {self.values[0]!r}, or by its position, an integer from 0 to {count - 1}.")
        raise ModelError(f"there is no {self.kind} {shown(value)}; the {self.kind}s are {self.listed()}.")

    def listed(self, most: int = SHOWN) -> str:
        """Return the first few names as a text for an error message."""
        more = f", ... ({len(self)} in all)" if len(self) > most else ""
        return ", ".join(shown(value, 40) for value in self[:most]) + more


class Labels(Sequence[str]):
    """The labels of some names, made one by one when asked for."""

    def __init__(self, names: Names):
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self.names.label(i) for i in range(*at.indices(len(self))))
        return self.names.label(at)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names.labelled) if self.names.labelled is not None else map(str, self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


def plain(value: Any) -> Any:
    """Return `value` with numpy scalars as Python's own, also inside a tuple.

    >>> plain((np.int64(3), np.str_("a")))
    (3, 'a')
    """
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(map(plain, value))
    return value


# ---- names in files: whole numbers, texts, and tuples as lists ---------------------------------------------------------


def encoded(names: Names) -> list[Any]:
    """Return the names as what JSON can hold; a value that it cannot hold is written as its label."""
    return [_encode(value) if _fits(value) else names.label(i) for i, value in enumerate(names)]


def decoded(value: Any) -> Any:
    """Return the name that `encoded` wrote: lists are tuples."""
    if isinstance(value, float) and not isfinite(value):
        raise ModelError(f"a name in the file is {value}, a number beyond floats or none at all; use a text or another number.")
    return tuple(map(decoded, value)) if isinstance(value, list) else value


def _fits(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(part is None or _fits(part) for part in value)
    return type(value) in (str, int, bool) or (type(value) is float and abs(value) < float("inf"))


def _encode(value: Any) -> Any:
    return list(map(_encode, value)) if isinstance(value, tuple) else value


# ---- checking ----------------------------------------------------------------------------------------------------------


def _same(one: Sequence[Any], two: Sequence[Any]) -> bool:
    if isinstance(one, range) and isinstance(two, range):
        return one == two
    return len(one) == len(two) and all(a == b for a, b in zip(one, two))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _listed(kind: str, values: Any, size: int | None) -> Sequence[Any]:
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise ModelError(f"the {kind}s are {shown(values)}; give a list with one name for each {kind}: a text, a whole number, "
                         "a tuple.")
    found = values if isinstance(values, (tuple, range)) else tuple(values)
    if size is not None and len(found) != size:
        raise ModelError(f"there are {len(found)} {kind} labels for {size} {kind}s; give one for each.")
    if not len(found):
        raise ModelError(f"the model has 0 {kind}s; it needs at least one.")
    return found


def _checked(kind: str, values: Any, size: int | None, stored: bool) -> tuple[Any, ...] | range:
    """Return the names as a tuple, or as a range where they are 0 to n-1."""
    found = _listed(kind, values, size)
    if isinstance(found, range) and found == range(len(found)):
        return found
    own = tuple(_name(kind, i, value, stored) for i, value in enumerate(found))
    _refuse_twice(kind, kind, own)
    return range(len(own)) if own[0] == 0 and all(type(x) is int and x == i for i, x in enumerate(own)) else own


def _name(kind: str, i: int, value: Any, stored: bool) -> Hashable:
    if type(value) is int:
        return value
    value = plain(value)
    if isinstance(value, str):
        return _text(kind, i, value, stored)
    if not _is_hashable(value):
        raise ModelError(f"{kind} {i} is {shown(value)} (a {type(value).__name__}), which cannot be looked up. "
                         "Use a tuple instead of a list, a text or a whole number.")
    if value is None or (isinstance(value, float) and isnan(value)):
        raise ModelError(f"{kind} {i} is {value}, which is no name; use a text, a whole number or a tuple.")
    return value  # type: ignore[no-any-return]


def names_of(kind: str, values: Any, size: int | None = None) -> Names:
    """Return `values` as Names: as they are, checked; None stands for 0 to size-1."""
    if isinstance(values, Names):
        if size is not None and len(values) != size:
            raise ModelError(f"there are {len(values)} {kind} labels for {size} {kind}s; give one for each.")
        return values
    return Names(kind, range(size or 0) if values is None else values, size=size)


def _text(kind: str, i: int, label: Any, stored: bool) -> str:
    if not isinstance(label, str) or not label:
        raise ModelError(f"{kind} label {i} is {shown(label)}; labels are non-empty strings, all different.")
    if has_control(label):
        raise ModelError(f"{kind} label {i} is {shown(label)}; labels hold no control characters. Rename it.")
    if not stored and has_hidden(label):
        raise ModelError(f"{kind} label {i} is {shown(label)}; labels hold no characters that nobody sees (without width, or "
                         "turning the direction of writing). Rename it.")
    return str(label)


def _refuse_twice(kind: str, what: str, values: tuple[Any, ...]) -> None:
    if len(set(values)) < len(values):
        seen: set[Any] = set()
        double = next(x for x in values if x in seen or seen.add(x))  # type: ignore[func-returns-value]
        name = f"{kind} label" if what == "label" or isinstance(double, str) else kind
        raise ModelError(f"{name} {shown(double)} stands twice; {'labels' if 'label' in name else 'names'} must be different. "
                         "Rename one.")


def _refuse_alike(kind: str, values: tuple[Any, ...], labels: tuple[str, ...]) -> None:
    seen: dict[str, int] = {}
    for i, label in enumerate(labels):
        other = seen.setdefault(label, i)
        if other != i:
            raise ModelError(f"{kind} label {label!r} stands twice: {shown(values[other])} and {shown(values[i])} both read so; "
                             "nobody could tell them apart. Rename one (or in explore give `label=repr`).")
