"""Try to break the lemmas of docs/learners-proofs.md with random cases; one line each, and a failure if one does not hold.

    python benchmarks/check_proofs.py --size 100

Each check returns how many cases it looked at and the largest ratio of the two sides of its inequality.  Above 1 it would be a
counterexample.  Nothing here uses the code that the inequality is about, but for `learners`, which looks at plans of the learners
themselves, and `budgets`, at their thresholds.  `tests/instance/test_check_proofs.py` is the short form.
"""

import argparse
import itertools
import math
import time

import numpy as np
from scipy.special import gammaln

ROUNDING = 1 + 1e-9


# ---- widths of sets: step 5 ------------------------------------------------------------------------------------------

def rate_roots(y):
    """Return the two roots of z - 1 - log z = y, by bisection."""
    def root(inside, outside):
        for _ in range(100):
            middle = (inside + outside) / 2
            within = middle - 1 - np.log(middle) <= y
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        return inside

    return root(np.ones_like(y), np.full_like(y, 1e-300)), root(np.ones_like(y), 3 + 3 * y)


def most_flow(p, b, y):
    """Return Q that maximises Σ Q b where Σ p log(p/Q) - p + Q <= y, Σ p = 1: Q = p/(1 - s b), s by bisection."""
    top = b.max(axis=1, keepdims=True)
    low, high = np.zeros_like(top), np.where(top > 0, 1 / np.where(top > 0, top, 1.0), 1e9)
    for _ in range(100):
        s = (low + high) / 2
        q = 1 / (1 - s * b)
        within = (p * (q - 1 - np.log(q))).sum(axis=1, keepdims=True) <= y
        low, high = np.where(within, s, low), np.where(within, high, s)
    return p / (1 - low * b)


def best_row(p, b, y):
    """Return the row that maximises Σ q b where KL(p, q) <= y: q in proportion to p/(w + max b - b), w by bisection."""
    gap = b.max(axis=1, keepdims=True) - b
    low, high = np.full((len(p), 1), 1e-12), np.full((len(p), 1), 1e9)

    def row(w):
        q = p / (w + gap)
        return q / q.sum(axis=1, keepdims=True)

    for _ in range(120):
        w = np.sqrt(low * high)
        within = (p * np.log(p / row(w))).sum(axis=1, keepdims=True) <= y
        low, high = np.where(within, low, w), np.where(within, w, high)
    return row(high)


def random_worths(rng, cases, k):
    """Return b with |middle| + half-width <= 1 and half-width <= 1/2 in each row: in one half of the calls at their extremes."""
    if rng.random() < 0.5:
        middle, half = rng.choice([-0.5, 0.0, 0.5], size=(cases, 1)), rng.choice([-0.5, 0.5], size=(cases, k))
    else:
        middle, half = rng.uniform(-0.5, 0.5, (cases, 1)), rng.uniform(-0.5, 0.5, (cases, k))
    worth = middle + half
    return np.where(worth == 0, 1e-9, worth)


def widths(rng, size, joint=6.1, separate=8.8):
    """|e| <= c0 B sqrt(x/n) between the two ends of one set, n >= 8 x: joint sets, and balls with intervals."""
    cases, worst = 0, 0.0
    for _ in range(size):
        k = int(rng.integers(1, 7))
        p = rng.dirichlet(np.full(k, rng.choice([0.1, 0.3, 1.0, 3.0])), 500) + 1e-9
        p /= p.sum(axis=1, keepdims=True)
        y = np.where(rng.random((500, 1)) < 0.3, 1 / 8, np.exp(rng.uniform(np.log(1e-4), np.log(1 / 8), (500, 1))))
        b = random_worths(rng, 500, k)
        ends = most_flow(p, b, y), most_flow(p, -b, y)
        rows = best_row(p, b, y), best_row(p, -b, y)
        low, high = rate_roots(y[:, 0])
        for one, other in ((0, 1), (1, 0)):
            e = ((ends[one] - ends[other]) * b).sum(axis=1) / ends[other].sum(axis=1) / np.sqrt(y[:, 0])
            worst = max(worst, float(np.abs(e).max()) / joint)
            for ratio in (low / high, high / low):
                e = (ratio * (rows[one] * b).sum(axis=1) - (rows[other] * b).sum(axis=1)) / np.sqrt(y[:, 0])
                worst = max(worst, float(np.abs(e).max()) / separate)
        cases += 2 * 500
    return cases, worst


