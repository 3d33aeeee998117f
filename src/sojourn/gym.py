"""Gymnasium both ways: every model as an environment, and our learners on any environment with discrete spaces.

    import gymnasium
    env = gymnasium.make("sojourn.gym:sojourn/CustomerSelection-v0", servers=5)     # importing sojourn.gym registers them

An environment continues for ever (never terminated, never truncated).  A step is one decision epoch: its reward is the lump
sum plus what ran up during the holding time, and `info` says how long that was.  This is the only module that imports
gymnasium (extra `gym`).
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from sojourn.errors import ModelError, ParameterError, require
from sojourn.learn.catalogue import is_named, learner_class, needed_knowledge
from sojourn.learn.catalogue import learner as made_learner
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Bounds, Knowledge
from sojourn.model.numbers import real_array
from sojourn.model.scalars import whole
from sojourn.simulation.labels import Labels
from sojourn.simulation.session import Session
from sojourn.zoo.catalogue import families, family

require("gymnasium", "gym")

import gymnasium  # noqa: E402

NAMESPACE = "sojourn"


class CTMDPEnv(gymnasium.Env[int, int]):
    """A continuous-time Markov decision process as a Gymnasium environment.

    Observations and actions are the model's state and action indices.  `info` holds, after every step, `holding_time`,
    `time` (since reset), `reward_lump` (with any reward paid on the transition), `reward_running` (earned during the holding
    time), `action` (the one taken), `replaced` (whether the one asked for was not admissible, so that the state's first
    admissible one was taken) and `action_mask` (admissible actions of the new state, for `action_space.sample(mask)`).

    `strict=True` raises on an inadmissible action instead; `start` is the first state as the user calls it (default: the model's
    first).  Environments go by positions; `env.model.states[position]` is what the user calls it.

    >>> from sojourn.zoo.catalogue import make
    >>> env = CTMDPEnv(make("two-state"))
    >>> state, info = env.reset(seed=0)
    >>> state, reward, terminated, truncated, info = env.step(1)
    >>> state, reward, terminated, info["action_mask"].tolist()
    (1, 8.0, False, [1, 1])
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (gymnasium declares it so)

    def __init__(self, model: CTMDP | str | PathLike[str], strict: bool = False, start: Any = None,
                 render_mode: str | None = None):
        if not isinstance(model, CTMDP):
            from sojourn.model.files import load

            model = load(model)
        if render_mode not in (None, "ansi"):
            raise ParameterError(f"render_mode is {render_mode!r}; it must be None or 'ansi'.")
        self.model = model
        self.strict = strict
        self.start = 0 if start is None else model.state(start)
        self.render_mode = render_mode
        discrete: Any = gymnasium.spaces.Discrete  # whose members are declared as numpy's integers: int is taken as well
        self.observation_space = discrete(model.n_states)
        self.action_space = discrete(model.n_actions)
        self.state = self.start
        self.time = 0.0
        self._last = ""
        self._labels = Labels(model, None, 0) if model.events is not None else None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Return to the start, or to `options={"state": a state as the user calls it}`; the clock goes back to 0."""
        super().reset(seed=seed)
        if seed is not None and self.model.events is not None:
            self._labels = Labels(self.model, None, seed)  # streams of their own, so that paths do not depend on events
        wanted = (options or {}).get("state")
        self.state = self.start if wanted is None else self.model.state(wanted)
        self.time = 0.0
        self._last = ""
        clock = dict.fromkeys(("holding_time", "time", "reward_lump", "reward_running"), 0.0)
        return self.state, {**clock, "action_mask": self.action_mask()}

    def action_mask(self) -> np.ndarray:
        """Return 1 for each action that is admissible in the present state, else 0."""
        mask = np.zeros(self.model.n_actions, dtype=np.int8)
        mask[self.model.pair_action[self._pairs()]] = 1
        return mask

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Live through one decision epoch."""
        model, rng = self.model, self.np_random
        pair, replaced = self._pair(action)
        holding_time = 1.0 if model.holding == "unit" else rng.standard_exponential() / model.rate[pair]
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        cumulative = np.cumsum(model.probability[row])
        jump = min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), len(cumulative) - 1)
        lump = float(model.reward[pair])
        if model.transition_reward is not None:
            lump += float(model.transition_reward[row][jump])
        running = float(model.running[pair] * holding_time)
        before, self.state = self.state, int(model.next_state[row][jump])
        self.time += holding_time
        taken = int(model.pair_action[pair])
        self._last = (f"{model.states.label(before)} --{model.actions.label(taken)}--> {model.states.label(self.state)} "
                      f"after {holding_time:.4g}")
        info = {
            "holding_time": float(holding_time), "time": float(self.time), "reward_lump": lump, "reward_running": running,
            "action": taken, "replaced": replaced, "action_mask": self.action_mask(),
        }
        if self._labels is not None:
            info |= self._labels.named(pair, float(holding_time), self.state)
        return self.state, lump + running, False, False, info

    def render(self) -> str | None:
        """Return the last epoch in words (render_mode "ansi")."""
        if self.render_mode is None:
            return None
        return f"t={self.time:.4g}: {self._last}" if self._last else f"t=0: {self.model.states.label(self.state)}"

    def _pairs(self) -> slice:
        return slice(self.model.pair_start[self.state], self.model.pair_start[self.state + 1])

    def _pair(self, action: Any) -> tuple[int, bool]:
        """Return the pair to live through, and whether the action asked for had to be replaced."""
        if not self.action_space.contains(action):
            raise ParameterError(f"action {action!r} is not in {self.action_space}; give an action index from 0 to "
                                 f"{self.model.n_actions - 1}.")
        try:
            return self.model.pair_at(self.state, int(action)), False
        except ModelError:
            if self.strict:
                raise
            return int(self.model.pair_start[self.state]), True


