"""Models in exact integers: gains, biases and passage times of policies, with no rounding anywhere.

A pair is a row (reward, time, {next state: intensity}) of integers: over common scales, reward per unit of time, 1, and the
jump intensities.  A row may be multiplied by any positive number, which is what keeps elimination in integers.
"""

from __future__ import annotations

import heapq
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from math import gcd

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from sojourn.model.ctmdp import CTMDP

Row = tuple[int, int, dict[int, int]]
TIDY = 60  # chains up to this size are kept free of common factors; the rows of long walks have none


class ExactModel:
    """The integers of a model.  What a row lacks to one is staying put; with `divide`, each row is divided by its exact sum."""

    def __init__(self, model: CTMDP, divide: bool = False):
        self.n, self.pair_start = model.n_states, model.pair_start.tolist()
        self.pair_state, self.pair_rate = model.pair_state.tolist(), [Fraction(x) for x in model.rate.tolist()]
        paid = None if model.transition_reward is None else [_dyadic(x) for x in model.transition_reward.tolist()]
        probability, target = [_dyadic(x) for x in model.probability.tolist()], model.next_state.tolist()
        start = model.row_start.tolist()
        raw = []
        for k, state in enumerate(self.pair_state):
            rate, jumps = _dyadic(float(model.rate[k])), range(start[k], start[k + 1])
            total = _sum([probability[i] for i in jumps]) if divide else (1, 0)
            income = _sum([_times(rate, _dyadic(float(model.reward[k]))), _dyadic(float(model.running[k]))])
            extra = [] if paid is None else [_times(rate, _times(probability[i], paid[i])) for i in jumps]
            to = {target[i]: _times(rate, probability[i]) for i in jumps if target[i] != state}
            raw.append((_sum([_times(total, income), *extra]), total, to))
        self.reward_bits = max(row[0][1] for row in raw)
        self.time_bits = max(row[1][1] for row in raw)
        self.jump_bits = max((b for row in raw for _, b in row[2].values()), default=0)
        self.rows: list[Row] = [
            (x << self.reward_bits - b, t << self.time_bits - d, {j: q << self.jump_bits - e for j, (q, e) in to.items()})
            for (x, b), (t, d), to in raw]
        self.unit = Fraction(1 << self.time_bits, 1 << self.reward_bits)  # gain = reward / time x unit

    def choice(self, pairs) -> list[Row]:
        """The rows of a deterministic policy, given as the pair of each state."""
        return [self.rows[int(k)] for k in pairs]

    def mixture(self, weight) -> list[Row]:
        """The rows of a randomized policy (probability per pair): an action is drawn at each jump and kept until the next.

        The row of a pair stands multiplied by its sum, which must not change how often the pair is drawn.
        """
        rows = []
        for s in range(self.n):
            used = [k for k in range(self.pair_start[s], self.pair_start[s + 1]) if weight[k] > 0]
            share = [Fraction(float(weight[k])) * (1 << self.time_bits) / (self.pair_rate[k] * self.rows[k][1]) for k in used]
            common = 1
            for x in share:
                common = common * x.denominator // gcd(common, x.denominator)
            reward, time, to = 0, 0, {}
            for k, x in zip(used, share):
                m = int(x * common)
                reward, time = reward + m * self.rows[k][0], time + m * self.rows[k][1]
                for j, q in self.rows[k][2].items():
                    to[j] = to.get(j, 0) + m * q
            rows.append((reward, time, to))
        return rows

    def sums_to_one(self) -> bool:
        """Whether every stored row sums to exactly one, so that the two readings are one."""
        return len({row[1] for row in self.rows}) == 1 and self.rows[0][1] == 1 << self.time_bits


def _dyadic(x: float) -> tuple[int, int]:
    """(n, b) with x = n / 2^b."""
    n, d = x.as_integer_ratio()
    return n, d.bit_length() - 1


def _times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
    return x[0] * y[0], x[1] + y[1]


def _sum(terms) -> tuple[int, int]:
    bits = max(b for _, b in terms)
    return sum(n << bits - b for n, b in terms), bits


def recurrent_classes(rows: list[Row]) -> list[list[int]]:
    """The recurrent classes of a chain."""
    n = len(rows)
    edges = [(i, j) for i, row in enumerate(rows) for j in row[2]]
    tail, head = np.array(edges, dtype=int).reshape(-1, 2).T
    count, label = connected_components(csr_matrix((np.ones(len(tail)), (tail, head)), shape=(n, n)), connection="strong")
    open_ = set(label[tail][label[tail] != label[head]].tolist())
    members: list[list[int]] = [[] for _ in range(count)]
    for s, c in enumerate(label.tolist()):
        members[c].append(s)
    return [states for c, states in enumerate(members) if c not in open_]


