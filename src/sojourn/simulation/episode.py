"""The plan under way: what a walker keeps of a learner's plan until it ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.ledger import LEFT, NO_LIMIT, TAKEN, PlanLeft, empty_plan
from sojourn.learn.learner import Plan
from sojourn.learn.policies import policy_pairs, quota_left
from sojourn.model.knowledge import Knowledge


class Episode:
    """A plan being walked: `under_way` says what is left of it, `index` and `start_epoch` count from 1 over the whole walk.

    `into` are arrays to write it to, such as those of a ledger; a plan that does not fit `knowledge` is refused.
    """

    def __init__(self, plan: Plan, knowledge: Knowledge, index: int, start_epoch: int, into: PlanLeft | None = None):
        self.plan = plan
        self.index = index
        self.start_epoch = start_epoch
        most = NO_LIMIT if plan.max_epochs is None else _whole(plan.max_epochs)
        quota = quota_left(plan.quota, knowledge)
        pair, cumulative = policy_pairs(plan.policy, knowledge)
        room = empty_plan(knowledge.n_states, knowledge.n_pairs) if into is None else into
        room.pair[:], room.left[:], room.epochs[TAKEN], room.epochs[LEFT] = pair, quota, 0, most
        if cumulative is not None:
            room = room._replace(cumulative=cumulative, pair_table=knowledge.pair_table.astype(np.int64))
        elif len(room.cumulative):
            room = room._replace(cumulative=np.zeros((0, 0)), pair_table=np.zeros((0, 0), dtype=np.int64))
        self.under_way = room

    @property
    def epochs(self) -> int:
        """How many epochs it has lasted."""
        return int(self.under_way.epochs[TAKEN])

    @property
    def epochs_left(self) -> int:
        return int(self.under_way.epochs[LEFT])

    @property
    def left(self) -> np.ndarray:
        """The visits that each pair may still take."""
        return self.under_way.left

    def pair_in(self, state: int, rng: np.random.Generator) -> int:
        """Return the pair to take in `state`; a randomized plan draws it from `rng`."""
        if not len(self.under_way.cumulative):
            return int(self.under_way.pair[state])
        action = int(np.searchsorted(self.under_way.cumulative[state], rng.random(), side="right"))
        return int(self.under_way.pair_table[state, action])

    def spend(self, pair: int) -> None:
        """Count one visit to `pair`."""
        self.under_way.left[pair] -= 1
        self.under_way.epochs[:] += (1, -1)

    def end(self) -> None:
        """Let the plan end with the decision that is pending."""
        self.under_way.epochs[LEFT] = 0

    @classmethod
    def compiled(cls, plan: Plan, index: int, start_epoch: int, under_way: PlanLeft) -> Episode:
        """Return the episode of a plan that a compiled planner has written to `under_way` itself."""
        episode = cls.__new__(cls)
        episode.plan, episode.index, episode.start_epoch, episode.under_way = plan, index, start_epoch, under_way
        return episode

    def state(self) -> dict[str, Any]:
        """Return arrays and scalars from which `Episode.restored` makes the same episode."""
        return {
            "policy": np.array(self.plan.policy), "left": self.left.copy(), "epochs_left": self.epochs_left,
            "epochs": self.epochs, "index": self.index, "start_epoch": self.start_epoch, "info": numbers(self.plan.info),
        }

    @classmethod
    def restored(cls, state: dict[str, Any], knowledge: Knowledge, into: PlanLeft | None = None) -> Episode:
        """Return the episode that `state()` described."""
        plan = Plan(np.array(state["policy"]), info=dict(state["info"]))
        episode = cls(plan, knowledge, int(state["index"]), int(state["start_epoch"]), into)
        episode.under_way.left[:] = state["left"]
        episode.under_way.epochs[:] = int(state["epochs"]), int(state["epochs_left"])
        return episode


def numbers(info: dict[str, Any]) -> dict[str, float]:
    """Return Plan.info as floats; all of it is recorded, so all of it must be numbers."""
    try:
        return {name: float(value) for name, value in info.items()}
    except (TypeError, ValueError):
        name = next(name for name, value in info.items() if not isinstance(value, (bool, int, float, np.generic)))
        raise ParameterError(f"Plan.info[{name!r}] is {info[name]!r}; it must be a number, since it becomes a column.") from None


def next_episode(learner: Any, knowledge: Knowledge, before: Episode | None, start_epoch: int,
                 into: PlanLeft | None = None) -> Episode:
    """Ask the learner for a plan and return it as the episode after `before`."""
    plan = learner.plan()
    if not isinstance(plan, Plan):
        raise ParameterError(f"plan() returned {plan!r}; it must return a Plan(policy, quota=..., max_epochs=...).")
    return Episode(plan, knowledge, before.index + 1 if before else 1, start_epoch, into)


def _whole(max_epochs: Any) -> int:
    try:
        if max_epochs >= 1:
            return int(min(max_epochs, NO_LIMIT))
    except (TypeError, ValueError):
        pass
    raise ParameterError(f"the plan's max_epochs is {max_epochs!r}; it must be a number of decisions, at least 1.")


def _index(learner: Any, state: int) -> int:
    action = learner.act(state)
    try:
        index = int(action)
        if index == action:
            return index
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(f"act({state}) of {type(learner).__name__} returned {action!r}; it must return the index of an action.")


def chosen_pair(learner: Any, state: int, knowledge: Knowledge) -> int:
    """Ask a learner that acts, and return the pair of its action."""
    action = _index(learner, state)
    pair = int(knowledge.pair_table[state, action]) if 0 <= action < knowledge.n_actions else -1
    if pair < 0:
        raise ParameterError(f"the learner chose action {action} in state {knowledge.states[state]!r}, "
                             "which is not admissible there.")
    return pair
