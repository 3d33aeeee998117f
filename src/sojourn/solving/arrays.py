"""A model as the compiled methods for large models see it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.model.ctmdp import CTMDP


class Arrays(NamedTuple):
    """The arrays of a `CTMDP`, rewards as `income` (λ r + c, reward per unit of time) of each pair."""

    pair_start: np.ndarray
    pair_action: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    rate: np.ndarray
    income: np.ndarray

    @property
    def n_states(self) -> int:
        return len(self.pair_start) - 1

    @property
    def fast(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All but the actions, as passes over every jump want them."""
        return self.pair_start, unsigned(self.row_start), unsigned(self.next_state), self.probability, self.rate, self.income


def unsigned(index: np.ndarray) -> np.ndarray:
    """Return the same places as numbers without a sign: compiled code need not ask whether they count from the end."""
    return index.view(np.uint32 if index.itemsize == 4 else np.uint64)


def arrays_of(model: CTMDP) -> Arrays:
    """Return the arrays of a model."""
    income = model.expected_reward * model.rate
    income += model.running
    return Arrays(model.pair_start, model.pair_action, model.row_start, model.next_state, model.probability, model.rate, income)
