"""Uniformization: the discrete-time MDP with the same gain per unit of time, up to the uniform rate.  Paper: eq:uniform-eqn"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.numbers import real_number

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP


def uniformize(model: CTMDP, rate: float | None = None) -> CTMDP:
    """Return the MDP with p(j|s,a) λ/Λ off the diagonal, the rest staying, and reward (r λ + c)/Λ, every holding time 1.

    `rate` is Λ, by default rate_max of the model's bounds; it must not be below the largest rate.
    """
    uniform = model.bounds[1] if rate is None else real_number("rate", rate)
    if uniform < model.rate.max():
        raise ModelError(f"rate is {uniform:g}; uniformization needs at least the largest rate, {model.rate.max():g}.")
    share = model.rate / uniform
    stay_start = np.arange(model.n_pairs)
    row = np.concatenate([np.repeat(stay_start, np.diff(model.row_start)), stay_start])
    column = np.concatenate([model.next_state, model.pair_state])
    value = np.concatenate([model.probability * np.repeat(share, np.diff(model.row_start)), 1.0 - share])
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((value, (row, column)), shape=(model.n_pairs, model.n_states))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return model.replace(
        row_start=matrix.indptr.astype(np.int64), next_state=matrix.indices.astype(np.int64), probability=matrix.data,
        rate=np.ones(model.n_pairs), reward=(model.expected_reward * model.rate + model.running) / uniform,
        running=np.zeros(model.n_pairs), transition_reward=None, rate_bounds=None, holding="unit",
        name=f"{model.name} uniformized at {uniform:g}".strip(),
    )
