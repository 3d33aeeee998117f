"""Random models of many shapes, for judging solvers: case i of seed k is the same model and policy on every machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sojourn.model.ctmdp import CTMDP


@dataclass(frozen=True)
class Case:
    """A model, a policy to evaluate, and whether every policy is irreducible by construction."""

    shape: str
    seed: int
    index: int
    model: CTMDP
    policy: Any
    irreducible: bool

    @property
    def name(self) -> str:
        return f"{self.seed}:{self.index}"


def case(seed: int, index: int, shapes: tuple[str, ...] | None = None) -> Case:
    """Return case `index` of `seed`."""
    order = shapes or ORDER
    shape = order[index % len(order)]
    rng = np.random.default_rng([seed, index])
    arrays, irreducible = SHAPES[shape](rng)
    if rng.random() < 0.3:
        arrays = _shuffled(rng, arrays)
    model = CTMDP.from_arrays(normalize_rows=True, **arrays)
    return Case(shape, seed, index, model, random_policy(rng, model), irreducible)


def random_policy(rng: np.random.Generator, model: CTMDP) -> Any:
    """A deterministic policy, or a table that mixes up to three actions in a state."""
    sizes = np.diff(model.pair_start)
    first = model.pair_start[:-1] + rng.integers(0, sizes)
    if rng.random() < 0.6 or model.n_actions == 1:
        return model.pair_action[first]
    table = np.zeros((model.n_states, model.n_actions))
    for s in range(model.n_states):
        some = rng.choice(np.arange(model.pair_start[s], model.pair_start[s + 1]), min(3, sizes[s]), replace=False)
        parts = rng.multinomial(64, np.ones(len(some)) / len(some)) / 64
        table[s, model.pair_action[some]] = parts
    return table


Arrays = dict[str, Any]


def _rows(rng: np.random.Generator, n: int, actions: int, ring: bool = True, branching: int = 3) -> np.ndarray:
    """Random rows; with `ring` every action may move on to the next state.  Half of the time short binary fractions."""
    short = rng.random() < 0.5
    p = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            some = rng.choice(n, min(int(rng.integers(1, branching + 1)), n), replace=False)
            if ring and (s + 1) % n not in some:
                some[0] = (s + 1) % n
            share = (1 + rng.multinomial(64 - len(some), np.ones(len(some)) / len(some))) / 64 if short else rng.dirichlet(
                np.ones(len(some)))
            p[s, a, some] = np.maximum(share, 1e-12)
    return p


def _tables(rng: np.random.Generator, n: int, actions: int, decades: float = 1.0) -> Arrays:
    if rng.random() < 0.5:
        rate, reward = rng.integers(1, 65, (n, actions)) / 8, rng.integers(-16, 17, (n, actions)) / 8
    else:
        rate, reward = 10.0 ** rng.uniform(-decades / 2, decades / 2, (n, actions)), rng.normal(size=(n, actions))
    return {"rate": rate, "reward": reward}


def _plain(rng: np.random.Generator, low: int = 2, high: int = 7) -> Arrays:
    n, actions = int(rng.integers(low, high + 1)), int(rng.integers(1, 4))
    return {"transition": _rows(rng, n, actions), **_tables(rng, n, actions)}


def _with(**changes: Callable[[np.random.Generator, Arrays], Any]) -> Callable[[np.random.Generator], tuple[Arrays, bool]]:
    def build(rng: np.random.Generator) -> tuple[Arrays, bool]:
        arrays = _plain(rng)
        for name, change in changes.items():
            arrays[name] = change(rng, arrays)
        return arrays, True

    return build


def _multichain(rng: np.random.Generator) -> tuple[Arrays, bool]:
    sizes = rng.integers(1, 4, int(rng.integers(2, 4)))
    free, actions = int(rng.integers(0, 3)), int(rng.integers(1, 3))
    n = int(sizes.sum()) + free
    p, tables, begin = np.zeros((n, actions, n)), _tables(rng, n, actions), 0
    for size in sizes:
        p[begin:begin + size, :, begin:begin + size] = _rows(rng, int(size), actions)
        begin += int(size)
    for s in range(begin, n):
        p[s] = _rows(rng, n, actions, ring=False)[s]
    if rng.random() < 0.4:  # ways from one part to the next, of one action only
        ends = np.cumsum(sizes)
        for here, there in pairwise(ends.tolist()):
            p[here - 1, 0] = (p[here - 1, 0] + np.eye(n)[there - 1]) / 2
    if rng.random() < 0.3:  # parts that earn the same
        tables["reward"] = 3 / tables["rate"]
    return {"transition": p, **tables}, False


def _periodic(rng: np.random.Generator) -> tuple[Arrays, bool]:
    period, width, actions = int(rng.integers(2, 5)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
    n = period * width
    p = np.zeros((n, actions, n))
    for s in range(n):
        ahead = (s // width + 1) % period * width
        for a in range(actions):
            p[s, a, ahead:ahead + width] = rng.dirichlet(np.ones(width)) if width > 1 else 1.0
    return {"transition": np.where(p > 0, np.maximum(p, 1e-12), 0), **_tables(rng, n, actions)}, True


def _absorbing(rng: np.random.Generator) -> tuple[Arrays, bool]:
    arrays = _plain(rng)
    n = arrays["transition"].shape[0]
    for s in rng.choice(n, int(rng.integers(1, 3)) if n > 2 else 1, replace=False):
        arrays["transition"][s] = np.eye(n)[s]
    return arrays, False


def _doubled(rng: np.random.Generator, near: bool) -> tuple[Arrays, bool]:
    """Every action twice; the copy's reward is the same, or off by 1e-9 to 1e-16 of itself."""
    arrays = _plain(rng)
    arrays = {name: np.concatenate([x, x], axis=1) for name, x in arrays.items()}
    if near:
        half = arrays["reward"].shape[1] // 2
        off = rng.choice([-1, 1], arrays["reward"][:, half:].shape) * 10.0 ** rng.uniform(-16, -9, arrays["reward"][:, half:].shape)
        arrays["reward"][:, half:] *= 1 + off
    return arrays, True


