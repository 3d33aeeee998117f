"""What is known of a system built from events whose rates nobody knows: its structure, explored from a function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError
from sojourn.model.explore import Choice, found_from
from sojourn.model.knowledge import UNTOLD, Knowledge
from sojourn.model.names import names_of
from sojourn.model.numbers import rate_bounds_pair


def explored(start: Hashable, choices: Callable[[Any], Mapping[Any, Choice]], max_states: int,
             label: Callable[[Any], str] | None, rate_bounds: tuple[float, float] | None) -> Knowledge:
    """Return the structure reachable from `start`; what a rate is worth is in no number of it."""
    found = found_from(start, choices, max_states, values=False)
    table = found.events()
    if table is None:
        raise ModelError(f"choices names no Rate in {len(found.index)} states, so there is nothing to learn; name at "
                         'least one, such as Rate("arrive"), or tell what you know with Knowledge.from_choices.')
    low, high = UNTOLD if rate_bounds is None else rate_bounds_pair(rate_bounds)
    order = found.order
    shape = (len(found.state), len(found.index))
    rows = sparse.csr_matrix((np.ones(len(found.column)), found.column, found.row_start), shape=shape)[order]
    rows.sort_indices()
    per_state = np.bincount(found.state, minlength=len(found.index))
    return Knowledge(
        pair_start=np.concatenate([[0], np.cumsum(per_state)]).astype(np.int64),
        pair_action=np.array(found.action, dtype=np.int64)[order], reward=table.reward, running=table.running, rate_min=low,
        rate_max=high, states=found.states(label), actions=names_of("action", list(found.actions)),
        support_start=rows.indptr.astype(np.int64), support_state=rows.indices.astype(np.int64), events=table.told())
