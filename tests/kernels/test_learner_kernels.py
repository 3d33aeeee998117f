"""The learners' kernels agree with their readable twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.kernels import bk, imed, kl_optimism, kl_row, planning, posterior
from sojourn.kernels.jit import from_python
from sojourn.kernels.least_divergence import least_divergence_reference, least_divergence_row
from sojourn.learn.counts import Counts
from sojourn.learn.posterior import Posterior
from sojourn.zoo.catalogue import make

lead, skeleton, index_choice, insisted_kernel = map(from_python, (imed.lead, imed.skeleton, imed.index_choice, imed.insisted))
upper_worth, upper_choice = from_python(bk.upper_worth), from_python(bk.upper_choice)
posterior_sample = from_python(posterior.posterior_sample)

seeds = st.integers(0, 10**6)


def divergence(*row):
    return least_divergence_reference(*row)[0]


def kernel_divergence(p, value, *rest):
    return least_divergence_row(p, value, *rest, np.empty(len(p)))[0]


def counted(model, epochs, seed, supports):
    """Return the belief of a learner that has seen `epochs` uniformly random choices."""
    rng = np.random.default_rng(seed)
    known = model.knowledge(supports=supports)
    counts, belief, s = Counts(known), Posterior(known), 0
    for _ in range(epochs):
        pair = int(rng.integers(model.pair_start[s], model.pair_start[s + 1]))
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        s = int(rng.choice(model.next_state[row], p=model.probability[row]))
        counts.add(pair, float(rng.exponential(1 / model.rate[pair])), s)
    belief.update(counts)
    return counts, belief


def model_of(belief, probability, rate):
    return planning.Model(belief.pair_start, belief.row_start, belief.next_state, probability, belief.reward, belief.running, rate)


def problem(seed, epochs=60, supports=False):
    model = make("random", seed=seed % 50, states=4, actions=3)
    counts, belief = counted(model, epochs, seed, supports)
    return counts, belief


@settings(max_examples=30)
@given(seeds, st.booleans(), st.integers(0, 200))
def test_successor_counts_are_found_where_the_reference_finds_them(seed, supports, epochs):
    counts, belief = problem(seed, epochs, supports)
    args = counts.head, counts.slot_state, counts.slot_next, counts.slot_count, belief.row_start, belief.next_state
    again = np.full_like(belief.count, 7)
    assert posterior.successor_counts_reference(*args, again) == -1
    assert np.array_equal(again, belief.count)
    assert belief.count.sum() == epochs


def test_a_successor_that_is_not_listed_is_reported_by_both_twins():
    counts, belief = problem(1, 50, True)
    start, states = belief.row_start, np.full_like(belief.next_state, 99)
    args = counts.head, counts.slot_state, counts.slot_next, counts.slot_count, start, states, belief.count
    assert posterior.successor_counts(*args) == posterior.successor_counts_reference(*args) >= 0


@settings(max_examples=30)
@given(seeds, st.booleans(), st.sampled_from([(0.0, 0.0), (2.0, 1.5)]), st.booleans())
def test_posterior_draws_are_the_references_bit_for_bit(seed, supports, prior, known_rate):
    counts, belief = problem(seed, seed % 90, supports)
    args = belief.row_start, belief.count, counts.visits, counts.holding_sum, belief.weight
    one, two = np.random.default_rng(seed), np.random.default_rng(seed)
    bounds = (1.3, 1.3) if known_rate else (belief.rate_min, belief.rate_max)
    got = posterior_sample(one, *args, *prior, *bounds)
    want = posterior.posterior_sample_reference(two, *args, *prior, *bounds)
    assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
    assert one.random() == two.random()
    assert not known_rate or (got[1] == 1.3).all()
    mean, mean_reference = posterior.posterior_mean(*args, *bounds), posterior.posterior_mean_reference(*args, *bounds)
    assert np.allclose(mean[0], mean_reference[0], rtol=1e-14) and np.allclose(mean[1], mean_reference[1], rtol=1e-14)
    for fades in (True, False):
        assert np.array_equal(posterior.weights_now(belief.weight, counts.visits, fades),
                              posterior.weights_now_reference(belief.weight, counts.visits, fades))
    shares = belief.row_start, belief.count, counts.visits, mean[0]
    assert np.array_equal(from_python(posterior.rows_as_seen)(*shares), posterior.rows_as_seen_reference(*shares))


@settings(max_examples=30)
@given(seeds, st.booleans())
def test_the_best_policy_is_the_references(seed, supports):
    counts, belief = problem(seed, 80, supports)
    probability, rate = posterior_sample(np.random.default_rng(seed), belief.row_start, belief.count, counts.visits,
                                                   counts.holding_sum, belief.weight, 0.0, 0.0, belief.rate_min, belief.rate_max)
    allowed = np.random.default_rng(seed + 1).random(len(rate)) < 0.7
    allowed[belief.pair_start[:-1]] = True
    args = model_of(belief, probability, rate), allowed, belief.pair_start[1:] - 1
    gain, bias, pair = planning.best_policy(*args)
    want_gain, want_bias, want_pair = planning.best_policy_reference(*args)
    assert np.array_equal(pair, want_pair)
    assert gain == pytest.approx(want_gain, rel=1e-10, abs=1e-12)
    assert np.allclose(bias, want_bias, rtol=1e-9, atol=1e-9)


def test_a_policy_under_which_the_states_fall_apart_can_be_left():
    """Two states that may stay apart for ever; the better one is reached only by leaving."""
    start, row_start = np.array([0, 2, 3]), np.array([0, 1, 2, 3])
    next_state, probability = np.array([0, 1, 1]), np.ones(3)
    reward, running, rate = np.array([0.0, 0.0, 1.0]), np.zeros(3), np.ones(3)
    model = planning.Model(start, row_start, next_state, probability, reward, running, rate)
    gain, _, pair = planning.best_policy(model, np.ones(3, dtype=bool), np.array([0, 2]))
    assert pair.tolist() == [1, 2] and gain == pytest.approx(1.0, abs=1e-8)


@settings(max_examples=30)
@given(seeds, st.integers(0, 10**6), st.floats(0, 5), st.floats(-1, 60), st.floats(0, 50))
def test_the_lead_of_an_index_is_the_references(seed, visits, least, index, more):
    for runner_up in (index + more, np.inf):
        assert lead(visits, least, index, runner_up) == imed.lead_reference(visits, least, index, runner_up) >= 1


@settings(max_examples=30)
@given(seeds, st.booleans())
def test_the_index_chooses_as_the_reference_does(seed, supports):
    counts, belief = problem(seed, 40 + seed % 200, supports)
    allowed = skeleton(belief.pair_start, counts.visits)
    assert np.array_equal(allowed, imed.skeleton_reference(belief.pair_start, counts.visits))
    model = belief.mean()
    gain, bias, greedy = planning.best_policy(model, allowed, belief.pair_start[:-1].copy())
    args = (model, counts.visits, gain, bias, greedy, belief.rate_min, belief.rate_max)
    got, want = index_choice(*args), imed.index_choice_reference(*args, kernel_divergence)
    assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
    assert np.allclose(got[2], want[2], rtol=1e-12)
    pair, trying = insisted_kernel(*args[:-2], got[2])
    want_pair, want_trying = imed.insisted_reference(*args[:-2], got[2])
    assert np.array_equal(pair, want_pair) and np.array_equal(trying, want_trying)


def test_cheap_tries_are_insisted_on_sooner():
    """Two states, the second action worse by 1 and by 0.01 with the same K: prices 100:1, so the cheap one gains the LEEWAY."""
    start = np.array([0, 2, 4])
    row_start, next_state, probability = np.arange(5), np.array([1, 1, 0, 0]), np.ones(4)
    reward, running, rate = np.array([1.0, 0.0, 1.0, 0.99]), np.zeros(4), np.ones(4)
    visits, greedy, k = np.array([1000, 50, 1000, 50]), np.array([0, 2]), np.array([0.0, 0.06, 0.0, 0.06])
    index, asked = 50 * 0.06 + np.log(50), np.log(1000) - imed.SPARED  # 6.9 and 5.9
    assert asked < index < asked + imed.LEEWAY
    for insisted in (insisted_kernel, imed.insisted_reference):
        model = planning.Model(start, row_start, next_state, probability, reward, running, rate)
        pair, trying = insisted(model, visits, 1.0, np.zeros(2), greedy, k)
        assert list(pair) == [1, 3] and list(trying) == [False, True]


def row_of(seed):
    """Return (p, values) of a row, half of the time with zeros."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    p = rng.dirichlet(np.ones(k))
    if k > 1 and rng.random() < 0.5:
        p[rng.integers(k)] = 0.0
    return p / p.sum(), rng.uniform(-1, 1, k)