def _wells(rng: np.random.Generator) -> tuple[Arrays, bool]:
    """Two or three parts joined by probabilities from 1e-18 to 1e-5, or 1e-15."""
    parts, actions = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    sizes = rng.integers(1, 4, parts)
    n, begin, joint = int(sizes.sum()), 0, 1e-15 if rng.random() < 0.4 else 10.0 ** rng.uniform(-18, -5)
    p = np.zeros((n, actions, n))
    for size in sizes:
        p[begin:begin + size, :, begin:begin + size] = _rows(rng, int(size), actions)
        end = begin + int(size)
        p[end - 1, :, end % n] += joint * rng.integers(1, 4, actions)
        begin = end
    return {"transition": p, **_tables(rng, n, actions)}, True


def _large_wells(rng: np.random.Generator) -> tuple[Arrays, bool]:
    """Two rings of 10 to 125 states, a walk on each, joined at one state by probabilities from 1e-18 to 1e-3."""
    size, actions = int(10 ** rng.uniform(1, 2.1)), int(rng.integers(1, 3))
    n, joint = 2 * size, 10.0 ** rng.uniform(-18, -3)
    p, s = np.zeros((n, actions, n)), np.arange(n)
    ahead, behind = s // size * size + (s + 1) % size, s // size * size + (s - 1) % size
    for a in range(actions):
        up = rng.integers(2**18, 3 * 2**18, n) / 2**20 if rng.random() < 0.5 else np.full(n, 0.5)
        p[s, a, ahead], p[s, a, behind] = up, 1 - up
        p[[0, size], a, [size, 0]] = joint * rng.integers(1, 4, 2)
    return {"transition": p, "rate": np.ones((n, actions)), "reward": np.round(rng.normal(size=(n, actions)), 2) + 3}, True


def walk_arrays(up: np.ndarray, rate: np.ndarray, reward: np.ndarray, held: bool = True) -> Arrays:
    """A walk with up-probabilities (n, A); at the ends it stays put, or is turned back where not `held`."""
    n, actions = up.shape
    p, s = np.zeros((n, actions, n)), np.arange(n)
    for a in range(actions):
        np.add.at(p, (s, a, np.minimum(s + 1, n - 1)), up[:, a])
        np.add.at(p, (s, a, np.maximum(s - 1, 0)), 1 - up[:, a])
    if not held:
        p[0], p[-1] = np.eye(n)[min(1, n - 1)], np.eye(n)[max(n - 2, 0)]
    return {"transition": p, "rate": rate, "reward": reward}


