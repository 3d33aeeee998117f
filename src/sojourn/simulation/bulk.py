"""When holding times may be drawn in bulk, and from which visit on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.counts import counts_of

if TYPE_CHECKING:
    from sojourn.simulation.walk import Walk


def check_bulk(walk: Walk) -> None:
    """Raise where the sum of holding times is not all that matters."""
    listens = hasattr(walk.learner, "observe") and counts_of(walk.learner) is None
    reasons = {
        "record=True": walk.record,
        "transition rewards": bool(walk.world.transition_reward.any()),
        "a learner that chooses anew at every epoch": hasattr(walk.learner, "act"),
        "a learner that is told every holding time": listens,
    }
    for reason, holds in reasons.items():
        if holds:
            raise ParameterError(f"holding_times is 'bulk', which draws only sums of holding times; it does not go with {reason}.")


def safe_from(mean: np.ndarray, scale: float) -> np.ndarray:
    """Return per pair the visit from which a holding time beyond the truncation has probability below e^-40.

    Paper: eq:truncate-mean, with the level sqrt(2 i / scale) at 40 means or more.
    """
    return np.ceil(scale * (40.0 * mean) ** 2 / 2.0).astype(np.int64)