@settings(max_examples=30)
@given(seeds, st.floats(1e-6, 10))
def test_the_upper_index_is_the_references_and_what_it_needs_is_within_the_budget(seed, budget):
    p, value = row_of(seed)
    rest = (0.3, 1.7, 0.2, 0.1, 0.4, 0.5, 4.0)
    got = upper_worth(p, value, *rest, budget, np.empty(len(p)))
    want = bk.upper_worth_reference(p, value, *rest, budget, divergence)
    assert got == pytest.approx(want, rel=1e-8, abs=1e-8)
    here = p @ value + 0.2 + (0.1 - 0.4) / 1.7 - 0.3
    assert got >= here - 1e-12


@settings(max_examples=60)
@given(seeds, st.sampled_from(["wild", "alike", "known rate", "no drift"]))
def test_the_upper_choice_is_the_largest_upper_index_of_all(seed, kind):
    """Also where the worth cannot rise: successors all alike, with a known rate or nothing to win by it."""
    rng = np.random.default_rng(seed)
    pairs, k, states = 3, int(rng.integers(1, 5)), int(rng.integers(2, 5))
    pair_start, row_start = np.array([0, pairs]), np.arange(pairs + 1) * k
    count = rng.integers(0, 9, (pairs, k)) * (rng.random((pairs, 1)) < 0.8)
    visits = count.sum(axis=1)
    probability = ((count + 1 / k) / (visits[:, None] + 1)).ravel()
    next_state, bias = rng.integers(states, size=pairs * k), rng.uniform(-1, 1, states) * 10.0 ** rng.integers(-6, 7)
    size, gain = np.abs(bias).max(), 0.3 * np.abs(bias).max()
    if kind != "wild":
        bias[:] = bias[0]
    bounds = (2.0, 2.0) if kind == "known rate" else (0.5, 4.0)
    rate = np.full(pairs, 2.0) if kind == "known rate" else rng.uniform(0.5, 4.0, pairs)
    reward, running = rng.uniform(-size, size, (2, pairs))
    if kind == "no drift":
        running[:] = gain
    greedy = np.array([rng.integers(pairs)])
    upper = np.array([bk.upper_worth_reference(probability[a:a + k], bias[next_state[a:a + k]], bias[0], rate[i], reward[i],
                                               running[i], gain, *bounds, np.log(50) / visits[i] if visits[i] else np.inf,
                                               divergence) for i, a in enumerate(row_start[:-1])])
    model = planning.Model(pair_start, row_start, next_state, probability, reward, running, rate)
    chosen = upper_choice(model, visits, gain, bias, greedy, *bounds, np.log(50), 0)[0]
    assert upper[chosen] >= upper.max() - 1e-8 * size
    unheard = upper_choice(model, visits, gain, bias, greedy, *bounds, np.log(50), visits.sum() + 1)
    assert unheard[0] == greedy[0]


