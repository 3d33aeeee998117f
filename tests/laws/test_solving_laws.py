"""Laws of solving: what must happen to the answer when states, time or rewards are written differently."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import METHODS, solve


@dataclass
class Rational:
    """A model in exact fractions: rows (state, action), weights, rates, lump sums, running rewards."""

    p: list[list[list[Fraction]]]
    rate: list[list[Fraction]]
    reward: list[list[Fraction]]
    running: list[list[Fraction]]

    def model(self) -> CTMDP:
        return CTMDP.from_arrays(*(np.array(x, dtype=float) for x in (self.p, self.rate, self.reward, self.running)))

    def advantage(self, s, a, gain, h):
        jump = sum(q * x for q, x in zip(self.p[s][a], h)) - h[s]
        return self.reward[s][a] + (self.running[s][a] - gain) / self.rate[s][a] + jump

    def value(self, policy):
        """Exact gain and bias of a policy: unknowns (gain, h(1), ..., h(n-1)), by elimination."""
        n = len(self.p)
        rows = []
        for s, a in enumerate(policy):
            row = [1 / self.rate[s][a]] + [int(j == s) - self.p[s][a][j] for j in range(1, n)]
            rows.append([*row, self.reward[s][a] + self.running[s][a] / self.rate[s][a]])
        for c in range(n):
            pivot = next(i for i in range(c, n) if rows[i][c] != 0)
            rows[c], rows[pivot] = rows[pivot], rows[c]
            rows[c] = [x / rows[c][c] for x in rows[c]]
            for i in range(n):
                if i != c and rows[i][c] != 0:
                    rows[i] = [x - rows[i][c] * y for x, y in zip(rows[i], rows[c])]
        return rows[0][-1], [Fraction(0), *(row[-1] for row in rows[1:])]

    def optimum(self):
        """Exact optimal gain and bias, and the lowest optimal actions, by policy iteration in fractions."""
        policy = [0] * len(self.p)
        while True:
            gain, h = self.value(policy)
            table = [[self.advantage(s, a, gain, h) for a in range(len(self.p[s]))] for s in range(len(self.p))]
            better = [row.index(max(row)) if max(row) > 0 else policy[s] for s, row in enumerate(table)]
            if better == policy:
                return gain, h, [row.index(max(row)) for row in table]
            policy = better


def fractions(low, high):
    return st.builds(Fraction, st.integers(low, high), st.integers(1, 12))


@st.composite
def rational_models(draw):
    """1 to 5 states, 1 to 3 actions; every action may move on to the next state, so every policy is irreducible."""
    n, a = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    p = []
    for s in range(n):
        p.append([])
        for _ in range(a):
            weight = draw(st.lists(st.sampled_from([0, 0, 1, 2, 7]), min_size=n, max_size=n))
            weight[(s + 1) % n] += 1
            p[-1].append([Fraction(w, sum(weight)) for w in weight])

    def table(entries):
        return draw(st.lists(st.lists(entries, min_size=a, max_size=a), min_size=n, max_size=n))

    return Rational(p, table(fractions(1, 40)), table(fractions(-30, 30)), table(fractions(-30, 30)))


@settings(max_examples=100)
@given(rational_models())
def test_the_certificate_contains_the_exact_optimum_and_the_answer_is_it(exact):
    gain, h, policy = exact.optimum()
    solution = solve(exact.model())
    lo, hi = solution.gain_bounds
    assert Fraction(lo) <= gain <= Fraction(hi)
    assert abs(solution.gain - gain) < 1e-11 and max(abs(x - y) for x, y in zip(solution.bias, h)) < 1e-9
    assert solution.policy.tolist() == policy


@settings(max_examples=40)
@given(rational_models())
def test_all_methods_agree(exact):
    answers = [solve(exact.model(), method=m) for m in METHODS]
    for other in answers[1:]:
        assert abs(other.gain - answers[0].gain) < 1e-10
        assert np.abs(other.bias - answers[0].bias).max() < 1e-9
        assert (other.policy == answers[0].policy).all()


@settings(max_examples=40)
@given(rational_models(), st.randoms(use_true_random=False))
def test_relabelling_states_and_actions_permutes_the_answer(exact, random):
    n, a = len(exact.p), len(exact.p[0])
    order, actions = random.sample(range(n), n), random.sample(range(a), a)

    def moved(table):
        return [[table[s][b] for b in actions] for s in order]

    other = Rational([[[row[j] for j in order] for row in rows] for rows in moved(exact.p)], moved(exact.rate),
                     moved(exact.reward), moved(exact.running))
    one, two = solve(exact.model()), solve(other.model())
    assert abs(one.gain - two.gain) < 1e-11
    expected = one.bias[order] - one.bias[order[0]]
    np.testing.assert_allclose(two.bias, expected, atol=1e-10)
    gain, h, _ = exact.optimum()
    for s in range(n):  # the relabelled policy is optimal, if not the same among ties
        assert exact.advantage(order[s], actions[two.policy[s]], gain, h) == 0


@settings(max_examples=40)
@given(rational_models(), st.sampled_from([1e-4, 0.5, 3.0, 1e5]))
def test_time_scaled_by_c_scales_the_gain_by_one_over_c_and_leaves_bias_and_policy(exact, c):
    model = exact.model()
    slow = model.replace(rate=model.rate / c, running=model.running / c)
    one, two = solve(model), solve(slow)
    assert abs(two.gain * c - one.gain) < 1e-10 * max(1, abs(one.gain))
    np.testing.assert_allclose(two.bias, one.bias, atol=1e-9 * max(1, np.abs(one.bias).max()))
    gain, h, _ = exact.optimum()
    assert all(exact.advantage(s, a, gain, h) == 0 for s, a in enumerate(two.policy))


@settings(max_examples=40)
@given(rational_models(), st.sampled_from([-50.0, -0.25, 2.0, 1000.0]))
def test_a_running_constant_shifts_the_gain_by_it_and_nothing_else(exact, c):
    model = exact.model()
    one, two = solve(model), solve(model.replace(running=model.running + c))
    assert abs(two.gain - one.gain - c) < 1e-10 * max(1, abs(c))
    np.testing.assert_allclose(two.bias, one.bias, atol=1e-8)


@settings(max_examples=40)
@given(rational_models(), st.sampled_from([0.001, 7.0, 1e6]))
def test_rewards_scaled_by_c_scale_gain_and_bias(exact, c):
    model = exact.model()
    one, two = solve(model), solve(model.replace(reward=model.reward * c, running=model.running * c))
    assert abs(two.gain - c * one.gain) < 1e-10 * max(1, c) * max(1, abs(one.gain))
    np.testing.assert_allclose(two.bias, c * one.bias, atol=1e-9 * max(1, c) * max(1, np.abs(one.bias).max()))


@settings(max_examples=40)
@given(rational_models())
def test_uniformization_keeps_the_gain_per_time_the_bias_and_the_policy(exact):
    model = exact.model()
    uniform = 1.5 * model.bounds[1]
    one, two = solve(model), solve(model.uniformized(uniform))
    assert abs(two.gain * uniform - one.gain) < 1e-9 * max(1, abs(one.gain))
    np.testing.assert_allclose(two.bias, one.bias, atol=1e-9 * max(1, np.abs(one.bias).max()))


@settings(max_examples=40)
@given(rational_models())
def test_no_policy_beats_the_optimal_gain_and_the_optimal_policy_attains_it(exact):
    model = exact.model()
    solution = solve(model)
    assert abs(evaluate(model, solution.policy).gain - solution.gain) < 1e-10
    for a in range(model.n_actions):
        assert evaluate(model, [a] * model.n_states).gain <= solution.gain_bounds[1] + 1e-12


@settings(max_examples=40)
@given(rational_models(), st.lists(st.integers(-6, 6), min_size=15, max_size=15), st.sampled_from([1, 1000, 10**6]))
def test_the_certificate_holds_and_meets_the_tolerance_with_rates_over_twelve_orders(exact, powers, money):
    """Probabilities, rates and rewards are rationals that floats only round: the truth is that of the rationals."""
    scale = iter(powers * 3)
    exact.rate = [[x * Fraction(10) ** next(scale) for x in row] for row in exact.rate]
    exact.reward = [[money * x for x in row] for row in exact.reward]
    gain, h, _ = exact.optimum()
    solution = solve(exact.model())
    lo, hi = solution.gain_bounds
    assert Fraction(lo) <= gain <= Fraction(hi) and hi - lo <= 1e-9 * max(1, abs(solution.gain))
    size = max(1, *(abs(x) for x in h))
    assert max(abs(x - y) for x, y in zip(solution.bias, h)) < 1e-10 * size
    best = exact.value(solution.policy)[0]
    assert gain - best <= max(1, abs(gain)) * 1e-10
