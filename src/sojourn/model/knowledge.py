"""What a learner may know before it starts: which pairs exist, what they pay, how fast they can be.  Never the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.names import Names, names_of
from sojourn.model.numbers import boolean_table, rate_bounds_pair, real_array, spread


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """Admissible pairs, mean lump sum and running reward per pair, rate bounds; the supports only if told (else None)."""

    pair_start: np.ndarray
    pair_action: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    rate_min: float
    rate_max: float
    states: Names
    actions: Names
    support_start: np.ndarray | None = None
    support_state: np.ndarray | None = None

    def __post_init__(self) -> None:
        rate_bounds_pair((self.rate_min, self.rate_max))
        object.__setattr__(self, "states", names_of("state", self.states, len(self.pair_start) - 1))
        object.__setattr__(self, "actions", names_of("action", self.actions))

    @property
    def n_states(self) -> int:
        return len(self.pair_start) - 1

    @property
    def n_actions(self) -> int:
        return len(self.actions)

    @property
    def n_pairs(self) -> int:
        return len(self.pair_action)

    @property
    def max_choices(self) -> int:
        """max_s |A(s)|: the A of the paper's radii where action sets depend on the state."""
        return int(np.diff(self.pair_start).max())

    @property
    def supports_known(self) -> bool:
        return self.support_start is not None

    @cached_property
    def pair_state(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_states), np.diff(self.pair_start))

    @cached_property
    def pair_table(self) -> np.ndarray:
        """(S, A) table of pair numbers, -1 where not admissible."""
        return self.table(np.arange(self.n_pairs), fill=-1)

    @cached_property
    def table_row(self) -> np.ndarray:
        """Where the row of each state starts in a flattened (S, A) table."""
        return np.arange(self.n_states) * self.n_actions

    def table(self, per_pair: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """Return per-pair values as an (S, A) table, `fill` where the pair is not admissible."""
        return spread(per_pair, self.pair_state, self.pair_action, (self.n_states, self.n_actions), fill)

    @classmethod
    def from_arrays(cls, reward: Any, rate_bounds: tuple[float, float], running: Any = None, admissible: Any = None,
                    states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None) -> Knowledge:
        """Build from tables: reward (S, A), rate_bounds (lo, hi), optional running (S, A) and admissible (S, A)."""
        table = real_array("reward", reward)
        if table.ndim != 2:
            raise ModelError(f"reward has shape {table.shape}; it must be (states, actions).")
        n_states, n_actions = table.shape
        mask = boolean_table("admissible", admissible, table.shape)
        flow = np.zeros_like(table) if running is None else real_array("running", running, table.shape)
        empty = np.flatnonzero(~mask.any(axis=1))
        if empty.size:
            raise ModelError(f"state {int(empty[0])} has 0 admissible actions; every state needs at least one.")
        for name, values in (("reward", table), ("running", flow)):
            bad = np.argwhere(mask & ~np.isfinite(values))
            if bad.size:
                s, a = map(int, bad[0])
                raise ModelError(f"{name}[{s}, {a}] is {values[s, a]}; it must be finite where the pair is admissible.")
        lo, hi = rate_bounds_pair(rate_bounds)
        return cls(
            pair_start=np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64),
            pair_action=np.nonzero(mask)[1].astype(np.int64),
            reward=table[mask], running=flow[mask], rate_min=lo, rate_max=hi,
            states=names_of("state", states, n_states),
            actions=names_of("action", actions, n_actions),
        )

    def __repr__(self) -> str:
        told = "supports known" if self.supports_known else "supports unknown"
        rates = f"rates in [{self.rate_min:g}, {self.rate_max:g}]"
        return f"<Knowledge: {self.n_states} states, {self.n_pairs} pairs, {rates}, {told}>"
