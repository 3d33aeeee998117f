"""Storm's explicit text format, `.drn`: what a file says, line by line, and a model written as one.

    @type: Markov Automaton            also CTMC, MDP, DTMC
    @reward_models
    reward
    @nr_states
    3
    @model
    state 0 !0 [0] init                state ID !RATE [STATE REWARDS] LABELS;  rate 0: an immediate state, in which one decides
        action 0 [1.5]                 action NAME [ACTION REWARDS]
            1 : 1                      TARGET : PROBABILITY (a rate in a CTMC)

State rewards are earned per unit of time (per step in discrete time), action rewards at once.  Lines with // are comments; ours
hold what the format has no place for (names, rate bounds), so that a written model comes back the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.names import encoded
from sojourn.model.numbers import shown

OURS = "// sojourn "  # begins a comment that we wrote: JSON follows
TYPES = ("Markov Automaton", "CTMC", "MDP", "DTMC")
LONGEST = 100_000_000  # characters of a line


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


def read_automaton(stream: IO[bytes]) -> Automaton:
    """Return what an open `.drn` file says; ModelError names the line, its text and the rule."""
    lines = _lines(stream)
    header, ours = _header(lines)
    kind = header.get("type", "")
    if kind not in TYPES:
        raise ModelError(f"@type is {shown(kind)}; it must be one of {', '.join(TYPES)}.")
    if header.get("parameters", ""):
        raise ModelError(f"@parameters are {shown(header['parameters'])}; give them values first: only numbers are read.")
    found = Automaton(kind, header.get("reward_models", "").split(), [], [], [], [], ours)
    for number, text in lines:
        try:
            _model_line(found, text)
        except (ValueError, IndexError, ZeroDivisionError) as error:
            reason = str(error) if isinstance(error, ModelError) else "it cannot be read"
            raise ModelError(f"line {number} is {shown(text.strip())}: {reason}. A state is `state ID !RATE [REWARDS] LABELS`, an "
                             "action `action NAME [REWARDS]`, a jump `TARGET : NUMBER`.") from None
    _require_whole(found, header)
    return found


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of the lines that say something."""
    number = 0
    while data := stream.readline(LONGEST):
        number += 1
        if len(data) == LONGEST:
            raise ModelError(f"line {number} has more than {LONGEST:,} characters; no line of a .drn file is that long.")
        try:
            text = data.decode("utf-8").rstrip()
        except UnicodeDecodeError:
            raise ModelError(f"line {number} is not UTF-8 text; a .drn file is text. Is it packed?") from None
        if text and (text.startswith(OURS) or not text.lstrip().startswith("//")):
            yield number, text


