"""What a family of models is: a name, parameters with units and ranges, a source, and the function that builds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, unknown_name
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import shown
from sojourn.model.scalars import is_number, is_whole

MAX_STATES = 2_000_000
MAX_PAIRS = 10_000_000
MAX_JUMPS = 40_000_000


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family.

    `kind` is "count" (an integer), "real" (a finite number), "reals" (a list of them) or "choice" (one of `options`).
    `low` and `high` bound it (each entry of a list); `open_low` leaves `low` itself out.
    """

    name: str
    default: Any
    unit: str
    meaning: str
    kind: str = "real"
    low: float = -1e9
    high: float = 1e9
    open_low: bool = False
    options: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The allowed values in words.

        >>> count("servers", 3, "servers", "", 1, 1000).allowed
        'an integer from 1 to 1000'
        """
        if self.kind == "choice":
            return "one of " + ", ".join(self.options)
        if self.kind == "count":
            return f"an integer from {int(self.low)} to {int(self.high)}"
        span = f"greater than {self.low:g} and at most {self.high:g}" if self.open_low else f"from {self.low:g} to {self.high:g}"
        return f"a number {span}" if self.kind == "real" else f"a list of numbers, each {span}"

    def check(self, value: Any) -> Any:
        """Return the value in its Python type, or raise ParameterError with the value and the allowed range."""
        if self.kind == "reals":
            if value is None and self.default is None:
                return None
            if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (Sequence, np.ndarray)) or not len(value):
                self._refuse(value)
            return tuple(self._number(entry, value, f"{self.name}[{i}]") for i, entry in enumerate(value))
        if self.kind == "choice":
            if not isinstance(value, str) or value not in self.options:
                self._refuse(value)
            return value
        return self._number(value, value, self.name)

    def _number(self, entry: Any, value: Any, where: str) -> float | int:
        if not is_whole(entry) and (not is_number(entry) or (self.kind == "count" and not float(entry).is_integer())):
            self._refuse(entry, where)
        if not self.low <= entry <= self.high or (self.open_low and entry == self.low):  # NaN fails too
            self._refuse(entry, where)
        return int(entry) if self.kind == "count" else float(entry)

    def _refuse(self, value: Any, where: str = "") -> None:
        unit = f" ({self.unit})" if self.unit else ""
        kind = f" (a {type(value).__name__})" if not isinstance(value, (int, float)) or isinstance(value, bool) else ""
        raise ParameterError(f"{where or self.name} is {shown(value)}{kind}; it must be {self.allowed}{unit}: {self.meaning}.")

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON and tables show."""
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        return {"name": self.name, "default": default, "unit": self.unit, "allowed": self.allowed, "meaning": self.meaning}


def count(name: str, default: int, unit: str, meaning: str, low: int = 1, high: int = 1_000_000) -> Parameter:
    """Return an integer parameter."""
    return Parameter(name, default, unit, meaning, "count", low, high)


def rate(name: str, default: float, meaning: str, zero: bool = False, unit: str = "1/time") -> Parameter:
    """Return a rate: positive, or possibly zero."""
    return Parameter(name, default, unit, meaning, "real", 0.0, 1e6, open_low=not zero)


def amount(name: str, default: float, unit: str, meaning: str, low: float = 0.0, high: float = 1e6) -> Parameter:
    """Return a reward or a cost."""
    return Parameter(name, default, unit, meaning, "real", low, high)


def share(name: str, default: float, meaning: str, high: float = 1.0) -> Parameter:
    """Return a probability or a fraction."""
    return Parameter(name, default, "probability", meaning, "real", 0.0, high)


def choice(name: str, default: str, options: tuple[str, ...], meaning: str) -> Parameter:
    """Return a parameter that is one of a few words."""
    return Parameter(name, default, "", meaning, "choice", options=options)