def eliminate(rows: dict[int, Row], keep: set[int]) -> tuple[list[tuple[int, Row, int]], dict[int, Row]]:
    """Remove every state of `rows` outside `keep`, the least connected first; a removed state hands its row to those before it.

    Return the removed ones in order as (state, row when removed, its total intensity), and the rows of those kept.
    """
    work = {s: [r, t, dict(to)] for s, (r, t, to) in rows.items()}
    before: dict[int, set[int]] = {s: set() for s in work}
    for s, row in work.items():
        for j in row[2]:
            if j in before:
                before[j].add(s)
    tidy = len(work) <= TIDY
    queue = [(len(before[s]) * len(work[s][2]), s) for s in work if s not in keep]
    heapq.heapify(queue)
    removed = []
    while queue:
        size, k = heapq.heappop(queue)
        if k not in work:
            continue
        if size != len(before[k]) * len(work[k][2]):
            heapq.heappush(queue, (len(before[k]) * len(work[k][2]), k))
            continue
        reward, time, to = work.pop(k)
        out = sum(to.values())
        removed.append((k, (reward, time, to), out))
        for j in to:
            if j in before:
                before[j].discard(k)
        for i in before.pop(k):
            row = work[i]
            q = row[2].pop(k)
            common = gcd(out, q)
            a, b = out // common, q // common
            ahead = {j: a * x for j, x in row[2].items()}
            for j, x in to.items():
                if j != i:
                    ahead[j] = ahead.get(j, 0) + b * x
                    if j in before:
                        before[j].add(i)
            row[:] = _tidy(a * row[0] + b * reward, a * row[1] + b * time, ahead, tidy)
            if i not in keep:
                heapq.heappush(queue, (len(before[i]) * len(row[2]), i))
    return removed, {s: (row[0], row[1], row[2]) for s, row in work.items()}


def _tidy(reward: int, time: int, to: dict[int, int], tidy: bool) -> tuple[int, int, dict[int, int]]:
    common = gcd(reward, time, *to.values()) if tidy else 1
    return (reward // common, time // common, {j: q // common for j, q in to.items()}) if common > 1 else (reward, time, to)


def class_gain(rows: list[Row], states: list[int], unit: Fraction) -> Fraction:
    """The exact gain on one recurrent class."""
    last = states[len(states) // 2]
    _, left = eliminate({s: rows[s] for s in states}, {last})
    reward, time, _ = left[last]
    return Fraction(reward, time) * unit


def passage(rows: dict[int, Row], price: Fraction | dict[int, Fraction], known: dict[int, Fraction]) -> dict[int, Fraction]:
    """Solve reward(s) - price(s) time(s) + Σ_j q(s,j) (x(j) - x(s)) = 0 on `rows`, given x on the states they lead to."""
    charged, common = {}, 1
    prices = price if isinstance(price, dict) else dict.fromkeys(rows, price)
    for p in prices.values():
        common = common * p.denominator // gcd(common, p.denominator)
    for s, (reward, time, to) in rows.items():
        charged[s] = (common * reward - int(common * prices[s]) * time, 0, to)
    removed, _ = eliminate(charged, set())
    x = dict(known)
    for k, (reward, _, to), out in reversed(removed):
        x[k] = (Fraction(reward, common) + sum(q * x[j] for j, q in to.items())) / out
    return x


def policy_values(rows: list[Row]) -> tuple[list[Fraction], list[Fraction]]:
    """Gain (before the unit) and bias of every state; the bias is 0 in the first state of every recurrent class."""
    gain: dict[int, Fraction] = {}
    bias: dict[int, Fraction] = {}
    for states in recurrent_classes(rows):
        g = class_gain(rows, states, Fraction(1))
        gain.update(dict.fromkeys(states, g))
        bias.update(passage({s: rows[s] for s in states[1:]}, g, {states[0]: Fraction(0)}))
    rest = [s for s in range(len(rows)) if s not in gain]
    if rest:
        gain = passage({s: (0, 0, rows[s][2]) for s in rest}, Fraction(0), gain)
        bias = passage({s: rows[s] for s in rest}, {s: gain[s] for s in rest}, bias)
    return [gain[s] for s in range(len(rows))], [bias[s] for s in range(len(rows))]


def policy_gains(exact: ExactModel, rows: list[Row]) -> list[Fraction]:
    """The exact gains of the recurrent classes of a policy."""
    return [class_gain(rows, states, exact.unit) for states in recurrent_classes(rows)]


def embedded_law(exact: ExactModel, pairs) -> list[Decimal]:
    """The share of the jumps made from each state under a deterministic policy with one recurrent class, to 50 digits.

    Elimination without subtraction in 60 digits: every entry keeps its digits.
    """
    rows = exact.choice(pairs)
    (states,) = recurrent_classes(rows)
    order = [k for k, _, _ in eliminate({s: rows[s] for s in states}, {states[0]})[0]]
    with localcontext(Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        to = {s: {j: Decimal(q) for j, q in rows[s][2].items()} for s in states}
        before: dict[int, set[int]] = {s: set() for s in states}
        for s, ahead in to.items():
            for j in ahead:
                before[j].add(s)
        entries = []
        for k in order:
            ahead = to.pop(k)
            out = sum(ahead.values())
            entries.append([(i, to[i].pop(k) / out) for i in before.pop(k)])
            for j in ahead:
                before[j].discard(k)
            for i, share in entries[-1]:
                for j, q in ahead.items():
                    if j != i:
                        to[i][j] = to[i].get(j, Decimal(0)) + share * q
                        before[j].add(i)
        time = {states[0]: Decimal(1)}
        for k, sources in zip(reversed(order), reversed(entries)):
            time[k] = sum(time[i] * share for i, share in sources)
        rate = [exact.pair_rate[int(k)] for k in pairs]
        visits = {s: x * rows[s][1] * rate[s].numerator / rate[s].denominator for s, x in time.items()}
        total = sum(visits.values())
        return [visits.get(s, Decimal(0)) / total for s in range(exact.n)]
