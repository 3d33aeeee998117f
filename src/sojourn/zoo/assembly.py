"""Build a model action by action from whole arrays of states: what every family of the zoo uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.model.ctmdp import CTMDP
from sojourn.model.declared import Declared
from sojourn.model.rates import Form, Rate

# (next states, intensities), where intensities are numbers or a form of rates; with a third entry, what is paid with the jump;
# with a fourth, [(form, paid with it), ...]: the events behind intensities and pay that are given as numbers
Jump = tuple[Any, ...]


class Assembly:
    """Collects choices, many states at a time; `build` gives the model.

    >>> machine = Assembly(2)
    >>> machine.add("run", [0], [(1, 0.1)], running=1.0)
    >>> machine.add("repair", [1], [(0, 1.0)], reward=-2.0)
    >>> machine.build(["up", "down"])
    <CTMDP: 2 states, 2 actions, 2 pairs, 2 transitions, rates [0.1, 1]>
    """

    def __init__(self, n_states: int):
        self.n_states = n_states
        self.actions: dict[str, int] = {}
        self.pairs = 0
        self._state: list[np.ndarray] = []
        self._action: list[np.ndarray] = []
        self._reward: list[np.ndarray] = []
        self._running: list[np.ndarray] = []
        self._row: list[np.ndarray] = []
        self._next: list[np.ndarray] = []
        self._intensity: list[np.ndarray] = []
        self._paid: list[np.ndarray] = []
        self._apart: list[np.ndarray] = []
        self._events = Declared()

    def add(self, action: str, states: Any, jumps: Sequence[Jump], reward: Any = 0.0, running: Any = 0.0,
            silent: Sequence[tuple[Any, Any]] = (), apart: Any = None) -> None:
        """Add `action` in every state of `states`; numbers broadcast over them, jumps of intensity 0 are left out.

        `silent` lists (form, payment) of events that are seen, lead nowhere and pay; `running` contains what they pay on average,
        and `apart` is the running reward without it.
        """
        at = np.asarray(states, dtype=np.int64)
        if not at.size:
            return
        rows = np.arange(self.pairs, self.pairs + at.size)
        self.pairs += at.size
        self._state.append(at)
        self._action.append(np.full(at.size, self.actions.setdefault(action, len(self.actions))))
        self._reward.append(np.broadcast_to(np.asarray(reward, dtype=np.float64), at.shape))
        self._running.append(np.broadcast_to(np.asarray(running, dtype=np.float64), at.shape))
        base = running if apart is None else apart
        self._apart.append(np.broadcast_to(np.asarray(base, dtype=np.float64), at.shape))
        for form, payment in silent:
            if isinstance(form, Form):
                self._events.add_silent(rows, form, payment)
        for jump in jumps:
            given = jump[1].value if isinstance(jump[1], Form) else jump[1]
            intensity = np.broadcast_to(np.asarray(given, dtype=np.float64), at.shape)
            real = intensity != 0
            self._row.append(rows[real])
            to = np.broadcast_to(np.asarray(jump[0], dtype=np.int64), at.shape)
            for form, payment in jump[3] if len(jump) > 3 else [(jump[1], jump[2] if len(jump) > 2 else 0.0)]:
                self._events.add(rows, to, form, payment)
            self._next.append(to[real])
            self._intensity.append(intensity[real])
            paid = np.broadcast_to(np.asarray(jump[2] if len(jump) > 2 else 0.0, dtype=np.float64), at.shape)
            self._paid.append(paid[real])

    def build(self, states: Sequence[str], pay: str = "transition", **more: Any) -> CTMDP:
        """Return the model.  `pay` says how what is paid with jumps enters: on the "transition", or its mean as a "lump"
        sum (intensity x reward / rate) or as a "running" reward (intensity x reward)."""
        row, column = np.concatenate(self._row), np.concatenate(self._next)
        value, paid = np.concatenate(self._intensity), np.concatenate(self._paid)
        shape = (self.pairs, self.n_states)
        jumps = sparse.csr_matrix((value, (row, column)), shape=shape)
        total = np.bincount(row, weights=value, minlength=self.pairs)
        reward, running = np.concatenate(self._reward), np.concatenate(self._running)
        state, action = np.concatenate(self._state), np.concatenate(self._action)
        more["events"] = self._events.table(np.lexsort((action, state)), reward, np.concatenate(self._apart))
        if paid.any() and pay == "transition":
            mean = sparse.csr_matrix((value * paid, (row, column)), shape=shape)
            mean.data = mean.data / jumps.data
            more["transition_reward"] = mean
        elif paid.any():
            per_time = np.bincount(row, weights=value * paid, minlength=self.pairs)
            reward, running = (reward + per_time / total, running) if pay == "lump" else (reward, running + per_time)
        jumps.data = jumps.data / np.repeat(total, np.diff(jumps.indptr))
        return CTMDP.from_pairs(
            state, action, jumps, total, reward, running, states=states,
            actions=list(self.actions), normalize_rows=True, **more,
        )


def grid(*sizes: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the state numbers of a box of the given sizes, and the coordinates of each; the last one moves fastest."""
    states = np.arange(int(np.prod(sizes)))
    return states, tuple(c.astype(np.int64) for c in np.unravel_index(states, sizes))


def tuple_labels(*coordinates: np.ndarray) -> list[str]:
    """Return `(3, 5)`-like labels."""
    return ["(" + ", ".join(map(str, at)) + ")" for at in zip(*(c.tolist() for c in coordinates))]


def named(name: str, value: float) -> Any:
    """Return a rate with this name; a rate of 0 is the number 0, as it stands for what does not happen."""
    return Rate(name, value) if value else 0.0