# ---- budgets: step 4 -------------------------------------------------------------------------------------------------

def budgets(rng, size):
    """The thresholds of the learners are at most m log(kn/m), for joint sets + log(1 + T/b) + n log(1 + b/T); and D moves to D+."""
    from sojourn.kernels.joint_optimism import joint_threshold
    from sojourn.kernels.kl_optimism import row_threshold

    worst = 0.0
    for _ in range(100 * size):
        m = int(rng.integers(1, 9))
        k = m + int(rng.integers(0, 30))
        count = np.maximum(1, np.floor(np.exp(rng.uniform(0, rng.choice([1.0, 4.0, 12.0]), m)))).astype(np.int64)
        n, time_, unit = count.sum(), float(np.exp(rng.normal(0, 4))), float(np.exp(rng.normal(0, 4)))
        allowed = m * math.log(k * n / m)
        row = row_threshold(np.append(count, np.zeros(k - m, dtype=np.int64)), 1.0)
        joint = joint_threshold(count, time_, k, unit, 1.0) - math.log1p(time_ / unit) - n * math.log1p(unit / time_)
        small = 1e-9 * n + 1e-12
        worst = max(worst, (row - small) / max(allowed, small), (joint - small) / max(allowed, small))
        q = rng.gamma(count + 1.0) / time_
        lacks = [float((count * np.log(count / (q * t)) - count + q * t).sum()) for t in (time_, time_ + unit)]
        moved = lacks[0] - n * math.log1p(unit / time_) - (lacks[1] - unit * q.sum())
        assert abs(moved) <= 1e-9 * (n + q.sum() * (time_ + unit)), "D(Q) - n log(1 + b/T) = D+(Q) - b ΣQ does not hold"
    return 100 * size, worst


# ---- sums of widths and numbers of plans: steps 6 and 8 --------------------------------------------------------------

def root_sums(rng, size):
    """Σ v/sqrt(max(1, N)) <= (1 + sqrt 2) Σ sqrt X over chosen plans; from N >= 16 on with 1 + sqrt(1 + max(growth, 1/16))."""
    worst = 0.0
    for _ in range(100 * size):
        growth, ripe = float(rng.choice([0.01, 0.1, 0.5, 1.0])), bool(rng.integers(2))
        n, chosen, total = 0, 0, 0.0
        share, full = rng.random(), rng.random()
        for _ in range(int(rng.integers(1, 200))):
            if n > 10**12:
                break
            most = max(1, math.floor(growth * n))
            v = most if rng.random() < full else int(rng.integers(0, most + 1))
            if rng.random() < share and (n >= 16 or not ripe):
                total += v / math.sqrt(max(1, n))
                chosen += v
            n += v
        constant = 1 + math.sqrt(1 + max(growth, 1 / 16)) if ripe else 1 + math.sqrt(2)
        worst = max(worst, total / (constant * math.sqrt(chosen)) if chosen else 0.0)
    return 100 * size, worst