class ZooEnv(CTMDPEnv):
    """An environment of the zoo: `family` and its parameters, and the options of `CTMDPEnv`."""

    def __init__(self, family: str, strict: bool = False, start: Any = None, render_mode: str | None = None, **parameters: Any):
        from sojourn.zoo.catalogue import make

        super().__init__(make(family, **parameters), strict=strict, start=start, render_mode=render_mode)


@dataclass(frozen=True, eq=False)
class Driven:
    """What happened while a learner drove an environment: one row per step, and the session, which may go on."""

    state: np.ndarray
    action: np.ndarray
    holding_time: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    episodes: int  # how often the environment ended and was reset
    session: Session

    @property
    def time(self) -> float:
        return float(self.holding_time.sum())

    @property
    def gain(self) -> float:
        """Reward per unit of time so far."""
        return float(self.reward.sum() / self.holding_time.sum())


def knowledge_of(env: gymnasium.Env[Any, Any], reward: Any = None, rate_bounds: Bounds | None = None) -> Knowledge:
    """Return what a learner may know of an environment with discrete spaces.

    One of ours knows its own.  Of another, every action is admissible everywhere; `reward` is an (S, A) table of mean
    rewards (default: computed from `env.unwrapped.P`, which Gymnasium's toy texts have, else 0: use a learner for unknown
    rewards); `rate_bounds` is (1, 1) by default, which is right where every step takes one unit of time; "unknown" tells none.
    """
    inner = env.unwrapped
    if isinstance(inner, CTMDPEnv) and reward is None:
        return inner.model.knowledge(rate_bounds)
    states, actions = _sizes(env)
    if reward is None:
        reward = _toy_text_rewards(getattr(inner, "P", None), states, actions)
    return Knowledge.from_arrays(real_array("reward", reward, (states, actions)), rate_bounds or (1.0, 1.0))


