"""The zoo: families of real problems by name.  `sojourn.zoo.make("admission", servers=3)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP


def make(name: str, **parameters: Any) -> CTMDP:
    """Build the zoo model `name`; see `sojourn.zoo.catalogue.make`."""
    from sojourn.zoo.catalogue import make as build

    return build(name, **parameters)


def families() -> list[str]:
    """Return the names of all families."""
    from sojourn.zoo.catalogue import families as names

    return names()
