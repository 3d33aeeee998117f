"""All policies of a small model, one by one: what needs them (g without irreducibility, n_π, C') and nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from sojourn.instance.gaps import Optimum
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import closed_classes
from sojourn.solving.chain import Chain, chain_of, gain_and_bias

MAX_POLICIES = 20_000


def count_policies(model: CTMDP) -> float:
    """Return the number of deterministic policies (a float: it may be huge)."""
    return (
        math.exp(min(700.0, float(np.log(np.diff(model.pair_start)).sum())))
        if model.n_states > 40
        else float(math.prod(int(c) for c in np.diff(model.pair_start)))
    )


def policies(model: CTMDP) -> Iterator[np.ndarray]:
    """Yield the pairs of every deterministic policy, in lexicographic order."""
    ranges = [range(model.pair_start[s], model.pair_start[s + 1]) for s in range(model.n_states)]
    for pairs in itertools.product(*ranges):
        yield np.array(pairs, dtype=np.int64)


def gains_by_state(chain: Chain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return per state the gain, the mean holding time and the mean reward per decision in the long run of any chain."""
    n = chain.n_states
    classes = closed_classes(n, np.repeat(np.arange(n), np.diff(chain.matrix.indptr)), chain.matrix.indices)
    gain, holding, reward = np.zeros(n), np.zeros(n), np.zeros(n)
    inside = np.zeros(n, dtype=bool)
    for states in classes:
        part = chain.restricted(states)
        value, _, law = gain_and_bias(part, np.arange(len(states)))
        gain[states], holding[states], reward[states] = value, law @ part.holding, law @ part.reward
        inside[states] = True
    out = np.flatnonzero(~inside)
    if out.size:
        dense = chain.matrix.toarray()
        system = np.eye(len(out)) - dense[np.ix_(out, out)]
        for values in (gain, holding, reward):
            values[out] = np.linalg.solve(system, dense[out][:, inside] @ values[inside])
    return gain, holding, reward


def enumerated_gap(best: Optimum) -> tuple[float, float, np.ndarray | None, np.ndarray | None]:
    """Return (g, g_step, policy, policy of g_step) over all policies and starting states with a gain below ρ*."""
    model, rho = best.model, best.gain
    unit = max(abs(rho), float(np.abs(model.expected_reward * model.rate + model.running).max()))
    least: dict[int, tuple[float, int, np.ndarray | None]] = {0: (np.inf, 0, None), 1: (np.inf, 0, None)}
    for pairs in policies(model):
        gain, holding, reward = gains_by_state(chain_of(model, pairs))
        below = gain < rho - 1e-10 * unit
        if not below.any():
            continue
        policy = model.pair_action[pairs]
        changes = int((policy != best.policy).sum())
        for which, gap in ((0, rho - gain), (1, rho * holding - reward)):
            value, before, _ = least[which]
            now = float(gap[below].min())
            if now < value * (1 - 1e-12) or (now <= value * (1 + 1e-12) and changes < before):
                least[which] = min(now, value), changes, policy
    return least[0][0], least[1][0], least[0][2], least[1][2]
