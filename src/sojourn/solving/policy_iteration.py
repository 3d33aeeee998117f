"""Policy iteration: evaluate by elimination, improve, until nothing improves.

A policy on the way may have several recurrent classes, even where the model communicates.  Then at least one of them
earns strictly more than the policy before it, so the best class is kept and every other state is led there: the gain
still rises at each such step, and the method ends.
"""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.optimality import improved
from sojourn.solving.structure import one_class
from sojourn.solving.value import PolicyValue, value_of


def improve_until_optimal(model: CTMDP, pairs: np.ndarray) -> tuple[np.ndarray, PolicyValue, int]:
    """Return (optimal pair per state, its value, evaluations), starting from `pairs`."""
    seen: set[int] = set()
    answer: tuple[np.ndarray, PolicyValue, int] | None = None
    often = -1
    while True:
        pairs, chain, recurrent = one_class(model, pairs)
        key = hash(pairs.tobytes())
        if answer is not None and key in seen:  # nothing improves, or only rounding errors do
            return answer
        seen.add(key)
        value = value_of(chain, recurrent, often)
        often = int(np.argmax(value.law))
        answer = pairs, value, len(seen)
        with np.errstate(over="ignore", invalid="ignore"):  # where the bias is beyond floats nothing is seen to be better
            pairs = improved(model, pairs, value.gain, value.bias)
