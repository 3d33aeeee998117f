"""What learning the rates of events must cost: the constant of hidden events, what has to be tried, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sojourn.instance.event_alternatives import HiddenEvents, hidden_events
from sojourn.instance.event_constant import LeastCost, least_cost
from sojourn.instance.gaps import Optimum
from sojourn.model.events import EventTable

FREE = ("no price that grows with log N: what must be known is seen while playing well (certainty equivalence may still lock)")


@dataclass(frozen=True, eq=False, repr=False)
class EventDifficulty:
    """The least cost, per log N, of telling the rates of hidden events from confusing ones, for a learner that sees labels.

    `constant` (reward) with `bounds`; `hidden`, the events that no optimal choice shows; `confusing`, the pairs (state, action)
    that other rates of hidden events would make optimal; `exposures` {event: X} and `times` {(state, action): t}, what has to be
    bought per log N.   Proof: docs/events-proofs.md
    """

    best: Optimum
    table: EventTable

    @cached_property
    def found(self) -> HiddenEvents:
        """The hidden events with their worths."""
        return hidden_events(self.best, self.table)

    @cached_property
    def cost(self) -> LeastCost:
        """The solved program."""
        return least_cost(self.found)

    @property
    def constant(self) -> float:
        """The upper end of `bounds`, reward per log N; 0 where nothing that is hidden could confuse."""
        return self.cost.high

    @property
    def bounds(self) -> tuple[float, float]:
        """A bracket of the constant, as narrow as the linear program can be solved."""
        return self.cost.low, self.cost.high

    @property
    def hidden(self) -> tuple[str, ...]:
        """The events that are active in no optimal pair, by name."""
        return tuple(self.table.names[k] for k in self.found.hidden)

    @property
    def confusing(self) -> list[tuple[Any, Any]]:
        """The pairs that some rates of hidden events would make optimal."""
        return [self._called(pair) for pair in self.found.pairs[self.cost.confusing]]

    @property
    def exposures(self) -> dict[str, float]:
        """X_k per log N of each hidden event, time x coefficient."""
        return dict(zip(self.hidden, self.cost.exposure.tolist(), strict=True))

    @property
    def times(self) -> dict[tuple[Any, Any], float]:
        """The time per log N to be spent in each pair, where it is not 0."""
        spent = self.cost.time
        return {self._called(pair): float(t) for pair, t in zip(self.found.pairs, spent) if t > 1e-9 * spent.max(initial=0.0)}

    def alternative(self, state: Any, action: Any) -> dict[str, float]:
        """Return the rates of hidden events, nearest at these exposures, at which `action` in `state` ties with the optimum."""
        pair = self.best.model.pair(state, action)
        rows = np.flatnonzero(self.found.pairs[self.found.where] == pair)
        return {self.table.names[self.found.hidden[self.found.event[r]]]: float(self.cost.rates[r]) for r in rows}

    def _called(self, pair: int) -> tuple[Any, Any]:
        model = self.best.model
        return model.states[model.pair_state[pair]], model.actions[model.pair_action[pair]]

    def words(self) -> str:
        """Return what must be tried and what it costs, in a sentence or two."""
        if not self.found.hidden.size:
            return f"{FREE}: every event is active in some optimal choice."
        shown, its = f"good play never shows {_listed(self.hidden)}", "its" if len(self.hidden) == 1 else "their"
        if not self.cost.confusing.any():
            return f"{FREE}: {shown}, and whatever {its} rate{'s' * (its == 'their')}, nothing else would be better."
        bought = sorted(self.times.items(), key=lambda item: -item[1])[:3]
        tries = ", ".join(f"{action!s} in state {state!s} for {time:.3g} units of time" for (state, action), time in bought)
        return (f"{shown}, and at {'another rate' if its == 'its' else 'other rates'} something else would be better. So tries are "
                f"needed, which cost any learner that is good at all rates at least {self.constant:.6g} log N in the long run; the "
                f"cheapest are {tries}, times log N.")

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"constant": self.constant, "bounds": list(self.bounds), "hidden": list(self.hidden),
                "confusing": [[str(s), str(a)] for s, a in self.confusing], "exposures": self.exposures,
                "times": [[str(s), str(a), t] for (s, a), t in self.times.items()], "words": self.words()}

    def __repr__(self) -> str:
        low, high = self.bounds
        return f"<EventDifficulty: constant {high:.9g} (within {high - low:.1e}), hidden: {', '.join(self.hidden) or 'none'}>"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"the event{'s' * (len(names) > 1)} {shown}{more}"
