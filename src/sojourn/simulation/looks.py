"""When a walk asks whether it may stop: after a number of decisions that grows by a twentieth from look to look.

The moments depend on nothing but the number of states, so a run stops at the same decision however it is cut into pieces.  A look
costs about two plans; there are 14 of them in every factor of two.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from sojourn.errors import ParameterError
from sojourn.learn.certificate import Certificate
from sojourn.learn.stopping import certificate, counts_of
from sojourn.model.closeness import Within

if TYPE_CHECKING:
    from sojourn.simulation.walk import Walk

GROWTH = 1.05
FIRST = 10  # decisions at the first look, or the number of states


def looks_until(epochs: int, n_states: int) -> list[int]:
    """Return the decisions after which a walk looks, up to `epochs`.

    >>> looks_until(15, 3)
    [10, 11, 12, 13, 14, 15]
    """
    found, at = [], first_look(n_states)
    while at <= epochs:
        found.append(at)
        at = after(at)
    return found


def first_look(n_states: int) -> int:
    """Return the decision of the first look at a model of so many states."""
    return max(FIRST, n_states)


def after(epoch: int) -> int:
    """Return the decision of the look that follows the one at `epoch`."""
    return max(epoch + 1, ceil(GROWTH * epoch))


class Looks:
    """Asks for a certificate at each look; `last` is the latest one, `next` the decision of the next look, None behind the end.

    A certificate that was found stays.  A learner whose counts cannot prove anything is refused when the walk begins.
    """

    def __init__(self, walk: Walk, wanted: Any):
        if not isinstance(wanted, Within):
            raise ParameterError(f"stop_when is {wanted!r}; it must be what sojourn.within makes of an epsilon such as '5%'.")
        self.walk, self.wanted = walk, wanted
        self.last: Certificate | None = None
        self.next: int | None = first_look(walk.model.n_states)
        self._counts()

    @property
    def due(self) -> bool:
        """Whether the walk stands where it should look."""
        return self.next is not None and self.walk.epoch >= self.next

    @property
    def certified(self) -> bool:
        return bool(self.last)

    def look(self) -> bool:
        """Ask for a certificate, and return whether there is one."""
        assert self.next is not None
        walk = self.walk
        walk.certificate = self.last = certificate(walk.learner, self._counts(), walk.knowledge, self.wanted)
        self.next = None if self.last else after(self.next)
        return self.certified

    def _counts(self) -> Any:
        return counts_of(self.walk.learner, self.walk.epoch)
