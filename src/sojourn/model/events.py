"""Events: the sparse table that says which named rate drives which jump, how strongly, and what it pays.

One row is (pair, successor, event, coefficient, payment): in that pair the event happens at coefficient x rate, leads to the
successor (NOWHERE: it is seen, and the sojourn goes on) and pays.  The lump sum and the running reward of each pair that no
event pays stand beside it, so that what is told holds no number that was worked out from a rate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.hidden_characters import has_control, has_hidden
from sojourn.model.numbers import index_array, real_array, require_all, shown

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

NOWHERE = -1  # the successor of an event that is seen and leads nowhere
AGREE = 1e-9  # relative: how closely the table and the model must agree
ROWS = ("pair", "next_state", "event")


@dataclass(frozen=True, eq=False, repr=False)
class EventTable:
    """The events of a model with P pairs: K names, and R rows sorted by (pair, event, successor).

    `reward` (P,) and `running` (P,) are what no event pays.  `low` and `high` (K,) are the bounds that are told (0 and
    infinity where nothing is; equal where the rate is known), `value` (K,) the rates, or None where they are not told.
    """

    names: tuple[str, ...]
    pair: np.ndarray
    next_state: np.ndarray
    event: np.ndarray
    coefficient: np.ndarray
    payment: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    low: np.ndarray
    high: np.ndarray
    value: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("pair", "next_state", "event", "coefficient", "payment", "reward", "running", "low", "high", "value"):
            given = getattr(self, name)
            if given is not None:
                array = np.array(index_array(name, given) if name in ROWS else real_array(name, given))
                if array.ndim != 1:
                    raise ModelError(f"{name} has shape {array.shape}; it must be a flat list of numbers.")
                array.flags.writeable = False
                object.__setattr__(self, name, array)
        object.__setattr__(self, "names", tuple(self.names))
        self._check()

    def _check(self) -> None:
        rows, kinds = len(self.pair), len(self.names)
        if len(set(self.names)) < kinds or not all(isinstance(name, str) and name and not has_control(name) for name in self.names):
            raise ModelError(f"the events are named {shown(self.names)}; names are words, each once, without control characters.")
        for name in ("next_state", "event", "coefficient", "payment"):
            if len(getattr(self, name)) != rows:
                raise ModelError(f"{name} has {len(getattr(self, name))} rows and pair has {rows}; give one of each per row.")
        for name in ("low", "high", "value"):
            given = getattr(self, name)
            if given is not None and len(given) != kinds:
                raise ModelError(f"{name} has {len(given)} entries; it needs one for each of the {kinds} events.")
        if len(self.running) != self.n_pairs:
            raise ModelError(f"running has {len(self.running)} entries and reward has {self.n_pairs}; give one of each per pair.")
        for name, values, limit, least in (("pair", self.pair, self.n_pairs, 0), ("event", self.event, kinds, 0),
                                           ("next_state", self.next_state, 2**62, NOWHERE)):
            bad = np.flatnonzero((values < least) | (values >= limit))
            if bad.size:
                raise ModelError(f"row {bad[0]} has {name} {values[bad[0]]}; it must be from {least} to {limit - 1}.")
        bad = np.flatnonzero(~(np.isfinite(self.coefficient) & (self.coefficient > 0) & np.isfinite(self.payment)))
        if bad.size:
            raise ModelError(f"row {bad[0]} has coefficient {self.coefficient[bad[0]]} and payment {self.payment[bad[0]]}; a "
                             "coefficient must be positive, a payment finite. Leave out what cannot happen.")
        for name in ("reward", "running", "low", "value"):
            numbers = getattr(self, name)
            odd = np.flatnonzero(~np.isfinite(numbers)) if numbers is not None else np.zeros(0)
            if odd.size:
                raise ModelError(f"{name}[{int(odd[0])}] of the events is {numbers[int(odd[0])]}; it must be finite.")
        wrong = np.flatnonzero(~((self.low >= 0) & (self.low <= self.high)) | (self.high == 0))
        if wrong.size:
            k = int(wrong[0])
            raise ModelError(f"the bounds of {self.names[k]!r} are ({self.low[k]}, {self.high[k]}); they must be 0 <= lo <= hi.")
        key = np.lexsort((self.next_state, self.event, self.pair))
        if (np.diff(key) < 0).any():
            at = int(np.argmax(np.diff(key) < 0))
            raise ModelError(f"row {key[at]} comes too early: rows must be in the order of (pair, event, successor). Build the "
                             "table with `event_table`, which puts them in order.")

    # ---- sizes ---------------------------------------------------------------------------------------------------

    @property
    def n_events(self) -> int:
        return len(self.names)

    @property
    def n_pairs(self) -> int:
        return len(self.reward)

    @cached_property
    def row_start(self) -> np.ndarray:
        """Where the rows of each pair begin, (P+1,)."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.pair, minlength=self.n_pairs))]).astype(np.int64)

    @cached_property
    def jumps(self) -> np.ndarray:
        """Which rows lead somewhere, (R,) booleans."""
        return np.asarray(self.next_state != NOWHERE)

    @cached_property
    def silent(self) -> np.ndarray:
        """The events that lead nowhere in some pair, as numbers."""
        return np.unique(self.event[~self.jumps])

    @property
    def known(self) -> np.ndarray:
        """Which rates are told, (K,) booleans."""
        return np.asarray(self.low == self.high)

    def number(self, name: str) -> int:
        """Return the number of the event with this name."""
        from sojourn.errors import unknown_name

        if name not in self.names:
            raise ModelError(unknown_name("event", name, self.names))
        return self.names.index(name)

    # ---- what the rates make of the pairs --------------------------------------------------------------------------

    def intensity(self, value: np.ndarray) -> np.ndarray:
        """Return how often each row happens per unit of time, given the rates."""
        return np.asarray(self.coefficient * value[self.event])

    def rate(self, value: np.ndarray) -> np.ndarray:
        """Return the rate of jumps of each pair."""
        return np.bincount(self.pair[self.jumps], self.intensity(value)[self.jumps], minlength=self.n_pairs)

    def income(self, value: np.ndarray) -> np.ndarray:
        """Return what each pair pays per unit of time: running reward, payments of events, and its lump sum per sojourn."""
        paid = np.bincount(self.pair, self.intensity(value) * self.payment, minlength=self.n_pairs)
        return np.asarray(self.running + paid + self.reward * self.rate(value))

    @cached_property
    def exposure_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(pair, event, C): the total coefficient of each event in each pair where it is active."""
        key = self.pair * self.n_events + self.event
        first = np.flatnonzero(np.diff(key, prepend=-1))
        total = np.add.reduceat(self.coefficient, first) if len(first) else np.zeros(0)
        return self.pair[first], self.event[first], total

    # ---- what is told ----------------------------------------------------------------------------------------------

    def told(self) -> EventTable:
        """Return the table as a learner may know it: without the values."""
        return self if self.value is None else replace(self, value=None)

    def of_pairs(self, keep: np.ndarray) -> EventTable:
        """Return the table of the pairs in `keep` (P,) alone, numbered anew; events that are left in none of them stay named."""
        rows = keep[self.pair]
        place = np.cumsum(keep) - 1
        return replace(self, pair=place[self.pair[rows]], next_state=self.next_state[rows], event=self.event[rows],
                       coefficient=self.coefficient[rows], payment=self.payment[rows], reward=self.reward[keep],
                       running=self.running[keep])

    @cached_property
    def alike(self) -> list[tuple[str, ...]]:
        """Groups of events that nothing but labels can tell apart: the same jumps and payments everywhere, in fixed proportion.

        Without labels only a weighted sum of their rates can be learned.
        """
        groups: dict[tuple[Any, ...], list[str]] = {}
        for k, name in enumerate(self.names):
            mine = np.flatnonzero(self.event == k)
            if len(mine):
                scaled = np.round(self.coefficient[mine] / self.coefficient[mine[0]], 12)
                key = tuple(array[mine].tobytes() for array in (self.pair, self.next_state, self.payment))
                groups.setdefault((*key, scaled.tobytes()), []).append(name)
        return [tuple(group) for group in groups.values() if len(group) > 1]

    def equals(self, other: object) -> bool:
        """Return whether two tables are the same, number for number."""
        if not isinstance(other, EventTable) or self.names != other.names:
            return False
        for name in self.__dataclass_fields__:
            a, b = getattr(self, name), getattr(other, name)
            if (a is None) != (b is None) or (a is not None and not np.array_equal(a, b)):
                return False
        return True

    def as_tree(self) -> dict[str, Any]:
        """Return the table as names and arrays, from which `from_tree` makes it again."""
        arrays = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "names"}
        return {"names": list(self.names), **{name: array for name, array in arrays.items() if array is not None}}

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> EventTable:
        """Return the table that `as_tree` described."""
        return cls(**{**tree, "names": tuple(tree["names"])})

    def digest(self) -> str:
        """Return a hash of everything in the table."""
        found = hashlib.sha256("\0".join(self.names).encode())
        for name in self.__dataclass_fields__:
            array = getattr(self, name)
            if isinstance(array, np.ndarray):
                found.update(f"{name}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.equals(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        shared = f"{self.n_events} events in {self.n_pairs} pairs, {len(self.pair)} rows"
        return f"<EventTable: {shared}{'' if self.value is not None else ', values not told'}>"


def event_table(names: Sequence[str], pair: Any, next_state: Any, event: Any, coefficient: Any, payment: Any = 0.0, *,
                reward: Any, running: Any, low: Any = 0.0, high: Any = inf, value: Any = None) -> EventTable:
    """Return a table from rows in any order; rows of one (pair, event, successor) are added, their payments averaged.

    `next_state` -1 says that the event leads nowhere; numbers broadcast over the rows (`coefficient`, `payment`) or the events
    (`low`, `high`).

    >>> event_table(["up", "down"], [0, 1], [1, 0], [0, 1], 1.0, reward=[0, 0], running=[0, -1])
    <EventTable: 2 events in 2 pairs, 2 rows, values not told>
    """
    if isinstance(names, str):
        raise ModelError(f"names is {shown(names)}; it must be a list of texts, one for each event.")
    hidden = next((name for name in names if isinstance(name, str) and has_hidden(name)), None)
    if hidden is not None:
        raise ModelError(f"an event is named {shown(hidden)}; names hold no control characters and no others that nobody sees.")
    who, to, what = index_array("pair", pair), index_array("next_state", next_state), index_array("event", event)
    if not len(who) == len(to) == len(what):
        raise ModelError(f"pair has {len(who)} rows, next_state {len(to)} and event {len(what)}; give one of each per row.")
    size, paid = one_for_each("coefficient", coefficient, len(who), "rows"), one_for_each("payment", payment, len(who), "rows")
    require_all("coefficient", size, np.isfinite(size) & (size > 0), "a coefficient must be positive and finite",
                "Leave out what cannot happen.")
    order = np.lexsort((to, what, who))
    who, to, what, size, paid = (array[order] for array in (who, to, what, size, paid))
    new = np.ones(len(who), dtype=bool)
    new[1:] = (np.diff(who) != 0) | (np.diff(what) != 0) | (np.diff(to) != 0)
    first = np.flatnonzero(new)
    if len(first) < len(who):
        total = np.add.reduceat(size, first)
        paid, size = np.add.reduceat(size * paid, first) / total, total
        who, to, what = who[first], to[first], what[first]
    return EventTable(tuple(names), who, to, what, size, paid, reward, running, one_for_each("low", low, len(names), "events"),
                      one_for_each("high", high, len(names), "events"), value)


def one_for_each(name: str, value: Any, count: int, things: str) -> np.ndarray:
    """Return one number for each of `count` things, where one number stands for all of them."""
    array = real_array(name, value)
    if array.shape not in {(), (1,), (count,)}:
        raise ModelError(f"{name} has shape {array.shape} and there are {count} {things}; give one number, or one for each.")
    return np.broadcast_to(array, (count,))


def plain_events(model: CTMDP) -> EventTable:
    """Return the table of a model that declares no events: one event per (pair, successor), with coefficient 1."""
    pair = np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))
    rows = len(pair)
    paid = np.zeros(rows) if model.transition_reward is None else model.transition_reward
    return EventTable(tuple(f"jump {i}" for i in range(rows)), pair, model.next_state, np.arange(rows), np.ones(rows), paid,
                      model.reward, model.running, np.zeros(rows), np.full(rows, inf), model.rate[pair] * model.probability)


def events_of(model: CTMDP) -> EventTable:
    """Return the events that a model declares, else one per (pair, successor)."""
    declared: EventTable | None = getattr(model, "events", None)
    return declared if declared is not None else plain_events(model)


def check_events(model: CTMDP, table: EventTable) -> None:
    """Raise unless the table says what the model says: the same jumps at the same rates, the same income in every pair."""
    if not isinstance(table, EventTable):
        raise ModelError(f"events is {shown(table)}; it must be a table made by sojourn.event_table.")
    if table.value is None:
        raise ModelError(f"the events {shown(table.names)} have no values; a model needs the value of every rate.")
    if table.n_pairs != model.n_pairs:
        raise ModelError(f"the events are of {table.n_pairs} pairs and the model has {model.n_pairs}; they must be the same.")
    off = np.flatnonzero((table.value < table.low) | (table.value > table.high) | (table.value <= 0))
    if off.size:
        k = int(off[0])
        raise ModelError(f"the rate {table.names[k]!r} is {table.value[k]}; it must be positive and within its bounds "
                         f"({table.low[k]}, {table.high[k]}).")
    if int(table.next_state.max()) >= model.n_states:
        raise ModelError(f"an event leads to state {int(table.next_state.max())}; the model has {model.n_states} states.")
    with np.errstate(all="ignore"):  # what overflows does not agree
        _check_jumps(model, table, table.value)
        _check_income(model, table, table.value)


def _check_jumps(model: CTMDP, table: EventTable, value: np.ndarray) -> None:
    rows = table.jumps
    key = table.pair[rows] * model.n_states + table.next_state[rows]
    states, where = np.unique(key, return_inverse=True)
    total = np.bincount(where, table.intensity(value)[rows], minlength=len(states))
    pair = np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))
    mine = pair * model.n_states + model.next_state
    intensity = model.rate[pair] * model.probability
    if len(states) != len(mine) or (states != mine).any():
        odd = int(np.setxor1d(states, mine)[0])
        raise ModelError(f"events and model disagree on the jump from pair {odd // model.n_states} to state "
                         f"{odd % model.n_states}: only one of them has it.")
    bad = np.flatnonzero(~(np.abs(total - intensity) <= AGREE * model.rate[pair]))
    if bad.size:
        i = int(bad[0])
        raise ModelError(f"the events make the intensity of pair {pair[i]} to state {model.next_state[i]} {total[i]}; the model "
                         f"has {intensity[i]}. They must agree.")


def _check_income(model: CTMDP, table: EventTable, value: np.ndarray) -> None:
    told, true = table.income(value), model.running + model.expected_reward * model.rate
    size = np.abs(model.running) + np.abs(model.expected_reward) * model.rate + np.abs(told)
    bad = np.flatnonzero(~(np.isfinite(size) & (np.abs(told - true) <= AGREE * size)))
    if bad.size:
        p = int(bad[0])
        raise ModelError(f"with the payments of its events pair {p} earns {told[p]} per unit of time, in the model {true[p]}; a "
                         "reward that contains a rate is declared as a payment of that event, and not in `running` too.")
