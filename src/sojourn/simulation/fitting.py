"""Does a learner's knowledge fit the model it is to walk?"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge


def fitting_knowledge(model: CTMDP, learner: Any, knowledge: Knowledge | None = None) -> Knowledge:
    """Return the knowledge a walk goes by: given, or the learner's own, or the model's; raise if it is of another model."""
    known = knowledge if knowledge is not None else getattr(learner, "knowledge", None)
    if known is None:
        return model.knowledge()
    if known.n_states != model.n_states or known.n_actions != model.n_actions or known.n_pairs != model.n_pairs:
        raise ModelError(
            f"the learner knows {known.n_states} states, {known.n_actions} actions and {known.n_pairs} pairs; the model has "
            f"{model.n_states}, {model.n_actions} and {model.n_pairs}. Build the learner from this model's knowledge().")
    if not (np.array_equal(known.pair_start, model.pair_start) and np.array_equal(known.pair_action, model.pair_action)):
        k = int(np.flatnonzero((known.pair_state != model.pair_state) | (known.pair_action != model.pair_action))[0])
        raise ModelError(f"the learner's pair {k} is ({known.pair_state[k]}, {known.pair_action[k]}), the model's is "
                         f"({model.pair_state[k]}, {model.pair_action[k]}). Build the learner from this model's knowledge().")
    low, high = float(model.rate.min()), float(model.rate.max())
    if getattr(learner, "needs_rate_bounds", True) and (low < known.rate_min or high > known.rate_max):
        raise ModelError(f"the learner was told rates in [{known.rate_min:g}, {known.rate_max:g}], the model's span "
                         f"[{low:g}, {high:g}]; every rate must lie within (assume-rate). Widen the bounds it is told.")
    return known
