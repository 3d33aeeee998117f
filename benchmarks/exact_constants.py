"""g, g_step and D on models with strong drift against exact rational arithmetic: is every proved interval true?

Run: python benchmarks/exact_constants.py [--models 1000] [--seed 0] [--verbose]

All numbers of a model are fractions that floats hold exactly (probabilities are multiples of 2^-20).  The judge solves it in
fractions: policy iteration for the gain, single deviations with the longest ways back for g and g_step, policy iteration for
every target for D.  A false interval is a true value outside of the bounds; there must be none, and each value that calls
itself exact must be right to 1e-9.
"""

import argparse
import itertools
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.diameter import diameter
from sojourn.instance.gain_gap import gain_gap
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solution import Solution
from sojourn.solving.solve import solve

GRID = 2**20


# ---- the judge -------------------------------------------------------------------------------------------------------


@dataclass
class Exact:
    """options[s] is a list of (row {state: Fraction}, rate, reward): a model in fractions, its diagonal left out."""

    options: list

    @classmethod
    def of(cls, model: CTMDP) -> "Exact":
        """Return a model's numbers as they are stored; what a row lacks to one counts as staying."""
        options: list = [[] for _ in range(model.n_states)]
        for k, s in enumerate(model.pair_state.tolist()):
            jumps = range(model.row_start[k], model.row_start[k + 1])
            row = {int(model.next_state[i]): Fraction(model.probability[i]) for i in jumps}
            speed = Fraction(model.rate[k])
            paid = Fraction(model.reward[k]) + Fraction(model.running[k]) / speed
            if model.transition_reward is not None:
                paid += sum(Fraction(model.probability[i]) * Fraction(model.transition_reward[i]) for i in jumps)
            row.pop(s, None)
            options[s].append((row, speed, paid))
        return cls(options)

    @property
    def n(self) -> int:
        return len(self.options)

    def model(self) -> CTMDP:
        n, most = self.n, max(len(o) for o in self.options)
        transition, admissible = np.zeros((n, most, n)), np.zeros((n, most), dtype=bool)
        rate, reward = np.ones((n, most)), np.zeros((n, most))
        for s, options in enumerate(self.options):
            for a, (row, speed, lump) in enumerate(options):
                for j, p in row.items():
                    transition[s, a, j] = float(p)
                transition[s, a, s] = float(1 - sum(row.values()))
                admissible[s, a], rate[s, a], reward[s, a] = True, float(speed), float(lump)
        return CTMDP.from_arrays(transition, rate, reward, admissible=admissible)

    def chosen(self, policy: list[int]) -> list:
        return [self.options[s][a] for s, a in enumerate(policy)]


def totals(rows: list, costs: list, target: int) -> list:
    """Return the expected totals of several costs until `target`, exactly, by elimination of the sparsest states first."""
    n, kinds = len(rows), len(costs[0])
    ahead = [dict(row) for row in rows]
    cost = [list(c) for c in costs]
    back: list[set] = [set() for _ in range(n)]
    for i, row in enumerate(ahead):
        if i != target:
            for j in row:
                back[j].add(i)
    left, order, pivot = set(range(n)) - {target}, [], [Fraction(0)] * n
    while left:
        k = min(left, key=lambda s: (len(ahead[s]) * len(back[s]), s))
        left.remove(k)
        order.append(k)
        pivot[k] = sum(ahead[k].values())
        for j in ahead[k]:
            back[j].discard(k)
        for i in back[k]:
            f = ahead[i].pop(k) / pivot[k]
            for j, p in ahead[k].items():
                if j != i:
                    ahead[i][j] = ahead[i].get(j, 0) + f * p
                    back[j].add(i)
            cost[i] = [x + f * y for x, y in zip(cost[i], cost[k])]
    value = [[Fraction(0)] * kinds for _ in range(n)]
    for k in reversed(order):
        for c in range(kinds):
            value[k][c] = (cost[k][c] + sum(p * value[j][c] for j, p in ahead[k].items())) / pivot[k]
    return value


def evaluated(exact: Exact, policy: list[int]) -> tuple[Fraction, list]:
    """Return the gain and the bias (0 in state 0) of an irreducible policy."""
    chosen = exact.chosen(policy)
    value = totals([c[0] for c in chosen], [[c[2], 1 / c[1]] for c in chosen], 0)
    row, rate, lump = chosen[0]
    gain = (lump + sum(p * value[j][0] for j, p in row.items())) / (1 / rate + sum(p * value[j][1] for j, p in row.items()))
    return gain, [x - gain * t for x, t in value]


