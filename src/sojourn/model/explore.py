"""Build a model from a function: breadth-first over whatever hashable states a user's `choices` speaks of."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError, names_keywords
from sojourn.model.build import from_pairs
from sojourn.model.ctmdp import CTMDP
from sojourn.model.declared import Declared
from sojourn.model.events import EventTable
from sojourn.model.names import Names
from sojourn.model.numbers import real_number, shown
from sojourn.model.progress import Progress
from sojourn.model.rates import Form, Rate

SAFE = 1e150  # sizes that neither overflow nor vanish in a sum or a quotient


@dataclass(frozen=True)
class Choice:
    """What one action in one state does.

    `rates` maps each next state to its intensity (events per unit of time); their sum is the rate of the holding time.
    `reward` is paid at once and `running` per unit of time; `cost` and `running_cost` are negative rewards;
    `transition_rewards` maps a next state to what is paid with that jump.

    An intensity may be a `Rate` or a linear form of rates, such as `2 * mu + nu`: then the model declares its events.  What is paid
    with a jump may differ by event: {next_state: {rate: pay}}.  `silent` maps rates (or forms) whose events are seen and lead
    nowhere to what each pays, such as {arrive: -5.0} for arrivals that are turned away.
    """

    rates: Mapping[Any, float | Form]
    reward: float = 0.0
    running: float = 0.0
    cost: float = 0.0
    running_cost: float = 0.0
    transition_rewards: Mapping[Any, float | Mapping[Rate, float]] = field(default_factory=dict)
    silent: Mapping[Form, float] = field(default_factory=dict)


Choice.__init__ = names_keywords(Choice.__init__)  # type: ignore[method-assign]


def explore(start: Hashable, choices: Callable[[Any], Mapping[Any, Choice]], *, max_states: int = 2_000_000,
            label: Callable[[Any], str] | None = None, rate_bounds: tuple[float, float] | None = None, name: str = "",
            progress: bool = False) -> CTMDP:
    """Return the model of all states reachable from `start` under any choice: `start` first, the others breadth-first.

    States and actions stay what `choices` calls them; `label(state)` gives the text to show a state by (default: `str`).  More than
    `max_states` are refused.  `progress` writes a line on stderr from two seconds on.

    >>> def choices(n):  # a machine that is up (1) or down (0)
    ...     return {"run": Choice({0: 0.1}, running=1.0)} if n else {"repair": Choice({1: 1.0}, cost=2.0)}
    >>> model = explore(1, choices)
    >>> model, model.states
    (<CTMDP: 2 states, 2 actions, 2 pairs, 2 transitions, rates [0.1, 1]>, (1, 0))
    """
    found = found_from(start, choices, max_states, values=True, progress=progress)
    shape = (len(found.state), len(found.index))
    column, row_start = np.frombuffer(found.column, dtype=np.int64), np.frombuffer(found.row_start, dtype=np.int64)
    rows = sparse.csr_matrix((np.frombuffer(found.value), column, row_start), shape=shape)
    paid = np.frombuffer(found.paid)
    pays = sparse.csr_matrix((paid, column, row_start), shape=shape) if paid.any() else None
    events = found.events()
    return from_pairs(np.frombuffer(found.state, dtype=np.int64), np.frombuffer(found.action, dtype=np.int64), rows,
                      np.frombuffer(found.rate), np.frombuffer(found.reward), np.frombuffer(found.running),
                      transition_reward=pays, states=found.states(label), actions=list(found.actions), rate_bounds=rate_bounds,
                      name=name, normalize_rows=True, events=events)


def found_from(start: Hashable, choices: Callable[[Any], Mapping[Any, Choice]], max_states: int, values: bool,
               progress: bool = False) -> Found:
    """Return everything reachable from `start`, breadth-first; where no `values` are asked for, rates need none."""
    if not callable(choices):
        raise ModelError(f"choices is {shown(choices)}; it must be a function state -> {{action: Choice(...)}}.")
    found, said = Found(start, max_states, values), Progress(progress)
    try:
        for done, here in enumerate(found.queue):  # grows while it is walked
            if done % 4096 == 0:
                said.say(f"exploring: {done:,} of {len(found.queue):,} states found so far, at most {max_states:,}")
            try:
                options = choices(here)
            except Exception as error:
                raise ModelError(f"choices({here!r}) raised {type(error).__name__}: {error}{found.how(here)}") from error
            try:
                if not isinstance(options, Mapping) or not options:
                    raise ModelError(f"choices({here!r}) gave {shown(options)}; it must be a non-empty mapping "
                                     "{action: Choice(...)}.")
                for act, choice in options.items():
                    if not found.add_plain(done, act, choice):
                        found.add(here, act, choice)
            except ModelError as error:
                raise ModelError(f"{error}{found.how(here)}") from error.__cause__
    finally:
        said.end()
    return found


class Found:
    """The states found so far, in order, how each was reached, and the flat lists of their choices.

    Without `values`, rates that have none count as 1 in `rate`, `value`, `paid` and `running`; the events do not.
    """

    def __init__(self, start: Any, max_states: int, values: bool = True):
        self.max_states, self.values = max_states, values
        self.index: dict[Any, int] = {_hashable("start", start): 0}
        self.queue: list[Any] = [start]
        self.origin = array("q", [-1])  # the pair by which each state was found
        self.actions: dict[Any, int] = {}
        self.state, self.action = array("q"), array("q")
        self.rate, self.reward, self.running = array("d"), array("d"), array("d")
        self.row_start, self.column = array("q", [0]), array("q")
        self.value, self.paid = array("d"), array("d")
        self.forms: list[tuple[int, Form, Any]] = []  # jump, its form, what it pays
        self.silent: list[tuple[int, Form, float]] = []  # pair, form, what it pays

    def how(self, here: Any) -> str:
        """Return how a state was reached, as the end of an error message."""
        number = self.index[here]
        if number == 0:
            return ""
        pair = self.origin[number]
        before, act = self.queue[self.state[pair]], list(self.actions)[self.action[pair]]
        return f" ({here!r} was reached from {before!r} by {act!r}.)"

    def add_plain(self, number: int, act: Any, choice: Any) -> bool:
        """Append a choice of positive floats that pays nothing on jumps, the usual one, quickly; of others return False."""
        if type(choice) is not Choice or choice.transition_rewards or choice.silent != {} or act not in self.actions:
            return False
        total, rates, paid = 0.0, choice.rates, (choice.reward, choice.cost, choice.running, choice.running_cost)
        if type(rates) is not dict:
            return False
        for intensity in rates.values():
            if type(intensity) is not float or not 0.0 < intensity < SAFE:
                return False
            total += intensity
        for amount in paid:
            if type(amount) is not float or not -SAFE < amount < SAFE:
                return False
        if not total > 1 / SAFE or min(rates.values()) / total == 0.0:
            return False
        index, pair = self.index, len(self.state)
        if len(index) + len(rates) > self.max_states:  # it may be too many: the other way counts them
            return False
        for there, intensity in rates.items():
            place = index.setdefault(there, len(index))
            if place == len(self.queue):
                self.queue.append(there)
                self.origin.append(pair)
            self.column.append(place)
            self.value.append(intensity / total)
            self.paid.append(0.0)
        self.row_start.append(len(self.column))
        self.state.append(number)
        self.action.append(self.actions[act])
        self.rate.append(total)
        self.reward.append(choice.reward - choice.cost)
        self.running.append(choice.running - choice.running_cost)
        return True

    def add(self, here: Any, act: Any, choice: Any) -> None:
        """Check one choice and append it; next states that are new join the queue."""
        total = _total(here, act, choice, self.values)
        self.state.append(self.index[here])
        self.action.append(self.actions.setdefault(_hashable(f"an action in {here!r}", act), len(self.actions)))
        self.rate.append(total)
        self.reward.append(_number(here, act, "reward", choice.reward) - _number(here, act, "cost", choice.cost))
        self.running.append(_number(here, act, "running", choice.running)
                            - _number(here, act, "running_cost", choice.running_cost))
        self._see(here, act, choice.silent)
        for there, form in choice.rates.items():
            intensity = form.strength if isinstance(form, Form) and not self.values else getattr(form, "value", form)
            if intensity == 0:
                continue
            if there not in self.index:
                if len(self.index) >= self.max_states:
                    raise ModelError(f"more than {self.max_states} states are reachable from {self.queue[0]!r}; truncate the model "
                                     "(a buffer limit) or raise max_states.")
                self.index[there] = len(self.index)
                self.queue.append(there)
                self.origin.append(len(self.state) - 1)
            self.column.append(self.index[there])
            self.value.append(_share(here, act, there, float(intensity), total))
            pay = _pay(here, act, there, form, choice.transition_rewards.get(there, 0.0))
            if isinstance(form, Form):
                self.forms.append((len(self.paid), form, pay))
            self.paid.append(_mean(form, pay))
        self.row_start.append(len(self.column))

    def _see(self, here: Any, act: Any, silent: Any) -> None:
        """Note the events of the last pair that lead nowhere; what they pay on average runs up in the model."""
        if not isinstance(silent, Mapping):
            raise ModelError(f"silent of {act!r} in {here!r} is {shown(silent)}; it must map rates to what their events pay.")
        for form, paid in silent.items():
            if not isinstance(form, Form):
                raise ModelError(f"silent of {act!r} in {here!r} holds {shown(form)}; its keys must be rates, or forms of them.")
            _with_value(here, act, form, self.values)
            self.silent.append((len(self.state) - 1, form, _number(here, act, "silent", paid)))

    def states(self, label: Callable[[Any], str] | None) -> Names:
        """Return the states in the order in which they were found."""
        return Names("state", self.queue, None if label is None else [label(x) for x in self.queue])

    @property
    def order(self) -> np.ndarray:
        """The pairs in the order of a model: by state, then by action."""
        return np.lexsort((self.action, self.state))

    def events(self) -> EventTable | None:
        """Return the declared events, if any rate has a name; and put what silent ones pay into the running rewards."""
        if not self.forms and not self.silent:
            return None
        declared = Declared()
        pair = np.repeat(np.arange(len(self.state)), np.diff(self.row_start))
        column, rate = np.array(self.column), np.array(self.rate)
        plain = np.ones(len(column), dtype=bool)
        for jump, form, pay in self.forms:
            plain[jump] = False
            for one, coefficient in form.terms:
                declared.add(int(pair[jump]), int(column[jump]), Form(one.value, ((one, coefficient),)),
                             pay.get(one, 0.0) if isinstance(pay, Mapping) else pay)
        if plain.any():
            intensity = np.array(self.value)[plain] * rate[pair[plain]]
            declared.add(pair[plain], column[plain], intensity, np.array(self.paid)[plain])
        apart = np.array(self.running)
        for k, form, paid in self.silent:
            declared.add_silent(k, form, paid)
            self.running[k] += float(form.value if self.values else form.strength) * paid
        return declared.table(self.order, np.array(self.reward), apart)


def _hashable(what: str, value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise ModelError(f"{what} is {shown(value)}; states and actions must be hashable. Use a tuple instead of a list.") from None
    return value


def _pay(here: Any, act: Any, there: Any, form: Any, pay: Any) -> Any:
    """Return what a jump pays, a number or {rate: number}, checked."""
    if not isinstance(pay, Mapping):
        return _number(here, act, "transition_rewards", pay)
    mine = [one for one, _ in form.terms] if isinstance(form, Form) else []
    for one in pay:
        if one not in mine:
            raise ModelError(f"transition_rewards of {act!r} in {here!r} to {there!r} pays for {shown(one)}, which does not lead "
                             f"there; name the rates that do: {', '.join(map(repr, mine)) or 'none has a name'}.")
    return {one: _number(here, act, "transition_rewards", paid) for one, paid in pay.items()}


def _mean(form: Any, pay: Any) -> float:
    """Return what a jump pays on average over the events that make it."""
    if not isinstance(pay, Mapping):
        return float(pay)
    return float(sum(one.strength * size * pay.get(one, 0.0) for one, size in form.terms)
                 / (form.strength if form.without_value else form.value))


def _with_value(here: Any, act: Any, form: Form, values: bool) -> None:
    """Raise where a rate has no value and a model is built."""
    if values and form.without_value:
        raise ModelError(f"the rate {form.without_value!r} of {act!r} in {here!r} has no value; a model needs one. What is known "
                         "without values is Knowledge.explore(start, choices).")


def _number(here: Any, act: Any, field: str, value: Any) -> float:
    """Return a reward of a choice as a finite float, checked."""
    if type(value) is float and isfinite(value):
        return value
    return real_number(f"{field} of {act!r} in {here!r}", value)


def _share(here: Any, act: Any, there: Any, intensity: float, total: float) -> float:
    """Return the probability of a jump; one too small for a float is an error, as the jump would be lost."""
    if intensity / total == 0:
        raise ModelError(f"the intensity of {act!r} in {here!r} to {there!r} is {intensity!r} of {total!r} in all; the probability "
                         "of the jump is too small for a float. Leave it out, or give it a larger intensity.")
    return intensity / total


def _total(here: Any, act: Any, choice: Any, values: bool) -> float:
    """Return the total intensity of a choice, checked."""
    if not isinstance(choice, Choice):
        raise ModelError(f"choices({here!r})[{act!r}] is {shown(choice)}; it must be a Choice(rates={{next_state: intensity}}).")
    for part, value in (("rates", choice.rates), ("transition_rewards", choice.transition_rewards)):
        if not isinstance(value, Mapping):
            raise ModelError(f"{part} of {act!r} in {here!r} is {shown(value)}; it must be a mapping from next states to numbers.")
    for there in choice.transition_rewards:
        if there not in choice.rates:
            raise ModelError(f"transition_rewards of {act!r} in {here!r} pays for a jump to {there!r}, which has no intensity in "
                             "rates; add it there or remove it here.")
    total = 0.0
    for there, intensity in choice.rates.items():
        given: Any = intensity
        if isinstance(intensity, Form):
            _with_value(here, act, intensity, values)
            given = intensity.value if values else intensity.strength
        number = given if type(given) is float else real_number(f"rates of {act!r} in {here!r} to {there!r}", given)
        if not 0 <= number < float("inf"):
            raise ModelError(f"the intensity of {act!r} in {here!r} to {there!r} is {number!r}; it must be >= 0 and finite.")
        total += number
    if not 0 < total < float("inf"):
        raise ModelError(f"the choice {act!r} in {here!r} has total intensity {total:g}; it must be positive and finite: "
                         "name at least one next state, or leave the choice out.")
    return total
