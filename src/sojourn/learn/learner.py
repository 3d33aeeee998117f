"""The contract between a learner and whoever walks its plans: the simulator, a session, a controller.

A learner is any object with `plan()` and `observe(history)`.  It returns a *plan*: a policy, how many visits each pair may
still take, and a cap on the epochs; the walker follows it until it ends, reporting what happened, and asks for the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.knowledge import Knowledge

MAX_CHUNK = 2**20  # epochs in one History
NO_LIMIT = 2**62  # visits or epochs


@dataclass(frozen=True, eq=False)
class Plan:
    """What a learner will do until it is asked again.

    `policy` is an action index per state, or an (S, A) table of probabilities.  The plan ends on *arriving* at a pair that
    has been visited `quota` times within the plan (alg: CTUCRL, step 6), or after `max_epochs` epochs.  `quota` is per pair
    (P,) or a table (S, A); None means no limit.  `info` holds scalars worth recording, such as `optimistic_gain`.
    """

    policy: np.ndarray
    quota: np.ndarray | None = None
    max_epochs: int | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class History:
    """What happened: one row per epoch, at most MAX_CHUNK rows.  `reward` is the lump sum with any transition reward."""

    state: np.ndarray
    action: np.ndarray
    holding_time: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray

    def __len__(self) -> int:
        return len(self.state)


@runtime_checkable
class Learner(Protocol):
    """The least a learner must offer.  Compiled learners also have `counts`, into which walks fold directly."""

    def plan(self) -> Plan: ...

    def observe(self, history: History) -> None: ...


class Episode:
    """A plan being walked: the pair chosen in each state, what is left of the quotas, and where it began.

    `policy_pair[s]` is the pair of a deterministic policy; a randomized one has `cumulative` (S, A) instead (else None).
    `index` and `start_epoch` count from 1 over everything the learner has lived through.
    """

    def __init__(self, plan: Plan, knowledge: Knowledge, index: int, start_epoch: int):
        self.plan = plan
        self.index = index
        self.start_epoch = start_epoch
        self.epochs = 0
        self.epochs_left = NO_LIMIT if plan.max_epochs is None else _whole(plan.max_epochs)
        self.left = _quota(plan.quota, knowledge)
        self.policy_pair, self.cumulative = _policy(plan.policy, knowledge)

    def spend(self, pair: int) -> None:
        """Count one visit to `pair`."""
        self.left[pair] -= 1
        self.epochs_left -= 1
        self.epochs += 1

    def ends_before(self, pair: int) -> bool:
        """Return whether the plan is over on arriving at `pair`."""
        return self.epochs_left <= 0 or self.left[pair] <= 0

    def state(self) -> dict[str, Any]:
        """Return arrays and scalars from which `Episode.restored` makes the same episode."""
        info = {key: float(value) for key, value in self.plan.info.items() if isinstance(value, (int, float, np.number))}
        return {
            "policy": np.array(self.plan.policy), "left": self.left.copy(), "epochs_left": self.epochs_left,
            "epochs": self.epochs, "index": self.index, "start_epoch": self.start_epoch, "info": info,
        }

    @classmethod
    def restored(cls, state: dict[str, Any], knowledge: Knowledge) -> Episode:
        """Return the episode that `state()` described."""
        plan = Plan(np.array(state["policy"]), info=dict(state["info"]))
        episode = cls(plan, knowledge, int(state["index"]), int(state["start_epoch"]))
        episode.left = np.array(state["left"], dtype=np.int64)
        episode.epochs_left = int(state["epochs_left"])
        episode.epochs = int(state["epochs"])
        return episode


class Begun(NamedTuple):
    """The episodes begun in one call of `walk_plans`, in order, one row each."""

    epoch: np.ndarray  # (K,) epochs of the call before it
    state: np.ndarray  # (K,) where it began
    policy: np.ndarray  # (K, S) action per state
    visits: np.ndarray  # (K, P) of the walk when it began
    info: dict[str, np.ndarray]  # (K,) each, as in Plan.info


class Walked(NamedTuple):
    """What a learner's `walk_plans` has done; `stuck` where it needs a plan and `plan()` is to be asked."""

    state: int
    epochs: int
    pair: int
    entry: int
    stuck: bool
    begun: Begun


def walks_plans(learner: Any) -> bool:
    """Return whether `learner` has a `walk_plans` that knows its `plan`: not one that a subclass or the object has replaced."""
    for kind in type(learner).__mro__:
        if "walk_plans" in vars(kind):
            return "plan" not in vars(learner)
        if "plan" in vars(kind):
            return False
    return False


def episode_of(learner: Any) -> Episode | None:
    """Return the plan of `learner` being walked, or None."""
    kept: Episode | None = getattr(learner, _place(learner), None)
    return kept


def keep_episode(learner: Any, episode: Episode | None) -> None:
    """Keep `episode` with the learner: as `learner.episode`, unless the learner uses that name for something of its own."""
    setattr(learner, _place(learner), episode)


def _place(learner: Any) -> str:
    own = getattr(learner, "episode", None)
    return "episode" if own is None or isinstance(own, Episode) else "episode_under_way"


