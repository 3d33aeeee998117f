"""What happened in each episode of a run: when it began, under which policy, on what promise, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.learner import Episode

KEPT = 200_000  # episodes kept in memory; later ones are only counted
SCALARS = ("optimistic_gain", "sweeps", "empty_intervals")


class EpisodeRecord(NamedTuple):
    """One episode.  `adjusted_regret` is Δ_k (eq:deltak), `epochs` its length so far."""

    start_epoch: int
    epochs: int
    start_state: int
    policy: np.ndarray
    optimistic_gain: float
    sweeps: float
    empty_intervals: float
    adjusted_regret: float


@dataclass(frozen=True, eq=False, repr=False)
class Episodes:
    """The episodes of a run as columns; `episodes[k]` is one of them.  `total` counts also those not kept (`len` does not)."""

    start_epoch: np.ndarray
    epochs: np.ndarray
    start_state: np.ndarray
    optimistic_gain: np.ndarray
    sweeps: np.ndarray
    empty_intervals: np.ndarray
    adjusted_regret: np.ndarray
    policies: tuple[np.ndarray, ...]  # the different ones
    policy_number: np.ndarray  # which of them each episode played
    total: int

    def __len__(self) -> int:
        return len(self.start_epoch)

    def __getitem__(self, k: int) -> EpisodeRecord:
        return EpisodeRecord(int(self.start_epoch[k]), int(self.epochs[k]), int(self.start_state[k]),
                             self.policies[self.policy_number[k]], float(self.optimistic_gain[k]), float(self.sweeps[k]),
                             float(self.empty_intervals[k]), float(self.adjusted_regret[k]))

    def __iter__(self) -> Iterator[EpisodeRecord]:
        return (self[k] for k in range(len(self)))

    def bad_steps(self, epsilon: float) -> int:
        """Return L_ε: the decisions taken in episodes with Δ_k / ℓ_k >= ε (the paper's ε-bad episodes)."""
        if self.total > len(self):
            raise ParameterError(f"the run has {self.total} episodes and only the first {len(self)} were kept; "
                                 "epsilon-bad steps cannot be counted.")
        return int(self.epochs[self.adjusted_regret >= epsilon * self.epochs].sum())

    def __repr__(self) -> str:
        return f"<Episodes: {self.total}, {len(self.policies)} different policies>"


class EpisodeLog:
    """Grows while a walk goes on: one row per episode begun, its cost filled in when the next one begins or on looking."""

    def __init__(self, n_actions: int, shortfall: np.ndarray):
        self.kind = np.min_scalar_type(max(n_actions - 1, 1))
        self.shortfall = shortfall
        self.total = 0
        self.rows: list[tuple[float, ...]] = []  # start epoch, start state, policy number, then SCALARS
        self.closed: list[tuple[float, float]] = []  # epochs and adjusted regret of all but the last
        self.start_visits = np.zeros(len(shortfall), dtype=np.int64)
        self.policies: list[np.ndarray] = []
        self._numbers: dict[bytes, int] = {}

    def begin(self, episode: Episode, epoch: int, state: int, visits: np.ndarray) -> None:
        """Note that `episode` begins after `epoch` decisions, in `state`."""
        if len(self.closed) < len(self.rows):
            self.closed.append(self._cost(epoch, visits))
        self.total += 1
        if self.total > KEPT:
            return
        info = episode.plan.info
        scalars = (float(info.get(name, np.nan)) for name in SCALARS)
        self.rows.append((epoch + 1, state, self._number(episode.plan.policy), *scalars))
        self.start_visits = visits.copy()

    def _cost(self, epoch: int, visits: np.ndarray) -> tuple[float, float]:
        return epoch - (self.rows[-1][0] - 1), float((visits - self.start_visits) @ self.shortfall)

    def _number(self, policy: np.ndarray) -> int:
        array = np.asarray(policy)
        small = array.astype(self.kind) if array.ndim == 1 else array.copy()
        key = small.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.policies)
            self.policies.append(small)
        return self._numbers[key]

    def episodes(self, epoch: int, visits: np.ndarray) -> Episodes:
        """Return the episodes up to now; the last one as far as it has got."""
        closed = list(self.closed)
        if len(closed) < len(self.rows):
            closed.append(self._cost(epoch, visits))
        rows = np.array(self.rows, dtype=float).reshape(-1, 3 + len(SCALARS))
        ends = np.array(closed, dtype=float).reshape(-1, 2)
        whole = rows[:, :3].astype(np.int64)
        return Episodes(
            start_epoch=whole[:, 0], epochs=ends[:, 0].astype(np.int64), start_state=whole[:, 1],
            **{name: rows[:, 3 + i].copy() for i, name in enumerate(SCALARS)}, adjusted_regret=ends[:, 1].copy(),
            policies=tuple(self.policies), policy_number=whole[:, 2], total=self.total,
        )

    def state(self) -> dict[str, Any]:
        return {
            "total": self.total, "rows": np.array(self.rows, dtype=float).reshape(-1, 3 + len(SCALARS)),
            "closed": np.array(self.closed, dtype=float).reshape(-1, 2), "start_visits": self.start_visits.copy(),
            "policies": {str(i): policy.copy() for i, policy in enumerate(self.policies)},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.total = int(state["total"])
        self.rows = [tuple(row) for row in np.asarray(state["rows"]).tolist()]
        self.closed = [tuple(row) for row in np.asarray(state["closed"]).tolist()]
        self.start_visits = np.array(state["start_visits"], dtype=np.int64)
        saved = [np.array(state["policies"][str(i)]) for i in range(len(state["policies"]))]
        self.policies = [policy.astype(self.kind) if policy.ndim == 1 else policy for policy in saved]
        self._numbers = {policy.tobytes(): i for i, policy in enumerate(self.policies)}
