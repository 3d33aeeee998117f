"""What happened in each episode of a run: when it began, under which policy, on what promise, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, NamedTuple, overload

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.ledger import PlansBegun
from sojourn.learn.learner import Plan
from sojourn.model.names import Names
from sojourn.model.words import ROWS, html_card, left_over
from sojourn.simulation.episode import numbers

KEPT = 200_000  # episodes kept in memory; later ones are only counted
OLD_INFO = ("optimistic_gain", "sweeps", "empty_intervals")  # all that was kept of Plan.info at first


class EpisodeRecord(NamedTuple):
    """One episode.  `adjusted_regret` is Δ_k (eq:deltak), `epochs` its length so far, `info` the numbers of Plan.info.

    `start_state` is as the user calls it; `policy` holds positions of actions, `actions` what these are called.
    """

    start_epoch: int
    epochs: int
    start_state: Any
    policy: np.ndarray
    optimistic_gain: float
    sweeps: float
    empty_intervals: float
    adjusted_regret: float
    info: dict[str, float]
    actions: Names

    def __repr__(self) -> str:
        said = "".join(f", {name.replace('_', ' ')} {value:.6g}" for name, value in self.info.items() if value == value)
        return (f"<Episode: {self.epochs:,} decisions from number {self.start_epoch:,} on, in state {self.start_state!r} first, "
                f"actions {_actions(self.policy, self.actions)}, adjusted regret {self.adjusted_regret:.6g}{said}>")


@dataclass(frozen=True, eq=False, repr=False)
class Episodes:
    """The episodes of a run as columns; `episodes[k]` is one of them, `episodes[:2]` the first two.

    `total` counts also those not kept (`len` does not).

    `info` has a column for every name in the learner's Plan.info, nan where a plan did not say.
    """

    start_epoch: np.ndarray
    epochs: np.ndarray
    start_state: np.ndarray
    adjusted_regret: np.ndarray
    policies: tuple[np.ndarray, ...]  # the different ones
    policy_number: np.ndarray  # which of them each episode played
    info: dict[str, np.ndarray]
    total: int
    states: Names  # what the positions in `start_state` and `policies` are called
    actions: Names

    @property
    def optimistic_gain(self) -> np.ndarray:
        """The gain that each plan hoped for, per unit of time."""
        return self._info("optimistic_gain")

    @property
    def sweeps(self) -> np.ndarray:
        """The Bellman steps that each plan took."""
        return self._info("sweeps")

    @property
    def empty_intervals(self) -> np.ndarray:
        """The rate intervals of each plan that missed the rate bounds."""
        return self._info("empty_intervals")

    def _info(self, name: str) -> np.ndarray:
        return self.info[name] if name in self.info else np.full(len(self), np.nan)

    def __len__(self) -> int:
        return len(self.start_epoch)

    @overload
    def __getitem__(self, k: int) -> EpisodeRecord: ...

    @overload
    def __getitem__(self, k: slice) -> Episodes: ...

    def __getitem__(self, k: int | slice) -> EpisodeRecord | Episodes:
        if isinstance(k, slice):
            return Episodes(self.start_epoch[k], self.epochs[k], self.start_state[k], self.adjusted_regret[k], self.policies,
                            self.policy_number[k], {name: column[k] for name, column in self.info.items()},
                            len(self.start_epoch[k]), self.states, self.actions)
        info = {name: float(column[k]) for name, column in self.info.items()}
        gain, sweeps, empty = (info.get(name, np.nan) for name in OLD_INFO)
        return EpisodeRecord(int(self.start_epoch[k]), int(self.epochs[k]), self.states[int(self.start_state[k])],
                             self.policies[self.policy_number[k]], gain, sweeps, empty, float(self.adjusted_regret[k]), info,
                             self.actions)

    def __iter__(self) -> Iterator[EpisodeRecord]:
        return (self[k] for k in range(len(self)))

    def bad_steps(self, epsilon: float) -> int:
        """Return L_ε: the decisions taken in episodes with Δ_k / ℓ_k >= ε (the paper's ε-bad episodes)."""
        if self.total > len(self):
            raise ParameterError(f"the run has {self.total} episodes and only the first {len(self)} were kept; "
                                 "epsilon-bad steps cannot be counted.")
        return int(self.epochs[self.adjusted_regret >= epsilon * self.epochs].sum())

    def __repr__(self) -> str:
        different = len(set(self.policy_number.tolist()))
        return f"<Episodes: {self.total:,}, {different} different polic{'y' if different == 1 else 'ies'}>"

    def _repr_html_(self) -> str:
        rows = [(f"{e.start_epoch:,}", f"{e.epochs:,}", self.states.label(at), _actions(e.policy, self.actions),
                 f"{e.adjusted_regret:.6g}")
                for e, at in zip(self[:ROWS], self.start_state.tolist())]
        more = f"and {left_over(self.total - ROWS, 'episode')}" if self.total > ROWS else ""
        return html_card(repr(self)[1:-1], ("begins with decision", "decisions", "first state", "action in each state",
                                            "adjusted regret"), rows, more)


class EpisodeLog:
    """Grows while a walk goes on: one row per episode begun, its cost filled in when the next one begins or on looking."""

    def __init__(self, states: Names, actions: Names, shortfall: np.ndarray):
        self.states, self.actions = states, actions
        self.kind = np.min_scalar_type(max(len(actions) - 1, 1))
        self.shortfall = shortfall
        self.total = 0
        self.rows: list[tuple[int, int, int]] = []  # start epoch, start state, policy number
        self.info: dict[str, list[float]] = {}
        self.closed: list[tuple[float, float]] = []  # epochs and adjusted regret of all but the last
        self.start_visits = np.zeros(len(shortfall), dtype=np.int64)
        self.policies: list[np.ndarray] = []
        self._numbers: dict[bytes, int] = {}

    def begin(self, plan: Plan, epoch: int, state: int, visits: np.ndarray) -> None:
        """Note that `plan` begins after `epoch` decisions, in `state`."""
        said = numbers(plan.info)
        if len(self.closed) < len(self.rows):
            self.closed.append(self._cost(epoch, visits))
        self.total += 1
        if self.total > KEPT:
            return
        self.rows.append((epoch + 1, state, self._number(plan.policy)))
        if said.keys() == self.info.keys():  # the usual case
            for name, value in said.items():
                self.info[name].append(value)
        else:
            self._note({name: [value] for name, value in said.items()}, 1)
        self.start_visits = visits.copy()

    def begin_many(self, begun: PlansBegun, plans: int, policies: np.ndarray, names: tuple[str, ...], epoch: int) -> None:
        """Note the plans of a call that started after `epoch` decisions: the same as `begin` one by one."""
        kept = min(plans, max(0, KEPT - self.total))
        if len(self.closed) < len(self.rows):
            self.closed.append(self._cost(epoch + int(begun.epoch[0]), begun.visits[0]))
        closing = min(kept, plans - 1)  # each of them by the one that follows
        cost = self._costs(begun.visits[1:closing + 1] - begun.visits[:closing])
        self.closed += zip(np.diff(begun.epoch[:closing + 1]).tolist(), cost.tolist())
        self.total += plans
        if kept:
            first = (epoch + 1 + begun.epoch[:kept]).tolist()
            self.rows += zip(first, begun.state[:kept].tolist(), self._numbers_of(policies[:kept].astype(self.kind)))
            self._note({name: begun.info[:kept, i].tolist() for i, name in enumerate(names)}, kept)
            self.start_visits = begun.visits[kept - 1].copy()

    def _note(self, said: dict[str, list[float]], rows: int) -> None:
        """Put what was said about the last `rows` plans into columns; nan where nothing was said."""
        for name in said:
            if name not in self.info:
                self.info[name] = [np.nan] * (len(self.rows) - rows)
        for name, column in self.info.items():
            column += said.get(name) or repeat(np.nan, rows)

    def _cost(self, epoch: int, visits: np.ndarray) -> tuple[float, float]:
        return epoch - (self.rows[-1][0] - 1), float(self._costs((visits - self.start_visits)[None])[0])

    def _costs(self, visits: np.ndarray) -> np.ndarray:
        """Return Δ of each row of visits; row by row the same bits however many there are, which `@` does not promise."""
        total: np.ndarray = (visits * self.shortfall).sum(axis=1)
        return total

    def _number(self, policy: np.ndarray) -> int:
        array = np.asarray(policy)
        small = array.astype(self.kind) if array.ndim == 1 else array.copy()
        key = small.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.policies)
            self.policies.append(small)
        return self._numbers[key]

    def _numbers_of(self, policies: np.ndarray) -> list[int]:
        """Return the number of each row of `policies`, of the kind kept."""
        keys = policies.view(f"V{policies[0].nbytes}").ravel().tolist()
        for key in dict.fromkeys(keys):
            if key not in self._numbers:
                self._numbers[key] = len(self.policies)
                self.policies.append(policies[keys.index(key)].copy())
        return list(map(self._numbers.__getitem__, keys))

    def episodes(self, epoch: int, visits: np.ndarray) -> Episodes:
        """Return the episodes up to now; the last one as far as it has got."""
        closed = list(self.closed)
        if len(closed) < len(self.rows):
            closed.append(self._cost(epoch, visits))
        rows, ends = _table(self.rows, 3).astype(np.int64), _table(closed, 2)
        return Episodes(
            start_epoch=rows[:, 0], epochs=ends[:, 0].astype(np.int64), start_state=rows[:, 1], adjusted_regret=ends[:, 1].copy(),
            policies=tuple(self.policies), policy_number=rows[:, 2],
            info={name: np.array(column) for name, column in self.info.items()}, total=self.total,
            states=self.states, actions=self.actions,
        )

    def state(self) -> dict[str, Any]:
        return {
            "total": self.total, "rows": _table(self.rows, 3), "info": {name: np.array(c) for name, c in self.info.items()},
            "closed": _table(self.closed, 2), "start_visits": self.start_visits.copy(),
            "policies": {str(i): policy.copy() for i, policy in enumerate(self.policies)},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.total = int(state["total"])
        rows = np.asarray(state["rows"])
        info = state["info"] if "info" in state else dict(zip(OLD_INFO, rows[:, 3:].T))
        self.info = {name: np.asarray(column, dtype=float).tolist() for name, column in info.items()}
        self.rows = [(int(a), int(b), int(c)) for a, b, c in rows[:, :3].tolist()]
        self.closed = [tuple(row) for row in np.asarray(state["closed"]).tolist()]
        self.start_visits = np.array(state["start_visits"], dtype=np.int64)
        saved = [np.array(state["policies"][str(i)]) for i in range(len(state["policies"]))]
        self.policies = [policy.astype(self.kind) if policy.ndim == 1 else policy for policy in saved]
        self._numbers = {policy.tobytes(): i for i, policy in enumerate(self.policies)}


def _table(rows: Sequence[tuple[float, ...]], columns: int) -> np.ndarray:
    """Return rows of numbers as an array."""
    return np.fromiter(chain.from_iterable(rows), dtype=float, count=columns * len(rows)).reshape(-1, columns)


def _actions(policy: np.ndarray, actions: Names) -> str:
    """Return the policy's actions in a line, the first ones of many; of a randomized one only its kind."""
    if policy.ndim > 1:
        return "drawn at random"
    return ", ".join(actions.label(a) for a in policy[:ROWS]) + (", ..." if len(policy) > ROWS else "")
