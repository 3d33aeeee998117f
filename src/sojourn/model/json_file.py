"""The readable file: one JSON object, one line a choice, labels instead of indices.

    {"format": "sojourn/ctmdp", "version": 2, "name": "...", "states": [...], "rate_bounds": [lo, hi],
     "choices": [{"state": s, "action": a, "rate": 2.0, "reward": 1.0, "running": 0.0, "next": {label: probability}}, ...]}

Optional: `name`, `rate_bounds`, `reward`, `running` (0 where absent); per choice `next_reward` {label: paid with that jump};
at the top `actions` (their order, where it is not that of first appearance), `holding` ("unit" for a discrete-time MDP), and
`state_labels`, `action_labels` (texts to show them by, where given), and `events` (event_file.py).

States and actions are texts, numbers, or lists (which are tuples); `next` goes by the labels, the texts that they read as.
Version 1 knew texts only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import IO, Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError, unknown_name
from sojourn.model.build import from_pairs
from sojourn.model.ctmdp import CTMDP
from sojourn.model.event_file import events_as_columns, events_of_columns
from sojourn.model.names import Names, decoded, encoded
from sojourn.model.numbers import real_number, shown

FORMAT, VERSION = "sojourn/ctmdp", 2
TOP = ("format", "version", "name", "states", "state_labels", "actions", "action_labels", "rate_bounds", "holding", "events",
       "choices")
MAX_BYTES = 200_000_000  # of a file: read, it takes some twenty times as much memory
CHOICE = ("state", "action", "rate", "reward", "running", "next", "next_reward")


def read_json(stream: IO[bytes], max_bytes: int | None = None) -> CTMDP:
    """Return the model in an open JSON file of at most `max_bytes`; ModelError names the entry, its value and the rule."""
    most = MAX_BYTES if max_bytes is None else max_bytes
    data = stream.read(most + 1)
    if len(data) > most:
        raise ModelError(f"it has more than {most / 1e6:g} MB; a .json model takes some twenty times as much memory. Save the "
                         "model as .npz instead, which is compact, or as .drn; or allow more: `max_bytes=...`.")
    return model_of(parse(data))


def parse(data: bytes) -> Any:
    """Return what strict JSON means; a repeated key is an error, a NaN is left to the entry it stands in."""
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is {data[error.start]:#04x}"
        raise ModelError(f"{byte}, which is not UTF-8; a .json model is UTF-8 text.") from None
    except json.JSONDecodeError as error:
        near = error.doc[error.pos : error.pos + 20]
        at = f"line {error.lineno} column {error.colno}, at {near!r}" if near else "the end of the file"
        raise ModelError(f"it is not JSON: {error.msg} ({at}). Is the file complete?") from None
    except RecursionError:
        raise ModelError(f"brackets are nested too deep in {len(data)} bytes; a model needs four levels.") from None
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"it holds a number that cannot be read: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        double = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ModelError(f"the key {shown(double)} stands twice in one object; every key may appear once. Remove one.")
    return found


def header(top: Any) -> dict[str, Any]:
    """Return the object at the top after checking its form, format and version."""
    if not isinstance(top, dict):
        raise ModelError(f"the file holds {shown(top)}; a model is one JSON object {{\"format\": \"{FORMAT}\", ...}}.")
    if top.get("format") != FORMAT:
        raise ModelError(f"format is {shown(top.get('format'))}; it must be {FORMAT!r}.")
    version = top.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelError(f"version is {shown(version)}; this release reads versions 1 to {VERSION}. Convert the file or upgrade "
                         "Sojourn.")
    return top


def read_names(kind: str, top: dict[str, Any], given: Any, stored: bool = False) -> Names:
    """Return the states or actions that a file names; version 1 has texts only."""
    names = [decoded(name) for name in given]
    if top["version"] == 1:
        for i, name in enumerate(names):
            if not isinstance(name, str):
                raise ModelError(f"{kind} label {i} is {shown(name)}; in version 1 labels are non-empty strings.")
    labels = top.get(f"{kind}_labels")
    return Names(kind, names, None if labels is None else _typed(f"{kind}_labels", labels, list), stored=stored)


def model_of(top: Any) -> CTMDP:
    """Return the model that a parsed JSON object describes."""
    top = header(top)
    _keys("the model", top, TOP, ("states", "choices"))
    states = read_names("state", top, _typed("states", top["states"], list))
    choices = _typed("choices", top["choices"], list)
    given = None if "actions" not in top else read_names("action", top, _typed("actions", top["actions"], list))
    rows = _Rows(states, given)
    for i, choice in enumerate(choices):
        rows.add(i, choice)
    if not choices:
        raise ModelError(f"choices is []; each of the {len(states)} states needs at least one choice.")
    shape = (len(choices), len(states))
    order = np.lexsort((rows.action, rows.state))
    return from_pairs(
        rows.state, rows.action, sparse.csr_matrix((rows.probability, rows.next, rows.start), shape=shape, dtype=np.float64),
        rows.rate, rows.reward, rows.running, states=states,
        actions=read_names("action", top, list(rows.actions)) if given is None else given,
        transition_reward=sparse.csr_matrix((rows.paid, rows.next, rows.start), shape=shape) if rows.pays else None,
        rate_bounds=top.get("rate_bounds"), name=_typed("name", top.get("name", ""), str),
        holding=_typed("holding", top.get("holding", "exponential"), str),
        events=events_of_columns(top["events"], order) if "events" in top else None,
    )


class _Rows:
    """The flat arrays of a model while its choices are read one by one.  Without `actions` they are numbered as they appear."""

    def __init__(self, states: Names, actions: Names | None) -> None:
        self.states = {name: i for i, name in enumerate(states)}
        self.labels = {label: i for i, label in enumerate(states.labels)}
        self.fixed = actions is not None
        self.actions = {name: i for i, name in enumerate(actions or ())}
        self.state: list[int] = []
        self.action: list[int] = []
        self.rate: list[float] = []
        self.reward: list[float] = []
        self.running: list[float] = []
        self.start, self.next = [0], list[int]()
        self.probability: list[float] = []
        self.paid: list[float] = []
        self.pays = False
        self.seen: dict[tuple[int, int], int] = {}

    def add(self, i: int, choice: Any) -> None:
        """Check choice number i and append it."""
        where = f"choices[{i}]"
        _keys(where, _typed(where, choice, dict), CHOICE, ("state", "action", "rate", "next"))
        s = _known(f"{where}.state", "state", choice["state"], self.states)
        name = _name(f"{where}.action", choice["action"])
        a = (_known(f"{where}.action", "action", choice["action"], self.actions) if self.fixed
             else self.actions.setdefault(name, len(self.actions)))
        if self.seen.setdefault((s, a), i) != i:
            raise ModelError(f"{where} repeats the choice ({choice['state']!r}, {name!r}) of choices[{self.seen[s, a]}]; "
                             "every pair may appear once. Remove one or rename its action.")
        self.state.append(s)
        self.action.append(a)
        self.rate.append(_number(where, "rate", choice["rate"]))
        self.reward.append(_number(where, "reward", choice.get("reward", 0.0)))
        self.running.append(_number(where, "running", choice.get("running", 0.0)))
        self._jumps(where, choice)

    def _jumps(self, where: str, choice: dict[str, Any]) -> None:
        jumps = _typed(f"{where}.next", choice["next"], dict)
        if not jumps:
            raise ModelError(f"{where}.next is {{}}; its probabilities must sum to 1. Name a next state.")
        for label, p in jumps.items():
            found = self.labels.get(label)
            self.next.append(_known(f"{where}.next", "state", label, self.labels) if found is None else found)
            self.probability.append(_number(where, "next", p, label))
        self.start.append(len(self.next))
        pays = {}
        if "next_reward" in choice:
            self.pays = True
            pays = _typed(f"{where}.next_reward", choice["next_reward"], dict)
            for label in pays:
                _known(f"{where}.next_reward", "next state of this choice", label, jumps)
        self.paid.extend(_number(where, "next_reward", pays.get(label, 0.0), label) for label in jumps)


def _keys(where: str, entry: dict[str, Any], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    for key in needed:
        if key not in entry:
            raise ModelError(f"{where} has the keys {shown(list(entry))} and lacks {key!r}; add it.")
    if not entry.keys() <= set(known):
        wrong = next(key for key in entry if key not in known)
        raise ModelError(f"{where}: {unknown_name('key', wrong, known)}")


def _typed(where: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        words = {"list": "a list", "dict": "an object"}.get(kind.__name__, "a string")
        raise ModelError(f"{where} is {shown(value)}; it must be {words}.")
    return value


def _name(where: str, value: Any) -> Any:
    """Return the name that an entry holds: a string, a number, or a list of these, which is a tuple."""
    name = decoded(value)
    try:
        hash(name)
    except TypeError:
        name = None
    if name is None:
        raise ModelError(f"{where} is {shown(value)}; a name is a string, a number, or a list of these.")
    return name


def _known(where: str, kind: str, value: Any, index: dict[Any, Any]) -> Any:
    name = _name(where, value)
    found = index.get(name)
    if found is None or (isinstance(name, bool) and not any(name is known for known in index)):
        raise ModelError(f"{where} is {shown(value)}: {unknown_name(kind, str(name), map(str, index))}")
    return found


def _number(where: str, field: str, value: Any, label: str | None = None) -> float:
    if type(value) is float and isfinite(value):
        return value
    return real_number(f"{where}.{field}" if label is None else f"{where}.{field}[{label!r}]", value)


def first_appearance(model: CTMDP) -> tuple[Any, ...]:
    """Return the actions in the order in which the choices first name them."""
    _, first = np.unique(model.pair_action, return_index=True)
    return tuple(model.actions[a] for a in model.pair_action[np.sort(first)])


def write_json(model: CTMDP, stream: IO[bytes]) -> None:
    """Write a model as JSON that reads back number for number and label for label."""
    written = 0
    for line in _lines(model):
        data = line.encode("utf-8")
        written += len(data)
        if written > MAX_BYTES:
            raise ModelError(f"the model has {model.n_states:,} states and {len(model.next_state):,} transitions, more than "
                             f"{MAX_BYTES // 10**6} MB of JSON, which would take many GB to read back. Save it as .npz.")
        stream.write(data)


def _lines(model: CTMDP) -> Iterator[str]:
    top: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if model.name:
        top["name"] = model.name
    top["states"] = encoded(model.states)
    if model.actions != first_appearance(model):
        top["actions"] = encoded(model.actions)
    top |= label_keys(model)
    if model.rate_bounds is not None:
        top["rate_bounds"] = list(model.rate_bounds)
    if model.holding != "exponential":
        top["holding"] = model.holding
    if model.events is not None:
        top["events"] = events_as_columns(model.events)
    yield "{\n"
    for key, value in top.items():
        yield f"  {_text(key)}: {_text(value)},\n"
    yield '  "choices": [\n'
    for k, choice in enumerate(_choices(model)):
        yield f"    {_text(choice)}{',' if k + 1 < model.n_pairs else ''}\n"
    yield "  ]\n}\n"


_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def label_keys(model: CTMDP) -> dict[str, list[str]]:
    """Return the labels that differ from what the names read as, as the keys of a file hold them."""
    given = {"state_labels": model.states.labelled, "action_labels": model.actions.labelled}
    return {key: list(labels) for key, labels in given.items() if labels is not None}


def _choices(model: CTMDP) -> Iterator[dict[str, Any]]:
    state, action, start = model.pair_state.tolist(), model.pair_action.tolist(), model.row_start.tolist()
    rate, reward, running = model.rate.tolist(), model.reward.tolist(), model.running.tolist()
    labels, states, actions = list(model.states.labels), encoded(model.states), encoded(model.actions)
    probability, label = model.probability.tolist(), [labels[j] for j in model.next_state.tolist()]
    paid = None if model.transition_reward is None else model.transition_reward.tolist()
    for k in range(model.n_pairs):
        row = slice(start[k], start[k + 1])
        choice = {"state": states[state[k]], "action": actions[action[k]], "rate": rate[k], "reward": reward[k],
                  "running": running[k], "next": dict(zip(label[row], probability[row]))}
        if paid is not None:
            pays = {to: w for to, w in zip(label[row], paid[row]) if w}
            if pays or k == 0:
                choice["next_reward"] = pays
        yield choice
