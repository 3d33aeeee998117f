"""Single deviations from an optimal policy: what each loses per unit of time and per decision, with proved bounds.

Deviating by (s, a) costs φ*(s, a) once every return to s, so the loss is φ*/R with R = 1/λ(s, a) + Σ_y p(y|s, a) (longest
expected time from y to s by optimal actions).  With 1 in the place of the mean holding times it is the loss per decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.all_targets import AllTargets
from sojourn.instance.cycles import Cycles, busy_state, likely_law, short_jumps
from sojourn.instance.first_passage import EPSILON, Passage
from sojourn.instance.gaps import Optimum
from sojourn.instance.one_target import Reached, reached
from sojourn.instance.sparse_targets import SparseTargets

DENSE_STATES = 3000  # up to here all pairs of states are held in one array
FEW_STATES = 40  # up to here each state is solved for on its own where there are ties
CANDIDATES = 12
TRIED = 64  # states that are solved for one by one where that is dear
BLOCK = 64  # targets at a time: their values stay in the processor's cache
ALL = 20_000  # states up to which all deviations are compared where jumps are long
CHEAP = 4e9  # multiplications up to which every state is solved for on its own


@dataclass(frozen=True, eq=False)
class Least:
    """The least loss, the proved interval, the pair that deviates (-1: none) and the policy that attains it."""

    value: float
    bounds: tuple[float, float]
    pair: int
    policy: np.ndarray | None


def least_ratios(best: Optimum) -> tuple[Least, Least]:
    """Return the least loss per unit of time and per decision."""
    model = best.model
    unit = 2.0 ** np.floor(np.log2(1.0 / model.rate.min()))  # so that the numbers inside are near 1
    costs = 1.0 / (model.rate * unit), np.ones(model.n_pairs)
    if model.n_states > DENSE_STATES and _by_hub_pays(best):
        found = _by_hub(best, costs)
    elif int(best.optimal.sum()) == model.n_states and model.n_states <= DENSE_STATES:
        first = np.flatnonzero(best.optimal)
        hits = AllTargets(model.matrix[first], *(cost[first] for cost in costs))
        found = [_Deviations(best, cost).without_ties(hits.hits[c], hits.error) for c, cost in enumerate(costs)]
    else:
        found = [_Deviations(best, cost).with_ties() for cost in costs]
    by_time = found[0]
    with np.errstate(over="ignore"):
        low, high = (np.float64(bound) / unit for bound in by_time.bounds)
    return Least(float(by_time.value / unit), (float(low), float(high)), by_time.pair, by_time.policy), found[1]


def _by_hub_pays(best: Optimum) -> bool:
    """Return whether jumps are short, and pairs that tie with the policy's, if any, too many to solve for each state exactly."""
    passage = Passage(best.model.matrix, best.model.pair_state, 1.0 / best.model.rate)
    n, each = best.model.n_states, (passage.band + 1.0) ** 2
    return short_jumps(n, passage.band) and (_alone(best) or float(n) * n * each > CHEAP)


def _alone(best: Optimum) -> bool:
    """Return whether every pair but the policy's own is proved to fall short."""
    short = best.proof.gap > best.proof.error
    short[best.proof.pairs] = True
    return bool(short.all())


def _by_hub(best: Optimum, costs: tuple[np.ndarray, ...]) -> list[Least]:
    """Return the least loss of each kind from one elimination of the optimal policy: for large models with short jumps.

    The interval is proved from both sides where every other pair is proved to fall short; where pairs tie, the longest way back
    is not that of one policy, and the lower end is 0.
    """
    m, own = best.model, best.proof.pairs
    passage = Passage(m.matrix, m.pair_state, costs[0])
    chain, first = m.matrix[own], _Deviations(best, costs[0])
    found = Cycles(chain, np.array([cost[own] for cost in costs]), busy_state(chain), passage.place, passage.band,
                   m.matrix[first.pairs], first.state)
    alone = _alone(best)
    return [first.by_hub(*found.returns(kind, cost[first.pairs]), alone) for kind, cost in enumerate(costs)]


