"""Uncertainty where nobody said which jumps are possible, without an array of pairs x states.

A row of the KL ball of kl_set.py gives weight only to successors that were seen and to the best of all states; so a row is kept as
what was seen and one *free* place, "anything not yet seen", which stands for the state that is best at the moment.  The mean model
keeps, as learn/posterior.py does, one observation's weight spread evenly over all states: as that is the same for every row, a
policy's bias, taken with mean 0 over the states, does not hear of it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, hstack, identity
from scipy.sparse.linalg import MatrixRankWarning, splu, spsolve
from scipy.special import gammaln

from sojourn.kernels.gain_planning import ROUNDING
from sojourn.kernels.kl_optimism import KLProblem, kl_drift, kl_sets
from sojourn.learn.counts import Counts
from sojourn.learn.kl_set import told_intervals
from sojourn.learn.optimism import TOO_FAR_APART, Improved
from sojourn.model.knowledge import Knowledge

ROUNDS = 1000  # of policy iteration on the mean model; it needs a handful
GAINED = 1e-10  # relative: an improvement below this is rounding
SOLVED = 4  # of so many steps all but one solve for the policy's values; the other is a damped step of single states
FAR = 1e7  # values beyond so many times those before come from a policy with several classes


@dataclass(frozen=True, eq=False)
class OpenSet:
    """What the counts leave open; `row_start` bounds the successors seen and, at the end of each row, the free place."""

    problem: KLProblem
    empty_intervals: int

    @property
    def rate_low(self) -> np.ndarray:
        return self.problem.rate_low

    @property
    def rate_high(self) -> np.ndarray:
        return self.problem.rate_high

    def iteration(self) -> OpenIteration:
        """Return how `optimistic_plan` (learn/optimism.py) plans over this set."""
        return OpenIteration(self.problem)

    def against(self, pair: np.ndarray) -> OpenSet:
        """Return the set in which `pair` is all that can be played and every payment is a cost."""
        p = self.problem
        size = np.diff(p.row_start)[pair]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        entries = np.repeat(p.row_start[pair] - start[:-1], size) + np.arange(start[-1])
        return replace(self, problem=KLProblem(
            np.arange(len(pair) + 1), start, p.next_state[entries], p.probability[entries], p.radius[pair], p.rate_low[pair],
            p.rate_high[pair], -p.reward[pair], -p.running[pair], p.top_rate))


def open_set(counts: Counts, knowledge: Knowledge, level: float) -> OpenSet:
    """Return the set after `counts`; each of its 2P parts fails ever with probability at most `level`."""
    start, after, count = counts.rows()
    visits = counts.visits
    _, low, high, empty = kl_sets(start, count, visits, counts.holding_sum, level, knowledge.rate_min, knowledge.rate_max)
    if counts.unfinished is not None:
        low, high, empty = told_intervals(counts, level, float(knowledge.rate_min), float(knowledge.rate_max))
    ends = start[1:]
    share = count / np.repeat(np.maximum(1, visits), np.diff(start))
    problem = KLProblem(
        np.array(knowledge.pair_start), start + np.arange(len(start)), np.insert(after, ends, 0), np.insert(share, ends, 0.0),
        row_radius(start, count, visits, knowledge.n_states, level), low, high, np.array(knowledge.reward),
        np.array(knowledge.running), float(knowledge.rate_max))
    return OpenSet(problem, int(empty))


def row_radius(start: np.ndarray, count: np.ndarray, visits: np.ndarray, n_states: int, level: float) -> np.ndarray:
    """Return the KL radius of each row, as `row_threshold` in kernels/kl_optimism.py has it for `n_states` possible successors."""
    pair = np.repeat(np.arange(len(visits)), np.diff(start))
    each = count * np.log(count / visits[pair]) - gammaln(1 / n_states + count) + gammaln(1 / n_states)
    total = -np.log(level) + gammaln(1.0 + visits) + np.bincount(pair, each, minlength=len(visits))
    return np.where(visits > 0, total / np.maximum(1, visits), np.inf)


class OpenIteration:
    """Policy iteration over the set: each step the free places stand for the state of most value."""

    remedy = TOO_FAR_APART

    def __init__(self, problem: KLProblem):
        self.problem = problem
        self.next_state = problem.next_state.copy()
        self.free = problem.row_start[1:] - 1
        self.step = 0

    def improve(self, u: np.ndarray, tolerance: float, most: int) -> Improved:
        """Take one step on u, in place."""
        self.next_state[self.free] = np.argmax(u)
        problem = self.problem._replace(next_state=self.next_state)
        drift, pair, rate, rows = kl_drift(u, problem)
        low, high, rate_of = float(drift.min()), float(drift.max()), rate[pair]
        size = (rate_of * (np.abs(problem.reward[pair]) + np.ptp(u)) + np.abs(problem.running[pair])).max()
        converged = high - low <= max(tolerance, ROUNDING * float(size))
        if not converged:
            self.step += 1
            values = _values(problem, pair, rate, rows) if self.step % SOLVED else None
            if values is not None and np.abs(values).max() < FAR * (1 + np.abs(u).max() + np.abs(problem.reward).max()):
                u[:] = values
            else:
                u += 0.9 * (drift - low) / problem.rate_high[pair].max()
        return Improved(pair, rate_of, 1, low, high, bool(converged))


def _values(problem: KLProblem, pair: np.ndarray, rate: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """Return the bias of a policy, 0 in state 0: h + g/λ = r + c/λ + Q h, one sparse system with g in the place of h(0)."""
    n = len(pair)
    chosen = _matrix(problem, rows, pair)
    system = hstack([csc_matrix((1 / rate[pair])[:, None]), (identity(n, format="csc") - chosen.tocsc())[:, 1:]], format="csc")
    with warnings.catch_warnings():
        warnings.simplefilter("error", MatrixRankWarning)
        try:
            found = np.asarray(spsolve(system, problem.reward[pair] + problem.running[pair] / rate[pair]))
        except (MatrixRankWarning, RuntimeError):  # several recurrent classes
            return None
    found[0] = 0.0
    return found if np.isfinite(found).all() else None


def _matrix(problem: KLProblem, rows: np.ndarray, pair: np.ndarray) -> csr_matrix:
    """Return the rows of some pairs as a matrix over the states."""
    n = len(problem.pair_start) - 1
    whole = csr_matrix((rows, problem.next_state, problem.row_start), shape=(len(problem.radius), n))
    return whole[pair]


def best_on_mean(known: OpenSet, counts: Counts, knowledge: Knowledge) -> tuple[float, np.ndarray]:
    """Return (gain, pair of each state) of the best policy on the posterior mean (learn/posterior.py), by policy iteration.

    A row is (n p̂ + 1/S each) / (n + 1).  With mean(h) = 0 the even part drops out: h = (I - D P̂)^-1 (r - g τ), D = n/(n + 1),
    and g is what makes the mean of h zero.
    """
    p, middle = known.problem, np.sqrt(knowledge.rate_min * knowledge.rate_max)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(counts.visits > 0, counts.visits / counts.holding_sum, middle)
    rate = np.clip(rate, p.rate_low, p.rate_high)
    weight = counts.visits / (counts.visits + 1.0)
    rows = csr_matrix((p.probability * np.repeat(weight, np.diff(p.row_start)), p.next_state, p.row_start),
                      shape=(len(weight), len(p.pair_start) - 1))
    tau, state = 1 / rate, np.repeat(np.arange(len(p.pair_start) - 1), np.diff(p.pair_start))
    income, pair, gain = p.reward + p.running * tau, p.pair_start[:-1].copy(), 0.0
    for _ in range(ROUNDS):
        solved = splu((identity(len(pair), format="csc") - rows[pair].tocsc()).tocsc())
        earned, spent = solved.solve(income[pair]), solved.solve(tau[pair])
        gain = float(earned.mean() / spent.mean())
        bias = earned - gain * spent
        worth = (income + rows @ bias - bias[state]) * rate
        margin = GAINED * (np.abs(bias).max() + np.abs(income).max()) * float(rate.max())
        best = np.maximum.reduceat(worth, p.pair_start[:-1])
        better = worth[pair] < best - margin
        if not better.any():
            break
        first = np.flatnonzero(worth == best[state])
        greedy = first[np.searchsorted(state[first], np.arange(len(pair)))]
        pair = np.where(better, greedy, pair)
    return gain, pair