def numbers_of_plans(rng, size):
    """Plans within N decisions are at most K: played at random, and so that each plan is as short as it can be."""
    from sojourn.instance.optimism_bound import plans_bound

    worst, cases = 0.0, 0
    for _ in range(2 * size):
        pairs, growth = int(rng.integers(1, 8)), float(rng.choice([0.03, 0.1, 0.3, 0.7, 1.0]))
        visits, plans = np.zeros(pairs, dtype=np.int64), 0
        shortest, end = rng.random() < 0.5, int(10 ** rng.uniform(1, 5))
        while visits.sum() < end:
            plans += 1
            quota = np.maximum(1, np.floor(growth * visits).astype(np.int64))
            ends = int(np.argmin(quota)) if shortest else int(rng.integers(pairs))
            others = rng.integers(0, quota + 1) * (not shortest)
            visits += np.where(np.arange(pairs) == ends, quota, others)
            if visits.sum() >= pairs:
                cases += 1
                worst = max(worst, plans / plans_bound(pairs, growth, float(visits.sum())))
    return cases, worst


# ---- a plan costs what it is long: step 7, exactly -------------------------------------------------------------------

def random_model(rng, states=3, actions=2):
    """Return rows (S, A, S), rates and rewards (S, A); rows have zeros, but every policy is irreducible."""
    rows = rng.dirichlet(np.full(states, 0.5), (states, actions)) * (rng.random((states, actions, states)) < 0.8)
    cycle = np.eye(states)[(np.arange(states) + 1) % states]
    rows = rows + rng.choice([0.01, 0.1, 1.0]) * cycle[:, None, :]
    rows /= rows.sum(axis=2, keepdims=True)
    return rows, np.exp(rng.normal(0, 1, (states, actions))), rng.normal(0, 1, (states, actions))


def policies_of(rows):
    return list(itertools.product(range(rows.shape[1]), repeat=rows.shape[0]))


def chosen(array, policy):
    return array[np.arange(len(policy)), list(policy)]


def stationary(p):
    n = len(p)
    return np.linalg.lstsq(np.vstack([p.T - np.eye(n), np.ones(n)]), np.append(np.zeros(n), 1.0), rcond=None)[0]


def gaps_of(rows, rate, reward):
    """Return (gain, gaps per decision) of a model, by enumeration."""
    best, at = -np.inf, None
    for policy in policies_of(rows):
        p, r, holding = chosen(rows, policy), chosen(reward, policy), 1 / chosen(rate, policy)
        mu = stationary(p)
        if mu @ r / (mu @ holding) > best:
            best, at = mu @ r / (mu @ holding), policy
    p, r, holding = chosen(rows, at), chosen(reward, at), 1 / chosen(rate, at)
    n = len(p)
    h = np.linalg.lstsq(np.vstack([np.eye(n) - p, np.eye(n)[0]]), np.append(r - best * holding, 0.0), rcond=None)[0]
    gap = best / rate - reward - rows @ h + h[:, None]
    return best, np.maximum(gap, 0.0), h


def passages(p, cost):
    """Return (S, S): the expected cost until the second state is reached from the first."""
    n = len(p)
    found = np.zeros((n, n))
    for target in range(n):
        others = np.arange(n) != target
        found[others, target] = np.linalg.solve(np.eye(n - 1) - p[np.ix_(others, others)], cost[others])
    return found


def of_a_plan(p, phi, quota, start):
    """Return the expected (number of decisions, Σ φ) of a plan that ends on arriving at a state met as often as its quota says."""
    known = {}

    def value(s, visits):
        key = s, visits
        if key not in known:
            after = tuple(v + (i == s) for i, v in enumerate(visits))
            steps, cost = 1.0, phi[s]
            for y in np.flatnonzero(p[s]):
                if after[y] < quota[y]:
                    more = value(int(y), after)
                    steps, cost = steps + p[s, y] * more[0], cost + p[s, y] * more[1]
            known[key] = steps, cost
        return known[key]

    return value(start, (0,) * len(p))


