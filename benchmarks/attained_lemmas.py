"""Attempts to break the steps of the proof that C(M) is attained (docs/attained.md), with random models and random data.

    python benchmarks/attained_lemmas.py --draws 2000 --seed 1

One line per step: how many cases were tried, how many contradict it, and how near the nearest came (1 is equality, more a
contradiction).  `tests/examples/test_attained.py` is the short form.
"""

import argparse
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.special import gammainc, gammaincc, gammaln

from sojourn.kernels.least_divergence import least_divergence_row

BOUNDS = 0.5, 4.0
TIE = 1e-9  # of a gap


class Tried(NamedTuple):
    """How a step fared; `nearest` is the largest claimed side over the side that must be larger."""

    step: str
    cases: int
    against: int
    nearest: float


class Chain(NamedTuple):
    """A random model: supports, rows (zeros off the support), rates and pay per pair, and whose pairs they are."""

    state: np.ndarray
    support: np.ndarray  # bool (P, S)
    row: np.ndarray
    rate: np.ndarray
    reward: np.ndarray
    running: np.ndarray

    def policies(self):
        """Return every policy as an array of pairs."""
        choices = [np.flatnonzero(self.state == s) for s in range(self.row.shape[1])]
        return np.array(np.meshgrid(*choices, indexing="ij")).reshape(len(choices), -1).T

    def evaluated(self, policy):
        """Return (gain, bias) of a policy, bias 0 in state 0."""
        matrix = np.eye(len(policy)) - self.row[policy]
        matrix[:, 0] = 1 / self.rate[policy]
        x = np.linalg.solve(matrix, self.reward[policy] + self.running[policy] / self.rate[policy])
        return x[0], np.concatenate([[0.0], x[1:]])

    def best(self):
        """Return (policy, gain, bias) of the best policy, by enumeration."""
        return max(((policy, *self.evaluated(policy)) for policy in self.policies()), key=lambda found: found[1])

    def worth(self, gain, bias, row=None, rate=None):
        """Return ψ of every pair, at its own row and rate or at others."""
        row, rate = self.row if row is None else row, self.rate if rate is None else rate
        return self.reward + (self.running - gain) / rate + row @ bias - bias[self.state]

    def nearest(self, gain, bias, margin=0.0):
        """Return per pair the infimum of KL over rows on the support and rates within BOUNDS with ψ > margin."""
        found = np.empty(len(self.rate))
        for p, on in enumerate(self.support):
            q = np.empty(on.sum())
            found[p] = least_divergence_row(self.row[p, on], bias[on], bias[self.state[p]], self.rate[p], self.reward[p] - margin,
                                            self.running[p], gain, *BOUNDS, q)[0]
        return found

    def divergence(self, other):
        """Return KL(own, other) of every pair."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.where(self.row > 0, self.row * np.log(self.row / other.row), 0.0).sum(axis=1)
        ratio = other.rate / self.rate
        return rows + ratio - 1 - np.log(ratio)


def random_chain(rng):
    """Return a random model in which every policy is irreducible: each row may go one state on, around a circle."""
    n, pairs = int(rng.integers(2, 5)), []
    for s in range(n):
        pairs += [s] * int(rng.integers(1 if s else 2, 4))
    state = np.array(pairs)
    support = rng.random((len(state), n)) < rng.uniform(0, 0.8)
    support[np.arange(len(state)), (state + 1) % n] = True
    row = np.where(support, rng.gamma(0.7, size=support.shape) + 1e-3, 0.0)
    rate, reward, running = rng.uniform(*BOUNDS, len(state)), rng.uniform(-1, 1, len(state)), rng.uniform(-1, 1, len(state))
    return Chain(state, support, row / row.sum(axis=1, keepdims=True), rate, reward, running * rng.integers(2))


def moved(chain, rng, size):
    """Return the model with rows and rates moved by about `size`, within the class."""
    row = np.where(chain.support, chain.row * np.exp(size * rng.normal(size=chain.row.shape)), 0.0)
    rate = np.clip(chain.rate * np.exp(size * rng.normal(size=len(chain.rate))), *BOUNDS)
    return chain._replace(row=row / row.sum(axis=1, keepdims=True), rate=rate)


def on_the_edge(chain, rng):
    """Return the model with a suboptimal pair that would just tie at an end of its rates and with the best row; or None."""
    _, gain, bias = chain.best()
    gap = -chain.worth(gain, bias)
    bad = np.flatnonzero(gap > 1e-3)
    if not len(bad):
        return None
    p = rng.choice(bad)
    best = np.where(chain.support[p], bias, -np.inf).max()
    push = max((chain.running[p] - gain) / end for end in BOUNDS)
    reward = chain.reward.copy()
    reward[p] = bias[chain.state[p]] - best - push - 1e-9
    edge = chain._replace(reward=reward)
    return edge if edge.best()[1] <= gain + 1e-12 else None


def mixture_of_rows_and_rates(rng, draws):
    """(1b), path by path: log mixture ratio >= n KL(fit, truth) - 1 - log(v √n (n + 1)^(k - 1)/p_min), whatever was counted."""
    against, nearest = 0, -np.inf
    for _ in range(draws):
        k, n = int(rng.integers(1, 6)), int(10 ** rng.uniform(0, 4))
        p, other = rng.dirichlet(np.ones(k)) * 0.99 + 0.01 / k, rng.dirichlet(np.full(k, 0.5))
        count = rng.multinomial(n, other)
        low = 10 ** rng.uniform(-2, 1)
        high = low * 10 ** rng.uniform(0, 2)
        rate = rng.uniform(low, high)
        time = n / (rate * 10 ** rng.uniform(-1.5, 1.5))
        fit, speed = (count + 1 / k) / (n + 1), np.clip(n / time, low, high)
        claimed = n * (fit @ np.log(fit / p) + np.log(speed / rate) + rate / speed - 1)
        v = 2 + np.log(high / low)
        logs = np.linspace(np.log(low) - 1, np.log(high) + 1, 20001)
        density = n * (logs - np.log(rate)) - (np.exp(logs) - rate) * time
        top = density.max()
        rates = top + np.log(np.trapezoid(np.exp(density - top), logs) / v)
        rows = gammaln(k) + gammaln(count + 1).sum() - gammaln(n + k) - count @ np.log(p)
        room = 1 + np.log(v * np.sqrt(n)) + (k - 1) * np.log(n + 1) - np.log(p.min())
        short = claimed - (rows + rates)  # must be at most room
        against += short > room * (1 + 1e-6)
        nearest = max(nearest, short / room)
    return Tried("(1b) mixture", draws, against, nearest)


def mixtures_that_grow(rng, draws, runs=2000):
    """(1b), as a probability: a mixture is ever e^y times as likely as the truth with probability at most e^-y (Ville)."""
    cases, against, nearest = 0, 0, 0.0
    low, high = BOUNDS[0] / np.e, BOUNDS[1] * np.e
    for _ in range(max(1, draws // 100)):
        k, m, rate = int(rng.integers(1, 4)), int(rng.integers(2, 200)), rng.uniform(*BOUNDS)
        p = rng.dirichlet(np.ones(k)) * 0.9 + 0.1 / k
        count = np.cumsum(np.eye(k)[rng.choice(k, size=(runs, m), p=p)], axis=1)
        n, time = np.arange(1, m + 1), np.cumsum(rng.exponential(1 / rate, (runs, m)), axis=1)
        rows = gammaln(k) + gammaln(count + 1).sum(axis=2) - gammaln(n + k) - count @ np.log(p)
        mass = gammainc(n, high * time) - gammainc(n, low * time)
        rates = gammaln(n) - n * np.log(rate * time) + rate * time + np.log(np.maximum(mass, 1e-300) / np.log(high / low))
        worst = (rows + rates).max(axis=1)
        for y in (0.5, 1.0, 2.0, 3.0, 4.0):
            seen = (worst >= y).mean()
            cases += 1
            against += seen > np.exp(-y) + 5 * np.sqrt(np.exp(-y) / runs)
            nearest = max(nearest, seen / np.exp(-y))
    return Tried("(1b) probability", cases, int(against), nearest)


def tails_of_rates(rng, draws):
    """(1a): P(n (z - 1 - log z) >= x) <= 2 e^-x, z the mean of n exponential times; z - 1 - log z >= ε²/8 where |1/z - 1| >= ε."""
    n, x = 10 ** rng.uniform(0, 5, draws) // 1, rng.uniform(0.1, 30, draws)
    low, high = np.full(draws, 1e-300), np.ones(draws)
    up, top = np.ones(draws), 2 + 2 * x / n + 2 * np.sqrt(2 * x / n)
    for _ in range(200):
        middle, other = np.sqrt(low * high), (up + top) / 2
        inside, within = n * (middle - 1 - np.log(middle)) < x, n * (other - 1 - np.log(other)) < x
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        up, top = np.where(within, other, up), np.where(within, top, other)
    chance = gammainc(n, n * low) + gammaincc(n, n * top)
    e = rng.uniform(1e-6, 1, draws)
    ends = [z - 1 - np.log(z) for z in (1 / (1 + e), 1 / np.maximum(1 - e, 1e-12))]
    ratio = np.concatenate([chance / (2 * np.exp(-x)), *(e**2 / 8 / end for end in ends)])
    return Tried("(1a) rates", len(ratio), int((ratio > 1 + 1e-6).sum()), ratio.max())


def fits_near_the_truth(rng, draws):
    """(3): where ψ of the fit is off by at most ζ/2, its alternatives with ψ > ζ are no nearer than those of the truth."""
    cases, against, nearest = 0, 0, 0.0
    for i in range(draws):
        chain = random_chain(rng)
        if i % 2:
            chain = on_the_edge(chain, rng) or chain
        _, gain, bias = chain.best()
        fit = moved(chain, rng, 10 ** rng.uniform(-6, -1))
        _, fitted_gain, fitted_bias = fit.best()
        off = abs(fitted_gain - gain) / BOUNDS[0] + np.ptp(fitted_bias - bias)
        said, wanted = fit.nearest(fitted_gain, fitted_bias, 2 * off), fit.nearest(gain, bias)
        suboptimal = chain.worth(gain, bias) < -TIE
        for s, w in zip(said[suboptimal], wanted[suboptimal]):
            cases += 1
            against += s < w * (1 - 1e-7) - 1e-12
            nearest = max(nearest, w / s if s < np.inf else 0.0 if w < np.inf else 1.0)
    return Tried("(3) fits near the truth", cases, against, nearest)


def without_zeta(rng, draws):
    """Return (pairs with K = ∞ that would just tie, those of them whose K is finite in a fit nearby without ζ, and with it)."""
    cases, plain, with_zeta = 0, 0, 0
    for _ in range(draws):
        chain = on_the_edge(random_chain(rng), rng)
        if chain is None:
            continue
        _, gain, bias = chain.best()
        never = (chain.worth(gain, bias) < -1e-3) & np.isinf(chain.nearest(gain, bias))
        fit = moved(chain, rng, 1e-4)
        _, fitted_gain, fitted_bias = fit.best()
        off = abs(fitted_gain - gain) / BOUNDS[0] + np.ptp(fitted_bias - bias)
        cases += never.sum()
        plain += np.isfinite(fit.nearest(fitted_gain, fitted_bias)[never]).sum()
        with_zeta += np.isfinite(fit.nearest(fitted_gain, fitted_bias, 2 * off)[never]).sum()
    return int(cases), int(plain), int(with_zeta)


def shortfall(rng, draws, sizes=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5)):
    """(3b): return per size of the move the largest share by which K of the fit, ζ twice its error, falls short of the true K."""
    worst = np.zeros(len(sizes))
    for _ in range(draws):
        chain = random_chain(rng)
        _, gain, bias = chain.best()
        k, suboptimal = chain.nearest(gain, bias), chain.worth(gain, bias) < -1e-2
        for i, size in enumerate(sizes):
            fit = moved(chain, rng, size)
            _, fitted_gain, fitted_bias = fit.best()
            off = abs(fitted_gain - gain) / BOUNDS[0] + np.ptp(fitted_bias - bias)
            said, real = fit.nearest(fitted_gain, fitted_bias, 2 * off)[suboptimal], k[suboptimal]
            finite = np.isfinite(real)
            worst[i] = max([worst[i], *(1 - said[finite] / real[finite]).tolist(), *(1.0 for x in said[~finite] if x < np.inf)])
    return dict(zip(sizes, worst.tolist()))


def wrong_policies(rng, draws):
    """(2b), (6b): a policy that is not optimal has a pair with ψ > 0, and K of a fit that hides it is at most KL(fit, truth)."""
    cases, against, nearest = 0, 0, 0.0
    for _ in range(draws):
        chain = random_chain(rng)
        _, best, _ = chain.best()
        policy = rng.choice(chain.policies())
        gain, bias = chain.evaluated(policy)
        if gain >= best - 1e-6:
            continue
        better = chain.worth(gain, bias)
        fit = moved(chain, rng, 10 ** rng.uniform(-2, 1))
        hidden = (fit.worth(gain, bias) <= 0) & (better > 1e-9)
        said, real = fit.nearest(gain, bias)[hidden], fit.divergence(chain)[hidden]
        cases += 1 + hidden.sum()
        against += (better.max() <= 0) + (said > real * (1 + 1e-7)).sum()
        nearest = max([nearest, *(said / real)])
    return Tried("(2b), (6b) wrong policies", int(cases), int(against), nearest)


def pseudo_regret(rng, draws):
    """lem:decomp: E (ρ* time - reward) over N decisions is E (Σ φ visits + h(end) - h(start)), whatever is decided."""
    against, nearest = 0, 0.0
    for _ in range(draws):
        chain = random_chain(rng)
        _, gain, bias = chain.best()
        gap = -chain.worth(gain, bias)
        at = rng.dirichlet(np.ones(chain.row.shape[1]))
        start, lost, visits = at, 0.0, np.zeros(len(gap))
        for _ in range(20):
            share = rng.gamma(0.5, size=len(gap))
            share = at[chain.state] * share / np.bincount(chain.state, share)[chain.state]
            lost += share @ ((gain - chain.running) / chain.rate - chain.reward)
            visits += share
            at = share @ chain.row
        off = abs(lost - (visits @ gap + (at - start) @ bias)) / (np.abs(gap).sum() + np.abs(bias).max())
        against += off > 1e-9
        nearest = max(nearest, off / 1e-9)
    return Tried("regret is gaps times visits", draws, against, nearest)


def programme(rng, draws, others=40):
    """Why no linear programme: N K = 1 in each pair tells M from every model with a better policy; and the programme costs C(M)."""
    cases, against, nearest = 0, 0, 0.0
    for _ in range(draws):
        chain = random_chain(rng)
        _, gain, bias = chain.best()
        gap, k = -chain.worth(gain, bias), chain.nearest(gain, bias)
        free = gap > 1e-3
        paid = free & np.isfinite(k)
        if not paid.any():
            continue
        asks = [np.where(np.arange(len(k)) == p, k, 0.0)[paid] for p in np.flatnonzero(paid)]
        for _ in range(others):
            other = moved(chain, rng, 10 ** rng.uniform(-1, 1))
            some = free & (rng.random(len(free)) < 0.7)
            other = chain._replace(row=np.where(some[:, None], other.row, chain.row), rate=np.where(some, other.rate, chain.rate))
            if other.best()[1] > gain + 1e-9:
                nats = chain.divergence(other)
                asked = sum(n / least for n, least in zip(nats[free], k[free]) if least < np.inf)
                cases += 1
                against += asked < 1 - 1e-7
                nearest = max(nearest, 1 / asked if asked else np.inf)
                asks.append(nats[paid])
        constant = (gap[paid] / k[paid]).sum()
        found = linprog(gap[paid] * 1.0, A_ub=-np.array(asks), b_ub=-np.ones(len(asks)), method="highs")
        cases += 1
        against += not abs(found.fun / constant - 1) < 1e-6
    return Tried("one condition per pair", cases, against, nearest)


def staying_within_reach(rng, draws):
    """(2e): within S decisions every policy meets every state from every state with positive probability."""
    cases, against, least = 0, 0, 1.0
    for _ in range(draws):
        chain = random_chain(rng)
        for policy in chain.policies()[:20]:
            jump = chain.row[policy]
            for target in range(len(policy)):
                missed = np.ones(len(policy))
                missed[target] = 0.0
                for _ in range(len(policy) - 1):
                    missed = np.where(np.arange(len(policy)) == target, 0.0, jump @ missed)
                cases += 1
                against += missed.max() >= 1
                least = min(least, 1 - missed.max())
    return Tried("(2e) every state within S decisions", cases, against, 1 - least)


STEPS = (tails_of_rates, mixture_of_rows_and_rates, mixtures_that_grow, staying_within_reach, fits_near_the_truth, wrong_policies,
         pseudo_regret, programme)


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("| step | cases | against | nearest |\n|---|---|---|---|")
    for number, step in enumerate(STEPS):
        found = step(np.random.default_rng((given.seed, number)), given.draws)
        print(f"| {found.step} | {found.cases:,} | {found.against} | {found.nearest:.3g} |", flush=True)
    cases, plain, with_zeta = without_zeta(np.random.default_rng(given.seed), given.draws)
    print(f"(3a) {cases:,} pairs with K = inf that would nearly tie: K is finite in a fit nearby for {plain:,} without zeta, "
          f"for {with_zeta} with it")
    for size, short in shortfall(np.random.default_rng(given.seed), given.draws).items():
        print(f"(3b) moved by {size:g}: K of the fit falls short of K by at most {100 * short:.2g} %")


if __name__ == "__main__":
    main()