def drive(env: gymnasium.Env[Any, Any], learner: Any, *, max_epochs: int, knowledge: Knowledge | None = None,
          seed: int | None = None, **parameters: Any) -> Driven:
    """Let one of our learners act in a Gymnasium environment with discrete spaces; return what happened.

    `learner` is a learner; or the name of one, its "module:Class" or its class (then `parameters` go to it, and
    `knowledge` defaults to `knowledge_of(env)`).
    The holding time of a step is `info["holding_time"]`, 1 where there is none.  Where an environment ends (terminated), it is
    reset and the state after the reset counts as the next one: the task goes on.  Where it is cut short (truncated, as by a
    TimeLimit), the step counts as it went, and the learner goes on from the state after the reset.

    >>> env = gymnasium.make("sojourn.gym:sojourn/ThreeState-v0")
    >>> driven = drive(env, "ct-ucrl", max_epochs=200, seed=1, delta=0.1)
    >>> len(driven.state), driven.session.epoch
    (200, 201)
    """
    _sizes(env)
    max_epochs = whole("max_epochs", max_epochs, 1)
    if is_named(learner):
        inner, kind = env.unwrapped, learner_class(learner)
        if knowledge is None and isinstance(inner, CTMDPEnv) and getattr(kind, "needs_events", False):
            knowledge = needed_knowledge(inner.model, kind)
        knowledge = knowledge or knowledge_of(env)
        learner = made_learner(learner, knowledge, seed or 0, **parameters)
    elif parameters:
        raise ParameterError(f"parameters are {parameters!r}, but the learner is made already; give its name or class.")
    observation, _ = env.reset(seed=seed)
    shift, first = int(env.observation_space.start), int(env.action_space.start)  # type: ignore[attr-defined]
    known = knowledge or learner.knowledge
    session = Session(learner, known.states[int(observation) - shift], knowledge=knowledge)
    rows, episodes = [], 0
    for _ in range(max_epochs):
        before, action = session.state_index, session.action_index
        observation, paid, terminated, truncated, info = env.step(action + first)
        arrived = again = observation
        if terminated or truncated:
            episodes += 1
            again, _ = env.reset()
            arrived = again if terminated else observation
        holding_time = float(info.get("holding_time", 1.0))
        seen: dict[str, Any] = {} if known.events is None else {"event": info.get("event"), "silent": info.get("silent")}
        session.report(holding_time, known.states[int(arrived) - shift], **_paid(paid, info), **seen)
        rows.append((before, action, holding_time, int(arrived) - shift, float(paid)))
        if again is not arrived:
            session.state = known.states[int(again) - shift]
    state, took, held, arrived, earned = (np.array(column) for column in zip(*rows))
    return Driven(state, took, held, arrived, earned, episodes=episodes, session=session)


def _paid(reward: Any, info: dict[str, Any]) -> dict[str, Any]:
    """Return what a step paid as a session takes it: the lump sum where the environment tells it apart, else all of it."""
    return {"lump": float(info["reward_lump"])} if "reward_lump" in info else {"reward": float(reward)}


def _sizes(env: gymnasium.Env[Any, Any]) -> tuple[int, int]:
    sizes = []
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise ParameterError(f"{name} is {space}; our learners need Discrete spaces. Wrap the environment to number them.")
        sizes.append(int(space.n))
    return sizes[0], sizes[1]


def _toy_text_rewards(table: Any, states: int, actions: int) -> np.ndarray:
    """Return mean rewards from `P[state][action] = [(probability, next, reward, ends), ...]`, or zeros where there is none."""
    rewards = np.zeros((states, actions))
    for s, choices in (table or {}).items():
        for a, outcomes in choices.items():
            rewards[s, a] = sum(p * r for p, _, r, _ in outcomes)
    return rewards


def register_all() -> None:
    """Register every family of the zoo, and `sojourn/CTMDP-v0` for a model or a file; importing this module does it."""
    for name in families():
        short = family(name).gym_id.partition(":")[2]
        if short not in gymnasium.registry:
            gymnasium.register(short, entry_point="sojourn.gym:ZooEnv", kwargs={"family": name})
    if f"{NAMESPACE}/CTMDP-v0" not in gymnasium.registry:
        gymnasium.register(f"{NAMESPACE}/CTMDP-v0", entry_point="sojourn.gym:CTMDPEnv")


register_all()
