"""What a learner may know before it starts: which pairs exist, what they pay, how fast they can be.  Never the model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ModelError, listed, unknown_name
from sojourn.model.events import EventTable, events_of
from sojourn.model.names import Names, names_of
from sojourn.model.numbers import boolean_table, rate_bounds_pair, real_array, real_number, shown, spread

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP
    from sojourn.model.explore import Choice

PAY = ("reward", "running", "cost", "running_cost")  # what may be known of a choice, and `next`
UNTOLD = (1e-12, 1e12)  # the rate bounds of a Knowledge of events in which none are told
UNKNOWN = "unknown"  # rate bounds that are not told: rates in (0, inf)
Bounds = tuple[float, float] | str


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """Admissible pairs, mean lump sum and running reward per pair, rate bounds; the supports only if told (else None).

    Rate bounds that are not told (`rate_bounds="unknown"`) are 0 and inf; `rates_told` says whether they are.

    Without a model: `Knowledge.from_choices({state: {action: what it pays}}, rate_bounds=(lo, hi))`, or `from_arrays`; of events
    whose rates nobody knows, `Knowledge.explore(start, choices)`.
    """

    pair_start: np.ndarray
    pair_action: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    rate_min: float
    rate_max: float
    states: Names
    actions: Names
    support_start: np.ndarray | None = None
    support_state: np.ndarray | None = None
    events: EventTable | None = None

    def __post_init__(self) -> None:
        told_bounds_pair(UNKNOWN if (self.rate_min, self.rate_max) == (0.0, np.inf) else (self.rate_min, self.rate_max))
        object.__setattr__(self, "states", names_of("state", self.states, len(self.pair_start) - 1))
        object.__setattr__(self, "actions", names_of("action", self.actions))

    @property
    def n_states(self) -> int:
        return len(self.pair_start) - 1

    @property
    def n_actions(self) -> int:
        return len(self.actions)

    @property
    def n_pairs(self) -> int:
        return len(self.pair_action)

    @property
    def max_choices(self) -> int:
        """max_s |A(s)|: the A of the paper's radii where action sets depend on the state."""
        return int(np.diff(self.pair_start).max())

    @property
    def supports_known(self) -> bool:
        return self.support_start is not None

    @property
    def rates_told(self) -> bool:
        """Whether rate bounds are told."""
        return self.rate_max < np.inf

    @cached_property
    def pair_state(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_states), np.diff(self.pair_start))

    @cached_property
    def pair_table(self) -> np.ndarray:
        """(S, A) table of pair numbers, -1 where not admissible."""
        return self.table(np.arange(self.n_pairs), fill=-1)

    @cached_property
    def table_row(self) -> np.ndarray:
        """Where the row of each state starts in a flattened (S, A) table."""
        return np.arange(self.n_states) * self.n_actions

    def pair(self, state: Any, action: Any) -> int:
        """Return the number of the pair (state, action), each as the user calls it."""
        s, a = self.states.position(state), self.actions.position(action)
        start, end = self.pair_start[s], self.pair_start[s + 1]
        found = np.flatnonzero(self.pair_action[start:end] == a)
        if not found.size:
            allowed = listed([self.actions.label(b) for b in self.pair_action[start:end]])
            raise ModelError(f"action {self.actions[a]!r} is not admissible in state {self.states[s]!r}; choose of: {allowed}")
        return int(start + found[0])

    def table(self, per_pair: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """Return per-pair values as an (S, A) table, `fill` where the pair is not admissible."""
        return spread(per_pair, self.pair_state, self.pair_action, (self.n_states, self.n_actions), fill)

    @classmethod
    def from_choices(cls, choices: Mapping[Any, Any], rate_bounds: Bounds) -> Knowledge:
        """Build from what one knows of a system without a model: {state: {action: pay}}, and between which rates its events happen.

        `rate_bounds="unknown"` tells nothing about rates; the default, `ct-psrl`, `ct-kl-ucrl` and `ct-joint-ucrl` learn without.

        `pay` is a number (a lump sum), or a mapping with some of `reward`, `running`, `cost`, `running_cost` (as in `Choice`) and
        `next`, the states it can lead to (for all choices or for none).  {state: [actions]} says that nothing is paid, or that it
        is not known: then use a learner with `unknown_rewards`.

        >>> Knowledge.from_choices({"up": {"run": {"running": 1.0}}, "down": {"repair": -2.0, "rush": -5.0}}, (0.01, 10))
        <Knowledge: 2 states, 3 pairs, rates in [0.01, 10], supports unknown>
        >>> Knowledge.from_choices({"up": ["run"], "down": ["repair", "rush"]}, rate_bounds="unknown")
        <Knowledge: 2 states, 3 pairs, rates unknown, supports unknown>
        """
        return known_choices(choices, rate_bounds)

    @classmethod
    def explore(cls, start: Hashable, choices: Callable[[Any], Mapping[Any, Choice]], *, max_states: int = 2_000_000,
                label: Callable[[Any], str] | None = None, rate_bounds: tuple[float, float] | None = None) -> Knowledge:
        """Build what a learner of events needs, without a model: `choices` as for `CTMDP.explore`, its rates without values.

        >>> from sojourn.model.explore import Choice
        >>> from sojourn.model.rates import Rate
        >>> fail, repair = Rate("fail"), Rate("repair", bounds=(0.1, 10))
        >>> def choices(up):
        ...     return {"run": Choice({False: fail}, running=1.0)} if up else {"repair": Choice({True: repair}, cost=2.0)}
        >>> Knowledge.explore(True, choices)
        <Knowledge: 2 states, 2 pairs, events fail, repair>
        """
        from sojourn.model.known_events import explored

        return explored(start, choices, max_states, label, rate_bounds)

    @classmethod
    def from_arrays(cls, reward: Any, rate_bounds: Bounds, running: Any = None, admissible: Any = None,
                    states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None) -> Knowledge:
        """Build from tables: reward (S, A), rate_bounds (lo, hi), optional running (S, A) and admissible (S, A).

        `rate_bounds="unknown"` tells nothing about rates.
        """
        table = real_array("reward", reward)
        if table.ndim != 2:
            raise ModelError(f"reward has shape {table.shape}; it must be (states, actions).")
        n_states, n_actions = table.shape
        mask = boolean_table("admissible", admissible, table.shape)
        flow = np.zeros_like(table) if running is None else real_array("running", running, table.shape)
        empty = np.flatnonzero(~mask.any(axis=1))
        if empty.size:
            raise ModelError(f"state {int(empty[0])} has 0 admissible actions; every state needs at least one.")
        for name, values in (("reward", table), ("running", flow)):
            bad = np.argwhere(mask & ~np.isfinite(values))
            if bad.size:
                s, a = map(int, bad[0])
                raise ModelError(f"{name}[{s}, {a}] is {values[s, a]}; it must be finite where the pair is admissible.")
        lo, hi = told_bounds_pair(rate_bounds)
        return cls(
            pair_start=np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64),
            pair_action=np.nonzero(mask)[1].astype(np.int64),
            reward=table[mask], running=flow[mask], rate_min=lo, rate_max=hi,
            states=names_of("state", states, n_states),
            actions=names_of("action", actions, n_actions),
        )

    def __repr__(self) -> str:
        if self.events is not None:
            names, more = ", ".join(self.events.names[:8]), self.events.n_events > 8
            return f"<Knowledge: {self.n_states} states, {self.n_pairs} pairs, events {names}{', ...' if more else ''}>"
        told = "supports known" if self.supports_known else "supports unknown"
        rates = f"rates in [{self.rate_min:g}, {self.rate_max:g}]" if self.rates_told else "rates unknown"
        return f"<Knowledge: {self.n_states} states, {self.n_pairs} pairs, {rates}, {told}>"


