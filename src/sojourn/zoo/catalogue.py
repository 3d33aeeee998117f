"""The catalogue of the zoo: one line per family, one file behind each; and the families of other packages."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from sojourn.errors import ParameterError, unknown_name
from sojourn.model.ctmdp import CTMDP
from sojourn.outside import brought
from sojourn.zoo.family import Family
from sojourn.zoo.plain_functions import family_from
from sojourn.zoo.syntax import parse_parameters

FILES = {  # name: module below sojourn.zoo, which holds FAMILY
    "two-state": "two_state",
    "three-state": "three_state",
    "customer-selection": "customer_selection",
    "admission": "admission",
    "service-rate": "service_rate",
    "routing": "routing",
    "priority": "priority",
    "tandem": "tandem",
    "criss-cross": "criss_cross",
    "server-switching": "server_switching",
    "maintenance": "maintenance",
    "machine-repair": "machine_repair",
    "spare-parts": "spare_parts",
    "sis-epidemic": "sis_epidemic",
    "sir-epidemic": "sir_epidemic",
    "market-making": "market_making",
    "call-centre": "call_centre",
    "hospital-beds": "hospital_beds",
    "river-swim": "river_swim",
    "random": "garnet",
    "random-ties": "random_ties",
}


@cache
def _brought() -> dict[str, Family]:
    """Return the families that other packages bring (entry points in the group `sojourn.models`)."""
    return brought("sojourn.models", FILES, family_from)


def families() -> list[str]:
    """Return the names of all families, those of other packages last.

    >>> "customer-selection" in families()
    True
    """
    return [*FILES, *_brought()]


def family(name: str) -> Family:
    """Return a family by name; underscores count as hyphens."""
    key = name.replace("_", "-") if isinstance(name, str) else name
    if key not in FILES and key in _brought():
        return _brought()[key]
    if key not in FILES:
        raise ParameterError(unknown_name("zoo model", name, families()))
    return our_family(key)


def our_family(name: str) -> Family:
    """Return a family of our own by name; nothing else is imported."""
    key = name.replace("_", "-")
    if key not in FILES:
        raise ParameterError(unknown_name("zoo model", name, FILES))
    found: Family = import_module(f"sojourn.zoo.{FILES[key]}").FAMILY
    return found


def make(name: str, **parameters: Any) -> CTMDP:
    """Build the zoo model `name` with the given parameters, the rest at their defaults; `name:key=value` gives some in words.

    >>> make("admission", servers=2, capacity=5)
    <CTMDP 'admission:servers=2,capacity=5': 6 states, 2 actions, 11 pairs, 19 transitions, rates [0.05, 2.95]>
    >>> make("admission:servers=2,capacity=5").equals(make("admission:servers=2", capacity=5))
    True
    """
    bare, colon, words = name.partition(":") if isinstance(name, str) else (name, "", "")
    found, said = family(bare), parse_parameters(words) if colon else {}
    for key in said:
        found.parameter(key)
        if key in parameters:
            raise ParameterError(f"parameter {key!r} is given twice, in {name!r} and as {key}={parameters[key]!r}; give it once.")
    return found.make(**said, **parameters)
