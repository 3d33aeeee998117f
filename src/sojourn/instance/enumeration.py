"""All policies of a small model, one by one: what needs them (g without irreducibility, n_π, C') and nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from sojourn.instance.deviations import Least
from sojourn.instance.gaps import Optimum
from sojourn.kernels.hitting import ROUNDING, STEP
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import closed_classes
from sojourn.solving.chain import Chain, chain_of

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


def long_run(chain: Chain, costs: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return per state the long-run means of non-negative costs, (2, S, columns): per unit of time and per decision.

    Any chain: from a transient state they are averages over the classes it may end in.  Without a subtraction, so that
    relative errors are at most `long_run_error`, whatever the chain.
    """
    n, matrix = chain.n_states, chain.matrix.toarray()
    np.fill_diagonal(matrix, 0.0)
    found = np.zeros((2, n, costs.shape[1]))
    inside = np.zeros(n, dtype=bool)
    with np.errstate(all="ignore"):
        for states in closed_classes(n, np.repeat(np.arange(n), np.diff(chain.matrix.indptr)), chain.matrix.indices):
            law = _law(matrix[np.ix_(states, states)])
            total = law @ costs[states]
            found[0, states], found[1, states] = total / (law @ time[states]), total / law.sum()
            inside[states] = True
        out = np.flatnonzero(~inside)
        if out.size:
            ends = _absorbed(matrix[np.ix_(out, out)], matrix[np.ix_(out, np.flatnonzero(inside))])
            found[:, out] = ends @ found[:, inside]
    return found


def long_run_error(n: int) -> float:
    """Return the relative error that `long_run` may have: n² touched rows, and as many sums of at most n terms."""
    return n * (n * (STEP + n * ROUNDING) + (n + 6) * ROUNDING)


def _law(a: np.ndarray) -> np.ndarray:
    """Return weights proportional to the stationary law of a chain given by its off-diagonal numbers."""
    n = len(a)
    for k in range(n - 1, 0, -1):
        a[:k, k] /= a[k, :k].sum()
        a[:k, :k] += np.outer(a[:k, k], a[k, :k])
    visits = np.ones(n)
    for k in range(1, n):
        visits[k] = visits[:k] @ a[:k, k]
    return visits


def _absorbed(inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Return the probabilities of leaving through each state of `outer`."""
    n = len(inner)
    a, b, total = inner.copy(), outer.copy(), np.zeros(n)
    for k in range(n - 1, -1, -1):
        total[k] = a[k, :k].sum() + b[k].sum()
        factor = a[:k, k] / total[k]
        a[:k, :k] += np.outer(factor, a[k, :k])
        b[:k] += np.outer(factor, b[k])
    for k in range(n):
        b[k] = (b[k] + a[k, :k] @ b[:k]) / total[k]
    return b


def enumerated_gap(best: Optimum) -> tuple[Least, Least]:
    """Return the least loss per unit of time and per decision over all policies and starting states with a gain below ρ*.

    A policy loses Σ law φ*/Σ law τ in each of its recurrent classes: non-negative numbers, so nothing cancels.
    """
    model, proof = best.model, best.proof
    sure = proof.gap > proof.error
    columns = np.column_stack(
        [np.where(sure, x, 0.0) for x in (proof.gap, proof.gap - proof.error, proof.gap + proof.error, ~best.optimal)]
    )
    unit = 2.0 ** np.floor(np.log2(1.0 / model.rate.min()))
    time = 1.0 / (model.rate * unit)
    least = _Running(best), _Running(best)
    for pairs in policies(model):
        if sure[pairs].any():
            mean = long_run(chain_of(model, pairs), columns[pairs], time[pairs])
            for which in (0, 1):
                least[which].take(mean[which], model.pair_action[pairs])
    return least[0].found(unit), least[1].found(1.0)


class _Running:
    """The least loss so far, with its bounds; among equal ones the policy with the fewest changes."""

    def __init__(self, best: Optimum):
        self.best, self.error = best.policy, 2 * long_run_error(best.model.n_states)
        self.value, self.low, self.high, self.changes = np.inf, np.inf, np.inf, 0
        self.policy: np.ndarray | None = None

    def take(self, mean: np.ndarray, policy: np.ndarray) -> None:
        if not np.isfinite(mean).all():  # numbers beyond floats: nothing is proved of this policy
            self.low = 0.0
            return
        lossy = mean[:, 2] > 0
        if not lossy.any():
            return
        self.low = min(self.low, float(mean[lossy, 1].min()) * (1 - self.error))
        self.high = min(self.high, float(mean[lossy, 2].min()) * (1 + self.error))
        counted = lossy & (mean[:, 3] > 0)
        if counted.any():
            now, changes = float(mean[counted, 0].min()), int((policy != self.best).sum())
            if now < self.value * (1 - 1e-12) or (now <= self.value * (1 + 1e-12) and changes < self.changes):
                self.value, self.changes, self.policy = min(now, self.value), changes, policy

    def found(self, unit: float) -> Least:
        return Least(
            self.value / unit, (min(self.low, self.value) / unit, max(self.high, self.value) / unit), -1, self.policy
        )