def test_the_upper_index_of_a_nearly_certain_row_looks_before_it_stops():
    """A start within rounding of the data's worth is no answer: N = 10^6 visits, a weight of 1e-16 on the better successor."""
    p, value, args = np.array([1.0, 1e-22]), np.array([0.0, 1.0]), (0.0, 1.0, 0.0, 0.3, 0.3, 1.0, 1.0, 1.4e-5)
    got = upper_worth(p, value, *args, np.empty(2))
    assert got == pytest.approx(bk.upper_worth_reference(p, value, *args, divergence), rel=1e-3) and got > 1e-5


@settings(max_examples=30)
@given(seeds, st.one_of(st.floats(1e-8, 20), st.floats(20, 600)), st.booleans())
def test_the_best_row_of_a_kl_ball_is_the_references_and_lies_on_its_border(seed, x, by_log):
    p, u = row_of(seed)
    shortfall, q = u.max() - u, np.empty(len(p))
    lost = kl_optimism.kl_row(p, shortfall, x, q, by_log)
    want, want_lost = kl_optimism.kl_row_reference(p, shortfall, x)
    assert lost == pytest.approx(want_lost, rel=1e-8, abs=1e-10)
    assert np.allclose(q, want, atol=1e-6)
    assert q.sum() == pytest.approx(1, abs=1e-9) and q.min() >= 0
    seen = p > 0
    spent = p[seen] @ np.log(p[seen] / q[seen])
    assert spent <= x * (1 + 1e-6) + 1e-10
    if np.ptp(u) > 0 and p @ shortfall > 1e-9 and lost > 1e-12:
        assert spent == pytest.approx(x, rel=1e-4, abs=1e-9)


