"""Models, learners and comparisons that the simulation tests share."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sojourn.learn.catalogue import LEARNERS, learner, learner_class
from sojourn.learn.learner import History, Plan
from sojourn.model.ctmdp import CTMDP


def small_model(seed: int, running: bool = True, paid: bool = False, max_states: int = 5) -> CTMDP:
    """Every policy is irreducible; action sets differ between states."""
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(2, max_states + 1)), int(rng.integers(1, 4))
    rows = rng.dirichlet(np.full(states, 0.7), (states, actions)) + 0.02
    rows[rng.random(rows.shape) < 0.3] = 0
    for s in range(states):
        rows[s, :, (s + 1) % states] += 0.1
    rows /= rows.sum(axis=2, keepdims=True)
    admissible = rng.random((states, actions)) < 0.8
    admissible[:, 0] = True
    more: dict[str, Any] = {"transition_reward": rng.normal(size=rows.shape) / 4} if paid else {}
    flow = rng.normal(size=(states, actions)) / 4 if running else None
    return CTMDP.from_arrays(rows, rng.uniform(0.5, 4, (states, actions)), rng.random((states, actions)), flow, admissible, **more)


class Wanderer:
    """A plain learner: randomized plans of random length, remembering only what it was told."""

    def __init__(self, knowledge: Any, seed: int = 0):
        self.knowledge = knowledge
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.rows: list[tuple] = []

    def plan(self) -> Plan:
        k = self.knowledge
        table = self.rng.random((k.n_states, k.n_actions)) * (k.pair_table >= 0)
        return Plan(table / table.sum(axis=1, keepdims=True), max_epochs=int(self.rng.integers(1, 50)))

    def observe(self, history: History) -> None:
        self.rows += list(zip(history.state, history.action, history.holding_time, history.next_state, history.reward))


class Chooser:
    """A plain learner that chooses at every epoch: the action it has tried least here."""

    def __init__(self, knowledge: Any):
        self.knowledge = knowledge
        self.tried = np.zeros(knowledge.n_pairs, dtype=np.int64)

    def act(self, state: int) -> int:
        start, end = self.knowledge.pair_start[state], self.knowledge.pair_start[state + 1]
        return int(self.knowledge.pair_action[start + np.argmin(self.tried[start:end])])

    def observe(self, history: History) -> None:
        self.tried[self.knowledge.pair_table[history.state[0], history.action[0]]] += 1

    def state(self) -> dict:
        return {"tried": self.tried.copy()}

    def restore(self, state: dict) -> None:
        self.tried = np.array(state["tried"])


def build(name: str, model: CTMDP, seed: int = 0) -> Any:
    """Return a learner of the catalogue with small radii, so that it changes its policy often."""
    import inspect

    allowed = inspect.signature(learner_class(name)).parameters
    extra: dict[str, Any] = {}
    if "delta" in allowed:
        extra["delta"] = 0.2
    if "radius_scale" in allowed:
        extra["radius_scale"] = 0.05
    if "margin" in allowed:  # exploration soon over, and then truncating often
        extra |= {"exploration": 30, "margin": 1.0, "delta": 1e-9}
    if "model" in allowed:
        extra["model"] = model
    if "policy" in allowed:
        extra["policy"] = [0] * model.n_states
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner(name, model.knowledge(), seed=seed, **extra)


def equal(one: Any, two: Any) -> bool:
    """Return whether two nested states hold the same numbers."""
    if isinstance(one, dict):
        return isinstance(two, dict) and one.keys() == two.keys() and all(equal(one[k], two[k]) for k in one)
    if isinstance(one, float) and isinstance(two, float) and np.isnan(one):
        return np.isnan(two)
    kind = np.asarray(one).dtype.kind
    return np.array_equal(one, two, equal_nan=kind == "f")


@pytest.fixture(scope="session")
def lab() -> Any:
    """Everything above, since test files do not import each other."""
    from types import SimpleNamespace

    names: list[str] = [name for name in LEARNERS if name != "default"]
    return SimpleNamespace(model=small_model, Wanderer=Wanderer, Chooser=Chooser, build=build, equal=equal, names=names)


Build = Callable[[str, CTMDP, int], Any]