def _walk(rng: np.random.Generator, low: int, high: int, kind: int | None = None) -> tuple[Arrays, bool]:
    n, actions = int(10 ** rng.uniform(np.log10(low), np.log10(high))), int(rng.integers(1, 4))
    s, kind = np.arange(n)[:, None], int(rng.integers(0, 4)) if kind is None else kind
    if kind == 0:
        up = rng.integers(1, 2**20, (n, actions)) / 2**20
    elif kind == 1:  # away from the middle, or towards it
        edge = rng.choice([1 / 128, 0.01, 0.05])
        up = np.where((s < n // 2) == (rng.random() < 0.6), edge, 1 - edge) * np.ones(actions)
        up = np.where(up < 0.5, up * (1 + np.arange(actions) / 8), up)
    elif kind == 2:  # one way
        up = np.full((n, actions), rng.choice([0.01, 0.1, 0.3, 0.375, 0.6, 0.9])) + 0.02 * np.arange(actions)
    else:
        up = np.clip(rng.uniform(0.2, 0.8) + 0.1 * rng.normal(size=(n, actions)), 0.01, 0.99)
    reward = np.repeat(s % 3.0, actions, axis=1) if rng.random() < 0.4 else np.round(rng.normal(size=(n, actions)), 2)
    rate = np.ones((n, actions)) if rng.random() < 0.5 else rng.integers(1, 65, (n, actions)) / 8
    return walk_arrays(up, rate, reward - 0.125 * np.arange(actions), bool(rng.random() < 0.5)), True


def _denormals(rng: np.random.Generator) -> tuple[Arrays, bool]:
    arrays = _plain(rng, high=4)
    shape, kind = arrays["rate"].shape, int(rng.integers(0, 5))
    if kind in (0, 1):
        arrays["reward"] = rng.integers(-5, 6, shape) * 1.5e-323
    if kind in (1, 2):
        arrays["rate"] = arrays["rate"] * 1e98
    if kind == 3:
        arrays["rate"], arrays["reward"] = arrays["rate"] * 1e-98, arrays["reward"] * 1e-220
    if kind == 4:
        arrays["reward"] = arrays["reward"] * 10.0 ** rng.uniform(-300, 99, shape)
    return arrays, True


def _many_actions(rng: np.random.Generator) -> tuple[Arrays, bool]:
    n, actions = int(rng.integers(1, 4)), int(rng.integers(1000, 3000))
    p = rng.dirichlet(np.ones(n), (n, actions)) if n > 1 else np.ones((1, actions, 1))
    return {"transition": np.maximum(p, 1e-9), **_tables(rng, n, actions)}, True


def _single(rng: np.random.Generator) -> tuple[Arrays, bool]:
    return {"transition": np.ones((1, actions := int(rng.integers(1, 6)), 1)), **_tables(rng, 1, actions, 12)}, True


def _lazy(rng: np.random.Generator, arrays: Arrays) -> np.ndarray:
    n, actions = arrays["rate"].shape
    stay = 1 - 10.0 ** rng.uniform(-15, 0, (n, actions, 1))
    return arrays["transition"] * (1 - stay) + np.eye(n)[:, None, :] * stay


def _wide(rng: np.random.Generator, arrays: Arrays) -> np.ndarray:
    return 10.0 ** rng.uniform(-8, 8, arrays["rate"].shape)


def _normal(rng: np.random.Generator, arrays: Arrays) -> np.ndarray:
    return rng.normal(size=arrays["rate"].shape)


def _scaled(rng: np.random.Generator) -> tuple[Arrays, bool]:
    arrays = _plain(rng)
    return {**arrays, "rate": arrays["rate"] * 10.0 ** rng.choice([-12, 0, 12]),
            "reward": arrays["reward"] * 10.0 ** rng.choice([-12, -6, 12])}, True


def _shuffled(rng: np.random.Generator, arrays: Arrays) -> Arrays:
    n, actions = arrays["rate"].shape
    s, a = rng.permutation(n), rng.permutation(actions)
    cut = {name: x[np.ix_(s, a)] for name, x in arrays.items()}
    for name in ("transition", "transition_reward"):
        if name in cut:
            cut[name] = cut[name][:, :, s]
    return cut


SHAPES: dict[str, Callable[[np.random.Generator], tuple[Arrays, bool]]] = {
    "plain": _with(), "multichain": _multichain, "periodic": _periodic, "absorbing": _absorbing,
    "near-ties": lambda rng: _doubled(rng, True), "ties": lambda rng: _doubled(rng, False), "wells": _wells,
    "large wells": _large_wells,
    "walk": lambda rng: _walk(rng, 10, 100), "long walk": lambda rng: _walk(rng, 100, 1000),
    "middle walk": lambda rng: _walk(rng, 10, 600, 1), "denormals": _denormals, "many actions": _many_actions,
    "single state": _single, "self-loops": _with(transition=_lazy), "wide rates": _with(rate=_wide),
    "transition rewards": _with(transition_reward=lambda rng, x: rng.normal(size=x["transition"].shape) * (x["transition"] > 0)),
    "running": _with(running=_normal), "units": _scaled,
    "large constant": _with(running=lambda rng, x: np.full(x["rate"].shape, rng.choice([1e6, 1e12, -1e12, 1e15]))),
    "zero rewards": _with(reward=lambda rng, x: np.zeros(x["rate"].shape)),
}
RARE = ("long walk", "middle walk", "large wells", "many actions")  # which take longest
ORDER = (*SHAPES, *(name for name in SHAPES if name not in RARE),
         *(name for name in SHAPES if name not in (*RARE, "zero rewards", "single state")))