def optimum(exact: Exact, policy: list[int]) -> tuple[Fraction, list]:
    """Return the optimal gain and the gaps per state and option."""
    while True:
        gain, bias = evaluated(exact, policy)
        gaps = [
            [gain / rate - lump - sum(p * (bias[j] - bias[s]) for j, p in row.items()) for row, rate, lump in options]
            for s, options in enumerate(exact.options)
        ]
        better = [min(range(len(g)), key=lambda a, g=g: (g[a], a)) for g in gaps]
        if all(g[a] >= 0 for g, a in zip(gaps, better)):
            return gain, gaps
        policy = [a if g[a] < 0 else old for g, a, old in zip(gaps, better, policy)]


def best_times(exact: Exact, allowed: list, target: int, costs, sign: int, start: list[int]) -> tuple[list, list[int]]:
    """Return the least (sign 1) or largest (sign -1) expected costs of reaching `target` by allowed options, and the policy."""
    policy = list(start)
    while True:
        chosen = exact.chosen(policy)
        value = [v[0] for v in totals([c[0] for c in chosen], [[costs(c)] for c in chosen], target)]
        changed = False
        for s in range(exact.n):
            if s == target or len(allowed[s]) == 1:
                continue
            gain = {
                a: sign * (costs(exact.options[s][a]) + sum(p * (value[j] - value[s]) for j, p in exact.options[s][a][0].items()))
                for a in allowed[s]
            }
            best = min(gain, key=lambda a: (gain[a], a))
            if gain[best] < 0:
                policy[s], changed = best, True
        if not changed:
            return value, policy


def holding(option: tuple) -> Fraction:
    return 1 / option[1]


def one(option: tuple) -> Fraction:
    return Fraction(1)


def true_gaps(exact: Exact, policy: list[int]) -> tuple[Fraction | None, Fraction | None]:
    """Return g and g_step; None where all policies are optimal."""
    _, gaps = optimum(exact, policy)
    allowed = [[a for a, g in enumerate(row) if g == 0] for row in gaps]
    start, found = [a[0] for a in allowed], []
    for costs in (holding, one):
        least = None
        for s in range(exact.n):
            lossy = [a for a, g in enumerate(gaps[s]) if g > 0]
            if lossy:
                value, _ = best_times(exact, allowed, s, costs, -1, start)
                for a in lossy:
                    option = exact.options[s][a]
                    ratio = gaps[s][a] / (costs(option) + sum(p * value[j] for j, p in option[0].items()))
                    least = ratio if least is None or ratio < least else least
        found.append(least)
    return found[0], found[1]


def true_gaps_of_all(exact: Exact, policy: list[int]) -> tuple[Fraction | None, Fraction | None]:
    """Return g and g_step from all policies, each of which has one recurrent class."""
    gain, _ = optimum(exact, policy)
    found = []
    for other in itertools.product(*(range(len(o)) for o in exact.options)):
        chosen = exact.chosen(list(other))
        rows, target = [c[0] for c in chosen], 0
        for _ in range(exact.n):  # walk to a recurrent state: the least that can be reached
            seen, more = {target}, [target]
            while more:
                new = set(rows[more.pop()]) - seen
                seen, more = seen | new, more + list(new)
            target = min(seen)
        value = totals(rows, [[c[2], 1 / c[1], Fraction(1)] for c in chosen], target)
        row, speed, paid = chosen[target]
        cycle = [x + sum(p * value[j][c] for j, p in row.items()) for c, x in enumerate((paid, 1 / speed, Fraction(1)))]
        loss = gain - cycle[0] / cycle[1]
        if loss > 0:
            found.append((loss, loss * cycle[1] / cycle[2]))
    return (min(f[0] for f in found), min(f[1] for f in found)) if found else (None, None)


def true_diameter(exact: Exact) -> Fraction:
    allowed = [list(range(len(o))) for o in exact.options]
    policy, longest = [0] * exact.n, Fraction(0)
    for t in range(exact.n):
        value, _ = best_times(exact, allowed, t, holding, 1, policy)
        longest = max(longest, *value)
    return longest


