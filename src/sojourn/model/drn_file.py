"""Storm's explicit text format, `.drn`: what a file says, line by line.

    @type: Markov Automaton            also CTMC, MDP, DTMC
    @reward_models
    reward
    @nr_states
    3
    @model
    state 0 !0 [0] init                state ID !RATE [STATE REWARDS] LABELS;  rate 0: an immediate state, in which one decides
        action 0 [1.5]                 action NAME [ACTION REWARDS]
            1 : 1                      TARGET : PROBABILITY (a rate in a CTMC)

State rewards are earned per unit of time (per step in discrete time), action rewards at once.  Numbers are 0.25, 1e-3, 1/3 or
$NAME, which `@placeholders` explains.  Lines with // are comments; ours hold what the format has no place for (names, rate
bounds), so that a written model comes back the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from sojourn.errors import ModelError, unknown_name
from sojourn.model.numbers import shown

OURS = "// sojourn "  # begins a comment that we wrote: JSON follows
TYPES = ("Markov Automaton", "CTMC", "MDP", "DTMC")
OTHER_TYPES = {  # what Storm knows besides, and why it is no model of ours
    "POMDP": "its decisions may depend on observations only, and here whoever decides sees the state",
    "SMG": "its players have different aims, and here one decides",
    "S2PG": "its players have different aims, and here one decides",
}
ENTRIES = ("type", "value_type", "parameters", "placeholders", "reward_models", "nr_states", "nr_choices", "model")
UNNAMED = "__NOLABEL__"  # Storm's word for a choice without a name
LONGEST = 100_000_000  # characters of a line
LABEL = re.compile(r'"[^"]*"|[^\s"]+')


class Lines(Protocol):
    """What is read: an open file, or one that is unpacked on the way."""

    def readline(self, most: int, /) -> bytes: ...


@dataclass
class Action:
    """One way out of a state: its name, its rewards (one per reward model), and the targets with their numbers."""

    name: str
    rewards: list[float]
    targets: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


@dataclass
class Automaton:
    """What a file says: per state its rate (None where none is given), rewards and actions."""

    kind: str
    reward_models: list[str]
    rates: list[float | None]
    rewards: list[list[float]]
    actions: list[list[Action]]
    initial: list[int]
    ours: dict[str, Any]
    placeholders: dict[str, str]


def read_automaton(stream: Lines) -> Automaton:
    """Return what an open `.drn` file says; ModelError names the line, its text and the rule."""
    lines = _lines(stream)
    header, ours = _header(lines)
    placeholders = _placeholders(header.get("placeholders", ""))
    found = Automaton(_kind(header), [], [], [], [], [], ours, placeholders)
    for number, text in lines:
        try:
            _model_line(found, text)
        except (ValueError, IndexError, ZeroDivisionError) as error:
            reason = str(error) if isinstance(error, ModelError) else "it cannot be read"
            raise ModelError(f"line {number} is {shown(text.strip())}: {reason}. A state is `state ID !RATE [REWARDS] LABELS`, an "
                             "action `action NAME [REWARDS]`, a jump `TARGET : NUMBER`.") from None
    _require_whole(found, header)
    found.reward_models = _reward_models(header.get("reward_models", ""), found)
    return found


def _lines(stream: Lines) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of the lines that are no comments of others."""
    number = 0
    while data := stream.readline(LONGEST):
        number += 1
        if len(data) == LONGEST:
            raise ModelError(f"line {number} has more than {LONGEST:,} characters; no line of a .drn file is that long.")
        try:
            text = data.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise ModelError(f"line {number} is not UTF-8 text; a .drn file is text. Is it packed?") from None
        if text.startswith(OURS) or not text.lstrip().startswith("//"):
            yield number, text


# ---- the entries above `@model` ---------------------------------------------------------------------------------------


def _header(lines: Iterator[tuple[int, str]]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return ({entry: value}, our own comment); an entry's value stands behind its colon or on the lines below."""
    header: dict[str, list[str]] = {}
    ours: dict[str, Any] = {}
    entry = ""
    for _, text in lines:
        if text.startswith(OURS):
            ours = _own(text)
        elif text.rstrip() == "@model":
            return {entry: "\n".join(said) for entry, said in header.items()}, ours
        elif text.startswith("@"):
            entry, _, value = text[1:].partition(":")
            entry = entry.strip()
            if entry not in ENTRIES or entry in header:
                raise ModelError(f"the entry {shown(entry)} is given twice; once is enough." if entry in header else
                                 unknown_name("entry of a .drn file", entry, list(ENTRIES)))
            header[entry] = [value.strip()] if value.strip() else []
        elif entry:
            header[entry].append(text)
        elif text.strip():
            raise ModelError(f"it begins with {shown(text[:60])}; a .drn file begins with `@type: ...`.")
    raise ModelError(f"the entries are {shown(sorted(header))} and no line is `@model`; is the file complete?")


def _kind(header: dict[str, str]) -> str:
    """Return the type of the model, where it is one of ours and its values are numbers."""
    kind, values = header.get("type", "").strip(), header.get("value_type", "double").strip()
    if kind not in TYPES:
        why = f" ({OTHER_TYPES[kind]})" if kind in OTHER_TYPES else ""
        raise ModelError(f"@type is {shown(kind)}{why}; it must be one of {', '.join(TYPES)}.")
    if header.get("parameters", "").strip():
        raise ModelError(f"@parameters are {shown(header['parameters'].strip())}; give them values first: only numbers are read.")
    if "interval" in values:
        raise ModelError(f"@value_type is {shown(values)}; choose a number within every interval first: only numbers are read.")
    return kind


def _placeholders(text: str) -> dict[str, str]:
    """Return {name: what it stands for} of lines `$NAME : NUMBER`."""
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines()) if name.strip()}


