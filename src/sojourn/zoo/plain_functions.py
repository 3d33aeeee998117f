"""A family out of what another package brings: a Family, or a plain function with a docstring that returns a CTMDP."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.outside import first_line
from sojourn.zoo.family import ASSUMPTION_WORDS, Family, Parameter


def family_from(name: str, thing: Any, home: str) -> Family:
    """Return the family called `name`; of a function, parameters and defaults are its signature, words its docstring.

    >>> def two_switches(rate: float = 1.0, switches: int = 2) -> CTMDP: "Two switches.  Each is on or off."
    >>> family_from("switches", two_switches, "mine:two_switches").defaults
    {'rate': 1.0, 'switches': 2}
    """
    if isinstance(thing, Family):
        return replace(thing, name=name)
    if not callable(thing):
        raise ParameterError(f"{home} is a {type(thing).__name__}; a model is a Family, or a function that returns a CTMDP.")
    if not first_line(thing):
        raise ParameterError(f"{home} has no docstring; its first line is the summary in `sojourn zoo`.")
    parameters = tuple(_parameter(home, each) for each in inspect.signature(thing).parameters.values())
    source = getattr(thing, "source", f"{home.partition(':')[0]}, a package of others")
    return Family(name, first_line(thing), inspect.cleandoc(thing.__doc__), source, parameters, _building(thing, home),
                  answer="none is given", assumptions=dict.fromkeys(ASSUMPTION_WORDS))


def _parameter(home: str, given: inspect.Parameter) -> Parameter:
    """Return a parameter of the function's signature: a count, a number, a list of numbers, by its default."""
    default = given.default
    if isinstance(default, (list, tuple)):
        return Parameter(given.name, tuple(default), "", f"see {home}", "reals")
    if isinstance(default, bool) or not isinstance(default, (int, float)):
        raise ParameterError(f"{home}: the default of {given.name} is {default!r}; it must be a number or a list of numbers. "
                             "Bring a Family (sojourn.zoo.family) for anything else.")
    return Parameter(given.name, default, "", f"see {home}", "count" if isinstance(default, int) else "real")


def _building(function: Callable[..., Any], home: str) -> Callable[..., CTMDP]:
    def build(**values: Any) -> CTMDP:
        model = function(**values)
        if not isinstance(model, CTMDP):
            raise ParameterError(f"{home} returned {model!r}; it must return a CTMDP.")
        return model

    return build
