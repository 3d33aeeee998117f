"""A model from what a `.drn` file says: time passes in timed states only, decisions are taken in immediate ones.

Choices in an immediate state that lead to a timed state become its actions; immediate states behind each other are collapsed into
one choice of all of them, jumps into an immediate state where chance alone decides go on at once.  Where a choice leads to one of
several timed states with different rates, it lasts at the largest of them and may end in staying there: the gain is the same.
A choice that may lead back to its own immediate state is repeated until it does not.  In a state with a rate and further choices
these come first, as no time passes for them (Storm's maximal progress): its first choice, the one that waits, is never taken.
Only what can be reached from the initial state is read.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError, unknown_name
from sojourn.hidden_characters import visible
from sojourn.model.build import from_pairs
from sojourn.model.ctmdp import CTMDP
from sojourn.model.drn_file import Action, Automaton, Lines, read_automaton
from sojourn.model.names import decoded
from sojourn.model.numbers import shown

SUM = 1e-4  # how far a row may be from summing to one: numbers in such files are often cut off (0.333333)
ROUNDING = 1e-12  # a row that misses one by less is left as it is
SURELY = 1e-12  # a choice that leaves with less than this stays for good
MOST_CHOICES = 10_000  # choices of one state after collapsing
MOST_JUMPS = 3_000_000  # that collapsing may add; and TIMES as many as the file has, where that is more
TIMES = 10
UNUSED = 1000  # actions in our own comment, at most, that no state of the file offers
Names = list[Any] | range | None


def read_drn(stream: Lines, reward: str | None = None) -> CTMDP:
    """Return the model in an open `.drn` file; `reward` names the reward model where there are several."""
    said = read_automaton(stream)
    return _Reading(said, _reward_model(said.reward_models, reward)).model()


def _reward_model(names: list[str], wanted: str | None) -> int:
    """Return the place of the reward model to read, -1 where there is none."""
    if wanted is not None:
        if wanted not in names:
            raise ModelError(unknown_name("reward model", wanted, names))
        return names.index(wanted)
    if len(names) > 1 and "reward" not in names:
        shown_by = [visible(name) or repr(name) for name in names]
        raise ModelError(f"it has the reward models {', '.join(shown_by)}; say which one to read: "
                         f"`load(path, reward={names[0]!r})`, or `--reward {shown_by[0]}`.")
    return names.index("reward") if "reward" in names else len(names) - 1


class Option(NamedTuple):
    """One choice of an immediate state, with what it earns at once and the timed states it leads to."""

    name: str
    earned: float
    to: dict[int, float]


class TimedChoice(NamedTuple):
    """One choice of a state of the model: rate, lump sum, reward per unit of time, and jumps to states of the file."""

    name: str
    rate: float
    earned: float
    running: float
    to: dict[int, float]


class _Reading:
    """One file on its way to a model."""

    def __init__(self, said: Automaton, reward: int):
        self.said, self.reward = said, reward
        self.discrete = said.kind in ("MDP", "DTMC")
        self.options: dict[int, list[Option]] = {}
        self.added = 0  # jumps, by collapsing
        self.most = max(MOST_JUMPS, TIMES * sum(len(way.targets) for ways in said.actions for way in ways))

    def model(self) -> CTMDP:
        """Return the model of all that can be reached."""
        if not self.said.rates:
            raise ModelError(f"it has {len(self.said.rates)} states; a model needs at least one.")
        states, _, _ = self._own_names()
        order = list(range(len(states))) if states else self.said.initial or [0]
        place, pairs = {s: i for i, s in enumerate(order)}, list[tuple[int, TimedChoice]]()
        for s in order:  # grows on the way
            for pair in self._pairs(s):
                for j in pair.to:
                    if j not in place:
                        place[j] = len(order)
                        order.append(j)
                pairs.append((s, pair))
        return self._built(order, place, pairs)

    def _built(self, order: list[int], place: dict[int, int], pairs: list[tuple[int, TimedChoice]]) -> CTMDP:
        order = sorted(order)
        place = {s: i for i, s in enumerate(order)}
        state_names, action_names, more = self._own_names()
        names: dict[str, int] = {str(a): a for a in range(len(action_names))} if action_names else {}
        action = [names.setdefault(pair.name, len(names)) for _, pair in pairs]
        if action_names and (len(names) > len(action_names) or order != list(range(len(order)))):  # changed by hand
            action_names, state_names, more = None, None, {}
        rows = np.repeat(np.arange(len(pairs)), [len(pair.to) for _, pair in pairs])
        columns = np.array([place[j] for _, pair in pairs for j in pair.to])
        values = np.array([p for _, pair in pairs for p in pair.to.values()])
        matrix = sparse.csr_matrix((values, (rows, columns)), shape=(len(pairs), len(order)))
        return from_pairs([place[s] for s, _ in pairs], action, matrix, [pair.rate for _, pair in pairs],
                          [pair.earned for _, pair in pairs], [pair.running for _, pair in pairs],
                          states=state_names or [str(s) for s in order], actions=action_names or list(names),
                          holding="unit" if self.discrete else "exponential", **more)

    def _own_names(self) -> tuple[Names, Names, dict[str, Any]]:
        """Return (states, actions, name and rate bounds) from our own comment, where it fits the file; else nothing."""
        own = self.said.ours
        try:
            states, actions = (range(names) if type(names) is int else [decoded(name) for name in names] for names in own["names"])
            count = sum(map(len, self.said.actions[: len(states)]))
            fits = len(states) == len(self.said.rates) if self.discrete else len(states) + count == len(self.said.rates)
            fits = fits and len(actions) <= count + UNUSED
            bounds = own.get("rate_bounds")
            bounds = None if bounds is None else (float(bounds[0]), float(bounds[1]))
            more = {"name": str(own.get("name", "")), "rate_bounds": bounds}
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, ModelError):
            return None, None, {}
        return (states, actions, more) if fits else (None, None, {})

    # ---- what one state offers -----------------------------------------------------------------------------------

    def _pairs(self, s: int) -> list[TimedChoice]:
        """Return the choices of a state of the file that time is spent in, or that one decides in."""
        if self.discrete:
            here, ways = self._earned(self.said.rewards[s]), self._ways(s)
            return [TimedChoice(name, 1.0, here + self._earned(way.rewards), 0.0, self._row(s, way))
                    for name, way in zip(_apart([way.name for way in ways]), ways, strict=True)]
        if self._is_timed(s):
            return [self._lasting("0", 0.0, {s: 1.0})]
        options = self._choices(s)
        return [self._lasting(name, option.earned, option.to)
                for name, option in zip(_apart([option.name for option in options]), options, strict=True)]

    def _lasting(self, name: str, earned: float, timed: dict[int, float]) -> TimedChoice:
        """Return the choice that leads to these timed states, at the largest of their rates; a slower one may be stayed in."""
        rate = max(self._rate(t) for t in timed)
        running, to = 0.0, dict[int, float]()
        for t, p in timed.items():
            share = p * self._rate(t) / rate
            way = self._ways(t)[0]
            running += p * self._earned(self.said.rewards[t])
            earned += share * self._earned(way.rewards)
            if self._rate(t) < rate:
                to[t] = to.get(t, 0.0) + p - share
            for j, q in self._row(t, way).items():
                gone, paid = self._through(j)
                earned += share * q * paid
                self._count(len(gone) - 1)
                for k, r in gone.items():
                    to[k] = to.get(k, 0.0) + share * q * r
        return TimedChoice(name, rate, earned, running, to)

    def _through(self, s: int) -> tuple[dict[int, float], float]:
        """Return (where a jump to s ends, what is earned on the way): chance alone, without a choice, takes it on at once."""
        if self._is_timed(s):
            return {s: 1.0}, 0.0
        options = self._choices(s)
        by_chance = len(options) == 1 and len(options[0].to) > 1
        return (options[0].to, options[0].earned) if by_chance else ({s: 1.0}, 0.0)

    def _choices(self, s: int) -> list[Option]:
        """Return the choices of an immediate state, immediate states behind it collapsed, the last ones first."""
        waiting, open_states = [s], set[int]()
        while waiting:
            t = waiting[-1]
            behind = [] if t in self.options else self._immediate_behind(t)
            if t in open_states or not behind:
                if t not in self.options:
                    self.options[t] = [option for way in self._ways(t) for option in self._collapsed(t, way)]
                    self._require_few(t, len(self.options[t]))
                open_states.discard(waiting.pop())
                continue
            open_states.add(t)
            round_again = next((j for j in behind if j in open_states), None)
            if round_again is not None:
                raise ModelError(f"the immediate states {t} and {round_again} lead to each other without any time passing; states "
                                 "that can be left and entered again at once have no meaning in time. Give one a rate.")
            waiting += behind
        return self.options[s]

    def _immediate_behind(self, s: int) -> list[int]:
        """Return the other immediate states that the choices of an immediate state lead to and that are not collapsed yet."""
        ahead = dict.fromkeys(j for way in self._ways(s) for j, p in zip(way.targets, way.values, strict=True) if p > 0)
        return [j for j in ahead if j != s and j not in self.options and not self._is_timed(j)]

    def _collapsed(self, s: int, way: Action) -> list[Option]:
        """Return one choice of an immediate state, with all choices of the immediate states behind it."""
        row, earned = self._row(s, way), self._earned(way.rewards)
        row.pop(s, 0.0)
        leaves = sum(row.values())
        if not row or leaves < SURELY:
            raise ModelError(f"the immediate state {s} leads to itself by action {shown(way.name)} without any time passing; a "
                             "state that can be left and entered again at once has no meaning in time. Give it a rate.")
        row, earned = {j: p / leaves for j, p in row.items()}, earned / leaves
        later = [j for j in row if not self._is_timed(j)]
        offers = [self.options[j] for j in later]
        self._require_few(s, math.prod(len(offer) for offer in offers))
        found = []
        for chosen in product(*offers):
            to, paid = {j: p for j, p in row.items() if self._is_timed(j)}, earned
            name = way.name
            for j, option, offer in zip(later, chosen, offers, strict=True):
                paid += row[j] * option.earned
                name += f"/{option.name}" if len(offer) > 1 else ""
                self._count(len(option.to))
                for t, p in option.to.items():
                    to[t] = to.get(t, 0.0) + row[j] * p
            found.append(Option(name, paid, to))
        return found

    def _require_few(self, s: int, choices: int) -> None:
        if choices > MOST_CHOICES:
            raise ModelError(f"state {s} has more than {MOST_CHOICES:,} choices once the immediate states behind it are collapsed. "
                             "Let some time pass between its decisions.")

    def _count(self, jumps: int) -> None:
        self.added += jumps
        if self.added > self.most:
            raise ModelError(f"collapsing its immediate states adds more than {self.most:,} jumps. Give some of them a rate.")

    # ---- what the file says of a state -----------------------------------------------------------------------------

    def _is_timed(self, s: int) -> bool:
        return self.said.kind == "CTMC" or (bool(self.said.rates[s]) and len(self.said.actions[s]) < 2)

    def _rate(self, s: int) -> float:
        rate = self.said.rates[s]
        if self.said.kind == "CTMC":
            given, rate = rate, sum(self._ways(s)[0].values)
            if given is not None and not abs(given - rate) <= SUM * given:
                raise ModelError(f"state {s} has the rate {given:g} and the rates of its jumps sum to {rate:g}; they must agree.")
        if not rate or not rate > 0:
            raise ModelError(f"state {s} has the rate {rate}; a state in which time passes needs a positive one.")
        return rate

    def _ways(self, s: int) -> list[Action]:
        ways = self.said.actions[s]
        if not ways or not all(way.targets for way in ways):
            raise ModelError(f"state {s} has a choice without targets, or no choice; every state needs a way on. Let it lead to "
                             "itself.")
        if len(ways) > 1 and self.said.kind in ("CTMC", "DTMC"):
            raise ModelError(f"state {s} has {len(ways)} actions; a {self.said.kind} has nothing to decide. Is its @type another?")
        return ways[1:] if len(ways) > 1 and self.said.rates[s] else ways

    def _row(self, s: int, way: Action) -> dict[int, float]:
        """Return the jumps as probabilities that sum to one."""
        row: dict[int, float] = {}
        for j, value in zip(way.targets, way.values, strict=True):
            if not value >= 0:
                raise ModelError(f"state {s} leads to state {j} with {value:g}; it must be 0 or positive.")
            if value > 0:
                row[j] = row.get(j, 0.0) + value
        total = sum(row.values())
        if not 0 < total < np.inf or (self.said.kind != "CTMC" and abs(total - 1) > SUM):
            raise ModelError(f"the probabilities of action {shown(way.name)} in state {s} sum to {total:.9g}; they must sum to 1 "
                             f"within {SUM:g}.")
        return row if abs(total - 1) <= ROUNDING else {j: value / total for j, value in row.items()}

    def _earned(self, rewards: list[float]) -> float:
        return rewards[self.reward] if 0 <= self.reward < len(rewards) else 0.0


def _apart(names: list[str]) -> list[str]:
    """Return the names of a state's choices, a further choice of the same name numbered: go, go#2."""
    taken: dict[str, int] = {}
    for k, name in enumerate(names):
        new = name
        while new in taken:
            taken[name] += 1
            new = f"{name}#{taken[name]}"
        taken[new] = 1
        names[k] = new
    return names