def test_the_multiplier_of_a_large_ball_is_found_by_its_logarithm_in_a_handful_of_steps(monkeypatch):
    """The same as by halving, which needs up to 200 of them; beyond x = 120 or so all mass is on the best successor."""
    looks, gap = [], kl_row.kl_gap
    monkeypatch.setattr(kl_row, "kl_gap", lambda p, d, w: looks.append(w) or gap(p, d, w))
    by_log, by_halving = (getattr(way, "py_func", way) for way in (kl_row.kl_multiplier_by_log, kl_row.kl_multiplier))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p, d = rng.dirichlet(np.ones(6)), np.append(0.0, 10.0 ** rng.uniform(-3, 2, 5))
        spread = p @ d**2 - (p @ d) ** 2
        for x in (1e-6, 0.01, 1.0, 20.0, 60.0, 1e3, 1e5):
            looks.clear()
            w = by_log(p, d, x, spread)
            assert len(looks) <= 20
            if w > kl_row.LEAST * 1e3:
                assert gap(p, d, w)[0] == pytest.approx(x, rel=1e-7)
                assert x > 50 or w == pytest.approx(by_halving(p, d, x, spread), rel=1e-6)
            else:
                assert gap(p, d, w)[0] <= x


def test_no_row_of_the_ball_beats_the_best_one():
    """20,000 rows drawn around p: none within the ball is better."""
    rng = np.random.default_rng(4)
    for seed in range(10):
        p, u = row_of(seed)
        x = 10.0 ** rng.uniform(-3, 0)
        q = np.empty(len(p))
        best = u.max() - kl_optimism.kl_row(p, u.max() - u, x, q)
        drawn = rng.dirichlet(np.maximum(p, 0.05) * rng.uniform(1, 50), size=2000)
        seen = p > 0
        inside = (p[seen] * np.log(p[seen] / np.maximum(drawn[:, seen], 1e-300))).sum(axis=1) <= x
        assert (drawn[inside] @ u <= best + 1e-12).all()


@given(st.floats(1e-10, 200))
def test_the_exponential_interval_ends_at_the_two_roots(x):
    low, high = kl_optimism.exponential_interval(x)
    want_low, want_high = kl_optimism.exponential_interval_reference(x)
    assert low == pytest.approx(want_low, rel=1e-6) and high == pytest.approx(want_high, rel=1e-6)
    for y in (low, high):
        assert y - 1 - np.log(y) == pytest.approx(x, rel=1e-3, abs=1e-15)


@settings(max_examples=30)
@given(seeds, st.booleans())
def test_kl_sets_and_the_optimistic_bellman_step_are_the_references(seed, supports):
    counts, belief = problem(seed, 30 + seed % 300, supports)
    args = belief.row_start, belief.count, counts.visits, counts.holding_sum, 1e-3, belief.rate_min, belief.rate_max
    got, want = kl_optimism.kl_sets(*args), kl_optimism.kl_sets_reference(*args)
    assert all(np.allclose(a, b, rtol=1e-9) for a, b in zip(got, want, strict=True))
    u = np.random.default_rng(seed).uniform(0, 2, len(belief.pair_start) - 1)
    empirical = belief.count / np.repeat(np.maximum(1, counts.visits), np.diff(belief.row_start))
    step = kl_optimism.KLProblem(belief.pair_start, belief.row_start, belief.next_state, empirical, *got[:3], belief.reward,
                                 belief.running, 5.0)
    one, two = kl_optimism.kl_bellman(u, step), kl_optimism.kl_bellman_reference(u, step)
    assert np.allclose(one[0], two[0], atol=1e-9) and np.array_equal(one[1], two[1])
    chosen = np.concatenate([np.arange(belief.row_start[i], belief.row_start[i + 1]) for i in one[1]])  # others may be left out
    assert np.allclose(one[2][one[1]], two[2][one[1]]) and np.allclose(one[3][chosen], two[3][chosen], atol=1e-6)