@dataclass(frozen=True)
class Family:
    """A family of the zoo.

    `assumptions` maps `irreducible` (assume-transition: under every policy), `communicating`, `unichain` (under every
    policy) and `rates_bounded` to the verdict at the default parameters: True, False, or None for not decided.
    `answer` says what is known about the solution; `note` what is assumed, and the variant where an assumption fails;
    `axes` names the numbers in a state's label, for pictures.
    """

    name: str
    summary: str
    theory: str
    source: str
    parameters: tuple[Parameter, ...]
    build: Callable[..., CTMDP]
    answer: str
    note: str = ""
    assumptions: Mapping[str, bool | None] = field(default_factory=lambda: dict(SATISFIED))
    axes: tuple[str, ...] = ()

    @property
    def gym_id(self) -> str:
        """The whole string for `gymnasium.make`.

        >>> from sojourn.zoo.catalogue import family
        >>> family("customer-selection").gym_id
        'sojourn.gym:sojourn/CustomerSelection-v0'
        """
        return f"sojourn.gym:sojourn/{''.join(word.capitalize() for word in self.name.split('-'))}-v0"

    def parameter(self, name: str) -> Parameter:
        """Return one parameter by name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        if not self.parameters:
            raise ParameterError(f"no parameter of {self.name} is named {name!r}: the family takes none. Leave it out.")
        raise ParameterError(unknown_name(f"parameter of {self.name}", name, [p.name for p in self.parameters]))

    @property
    def defaults(self) -> dict[str, Any]:
        return {p.name: p.default for p in self.parameters}

    def make(self, **given: Any) -> CTMDP:
        """Build the model with checked parameters; its name carries those that differ from the defaults."""
        values = dict(self.defaults)
        for key, value in given.items():
            values[key] = self.parameter(key).check(value)
        model = self.build(**values)
        changed = [f"{key}={_short(values[key])}" for key in values if key in given and values[key] != self.parameter(key).default]
        return model.renamed(self.name + (":" + ",".join(changed) if changed else ""))

    def as_dict(self) -> dict[str, Any]:
        """Return what `sojourn zoo --json` shows of the family."""
        return {
            "name": self.name, "summary": self.summary, "gym_id": self.gym_id,
            "parameters": [p.as_dict() for p in self.parameters], "assumptions": dict(self.assumptions),
            "source": self.source, "answer": self.answer, "note": self.note,
        }

    def explain(self, width: int = 100) -> str:
        """Return the family in words: theory, parameters with units and ranges, assumptions, source, known answer."""
        return "\n".join(_paragraphs(self, width))


SATISFIED: Mapping[str, bool | None] = {"irreducible": True, "communicating": True, "unichain": True, "rates_bounded": True}
COMMUNICATING: Mapping[str, bool | None] = {"irreducible": False, "communicating": True, "unichain": None, "rates_bounded": True}
ASSUMPTION_WORDS = {
    "irreducible": "irreducible under every policy (assume-transition)",
    "communicating": "communicating",
    "unichain": "unichain under every policy",
    "rates_bounded": "rates bounded (assume-rate)",
}


def _short(value: Any) -> str:
    """Return a value as a model's name holds it: exact, so that two models of one name are one model."""
    return "[" + ",".join(repr(v).removesuffix(".0") for v in value) + "]" if isinstance(value, tuple) else str(value)


def _paragraphs(family: Family, width: int) -> Iterator[str]:
    yield f"{family.name}: {family.summary}"
    yield ""
    yield "\n\n".join(fill(part, width) for part in family.theory.split("\n\n"))
    yield ""
    yield "Parameters"
    for p in family.parameters:
        unit = f" [{p.unit}]" if p.unit else ""
        yield f"  {p.name} = {_short(p.default)}{unit}: {p.meaning}; {p.allowed}"
    yield ""
    yield "Assumptions at the defaults"
    for key, words in ASSUMPTION_WORDS.items():
        yield f"  {words}: {({True: 'yes', False: 'no', None: 'not decided'})[family.assumptions.get(key)]}"
    if family.note:
        yield fill(family.note, 100, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield fill("Known answer: " + family.answer, 100)
    yield fill("Source: " + family.source, 100)
    yield f"Gymnasium: gymnasium.make({family.gym_id!r})"


def limit_states(n_states: float, n_pairs: float = 0, n_jumps: float = 0, **named: Any) -> None:
    """Raise where the parameters ask for more states, pairs (state, action) or transitions than the zoo builds."""
    limits = ((n_states, MAX_STATES, "states"), (n_pairs, MAX_PAIRS, "pairs (state, action)"), (n_jumps, MAX_JUMPS, "transitions"))
    for asked, limit, what in limits:
        if asked > limit:
            shown = ", ".join(f"{k}={v}" for k, v in named.items())
            raise ParameterError(f"{shown} gives {asked:,.0f} {what}; the zoo builds at most {limit:,}. Lower one of them.")


def all_different(name: str, values: Sequence[float]) -> None:
    """Raise where two entries are the same to six digits, as labels show them."""
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        text = f"{value:g}"
        if text in seen:
            raise ParameterError(f"{name}[{i}] is {text}, as {name}[{seen[text]}] is; the entries must differ. Remove one.")
        seen[text] = i


def entries(low: int, high: int, each: str, **lists: Sequence[Any]) -> None:
    """Raise where a list has fewer entries than `low` or more than `high`."""
    for name, values in lists.items():
        if not low <= len(values) <= high:
            raise ParameterError(f"{name} has {len(values)} {'entry' if len(values) == 1 else 'entries'}; "
                                 f"it must have from {low} to {high}, one per {each}.")


def same_length(**lists: Sequence[Any]) -> None:
    """Raise where lists that must agree in length do not."""
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ParameterError(f"{shown} entries; they must agree, one entry per class. Give lists of equal length.")
