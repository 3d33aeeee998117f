"""Gymnasium both ways: every model as an environment, and our learners on any environment with discrete spaces.

    import gymnasium
    env = gymnasium.make("sojourn.gym:sojourn/CustomerSelection-v0", servers=5)     # importing sojourn.gym registers them

An environment continues for ever (never terminated, never truncated).  A step is one decision epoch: its reward is the lump
sum plus what ran up during the holding time, and `info` says how long that was.  This is the only module that imports
gymnasium (extra `gym`).
"""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar

import numpy as np

from sojourn.errors import ModelError, ParameterError, require
from sojourn.model.ctmdp import CTMDP
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

    `strict=True` raises on an inadmissible action instead; `start` is the first state (index or label).

    >>> from sojourn.zoo.catalogue import make
    >>> env = CTMDPEnv(make("two-state"))
    >>> state, info = env.reset(seed=0)
    >>> state, reward, terminated, truncated, info = env.step(1)
    >>> state, reward, terminated, info["action_mask"].tolist()
    (1, 8.0, False, [1, 1])
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, model: CTMDP | str | PathLike[str], strict: bool = False, start: int | str = 0,
                 render_mode: str | None = None):
        if not isinstance(model, CTMDP):
            from sojourn.model.files import load

            model = load(model)
        if render_mode not in (None, "ansi"):
            raise ParameterError(f"render_mode is {render_mode!r}; it must be None or 'ansi'.")
        self.model = model
        self.strict = strict
        self.start = model.state(start)
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Discrete(model.n_states)
        self.action_space = gymnasium.spaces.Discrete(model.n_actions)
        self.state = self.start
        self.time = 0.0
        self._last = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Return to the start, or to `options={"state": index or label}`; the clock goes back to 0."""
        super().reset(seed=seed)
        self.state = self.model.state((options or {}).get("state", self.start))
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
        self._last = f"{model.states[before]} --{model.actions[taken]}--> {model.states[self.state]} after {holding_time:.4g}"
        info = {
            "holding_time": float(holding_time), "time": float(self.time), "reward_lump": lump, "reward_running": running,
            "action": taken, "replaced": replaced, "action_mask": self.action_mask(),
        }
        return self.state, lump + running, False, False, info

    def render(self) -> str | None:  # type: ignore[override]
        """Return the last epoch in words (render_mode "ansi")."""
        if self.render_mode is None:
            return None
        return f"t={self.time:.4g}: {self._last}" if self._last else f"t=0: {self.model.states[self.state]}"

    def _pairs(self) -> slice:
        return slice(self.model.pair_start[self.state], self.model.pair_start[self.state + 1])

    def _pair(self, action: Any) -> tuple[int, bool]:
        """Return the pair to live through, and whether the action asked for had to be replaced."""
        if not self.action_space.contains(action):
            raise ParameterError(f"action {action!r} is not in {self.action_space}; give an action index from 0 to "
                                 f"{self.model.n_actions - 1}.")
        try:
            return self.model.pair(self.state, int(action)), False
        except ModelError:
            if self.strict:
                raise
            return int(self.model.pair_start[self.state]), True


class ZooEnv(CTMDPEnv):
    """An environment of the zoo: `family` and its parameters, and the options of `CTMDPEnv`."""

    def __init__(self, family: str, strict: bool = False, start: int | str = 0, render_mode: str | None = None, **parameters: Any):
        from sojourn.zoo.catalogue import make

        super().__init__(make(family, **parameters), strict=strict, start=start, render_mode=render_mode)


def register_all() -> None:
    """Register every family of the zoo, and `sojourn/CTMDP-v0` for a model or a file; importing this module does it."""
    for name in families():
        short = family(name).gym_id.partition(":")[2]
        if short not in gymnasium.registry:
            gymnasium.register(short, entry_point="sojourn.gym:ZooEnv", kwargs={"family": name})
    if f"{NAMESPACE}/CTMDP-v0" not in gymnasium.registry:
        gymnasium.register(f"{NAMESPACE}/CTMDP-v0", entry_point="sojourn.gym:CTMDPEnv")


register_all()