def _header(lines: Iterator[tuple[int, str]]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return ({entry: value}, our own comment); an entry's value stands behind its colon or on the lines below."""
    header: dict[str, str] = {}
    ours: dict[str, Any] = {}
    entry = ""
    for _, text in lines:
        if text.startswith(OURS):
            ours = _own(text)
        elif text == "@model":
            return header, ours
        elif text.startswith("@"):
            entry, _, value = text[1:].partition(":")
            entry = entry.strip()
            header[entry] = value.strip()
        elif entry:
            header[entry] = f"{header[entry]} {text}".strip()
        else:
            raise ModelError(f"it begins with {shown(text[:60])}; a .drn file begins with `@type: ...`.")
    raise ModelError(f"the entries are {shown(sorted(header))} and no line is `@model`; is the file complete?")


def _own(text: str) -> dict[str, Any]:
    """Return what our own comment holds; one that was damaged holds nothing."""
    try:
        found = json.loads(text[len(OURS):])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _model_line(found: Automaton, text: str) -> None:
    stripped = text.strip()
    if stripped.startswith("//"):
        return
    if stripped.startswith("state "):
        _state(found, stripped[6:])
    elif stripped.startswith("action "):
        name, rewards, rest = _with_rewards(found, stripped[7:])
        if rest:
            raise ModelError(f"{rest!r} stands behind the rewards")
        found.actions[-1].append(Action(name, rewards))
    else:
        target, _, value = stripped.partition(":")
        if not found.actions[-1]:
            found.actions[-1].append(Action("0", [0.0] * len(found.reward_models)))
        found.actions[-1][-1].targets.append(int(target))
        found.actions[-1][-1].values.append(_number(value))


def _state(found: Automaton, text: str) -> None:
    head, rewards, rest = _with_rewards(found, text)
    words = head.split() + rest.split()
    if int(words[0]) != len(found.rates):
        raise ModelError(f"state {len(found.rates)} must come here: ids count from 0 without gaps")
    rate = next((_number(word[1:]) for word in words[1:] if word.startswith("!")), None)
    if rate is not None and not rate >= 0:
        raise ModelError(f"the rate is {rate:g}; it must be 0 or positive")
    if "init" in words[1:]:
        found.initial.append(len(found.rates))
    found.rates.append(rate)
    found.rewards.append(rewards)
    found.actions.append([])


def _with_rewards(found: Automaton, text: str) -> tuple[str, list[float], str]:
    """Return (what stands before the brackets, the rewards in them, what stands behind)."""
    before, bracket, rest = text.partition("[")
    if not bracket:
        return before.strip(), [0.0] * len(found.reward_models), ""
    inside, closed, behind = rest.partition("]")
    rewards = [_number(word) for word in inside.split(",")]
    if not closed or len(rewards) != len(found.reward_models):
        raise ModelError(f"{len(rewards)} rewards stand in the brackets and {len(found.reward_models)} reward models are declared")
    return before.strip(), rewards, behind.strip()


def _number(text: str) -> float:
    """Return a finite number: 0.25, 1e-3 or 1/3."""
    above, _, below = text.strip().partition("/")
    value = float(above) / float(below) if below else float(above)
    if not np.isfinite(value):
        raise ModelError(f"{text.strip()!r} is not finite")
    return value


def _require_whole(found: Automaton, header: dict[str, str]) -> None:
    """Raise unless the numbers of states and choices are as declared and every target exists."""
    sizes = {"nr_states": len(found.rates), "nr_choices": sum(map(len, found.actions))}
    for entry, size in sizes.items():
        if entry in header and header[entry] != str(size):
            raise ModelError(f"@{entry} is {shown(header[entry])} and {size} were found; is the file complete?")
    for s, actions in enumerate(found.actions):
        for action in actions:
            bad = next((t for t in action.targets if not 0 <= t < len(found.rates)), None)
            if bad is not None:
                raise ModelError(f"state {s} leads to state {bad}; ids run from 0 to {len(found.rates) - 1}.")


def write_drn(model: CTMDP, stream: IO[bytes]) -> None:
    """Write a model: a discrete-time one as an MDP; any other as a Markov automaton, one immediate state per state and one timed
    state per choice.  Rewards on transitions are written as their mean; where no reward is positive, they are given as `cost` too.
    """
    discrete = model.holding == "unit"
    costs = bool((model.expected_reward <= 0).all() and (model.running <= 0).all())
    own = {"names": _names(model), "name": model.name, "rate_bounds": model.rate_bounds}
    count = model.n_states if discrete else model.n_states + model.n_pairs
    choices = model.n_pairs if discrete else 2 * model.n_pairs
    kind = "MDP" if discrete else "Markov Automaton"
    stream.write((f"{OURS}{json.dumps(own)}\n@type: {kind}\n@parameters\n\n@reward_models\nreward{' cost' if costs else ''}\n"
                  f"@nr_states\n{count}\n@nr_choices\n{choices}\n@model\n").encode())
    stream.writelines(line.encode() for line in (_discrete(model, costs) if discrete else _timed(model, costs)))


def _names(model: CTMDP) -> list[Any]:
    return [len(names) if isinstance(names.values, range) else encoded(names) for names in (model.states, model.actions)]


def _paid(value: float, costs: bool) -> str:
    return f"[{value!r}, {-value!r}]" if costs else f"[{value!r}]"


def _discrete(model: CTMDP, costs: bool) -> Iterator[str]:
    none = _paid(0.0, costs)
    for s in range(model.n_states):
        yield f"state {s} {none}{' init' if s == 0 else ''}\n"
        for k in range(model.pair_start[s], model.pair_start[s + 1]):
            earned = float(model.expected_reward[k] + model.running[k])
            yield f"\taction {model.pair_action[k]} {_paid(earned, costs)}\n{_jumps(model, k)}"


def _timed(model: CTMDP, costs: bool) -> Iterator[str]:
    none, n = _paid(0.0, costs), model.n_states
    for s in range(n):
        yield f"state {s} !0 {none}{' init' if s == 0 else ''}\n"
        for k in range(model.pair_start[s], model.pair_start[s + 1]):
            yield f"\taction {model.pair_action[k]} {_paid(float(model.expected_reward[k]), costs)}\n\t\t{n + k} : 1\n"
    for k in range(model.n_pairs):
        yield (f"state {n + k} !{float(model.rate[k])!r} {_paid(float(model.running[k]), costs)}\n\taction 0 {none}\n"
               f"{_jumps(model, k)}")


def _jumps(model: CTMDP, k: int) -> str:
    row = slice(model.row_start[k], model.row_start[k + 1])
    jumps = zip(model.next_state[row].tolist(), model.probability[row].tolist(), strict=True)
    return "".join(f"\t\t{j} : {p!r}\n" for j, p in jumps)