def plans_that_cost(rng, size):
    """E Σ φ >= g E(decisions) - φ_max J of every plan of a policy that is not optimal; exactly 0 if it is optimal."""
    cases, worst = 0, 0.0
    for _ in range(size):
        rows, rate, reward = random_model(rng)
        _, gap, _ = gaps_of(rows, rate, reward)
        gap = np.where(gap < 1e-10, 0.0, gap)
        every = policies_of(rows)
        means = {policy: float(stationary(chosen(rows, policy)) @ chosen(gap, policy)) for policy in every}
        g = min((m for m in means.values() if m > 1e-9), default=np.inf)
        jumps = max(passages(chosen(rows, policy), np.ones(3)).max() for policy in every)
        for policy in every:
            start, quota = int(rng.integers(3)), rng.integers(1, 5, 3)
            steps, cost = of_a_plan(chosen(rows, policy), chosen(gap, policy), quota, start)
            cases += 1
            if means[policy] <= 1e-9:
                worst = max(worst, cost * 1e6)  # must be 0
            else:
                worst = max(worst, g * steps / (cost + gap.max() * jumps))
    return cases, worst


def classes_of(p):
    """Return the recurrent classes of a chain, as lists of states."""
    reach = np.linalg.matrix_power(np.eye(len(p)) + (p > 0), len(p)) > 0
    closed = [s for s in range(len(p)) if (reach[np.flatnonzero(reach[s])][:, s]).all()]
    return sorted({tuple(np.flatnonzero(reach[s])) for s in closed})


def classes_that_cost(rng, size):
    """The same within the recurrent classes of policies that are not irreducible, for any costs that are not negative."""
    cases, worst = 0, 0.0
    for _ in range(size):
        rows = rng.dirichlet(np.full(4, 0.3), (4, 2))
        rows = np.where(rows < rng.choice([0.01, 0.1, 0.24]), 0.0, rows)
        rows /= rows.sum(axis=2, keepdims=True)
        phi = rng.random((4, 2)) ** 3 * (rng.random((4, 2)) < 0.4)
        parts = []
        for policy in policies_of(rows):
            p, cost = chosen(rows, policy), chosen(phi, policy)
            for part in map(list, classes_of(p)):
                own = p[np.ix_(part, part)]
                parts.append((own, cost[part], float(stationary(own) @ cost[part]), passages(own, np.ones(len(part))).max()))
        g, jumps = min((m for _, cost, m, _ in parts if cost.any()), default=np.inf), max(1.0, *(j for *_, j in parts))
        for own, cost, _, _ in parts:
            steps, paid = of_a_plan(own, cost, rng.integers(1, 5, len(own)), int(rng.integers(len(own))))
            cases += 1
            worst = max(worst, g * steps / (paid + phi.max() * jumps) if cost.any() else paid * 1e6)
    return cases, float(worst)


# ---- how often sets fail at level 1/t: step 1 ------------------------------------------------------------------------