def _reward_models(said: str, found: Automaton) -> list[str]:
    """Return a name per number in the brackets: as declared, "" for Storm's reward model without a name, `rewK` beyond them."""
    width = max((len(rewards) for rewards in found.rewards), default=0)
    width = max(width, max((len(way.rewards) for ways in found.actions for way in ways), default=0))
    spaced = re.split(r"[ \t]", said.partition("\n")[0])  # an empty name is a space
    spaced = spaced[:-1] if spaced[-1] == "" else spaced
    names = spaced if len(spaced) == width else said.split()
    return names + [f"rew{k}" for k in range(len(names), width)]


def _own(text: str) -> dict[str, Any]:
    """Return what our own comment holds; one that was damaged holds nothing."""
    try:
        found = json.loads(text[len(OURS):])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# ---- the lines below it ------------------------------------------------------------------------------------------------


def _model_line(found: Automaton, text: str) -> None:
    stripped = text.strip()
    if stripped.startswith("state "):
        _state(found, stripped[6:].lstrip())
    elif stripped.startswith("action "):
        name, _, rest = stripped[7:].lstrip().partition(" ")
        rewards, rest = _rewards(found, rest.lstrip())
        if rest:
            raise ModelError(f"{shown(rest)} stands behind the name and the rewards")
        found.actions[-1].append(Action(str(len(found.actions[-1])) if name == UNNAMED else name, rewards))
    elif stripped and not stripped.startswith("//"):
        target, _, value = stripped.partition(":")
        if not found.actions[-1]:
            found.actions[-1].append(Action("0", []))
        found.actions[-1][-1].targets.append(_whole(target))
        found.actions[-1][-1].values.append(_number(found, value))


def _state(found: Automaton, text: str) -> None:
    word, _, rest = text.partition(" ")
    if _whole(word) != len(found.rates):
        raise ModelError(f"state {len(found.rates)} must come here: ids count from 0 without gaps")
    rate, rest = None, rest.lstrip()
    if rest.startswith("!"):
        word, _, rest = rest.partition(" ")
        rate, rest = _number(found, word[1:]), rest.lstrip()
        if not rate >= 0:
            raise ModelError(f"the rate is {rate:g}; it must be 0 or positive")
    if (rate is None and found.kind == "Markov Automaton") or (rate is not None and found.kind in ("MDP", "DTMC")):
        raise ModelError("a state of a Markov automaton needs its rate, 0 where one decides" if rate is None else
                         f"{found.kind} means discrete time, in which there are no rates")
    rewards, rest = _rewards(found, rest)
    words = LABEL.findall(rest)
    labels = [word.strip('"') for word in words]
    late = next((word for word in words if word.startswith(("[", "!"))), None)  # in quotes it is a label like others
    if late is not None:
        raise ModelError(f"{shown(late)} stands among its labels; its rate and rewards must stand before its labels")
    if "init" in labels:
        found.initial.append(len(found.rates))
    found.rates.append(rate)
    found.rewards.append(rewards)
    found.actions.append([])


def _rewards(found: Automaton, text: str) -> tuple[list[float], str]:
    """Return (the rewards in the brackets that the text begins with, what stands behind them)."""
    if not text.startswith("["):
        return [], text
    inside, closed, behind = text[1:].partition("]")
    if not closed:
        raise ModelError(f"the bracket of {shown(text)} is not closed")
    return [_number(found, word) for word in inside.split(",")], behind.strip()


def _whole(text: str) -> int:
    if not text.isascii() or "_" in text:
        raise ModelError(f"{shown(text.strip())} is no id")
    return int(text)


def _number(found: Automaton, text: str) -> float:
    """Return a finite number: 0.25, 1e-3, 1/3, or what a placeholder stands for."""
    text = text.strip()
    if text.startswith("$") and text in found.placeholders:
        text = found.placeholders[text]
    if text.startswith(("[", "(")) and "," in text:
        raise ModelError(f"{shown(text)} is an interval; choose a number within it first")
    above, _, below = text.partition("/")
    if not text.isascii() or "_" in text:
        raise ModelError(f"{shown(text)} is no number")
    value = float(above) / float(below) if below else float(above)
    if not math.isfinite(value):
        raise ModelError(f"{shown(text)} is not finite")
    return value


def _require_whole(found: Automaton, header: dict[str, str]) -> None:
    """Raise unless the numbers of states and choices are as declared and every target exists."""
    sizes = {"nr_states": len(found.rates), "nr_choices": sum(map(len, found.actions))}
    for entry, size in sizes.items():
        if entry in header and header[entry].strip() != str(size):
            raise ModelError(f"@{entry} is {shown(header[entry].strip())} and {size} were found; is the file complete?")
    for s, actions in enumerate(found.actions):
        for action in actions:
            bad = next((t for t in action.targets if not 0 <= t < len(found.rates)), None)
            if bad is not None:
                raise ModelError(f"state {s} leads to state {bad}; ids run from 0 to {len(found.rates) - 1}.")