class _Deviations:
    """The suboptimal pairs, and the longest way back to their states by optimal actions."""

    def __init__(self, best: Optimum, cost: np.ndarray):
        self.best, self.model, self.cost = best, best.model, cost
        self.kept = np.flatnonzero(best.optimal)
        self.passage = Passage(
            self.model.matrix[self.kept], self.model.pair_state[self.kept], cost[self.kept], largest=True
        )
        self.certain = np.flatnonzero(~best.optimal)
        self.pairs = np.flatnonzero(~best.optimal | best.doubtful)
        self.state = self.model.pair_state[self.pairs]
        self.first = self.passage.start  # the first optimal choice of each state
        proof = best.proof
        self.gap = proof.gap[self.pairs]
        self.gap_low = np.maximum(self.gap - proof.error[self.pairs], 0.0)
        self.gap_high = self.gap + proof.error[self.pairs]
        self.rows = np.diff(self.model.row_start)[self.pairs]

    def policy(self, pair: int, choice: np.ndarray) -> np.ndarray:
        policy: np.ndarray = self.model.pair_action[self.kept[choice]]
        policy[self.model.pair_state[pair]] = self.model.pair_action[pair]
        return policy

    def back(self, i: int, value: np.ndarray) -> float:
        """Return R of deviation i, given the way back from each state."""
        pair = int(self.pairs[i])
        row = slice(self.model.row_start[pair], self.model.row_start[pair + 1])
        return float(self.cost[pair] + self.model.probability[row] @ value[self.model.next_state[row]])

    # ---- one optimal policy ----------------------------------------------------------------------------------------

    def by_hub(self, low: np.ndarray, back: np.ndarray, high: np.ndarray, alone: bool) -> Least:
        """Return the least loss given bounds of the way back of each deviation; `alone`: the optimal policy is the only one."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            least = float(np.where(np.isinf(high), 0.0, self.gap_low / high).min()) if alone else 0.0
            most = float((self.gap_high / low).min())
            ratio = np.nan_to_num(self.gap / np.where(np.isnan(back), low, back), nan=np.inf)
        ratio[self.best.doubtful[self.pairs]] = np.inf
        i = int(np.argmin(ratio))
        pair = int(self.pairs[i])
        policy: np.ndarray = self.model.pair_action[self.best.proof.pairs].copy()
        policy[self.state[i]] = self.model.pair_action[pair]
        return Least(float(ratio[i]), _ordered(least, most, float(ratio[i])), pair, policy)

    def without_ties(self, hits: np.ndarray, error: np.ndarray) -> Least:
        """Return the least loss given V[s, t] for all pairs of states and the log error of each column."""
        m, owner = self.model, np.repeat(np.arange(self.model.n_pairs), np.diff(self.model.row_start))
        jump = m.probability * hits[m.next_state, m.pair_state[owner]]
        back = (self.cost + np.add.reduceat(jump, m.row_start[:-1]))[self.pairs]
        off = error[self.state] + (self.rows + 6) * EPSILON
        sound = np.isfinite(off)
        with np.errstate(over="ignore"):
            low = np.where(sound, self.gap_low / (back * np.exp(np.where(sound, off, 0.0))), 0.0)
            high = np.where(sound, self.gap_high / (back * np.exp(-np.where(sound, off, 0.0))), np.inf)
        ratio = np.where(sound, self.gap / back, np.inf)
        least = ratio.min() if sound.any() else np.inf
        i = int(np.argmax(ratio <= least * (1 + 1e-14))) if sound.any() else int(np.argmin(self.gap / back))
        value = float(ratio[i] if sound.any() else self.gap[i] / back[i])
        pair = int(self.pairs[i])
        return Least(value, _ordered(low.min(), high.min(), value), pair, self.policy(pair, self.first))

    # ---- several optimal policies, or many states ------------------------------------------------------------------

    def with_ties(self) -> Least:
        """Return the least loss: lower bounds for all pairs first, then each state on its own until none can be less."""
        n, targets = self.model.n_states, len(np.unique(self.state))
        if n > ALL:
            return self._some()
        lower = np.full(len(self.pairs), np.nan)
        cheap = float(targets) * n * (self.passage.band + 1.0) ** 2 <= CHEAP
        if n > FEW_STATES and not (cheap and n > DENSE_STATES):
            lower = self._lower_ratios()
        if n > DENSE_STATES and not cheap and np.isnan(lower).any():
            return self._most_promising()
        known = np.where(np.isnan(lower), -np.inf, lower)
        if n > DENSE_STATES and not cheap:
            return self._solve(np.lexsort((self.gap / self.cost[self.pairs], known)), lower, TRIED)
        return self._solve(np.argsort(known, kind="stable"), lower, n)

    def _solve(self, order: np.ndarray, lower: np.ndarray, limit: int = 1) -> Least:
        """Return the least loss of the deviations in `order`, of those only that can be it by their `lower` bounds.

        No more than `limit` states are solved for.  Of what is left then only the lower bound is known, and the lower end says so.
        """
        known: dict[int, tuple[Reached, Reached | None]] = {}
        value, low, high, at, choice = np.inf, np.inf, np.inf, -1, self.first
        for i in order:
            if lower[i] * (1 - 1e-8) > value:
                break
            target = int(self.state[i])
            if target not in known and len(known) == limit:
                low = min(low, float(lower[i]))
                break
            if target not in known:
                known[target] = self._reached(target)
            longest, own = known[target]
            rounding = (int(self.rows[i]) + 6) * EPSILON
            most = self.back(int(i), longest.high()) * (1 + rounding)
            least = self.back(int(i), (own or longest).low()) * (1 - rounding)
            low = min(low, float(self.gap_low[i]) / most)
            high = min(high, float(self.gap_high[i]) / least)
            ratio = float(self.gap[i]) / self.back(int(i), longest.value)
            if ratio < value * (1 - 1e-14) and not self.best.doubtful[self.pairs[i]]:
                value, at, choice = ratio, int(self.pairs[i]), longest.choice
        policy = None if at < 0 else self.policy(at, choice)
        return Least(value, _ordered(low, high, value), at, policy)

    def _reached(self, target: int) -> tuple[Reached, Reached | None]:
        """Return the longest ways to a state by actions that count as optimal; where some are doubtful, those of one policy too."""
        longest = reached(self.passage, target, self.first)
        if not self.best.doubtful.any():
            return longest, None
        pairs = self.best.proof.pairs
        one = Passage(self.model.matrix[pairs], np.arange(self.model.n_states), self.cost[pairs])
        return longest, reached(one, target, np.arange(self.model.n_states))

    def _lower_ratios(self) -> np.ndarray:
        """Return a proved lower bound of φ/R for each deviation; NaN where there is none."""
        n = self.model.n_states
        lower = np.full(len(self.pairs), np.nan)
        targets = np.unique(self.state)
        for part in np.array_split(targets, max(1, len(targets) // BLOCK)):
            block, off = _longest(self.passage, part, 1e-9 if n <= DENSE_STATES else 0.45)
            known = off < 0.5
            if not known.any():
                break  # mixes too slowly for this
            block = block / (1 - off) * (1 + 4 * EPSILON)
            for c in np.flatnonzero(known):
                for i in np.flatnonzero(self.state == part[c]):
                    lower[i] = self.gap_low[i] / (self.back(int(i), block[:, c]) * (1 + (self.rows[i] + 6) * EPSILON))
        return lower

    def _some(self) -> Least:
        """Take a few deviations in states that are seldom visited, for what they cost: the least is attained, the lower end is 0.

        Where a way back takes too long to be worked out, a loss is at most the gap per holding time.
        """
        often = likely_law(self.model.matrix[self.kept[self.first]])[self.state]
        some = np.argsort(self.gap * often, kind="stable")[:CANDIDATES]
        if self.passage.by_steps(self.first, int(self.state[some[0]])) is None:
            with np.errstate(over="ignore"):  # where nothing is proved of a gap, its upper end is the largest float
                value, most = (float((gap / self.cost[self.pairs]).min()) for gap in (self.gap, self.gap_high))
            return Least(value, (0.0, max(value, most)), -1, None)
        found = [self._solve(np.array([i]), np.full(len(self.pairs), np.nan)) for i in some]
        least = min(found, key=lambda one: one.value)
        return Least(least.value, (0.0, max(least.value, min(one.bounds[1] for one in found))), least.pair, least.policy)

    def _most_promising(self) -> Least:
        """Compare by one sparse factorization, not proved, and evaluate the most promising deviations; the least is attained."""
        m, first = self.model, self.kept[self.first]
        chain = SparseTargets(m.matrix[first])
        matrix, cost = m.matrix[self.pairs], self.cost
        detours = chain.detours(matrix, self.state)
        ratio = self.gap / chain.returns(cost[first], matrix, self.state, cost[self.pairs], detours)
        known = np.argsort(np.where(np.isnan(ratio), np.inf, ratio), kind="stable")[:CANDIDATES]
        unknown = np.flatnonzero(np.isnan(ratio))
        some = np.concatenate(
            [known[~np.isnan(ratio[known])], unknown[np.argsort(self.gap[unknown], kind="stable")[:CANDIDATES]]]
        )
        trouble: ToleranceError | None = None
        found: list[Least] = []
        for i in some:
            try:
                found.append(self._solve(np.array([i]), np.full(len(self.pairs), np.nan)))
            except ToleranceError as error:  # a state that is practically never visited: leave it out
                trouble = error
        if not found:
            assert trouble is not None
            raise trouble
        least = min(found, key=lambda f: f.value)
        return Least(least.value, (0.0, max(least.value, min(f.bounds[1] for f in found))), least.pair, least.policy)


def _ordered(low: float, high: float, value: float) -> tuple[float, float]:
    """Return the interval, made to hold the value: they differ where pairs within the tolerance of ties were left out."""
    return min(float(low), value), max(float(high), value)


def _longest(passage: Passage, targets: np.ndarray, enough: float) -> tuple[np.ndarray, np.ndarray]:
    """Return approximate largest costs to some targets by scaled Bellman steps, with their residuals δ (bound: block/(1 - δ))."""
    scale = passage.cost.mean()
    block = np.full((passage.n_states, len(targets)), scale * passage.n_states)
    block[targets, np.arange(len(targets))] = 0.0
    off = np.full(len(targets), np.inf)
    for _ in range(16):
        for _ in range(6):
            after = passage.sweep(block, targets)
            block = after * np.clip(1 + (after - block).mean(axis=0) / scale, 0.5, 2.0)
        off = passage.excess_above(block, targets)
        if (off < enough).all():
            break
    return block, off