def failing_blocks(rng, size, scale=1.0, epochs=512):
    """P(some set of ct-kl-ucrl fails at some decision from 2^j on) <= 2^-j, two pairs, every decision a plan.

    With `scale` below 1 budgets are multiplied by it, which must be seen.
    """
    blocks = 2 ** np.arange(int(math.log2(epochs)) + 1)
    later = sum(failed_later(rng, 80, scale, epochs)[:, blocks - 1].sum(axis=0) for _ in range(max(1, size // 2)))
    runs = 80 * max(1, size // 2)
    allowed = 1 / blocks + 4 * np.sqrt(1 / blocks / runs)  # four standard errors
    return runs * len(blocks), float((later / runs / allowed).max())


def failed_later(rng, runs, scale, epochs):
    """Return (runs, epochs): whether some set fails at this decision or a later one."""
    pairs, k = 2, 3
    p = np.array([0.2, 0.3, 0.5])
    t = np.arange(1, epochs + 1)
    wrong = np.zeros((runs, epochs), dtype=bool)
    use = rng.random((runs, epochs)) < 0.5
    for pair in range(pairs):
        here = use == bool(pair)
        jump, held = rng.choice(k, size=(runs, epochs), p=p), rng.standard_exponential((runs, epochs))
        n = np.cumsum(here, axis=1)
        count = np.stack([np.cumsum(here & (jump == y), axis=1) for y in range(k)])
        time_ = np.cumsum(np.where(here, held, 0.0), axis=1)
        at_least = np.maximum(n, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            true = (count * np.log(p[:, None, None])).sum(axis=0)
            likely = np.where(count > 0, count * np.log(count / at_least), 0.0).sum(axis=0)
            mixed = (gammaln(1 / k + count) - gammaln(1 / k)).sum(axis=0) - gammaln(1.0 + n)
            z = np.where(n > 0, time_ / at_least, 1.0)
            rate = at_least * (z - 1 - np.log(z))
        row_budget = np.log(2 * pairs * t) + likely - mixed
        rate_budget = np.log(4 * pairs * at_least * (at_least + 1.0) * t)
        wrong |= (n > 0) & ((likely - true > scale * row_budget) | (rate > scale * rate_budget))
    return np.logical_or.accumulate(wrong[:, ::-1], axis=1)[:, ::-1]


# ---- the truncated mean of ct-ucrl: theorem 2 ------------------------------------------------------------------------

def truncated_means(rng, size):
    """Both sides of the radius, over numbers of visits n, Λ and log(1/δ) with Λ <= 1371 log(1/δ)."""
    worst, cases = 0.0, 0
    for _ in range(size):
        ell = float(np.exp(rng.uniform(-6, 4, 1))[0])
        big = ell * np.exp(rng.uniform(0, math.log(1371), 400))
        n = np.exp(rng.uniform(0, np.log(np.maximum(big, 2)) + 8))
        radius = 4 * np.sqrt(14 * big / n)
        low = (2 * np.sqrt(2 * ell / n) + np.sqrt(28 * big / n)) / radius
        by_cut = np.sqrt(2 * n / ell) / radius
        by_chernoff = 7 * big / (n * (radius - np.log1p(radius)))
        worst = max(worst, float(low.max()), float(np.minimum(by_cut, by_chernoff).max()))
        cases += len(n)
    return cases, worst


# ---- values over sets: step 2, and the values of theorems 3 and 4 --------------------------------------------------

def steady(worth, scale, states, tolerance=1e-9):
    """Return (least, largest, u) with worth(u) nearly constant, by damped iteration; None where that takes too long."""
    u = np.zeros(states)
    for _ in range(20_000):
        value = worth(u)
        if np.ptp(value) <= tolerance * (1 + np.abs(value).max()):
            return value.min(), value.max(), u
        u = u + 0.9 * (value - value.min()) / scale
    return None


def values_over_sets(rng, size):
    """Of sets of intensities that hold the true ones: spans of optimistic values, of a policy's worst values, and of searches."""
    cases, worst = 0, 0.0
    for _ in range(max(1, size // 2)):
        rows, rate, reward = random_model(rng)
        others = [random_model(rng) for _ in range(3)]
        flow = np.stack([p * q[:, :, None] for p, q, _ in [(rows, rate, reward), *others]])  # [0] is the truth
        total = flow.sum(axis=3)
        income = reward * total
        scale, every = total.max(), policies_of(rows)
        times = [passages(chosen(rows, policy), 1 / chosen(rate, policy)) for policy in every]
        fastest, slowest = np.minimum.reduce(times), max(time_.max() for time_ in times)
        gain, _, _ = gaps_of(rows, rate, reward)

        def values(u, income=income, flow=flow, total=total):
            return income + flow @ u - total * u[:, None]

        found = steady(lambda u: values(u).max(axis=(0, 2)), scale, 3)
        if found is not None:
            _, high, u = found
            worst = max(worst, np.ptp(u) / (ROUNDING * fastest.max() * (high - income[0].min())),
                        2.0 if gain > high + 1e-7 * (1 + abs(high)) else 0.0)
            cases += 1
        policy = every[int(rng.integers(len(every)))]
        found = steady(lambda v, at=list(policy): values(v)[:, np.arange(3), at].min(axis=0), scale, 3)
        if found is not None:
            low, _, v = found
            mu = stationary(chosen(rows, policy))
            own = mu @ chosen(reward, policy) / (mu @ (1 / chosen(rate, policy)))
            worst = max(worst, np.ptp(v) / (ROUNDING * slowest * (income[0].max() - low) + 1e-9),
                        2.0 if low > own + 1e-7 * (1 + abs(own)) else 0.0)
            cases += 1
        v = np.zeros(3)
        for _ in range(20_000):  # the least optimistic time to state 0, from below
            v, before = np.where(np.arange(3) == 0, 0.0, ((1 + flow @ v) / total).min(axis=(0, 2))), v
            if np.abs(v - before).max() <= 1e-13 * v.max():
                break
        worst = max(worst, (v[1:] / fastest[1:, 0]).max() / ROUNDING)
        cases += 1
    return cases, float(worst)


def decisions(rng, size, wild=5 / 12, sign=1.0):
    """What one decision of a plan over random sets loses, exactly: (4), the same in wild plans, and that of Theorem 4.

    Another `wild` or `sign` makes the claims of the second and the third kind wrong, which must be seen.
    """
    cases, worst = 0, 0.0
    for _ in range(size):
        rows, rate, reward = random_model(rng)
        fast = rng.choice([1.0, 100.0])  # where rates may be much larger than they are, plans are wild
        others = [random_model(rng) for _ in range(3)]
        flow = np.stack([rows * rate[:, :, None], *(fast * p * q[:, :, None] for p, q, _ in others)])  # [0] is the truth
        total = flow.sum(axis=3)
        income = reward * total
        largest = np.abs(income[0]).max()
        _, gap, h = gaps_of(rows, rate, reward)

        def values(u, income=income, flow=flow, total=total):
            return income + flow @ u - total * u[:, None]

        def too_small(u, model, at, reward=reward, flow=flow, rate=rate):
            """Return e: by how much, in the pairs of a plan, the intensities of `model` are better than the true ones, per jump."""
            states = np.arange(3)
            worth = reward[states, at][:, None] + u - u[:, None]
            return ((flow[model, states, at] - flow[0, states, at]) * worth).sum(axis=1) / rate[states, at]

        found = steady(lambda u: values(u).max(axis=(0, 2)), total.max(), 3)
        if found is None:
            continue
        low, high, u = found
        every = values(u)
        at, states = every.max(axis=0).argmax(axis=1), np.arange(3)
        p, speed = rows[states, at], rate[states, at]
        e = too_small(u, every[:, states, at].argmax(axis=0), at)
        unit = (abs(high) + largest + np.ptp(u) * total.max()) / speed
        lost = (high - low) / speed + e + p @ (u - h) - (u - h)
        worst = max(worst, 1 + float(((gap[states, at] - lost) / unit).max()))
        if high > 3 * largest:
            worst = max(worst, float((wild * high / rate.max() / (e + p @ u - u)).max()))
        cases += 1
        found = steady(lambda v, states=states, at=at: values(v)[:, states, at].min(axis=0), total.max(), 3)
        if found is not None:
            least, most, v = found
            e -= too_small(v, values(v)[:, states, at].argmin(axis=0), at)
            ahead = (high - least - (high - low) - (most - least)) / speed
            worst = max(worst, 1 + float(((ahead - e - sign * (p @ (u - v) - (u - v))) / unit).max()))
            cases += 1
    return cases, worst


# ---- plans of the learners themselves: steps 2 to 5 ------------------------------------------------------------------

def learners(rng, size):
    """Of plans of ct-kl-ucrl and ct-joint-ucrl: ρ* <= G, span u <= D (G - least income), and the widths of their pairs."""
    import sojourn
    from sojourn.instance.optimism_bound import WIDTH
    from sojourn.learn.catalogue import LEARNERS

    worst, cases, delta = 0.0, 0, 0.5
    for _ in range(max(1, size // 10)):
        rows, rate, reward = random_model(rng, 3, 2)
        model = sojourn.CTMDP.from_arrays(rows, rate, reward, rate_bounds=(rate.min() / 2, 2 * rate.max()))
        gain, _, _ = gaps_of(rows, rate, reward)
        income = reward * rate
        distance = np.zeros((3, 3))
        for policy in policies_of(rows):
            there = passages(chosen(rows, policy), 1 / chosen(rate, policy))
            distance = there if not distance.any() else np.minimum(distance, there)
        distance = distance.max()
        for name, supports in itertools.product(("ct-kl-ucrl", "ct-joint-ucrl"), (False, True)):
            sets = LEARNERS[name].sets
            told = model.knowledge(supports=supports)
            learner = sojourn.learner(name, told, seed=int(rng.integers(1 << 30)), delta=delta)
            for epochs in (20, 300, 4000, 40_000):
                sojourn.simulate(model, learner, max_epochs=epochs, seed=int(rng.integers(1 << 30)))
                sigma = int((rows > 0).sum(axis=2).max())
                plan = learner.plan()
                high, low = plan.info["optimistic_gain"], plan.info["optimistic_gain_low"]
                if not learner.contains(rows.reshape(6, 3), rate.reshape(6)):
                    continue
                u = learner.values
                span = distance * (high - income.min())
                worst = max(worst, float(np.ptp(u)) / (span * ROUNDING))
                assert gain <= high + 1e-9 * (1 + abs(high)), "the optimistic gain is below the true one"
                for s, a in enumerate(plan.policy):
                    n, t = int(learner.counts.visits[2 * s + a]), float(learner.counts.holding_sum[2 * s + a])
                    x = budget_of(sets, told, n, t, sigma, sigma if supports else 3, delta)
                    lacks = low - income[s, a] - rate[s, a] * (rows[s, a] @ u - u[s])  # at most λ e
                    cases += 1
                    if n >= 8 * x:
                        width = WIDTH[sets] * (np.abs(reward).max() + span) * math.sqrt(x / n)
                    else:
                        width = (high - income[s, a]) / rate[s, a] + span
                    worst = max(worst, lacks / (rate[s, a] * width * ROUNDING))
    return cases, worst


def budget_of(sets, told, n, time_, sigma, possible, delta):
    """Return x of a pair after n visits in a time, as the proof has it, at a fixed level."""
    n = max(n, 1)
    row = sigma * math.log(max(possible * n / sigma, 1.0)) if possible > 1 else 0.0
    if sets == "kl":
        return math.log(2 * told.n_pairs / delta) + max(row, math.log(2 * n * (n + 1)))
    unit = 1 / math.sqrt(told.rate_min * told.rate_max)
    return math.log(told.n_pairs / delta) + row + math.log1p(time_ / unit) + math.sqrt(told.rate_max / told.rate_min)


CHECKS = (widths, budgets, root_sums, numbers_of_plans, plans_that_cost, classes_that_cost, failing_blocks, truncated_means,
          values_over_sets, decisions, learners)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    broken = []
    for check in CHECKS:
        began = time.process_time()
        cases, worst = check(np.random.default_rng(arguments.seed), arguments.size)
        print(f"{check.__name__}: {cases:,} cases, largest ratio {worst:.4g}, {time.process_time() - began:.1f} s  "
              f"({check.__doc__.splitlines()[0]})", flush=True)
        broken += [check.__name__] if worst > ROUNDING else []
    if broken:
        raise SystemExit(f"counterexamples: {', '.join(broken)}")
    print("no counterexample")


if __name__ == "__main__":
    main()