# ---- models ----------------------------------------------------------------------------------------------------------


def dyadic(x: float, parts: int = GRID, least: int = 1) -> Fraction:
    return Fraction(max(least, round(x * parts)), parts)


def drifted(rng: np.random.Generator) -> float:
    """Return a probability that is far from one half more often than not."""
    return float(np.clip(rng.beta(0.5, 0.5), 2.0**-12, 1 - 2.0**-12))


def lump(rng: np.random.Generator) -> Fraction:
    return Fraction(int(rng.integers(-64, 65)), 64)


def rate(rng: np.random.Generator) -> Fraction:
    return Fraction(int(rng.integers(1, 65)), 16)


def walk(rng: np.random.Generator, n: int, actions: int) -> Exact:
    """Up or down with probabilities that differ from action to action; half of the walks drift the same way everywhere."""
    base = drifted(rng) if rng.random() < 0.5 else None
    options = []
    for s in range(n):
        here = []
        for _ in range(actions):
            centre = drifted(rng) if base is None else float(np.clip(base + 0.1 * rng.normal(), 2.0**-12, 1 - 2.0**-12))
            stay = 0.5 * rng.random() if rng.random() < 0.3 else 0.0
            up = dyadic((1 - stay) * centre)
            down = dyadic((1 - stay) * (1 - centre))
            down = min(down, 1 - up) or Fraction(1, GRID)
            row = ({s + 1: up} if s < n - 1 else {}) | ({s - 1: down} if s > 0 else {})
            here.append((row, rate(rng), lump(rng)))
        options.append(here)
    return Exact(options)


def jumps(rng: np.random.Generator, n: int, actions: int, rare: bool) -> Exact:
    """Few jumps from each state, one of them to the next on a ring; where `rare`, some have the least probability there is."""
    options = []
    for s in range(n):
        here = []
        for _ in range(actions):
            others = sorted({(s + 1) % n, *(int(j) for j in rng.choice(n, min(n, 3), replace=False))} - {s})
            weight = rng.random(len(others)) ** (8 if rare else 1)
            row, left = {}, GRID
            for i, j in enumerate(others):
                share = max(1, min(left - (len(others) - i), int(weight[i] / weight.sum() * GRID)))
                row[j], left = Fraction(share, GRID), left - share
            here.append((row, rate(rng), lump(rng)))
        options.append(here)
    return Exact(options)


def queue(rng: np.random.Generator, n: int, kind: str) -> Exact:
    """Admission (take most customers or few; "closing": all or none) or a choice of speeds; holding costs grow with the queue."""
    arrival, speeds = float(rng.uniform(0.1, 0.45)), sorted(rng.uniform(0.05, 0.5, 2))
    fee = Fraction(int(rng.integers(1, 400)), 64)
    options = []
    for s in range(n):
        here = []
        for a in range(2):
            up, down = dyadic(arrival), dyadic(speeds[a] if kind == "service" else speeds[1])
            if kind == "admission" and a == 1:
                up = up / 16
            taken = kind != "closing" or a == 0 or s == 0
            row = ({s + 1: up} if s < n - 1 and taken else {}) | ({s - 1: down} if s > 0 else {})
            paid = (fee * up if taken and s < n - 1 else 0) - Fraction(s, 64)
            here.append((row, Fraction(2), paid - (Fraction(a, 8) if kind == "service" else 0)))
        options.append(here)
    return Exact(options)


