"""Event logs: what a system has done so far, from a CSV or Parquet file, a data frame or columns, checked row by row.

Two forms are read.  *Sojourns*: one row per decision with the columns state, action, holding_time, next_state and, if there are
any, reward, event, trajectory.  *Time stamps*: one row per moment at which the state changed, with time, state, action and, if
there are any, the same; the last sojourn of every trajectory is then unfinished (censored): where the last row repeats the
state at a later time, it counts as time without a jump.  Columns `silent:NAME` say how often that event was seen during the
sojourn without leading anywhere; where it can be seen so, the column must say it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sojourn.control.log_columns import SILENT, Coded, coded, columns_of
from sojourn.control.log_numbers import blank, plus_one, real_numbers
from sojourn.errors import FileError, unknown_name
from sojourn.kernels.event_counts import UNKNOWN
from sojourn.learn.learner import History
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge
from sojourn.model.names import Names, plain
from sojourn.model.scalars import is_whole_text, whole

SOJOURNS = ("state", "action", "holding_time", "next_state")
STAMPS = ("time", "state", "action")
OPTIONAL = ("reward", "event", "trajectory")
SHORTEST, LARGEST = 1e-150, 1e150  # holding times, and rewards in size: their squares must remain numbers
UNSAID = -1  # how often a silent event was seen, where the cell is empty


@dataclass(frozen=True, eq=False)
class Log:
    """Complete sojourns in positions (`states` and `actions` say of what), and the unfinished ones.

    `row` (and `censored_row`) is the number of the row that each came from, counted from 1 without the header; `follows` says
    which complete sojourns begin where, in the same trajectory, the one before them ended.  `silent` holds UNSAID where the log
    does not say how often an event was seen; `censored_silent` is the same of unfinished sojourns, and `censored_reward` what was
    paid in them (NaN where nothing is said).  `open` trajectories of time stamps end with a row that begins a sojourn
    in a state that others were seen to leave.
    """

    states: Names
    actions: Names
    state: np.ndarray
    action: np.ndarray
    holding_time: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray | None
    event: np.ndarray | None
    events: tuple[Any, ...]
    trajectories: int
    censored_state: np.ndarray
    censored_action: np.ndarray
    censored_time: np.ndarray
    row: np.ndarray
    follows: np.ndarray
    censored_row: np.ndarray
    silent: Mapping[str, np.ndarray] = field(default_factory=dict)
    censored_reward: np.ndarray | None = None
    censored_silent: Mapping[str, np.ndarray] = field(default_factory=dict)
    open: int = 0

    def __len__(self) -> int:
        return len(self.state)

    def check_pairs(self, knowledge: Knowledge) -> np.ndarray:
        """Return the pair of each sojourn, or name the first row whose action is not admissible in its state."""
        pairs: np.ndarray = knowledge.pair_table[self.state, self.action].astype(np.int64)
        if (pairs < 0).any():
            i = int(np.argmax(pairs < 0))
            raise FileError(f"row {self.row[i]} has action {self.actions[int(self.action[i])]!r} in state "
                            f"{self.states[int(self.state[i])]!r}, where it is not admissible ({int((pairs < 0).sum())} rows). "
                            "Drop these rows, or tell a knowledge that has these pairs.")
        return pairs

    def parts(self, knowledge: Knowledge, which: slice = slice(None)) -> dict[str, np.ndarray]:
        """Return columns for `History.of_parts`: what was paid as the log says, or else as is known."""
        pair, tau = knowledge.pair_table[self.state[which], self.action[which]], self.holding_time[which]
        running = knowledge.running[pair] * tau
        lump = knowledge.reward[pair] if self.reward is None else self.reward[which] - running
        found = {"state": self.state[which], "action": self.action[which], "holding_time": tau,
                 "next_state": self.next_state[which], "lump": lump, "running": running}
        return found if knowledge.events is None else {**found, **self._labels(knowledge.events, pair, which)}

    def _labels(self, table: EventTable, pair: np.ndarray, which: slice) -> dict[str, np.ndarray]:
        """Return the event of each sojourn as its number (UNKNOWN where none is said), and how often silent ones were seen."""
        found = {}
        if self.event is not None:
            place = np.full(max(1, len(self.events)), UNKNOWN, dtype=np.int64)
            for i, name in enumerate(self.events):
                if name not in table.names and not blank(name):
                    row = int(self.row[np.argmax(self.event == i)])
                    raise FileError(f"row {row} has event {name!r}: {unknown_name('event', str(name), table.names)}")
                place[i] = UNKNOWN if blank(name) else table.names.index(name)
            found["event"] = place[self.event[which]]
        unknown = sorted(set(self.silent) - {table.names[k] for k in table.silent})
        if unknown:
            raise FileError(f"the log has a column 'silent:{unknown[0]}', but {unknown[0]!r} is not declared as an event that may "
                            "lead nowhere; drop the column, or declare it.")
        if len(table.silent):
            found["silent"] = np.stack([self._seen(table, int(k), pair, which) for k in table.silent], axis=1)
        return found

    def _seen(self, table: EventTable, event: int, pair: np.ndarray, which: slice) -> np.ndarray:
        """Return how often each sojourn saw a silent event; where it can be seen, the log must say it, be it 0."""
        name = table.names[event]
        times = self.silent[name][which] if name in self.silent else np.full(len(pair), UNSAID)
        can = np.zeros(table.n_pairs, dtype=bool)
        can[table.pair[~table.jumps & (table.event == event)]] = True
        unsaid = (times == UNSAID) & can[pair]
        if unsaid.any():
            at = int(np.argmax(unsaid)) + (which.start or 0)
            what = (f"has an empty cell 'silent:{name}'" if name in self.silent else f"needs a column 'silent:{name}', which the "
                    "log does not have")
            raise FileError(f"row {self.row[at]} {what}: {name!r} can be seen in state {self.states[int(self.state[at])]!r} with "
                            f"action {self.actions[int(self.action[at])]!r} without leading anywhere. Say how often it was, 0 "
                            "where it was not. Where nobody counted it, drop the rows of such states and actions, all of "
                            "them, and say contiguous=False.")
        found: np.ndarray = np.maximum(times, 0)
        return found

    def history(self, knowledge: Knowledge, which: slice = slice(None)) -> History:
        """Return sojourns as a learner is told of them."""
        return history_of(self.parts(knowledge, which))


def history_of(parts: Mapping[str, np.ndarray]) -> History:
    """Return the columns of `Log.parts` as a history."""
    columns = {name: np.asarray(values) for name, values in parts.items()}
    event, silent = columns.pop("event", None), columns.pop("silent", None)
    return replace(History.of_parts(**columns), event=event, silent=silent)


def read_log(log: Any, knowledge: Knowledge | None = None, contiguous: bool = True,
             columns: Mapping[str, str] | None = None, max_bytes: int | None = None) -> Log:
    """Return the log in `log`: a path to a .csv or .parquet file, a data frame (pandas, polars), or a mapping of columns.

    With `knowledge` states and actions must be among its own.  Rows of one trajectory must follow each other (each begins in the
    state to which the last led), unless `contiguous` is False.  A Parquet file may unpack to `max_bytes`; without it, to 256 MB or
    64 times its own size (control/log_parquet.py).
    """
    if max_bytes is not None:
        max_bytes = whole("max_bytes", max_bytes, 1)
    table = _Columns(columns_of(log, columns or {}, max_bytes))
    if not len(table) and table.names:
        raise FileError(f"the log has 0 rows under {', '.join(table.names)}; there is nothing to learn from.")
    known = set(table.names)
    if set(SOJOURNS) <= known:
        found = _sojourns(table, knowledge, contiguous)
    elif set(STAMPS) <= known:
        found = _stamps(table, knowledge)
    else:
        has = f"the columns {', '.join(map(str, table.names))}" if table.names else "no columns"
        raise FileError(f"the log has {has}; it needs {', '.join(SOJOURNS)}, or the "
                        "time stamps "
                        f"{', '.join(STAMPS)}. Rename its columns (`columns={{'theirs': 'ours'}}`).")
    if not len(found) and (knowledge is None or not len(found.censored_time)):
        more = (" Say which choices there are: `knowledge=`, such as model.knowledge(). Then the time without a jump counts."
                if len(found.censored_time) else "")
        raise FileError(f"the log has {len(table)} rows and no complete sojourn; there is nothing to learn from.{more}")
    return found


# ---- columns -------------------------------------------------------------------------------------------------------


class _Columns:
    """Columns by name, all of one length."""

    def __init__(self, columns: dict[str, Any]):
        self.columns = columns
        self.names = list(columns)
        lengths = {name: len(values.code) if isinstance(values, Coded) else len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise FileError(f"the columns have different lengths: {lengths}.")
        self.length = next(iter(lengths.values()), 0)

    def __len__(self) -> int:
        return self.length

    def numbers(self, name: str, positive: bool = False, missing: bool = False) -> np.ndarray:
        """Return a column of numbers, or name the first row that is none."""
        array = self._floats(name)
        fine = np.isfinite(array) | (np.isnan(array) if missing else False)
        size = np.abs(array)
        with np.errstate(invalid="ignore"):
            fine &= ~(size > LARGEST) if not positive else (array >= SHORTEST) & (size <= LARGEST)
        if not fine.all():
            i = int(np.argmin(fine))
            rule = (f"a number above 0, from {SHORTEST:g} to {LARGEST:g}" if positive else
                    f"a finite number, at most {LARGEST:g} in size")
            what = ("If times were rounded to 0, give finer ones: without these rows the others would look too slow"
                    if positive and array[i] == 0 else "Correct or drop these rows; if the columns are swapped, rename them")
            raise FileError(f"row {i + 1} has {name} {array[i]:g}; it must be {rule} ({int((~fine).sum())} of {len(fine)} rows "
                            f"are not). {what}.")
        return array

    def _floats(self, name: str) -> np.ndarray:
        values = self.columns[name]
        if isinstance(values, Coded):
            code = values.code
            found: np.ndarray = real_numbers(name, values.values, lambda i: int(np.argmax(code == i)) + 1)[code]
            return found
        if name == "time" and isinstance(values, list) and set(map(type, values)) == {int} and max(map(abs, values)) < 2**63:
            values = np.array(values)
        if name == "time" and isinstance(values, np.ndarray) and values.dtype.kind in "iu" and len(values):
            whole = values.astype(np.uint64)  # modulo 2^64, so that no difference overflows
            values = whole - whole[values.argmin()]  # nanoseconds since 1970 are beyond the whole numbers that floats can hold
        return real_numbers(name, values, plus_one)

    def said(self, name: str, i: int) -> str:
        """Return one cell as it was given."""
        values = self.columns[name]
        cell = values.values[values.code[i]] if isinstance(values, Coded) else values[i]
        return f"{cell:g}" if isinstance(cell, float) else str(cell)

    def codes(self, *names: str) -> tuple[list[np.ndarray], list[Any]]:
        """Return columns as numbers of their common different values."""
        parts = [self.columns[name] if isinstance(self.columns[name], Coded) else coded(self.columns[name], name) for name in names]
        index: dict[Any, int] = {}
        found = []
        for part in parts:
            place = np.array([index.setdefault(plain(value), len(index)) for value in part.values] or [0], dtype=np.int32)
            found.append(place[part.code])
        return found, list(index)

    def has(self, name: str) -> bool:
        return name in self.columns


def _names(kind: str, columns: _Columns, names: tuple[str, ...], known: Names | None) -> tuple[list[np.ndarray], Names]:
    """Return columns as positions of names: the known ones, or those that appear, sorted where they can be."""
    codes, values = columns.codes(*names)
    texts = all(isinstance(value, str) for value in values)
    place = np.zeros(max(1, len(values)), dtype=np.int32)
    for i, value in enumerate(values):
        nothing = blank(value) or (isinstance(value, str) and value.strip().lower() in ("", "nan"))
        if nothing and (known is None or value not in known):
            _refuse_blank(*_first(codes, names, i), value)
    if known is not None:
        for i, value in enumerate(values):
            try:
                place[i] = known.position(value)
            except ValueError as error:
                name, row = _first(codes, names, i)
                raise FileError(f"row {row} has {name} {value!r}: {error} ({_count(codes, i)} rows have it). If the columns are "
                                "swapped, "
                                "rename them; else add it to the model or drop these rows.") from None
        return [place[code] for code in codes], known
    if texts and all(is_whole_text(value) and str(int(value)) == value for value in values):
        values = [int(value) for value in values]  # a file of whole numbers
    try:
        order = sorted(range(len(values)), key=lambda i: values[i])
    except TypeError:
        order = list(range(len(values)))
    place[order] = np.arange(len(order))
    return [place[code] for code in codes], Names(kind, [values[i] for i in order])


def _refuse_blank(name: str, row: int, value: Any) -> None:
    """Raise for a cell without a name; a row that must not be dropped, since its sojourn was not seen to end, says so."""
    what = ("If the sojourn was not seen to end, do not drop it: the others would look too fast. Give such a log as time stamps "
            "(time, state, action), with a last row that repeats the state at the time of the last look" if name == "next_state"
            else "Correct or drop it")
    raise FileError(f"row {row} has no {name} (it is {value!r}); every row needs one. {what}.")


def _first(codes: list[np.ndarray], names: tuple[str, ...], value: int) -> tuple[str, int]:
    return min(((name, int(np.argmax(code == value)) + 1) for name, code in zip(names, codes) if (code == value).any()),
               key=lambda found: found[1])


def _count(codes: list[np.ndarray], value: int) -> int:
    return max(int((code == value).sum()) for code in codes)


# ---- the two forms -------------------------------------------------------------------------------------------------


def _trajectory(columns: _Columns) -> tuple[np.ndarray | None, int]:
    if not columns.has("trajectory"):
        return None, 1
    (code,), values = columns.codes("trajectory")
    empty = np.isin(code, [i for i, value in enumerate(values) if blank(value)])
    if empty.any():
        raise FileError(f"row {int(np.argmax(empty)) + 1} has no trajectory ({int(empty.sum())} of {len(code)} rows have none); "
                        "say in every row which one it belongs to, or leave the column out where there is but one.")
    return code, len(values)


def _check_together(trajectory: np.ndarray, said: Callable[[str, int], str]) -> None:
    """Refuse time stamps in which the rows of a trajectory do not stand together.

    Only sojourns whose two rows happen to stand one after the other would be seen, and these are the short ones.
    """
    begins = np.flatnonzero(np.concatenate([[True], trajectory[1:] != trajectory[:-1]]))
    first = np.unique(trajectory[begins], return_index=True)[1]
    again = np.setdiff1d(np.arange(len(begins)), first)
    if len(again):
        i = int(begins[again[0]])
        raise FileError(f"row {i + 1} goes on with trajectory {said('trajectory', i)!r}, after rows of another ({len(again)} times "
                        "in all). Sort the rows by trajectory, and within each by time.")


def _extras(columns: _Columns) -> tuple[np.ndarray | None, np.ndarray | None, tuple[Any, ...]]:
    reward = columns.numbers("reward", missing=True) if columns.has("reward") else None
    if reward is not None and np.isnan(reward).all():
        reward = None
    if not columns.has("event"):
        return reward, None, ()
    (event,), events = columns.codes("event")
    return reward, event, tuple(events)


def _silent(columns: _Columns) -> dict[str, np.ndarray]:
    """Return {event: how often it was seen without leading anywhere, per row} from the columns `silent:NAME`."""
    found = {}
    for name in columns.names:
        if str(name).startswith(SILENT):
            said = columns.numbers(name, missing=True)
            times = np.where(np.isnan(said), 0.0, said)
            bad = np.flatnonzero((times < 0) | (times != np.floor(times)) | (times >= 2**53))
            if bad.size:
                raise FileError(f"row {bad[0] + 1} has {name} {times[bad[0]]:g}; it must be a whole number of times "
                                f"({bad.size} rows are not).")
            found[str(name)[len(SILENT):]] = np.where(np.isnan(said), UNSAID, times.astype(np.int64))
    return found


def _sojourns(columns: _Columns, knowledge: Knowledge | None, contiguous: bool) -> Log:
    tau = columns.numbers("holding_time", positive=True)
    (state, after), states = _names("state", columns, ("state", "next_state"), knowledge.states if knowledge else None)
    (action,), actions = _names("action", columns, ("action",), knowledge.actions if knowledge else None)
    trajectory, count = _trajectory(columns)
    _check_actions(actions, tau)
    if contiguous:
        _check_contiguous(state, after, action, trajectory, states, actions)
    reward, event, events = _extras(columns)
    if reward is not None and np.isnan(reward).any():
        raise FileError(f"row {int(np.argmax(np.isnan(reward))) + 1} has no reward; give one in every row, or leave the column "
                        "out.")
    nothing = np.zeros(0, dtype=np.int32)
    follows = np.concatenate([[False], after[:-1] == state[1:]])
    if trajectory is not None:
        follows[1:] &= trajectory[:-1] == trajectory[1:]
    return Log(states, actions, state, action, tau, after, reward, event, events, count, nothing, nothing, np.zeros(0),
               np.arange(1, len(tau) + 1), follows, nothing, _silent(columns))


def _check_actions(actions: Names, tau: np.ndarray) -> None:
    """Refuse a log in which nearly every row has an action of its own, and few have a holding time of their own."""
    if len(tau) >= 10 and len(actions) > len(tau) / 2 > 3 * len(np.unique(tau)):
        raise FileError(f"row 1 has holding_time {tau[0]:g}; the {len(tau)} rows have {len(actions)} different actions and only "
                        f"{len(np.unique(tau))} different holding times. The columns action and holding_time seem to be swapped: "
                        "rename them.")


def _check_contiguous(state: np.ndarray, after: np.ndarray, action: np.ndarray, trajectory: np.ndarray | None, states: Names,
                      actions: Names) -> None:
    """Refuse a log in which a row does not begin where the last one led."""
    follows = after[:-1] == state[1:]
    if trajectory is not None:
        follows |= trajectory[:-1] != trajectory[1:]
    if follows.all():
        return
    i = int(np.argmin(follows))
    backwards = (state[:-1] == after[1:]).mean() > max(0.9, follows.mean())  # two states in turn look alike both ways
    looks = set(map(str, actions)) <= set(map(str, states)) and len(actions) > 1
    hint = ("The columns state and next_state seem to be swapped: rename them." if backwards else
            "The columns state and action seem to be swapped: rename them." if looks else
            "If two columns are swapped, rename them; if several systems are in one log, give a column `trajectory`; if rows "
            "are missing, "
            "say contiguous=False.")
    raise FileError(f"row {i + 2} begins in state {states[int(state[i + 1])]!r}, but row {i + 1} led to {states[int(after[i])]!r} "
                    f"({int((~follows).sum())} of {len(state)} rows do not follow). {hint}")


def _stamps(columns: _Columns, knowledge: Knowledge | None) -> Log:
    """Turn time stamps into sojourns: a row holds until the next row of its trajectory."""
    time = columns.numbers("time")
    trajectory, count = _trajectory(columns)
    if trajectory is not None:
        _check_together(trajectory, columns.said)
    (state,), states = _names("state", columns, ("state",), knowledge.states if knowledge else None)
    same = np.ones(len(time) - 1, dtype=bool) if trajectory is None else trajectory[:-1] == trajectory[1:]
    tau = np.diff(time)
    wrong = same & ~(tau >= SHORTEST)
    if wrong.any():
        i = int(np.argmax(wrong)) + 1
        raise FileError(f"row {i + 1} has time {columns.said('time', i)}, row {i} has {columns.said('time', i - 1)}; times must "
                        "increase within a trajectory "
                        f"({int(wrong.sum())} rows do not).")
    (action,), actions = _stamped_actions(columns, knowledge, same)
    reward, event, events = _extras(columns)
    stays = np.concatenate([same & (state[:-1] == state[1:]), [False]])  # seen again in the same state: unfinished
    ends = np.concatenate([~same, [True]])
    last = np.concatenate([[False], (same & (state[:-1] == state[1:]))]) & ends  # a last row that only says how long
    middle = stays[:-1] & ~last[1:]
    if middle.any():
        i = int(np.argmax(middle)) + 1
        raise FileError(f"row {i + 1} repeats the state {states[int(state[i])]!r} of row {i} in the middle of a trajectory; "
                        "give a row only "
                        "when the state changes.")
    whole = np.flatnonzero(np.concatenate([same, [False]]) & ~stays)
    cut = np.flatnonzero(stays)
    if reward is not None and np.isnan(reward[whole]).any():
        i = int(whole[np.argmax(np.isnan(reward[whole]))]) + 1
        raise FileError(f"row {i} has no reward; give one in every row whose sojourn was seen to end, or leave the column out.")
    silent = _silent(columns)
    return Log(states, actions, state[whole], action[whole], tau[whole], state[whole + 1],
               None if reward is None else reward[whole], None if event is None else event[whole], events, count,
               state[cut], action[cut], tau[cut], whole + 1, np.concatenate([[False], same])[whole], cut + 1,
               {name: times[whole] for name, times in silent.items()}, None if reward is None else reward[cut],
               {name: times[cut] for name, times in silent.items()}, int((ends & ~last & np.isin(state, state[whole])).sum()))


def _stamped_actions(columns: _Columns, knowledge: Knowledge | None, same: np.ndarray) -> tuple[list[np.ndarray], Names]:
    """Return the actions; the last row of a trajectory may have none."""
    values = columns.columns["action"]
    part = values if isinstance(values, Coded) else coded(values, "action")
    empty = np.array([blank(v) for v in part.values] or [False])[part.code]
    bad = empty & np.concatenate([same, [False]])
    if bad.any():
        raise FileError(f"row {int(np.argmax(bad)) + 1} has no action; only the last row of a trajectory may have none.")
    if empty.any():
        some = int(part.code[np.argmin(empty)]) if not empty.all() else 0
        columns.columns["action"] = Coded(np.where(empty, some, part.code), part.values)
        keep = [v for v in part.values if not blank(v)]
        index = {v: i for i, v in enumerate(keep)}
        place = np.array([index.get(v, 0) for v in part.values], dtype=np.int32)
        columns.columns["action"] = Coded(place[columns.columns["action"].code], keep)
    return _names("action", columns, ("action",), knowledge.actions if knowledge else None)