def told_bounds_pair(value: Any) -> tuple[float, float]:
    """Return (rate_min, rate_max), checked; (0, inf) where `value` is "unknown".

    >>> told_bounds_pair((1, 2)), told_bounds_pair("unknown")
    ((1.0, 2.0), (0.0, inf))
    """
    if isinstance(value, str):
        if value != UNKNOWN:
            raise ModelError(f'rate_bounds is {value!r}; it must be a pair (rate_min, rate_max), or "unknown" if none are known.')
        return 0.0, np.inf
    return rate_bounds_pair(value)


def event_knowledge(model: CTMDP, rate_bounds: Bounds | None = None) -> Knowledge:
    """Return what a learner of events may know of a model: the structure, and nothing worked out from the values of rates."""
    table = events_of(model).told()
    low, high = UNTOLD if rate_bounds is None or rate_bounds == UNKNOWN else rate_bounds_pair(rate_bounds)
    return Knowledge(pair_start=model.pair_start, pair_action=model.pair_action, reward=table.reward, running=table.running,
                     rate_min=low, rate_max=high, states=model.states, actions=model.actions, support_start=model.row_start,
                     support_state=model.next_state, events=table)


def known_choices(choices: Any, rate_bounds: Bounds) -> Knowledge:
    """Return the knowledge in {state: {action: pay}}; see `Knowledge.from_choices`."""
    if not isinstance(choices, Mapping) or not choices:
        raise ModelError(f"choices is {shown(choices)}; it must be a mapping {{state: {{action: what it pays}}}}.")
    states = names_of("state", list(choices))
    actions: dict[Any, int] = {}
    rows: list[tuple[int, int, float, float, list[int] | None]] = []
    for s, (state, options) in enumerate(choices.items()):
        if isinstance(options, (list, tuple)):
            options = dict.fromkeys(options, 0.0)
        if not isinstance(options, Mapping) or not options:
            raise ModelError(f"choices[{state!r}] is {shown(options)}; it must name at least one action: {{action: what it pays}}.")
        for action, pay in options.items():
            a = actions.setdefault(action, len(actions))
            rows.append((s, a, *_pay(f"choices[{state!r}][{action!r}]", pay, states)))
    rows.sort(key=lambda row: row[:2])
    told = [row[4] for row in rows]
    if any(told) and not all(told):
        s, a = rows[[not x for x in told].index(True)][:2]
        raise ModelError(f"{list(actions)[a]!r} in {states[s]!r} does not say where it can lead (`next`), and others do; say it of "
                         "all or of none.")
    lo, hi = told_bounds_pair(rate_bounds)
    supports: dict[str, Any] = {}
    if any(told):
        supports = {"support_start": np.concatenate([[0], np.cumsum([len(x or ()) for x in told])]).astype(np.int64),
                    "support_state": np.array([j for x in told for j in x or ()], dtype=np.int64)}
    who = np.array([row[0] for row in rows])
    return Knowledge(
        pair_start=np.concatenate([[0], np.cumsum(np.bincount(who, minlength=len(states)))]).astype(np.int64),
        pair_action=np.array([row[1] for row in rows], dtype=np.int64), reward=np.array([row[2] for row in rows]),
        running=np.array([row[3] for row in rows]), rate_min=lo, rate_max=hi, states=states,
        actions=names_of("action", list(actions)), **supports)


def _pay(where: str, pay: Any, states: Names) -> tuple[float, float, list[int] | None]:
    """Return (lump sum, running reward, positions of the next states if told) of a choice."""
    if not isinstance(pay, Mapping):
        return real_number(where, pay), 0.0, None
    for key in pay:
        if key not in (*PAY, "next"):
            raise ModelError(f"{where}: {unknown_name('key', str(key), (*PAY, 'next'))}")
    value = {key: real_number(f"{where}[{key!r}]", pay.get(key, 0.0)) for key in PAY}
    after = pay.get("next")
    if after is not None:
        if isinstance(after, (str, Mapping)) or not hasattr(after, "__iter__"):
            raise ModelError(f"{where}['next'] is {shown(after)}; it must be a list of the states that the choice can lead to.")
        after = sorted({states.position(state, f"{where}['next']") for state in after})
    return value["reward"] - value["cost"], value["running"] - value["running_cost"], after