def wells(rng: np.random.Generator, n: int) -> Exact:
    """Two walks that keep to their ends, joined in the middle by rare jumps."""
    made = walk(rng, n, 2)
    for s, here in enumerate(made.options):
        for a, (row, speed, paid) in enumerate(here):
            inward = s + 1 if s < n // 2 else s - 1
            new = dict(row)
            if inward in new and 0 <= inward < n:
                new[inward] = Fraction(int(rng.integers(1, GRID // 16)), GRID)
            if s in (n // 2 - 1, n // 2) and n > 1:
                new[n - 1 - s if n % 2 == 0 else inward] = Fraction(1, GRID)
            total = sum(new.values())
            here[a] = ({j: p if total <= 1 else p / 2 for j, p in new.items()}, speed, paid)
    return made


def families(rng: np.random.Generator, i: int) -> tuple[str, Exact]:
    """Return the i-th model: most are small, every tenth is long."""
    size = int(rng.integers(3, 13)) if i % 10 else int(rng.integers(13, 41))
    kind = i % 8
    if kind in (0, 1):
        return "walk", walk(rng, size, int(rng.integers(2, 4)))
    if kind == 2:
        return "one action", walk(rng, int(rng.integers(3, 151)) if i % 3 == 0 else size, 1)
    if kind == 3:
        return "jumps", jumps(rng, int(rng.integers(3, 8)), int(rng.integers(1, 4)), bool(rng.integers(2)))
    if kind == 4:
        return "admission", queue(rng, size, "admission")
    if kind == 5:
        return "service", queue(rng, size, "service")
    if kind == 6:
        return "closing", queue(rng, int(rng.integers(3, 8)), "closing")
    return "wells", wells(rng, max(4, size // 2 * 2))


# ---- the verdict -----------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Counts of one family and quantity."""

    values: int = 0
    exact: int = 0
    false: int = 0
    wrong: int = 0
    worst: float = 0.0
    widest: float = 0.0
    notes: list = field(default_factory=list)

    def take(self, name: str, truth: Fraction | None, value: float, bounds: tuple[float, float], exact: bool) -> None:
        self.values += 1
        self.exact += exact
        if any(np.isnan(x) for x in (value, *bounds)):
            self.false += 1
            self.notes.append(f"{name}: nan in {value}, {bounds}")
            return
        if truth is None:
            held, off = bounds[1] == np.inf, 0.0 if value == np.inf else np.inf
        else:
            held = Fraction(bounds[0]) <= truth and (bounds[1] == np.inf or truth <= Fraction(bounds[1]))
            off = float(abs(Fraction(value) - truth) / truth) if np.isfinite(value) else np.inf
        if not held:
            self.false += 1
            self.notes.append(f"{name}: {bounds} misses {None if truth is None else float(truth)!r} (value {value!r})")
        if exact:
            self.worst = max(self.worst, off)
            if np.isfinite(bounds[1]) and bounds[0] > 0:
                self.widest = max(self.widest, bounds[1] / bounds[0] - 1)
            if not off <= 1e-9:
                self.wrong += 1
                self.notes.append(f"{name}: marked exact, off by {off:.2g}")


def solution(model: CTMDP) -> Solution:
    """Return a solution, also one whose gain could not be proved: the constants do not rest on that proof."""
    try:
        with np.errstate(all="ignore"):
            return solve(model)
    except ToleranceError as error:
        return error.best


def judge(models: int, seed: int, say=lambda line: None) -> dict[tuple[str, str], Tally]:
    """Return the counts per family and quantity over some models."""
    counts: dict[tuple[str, str], Tally] = {}
    for i in range(models):
        rng = np.random.default_rng([seed, i])
        family, exact = families(rng, i)
        began = time.perf_counter()
        name, model = f"model {i} ({family}, {exact.n} states)", exact.model()
        gap, far = gain_gap(model, solution(model)), diameter(model)
        spent = time.perf_counter() - began
        g, g_step = (true_gaps_of_all if family == "closing" else true_gaps)(exact, [0] * exact.n)
        for what, truth, value, bounds, is_exact in (
            ("g", g, gap.value, gap.bounds, gap.exact),
            ("g_step", g_step, gap.per_decision, gap.per_decision_bounds, gap.exact),
            ("D", true_diameter(exact), far.value, far.bounds, far.exact),
        ):
            counts.setdefault((family, what), Tally()).take(f"{what} of {name}", truth, value, bounds, is_exact)
        say(f"{name}: {spent:.2f} s, judged in {time.perf_counter() - began - spent:.2f} s")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    counts = judge(given.models, given.seed, print if given.verbose else lambda line: None)
    print(f"{'family':<12} {'':<7} {'values':>6} {'exact':>6} {'false':>6} {'wrong':>6} {'worst error':>12} {'widest':>9}")
    for (family, what), c in sorted(counts.items()):
        print(f"{family:<12} {what:<7} {c.values:>6} {c.exact:>6} {c.false:>6} {c.wrong:>6} {c.worst:>12.1e} {c.widest:>9.1e}")
    for c in counts.values():
        for note in c.notes:
            print("!", note)
    bad = sum(c.false + c.wrong for c in counts.values())
    print(f"{sum(c.values for c in counts.values())} values of {given.models} models: {bad} false intervals or wrong exact values")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
