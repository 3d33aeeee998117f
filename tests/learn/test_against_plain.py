"""CT-UCRL against a second writing of Algorithm 1: dense, plain Python, nothing shared; with small radii and many switches."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import DoublingCTUCRL
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.session import Session


class Plain:
    """Algorithm 1, line by line."""

    def __init__(self, actions, reward, running, rate_min, rate_max, delta, scale):
        self.actions, self.reward, self.running, self.low, self.high = actions, reward, running, rate_min, rate_max
        self.delta, self.scale = delta, scale
        self.S, self.A = len(actions), max(len(a) for a in actions)
        self.data = {(s, a): [] for s in range(self.S) for a in actions[s]}  # (tau, next) in order
        self.n = 1
        self.policy = None
        self.switches = 0

    def action(self, s):
        if self.policy is None or self.v[s, self.policy[s]] == max(1, self.N[s, self.policy[s]]):
            before = self.policy
            self.start_episode()
            self.switches += before is not None and before != self.policy
        return self.policy[s]

    def report(self, s, a, tau, after):
        self.data[s, a].append((tau, after))
        self.v[s, a] += 1
        self.n += 1

    def start_episode(self):
        t = self.n
        self.v = dict.fromkeys(self.data, 0)
        self.N = {pair: len(rows) for pair, rows in self.data.items()}
        self.p, self.rates, self.radius = {}, {}, {}
        for pair, rows in self.data.items():
            count = max(1, len(rows))
            self.p[pair] = [sum(after == j for _, after in rows) / count for j in range(self.S)]
            level = [sqrt(2 * (i + 1) / (self.low**2 * log(1 / self.delta))) for i in range(len(rows))]
            mean = sum(tau for (tau, _), limit in zip(rows, level, strict=True) if tau <= limit) / count
            self.radius[pair] = self.scale * sqrt(14 * self.S * log(2 * self.A * t / self.delta) / count)
            wide = self.scale * 4 / self.low * sqrt(14 * log(2 * self.A * self.S * t / self.delta) / count)
            short, long = max(mean - wide, 1 / self.high), min(mean + wide, 1 / self.low)
            if not rows:
                self.rates[pair] = (self.low, self.high)
            elif short > long:
                self.rates[pair] = (self.low, self.low) if mean > 1 / self.low else (self.high, self.high)
            else:
                self.rates[pair] = (1 / long, 1 / short)
        u = [0.0] * self.S
        while True:
            values = [{a: self.backup(s, a, u) for a in self.actions[s]} for s in range(self.S)]
            new = [max(values[s].values()) + u[s] for s in range(self.S)]
            change = [x - y for x, y in zip(new, u, strict=True)]
            if max(change) - min(change) < 1 / sqrt(t):
                break
            u = new
        self.policy = [min(a for a in values[s] if values[s][a] == max(values[s].values())) for s in range(self.S)]
        self.bounds = (self.high * min(change), self.high * max(change))

    def backup(self, s, a, u):
        best, p = u.index(max(u)), list(self.p[s, a])
        if self.N[s, a] == 0:
            mean = u[best]
        else:
            p[best] = min(1.0, p[best] + self.radius[s, a] / 2)
            for worst in sorted(range(self.S), key=lambda j: u[j]):
                if sum(p) <= 1 or worst == best:
                    continue
                p[worst] = max(0.0, 1 - (sum(p) - p[worst]))
            mean = sum(x * y for x, y in zip(p, u, strict=True))
        bracket = self.reward[s][a] + mean - u[s]
        return max(bracket * rate for rate in self.rates[s, a]) / self.high + self.running[s][a] / self.high


def random_world(seed):
    rng = np.random.default_rng(seed)
    n_states, n_actions = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    shape = (n_states, n_actions)
    admissible = rng.random(shape) < 0.8
    admissible[np.arange(n_states), rng.integers(0, n_actions, n_states)] = True
    sparse = rng.random((*shape, n_states)) < 0.7
    sparse[..., 0] |= ~sparse.any(axis=-1)
    transition = rng.dirichlet(np.ones(n_states), size=shape) * sparse
    transition /= transition.sum(axis=-1, keepdims=True)
    return CTMDP.from_arrays(transition, rng.uniform(0.8, 3, shape), rng.uniform(0, 1, shape),
                             rng.uniform(-0.5, 0.5, shape) * rng.integers(0, 2), admissible, rate_bounds=(0.7, 3.5)), rng


def lists(model):
    table = model.knowledge().pair_table
    actions = [[a for a in range(model.n_actions) if table[s, a] >= 0] for s in range(model.n_states)]
    return actions, model.table(model.reward).tolist(), model.table(model.running).tolist()


def follow(model, rng, session, plain, epochs):
    """Walk both on the same observations; they must choose alike for the same reasons."""
    state, known = 0, None
    for _ in range(epochs):
        action = session.action_index
        assert plain.action(state) == action
        episode = session.episode
        if known != episode.index:
            known = episode.index
            assert episode.policy.tolist() == plain.policy
            for (s, a), rates in plain.rates.items():
                assert episode.rate_interval[s, a].tolist() == pytest.approx(rates, abs=1e-12)
                assert episode.transition_radius[s, a] == pytest.approx(plain.radius[s, a], abs=1e-12)
                assert episode.visits[s, a] == plain.N[s, a]
        pair = model.pair(state, action)
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        tau, after = float(rng.exponential(1 / model.rate[pair])), int(rng.choice(model.next_state[row], p=model.probability[row]))
        session.report(tau, after)
        plain.report(state, action, tau, after)
        state = after


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1.0, 0.1, 0.03, 0.01, 0.003]), delta=st.sampled_from([0.01, 0.3]))
@settings(max_examples=40)
def test_ct_ucrl_decides_like_the_plain_writing_of_it(seed, scale, delta):
    model, rng = random_world(seed)
    plain = Plain(*lists(model), 0.7, 3.5, delta, scale)
    session = Session(CTUCRL(model.knowledge(), delta=delta, radius_scale=scale), 0)
    follow(model, rng, session, plain, 150)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.03, 0.01]))
@settings(max_examples=10)
def test_doubling_decides_like_the_plain_writing_restarted(seed, scale):
    model, rng = random_world(seed)
    session = Session(DoublingCTUCRL(model.knowledge(), radius_scale=scale), 0)
    state, plain = 0, None
    for epoch in range(150):
        if epoch in (0, 2, 4, 16):
            length = {0: 2, 2: 2, 4: 12, 16: 240}[epoch]
            plain = Plain(*lists(model), 0.7, 3.5, 1 / length, scale)
        action = session.action_index
        assert plain.action(state) == action
        pair = model.pair(state, action)
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        tau, after = float(rng.exponential(1 / model.rate[pair])), int(rng.choice(model.next_state[row], p=model.probability[row]))
        session.report(tau, after)
        plain.report(state, action, tau, after)
        state = after


def test_small_radii_switch_policies_often():
    switches = 0
    for seed in range(12):
        model, rng = random_world(seed)
        plain = Plain(*lists(model), 0.7, 3.5, 0.01, 0.01)
        follow(model, rng, Session(CTUCRL(model.knowledge(), delta=0.01, radius_scale=0.01), 0), plain, 300)
        switches += plain.switches
    assert switches >= 10