def begin_episode(learner: Any, knowledge: Knowledge) -> Episode:
    """Ask the learner for a plan and return it as the learner's new episode (see `keep_episode`)."""
    before = episode_of(learner)
    plan = learner.plan()
    if not isinstance(plan, Plan):
        raise ParameterError(f"plan() returned {plan!r}; it must return a Plan(policy, quota=..., max_epochs=...).")
    index = before.index + 1 if before else 1
    start_epoch = before.start_epoch + before.epochs if before else 1
    episode = Episode(plan, knowledge, index, start_epoch)
    keep_episode(learner, episode)
    return episode


def chosen_action(learner: Any, state: int) -> int:
    """Return the index of the action that `learner.act(state)` chose; raise where that is no whole number."""
    action = learner.act(state)
    try:
        index = int(action)
        if index == action:
            return index
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(f"act({state}) of {type(learner).__name__} returned {action!r}; it must return the index of an action.")


def _whole(max_epochs: Any) -> int:
    try:
        if max_epochs >= 1:
            return int(min(max_epochs, NO_LIMIT))
    except (TypeError, ValueError):
        pass
    raise ParameterError(f"the plan's max_epochs is {max_epochs!r}; it must be a number of decisions, at least 1.")


def _quota(quota: Any, knowledge: Knowledge) -> np.ndarray:
    if quota is None:
        return np.full(knowledge.n_pairs, NO_LIMIT, dtype=np.int64)
    try:
        array = np.asarray(quota)
        number = array.dtype.kind in "biuf"
    except ValueError:  # rows of unequal length
        number = False
    if not number:
        raise ParameterError(f"the plan's quota is {quota!r}; it must hold numbers, the visits that each pair may still take.")
    if array.shape == (knowledge.n_states, knowledge.n_actions) and array.shape != (knowledge.n_pairs,):
        array = array[knowledge.pair_state, knowledge.pair_action]
    if array.shape != (knowledge.n_pairs,):
        raise ParameterError(f"the plan's quota has shape {array.shape}; it must be ({knowledge.n_pairs},) or (states, actions).")
    if not array.min() >= 1:
        raise ParameterError(f"the plan's quota holds {array.min()}; each pair needs at least 1, or the plan could end at once.")
    return np.minimum(array, NO_LIMIT).astype(np.int64)


def _policy(policy: Any, knowledge: Knowledge) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (pair per state, None) for actions per state, or (first pair per state, cumulative table) for probabilities."""
    try:
        array = np.asarray(policy)
    except ValueError:  # rows of unequal length
        raise ParameterError(f"the plan's policy is {policy!r}; it must hold an action index for each state, or be a table of "
                             f"probabilities {knowledge.pair_table.shape}.") from None
    table = knowledge.pair_table
    if array.shape == (knowledge.n_states,) and array.dtype == np.int64 and array.min() >= 0 and array.max() < knowledge.n_actions:
        pair = table.ravel()[knowledge.table_row + array]  # the usual case, at a few microseconds
        if pair.min() >= 0:
            return pair, None
    if array.ndim == 1:
        if array.shape != (knowledge.n_states,) or array.dtype.kind not in "iu":
            raise ParameterError(f"the plan's policy has shape {array.shape} and type {array.dtype}; "
                                 f"it must hold {knowledge.n_states} action indices.")
        wrong = np.flatnonzero((array < 0) | (array >= knowledge.n_actions))
        pair = table[np.arange(knowledge.n_states), np.clip(array, 0, knowledge.n_actions - 1)]
        wrong = wrong if wrong.size else np.flatnonzero(pair < 0)
        if wrong.size:
            s = int(wrong[0])
            raise ParameterError(f"the plan's policy chooses action {array[s]} in state {knowledge.states[s]!r}, "
                                 "which is not admissible there.")
        return pair.astype(np.int64), None
    if array.shape != table.shape:
        raise ParameterError(f"the plan's policy has shape {array.shape}; it must be (states,) or {table.shape}.")
    probability = np.asarray(array, dtype=np.float64)
    outside = (table < 0) & (probability != 0)
    if outside.any() or not np.isfinite(probability).all() or probability.min() < 0:
        s, a = map(int, np.argwhere(outside | ~((probability >= 0) & np.isfinite(probability)))[0])
        raise ParameterError(f"the plan's policy[{s}, {a}] is {probability[s, a]:g}; it must be finite and >= 0, and 0 where "
                             "the pair is not admissible.")
    total = probability.sum(axis=1)
    if np.abs(total - 1).max() > 1e-9:
        s = int(np.argmax(np.abs(total - 1)))
        raise ParameterError(f"the plan's policy[{s}] sums to {total[s]:.9g}; every row must sum to 1.")
    cumulative = np.cumsum(probability, axis=1)
    last = array.shape[1] - 1 - np.argmax(probability[:, ::-1] > 0, axis=1)
    cumulative[np.arange(array.shape[1]) >= last[:, None]] = np.inf  # a draw beyond a sum such as 1 - 1e-16 takes the last one
    return np.asarray(knowledge.pair_start[:-1], dtype=np.int64), cumulative
