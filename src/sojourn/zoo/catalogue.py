"""The catalogue of the zoo: one line per family, one file behind each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sojourn.errors import ParameterError, unknown_name
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.family import Family

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


def families() -> list[str]:
    """Return the names of all families.

    >>> "customer-selection" in families()
    True
    """
    return list(FILES)


def family(name: str) -> Family:
    """Return a family by name; underscores count as hyphens."""
    key = name.replace("_", "-") if isinstance(name, str) else name
    if key not in FILES:
        raise ParameterError(unknown_name("zoo model", name, FILES))
    found: Family = import_module(f"sojourn.zoo.{FILES[key]}").FAMILY
    return found


def make(name: str, **parameters: Any) -> CTMDP:
    """Build the zoo model `name` with the given parameters, the rest at their defaults.

    >>> make("admission", servers=2, capacity=5)
    <CTMDP 'admission:servers=2,capacity=5': 6 states, 2 actions, 11 pairs, 19 transitions, rates [0.05, 2.95]>
    """
    return family(name).make(**parameters)
