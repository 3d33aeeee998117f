"""K against a generic convex solver, and its alternatives re-solved."""

import numpy as np
import pytest

from shapes import case
from sojourn.errors import ModelError, ParameterError, ToleranceError
from sojourn.instance.difficulty import difficulty
from sojourn.instance.divergence import divergence
from sojourn.instance.least_divergence import bernoulli_divergence
from sojourn.kernels.least_divergence import least_divergence_row
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import solve

CASES = (
    "bounds inactive",
    "fast bound",
    "slow bound",
    "running above gain",
    "running equals gain",
    "one successor",
    "empirical zero",
    "end of the interval",
)


def draw(rng):
    """One choice: (p, value, here, rate, reward, running, gain, rate_min, rate_max), of a random kind."""
    d = int(rng.integers(1, 7))
    p = rng.dirichlet(np.full(d, rng.choice([0.4, 1.0, 4.0])))
    p = np.maximum(p, 1e-3)
    if d > 1 and rng.random() < 0.3:
        p[rng.integers(d)] = 0.0
    gain = float(rng.uniform(0.5, 3))
    running = gain if rng.random() < 0.2 else gain + float(rng.uniform(0.2, 2)) if rng.random() < 0.3 else 0.0
    rate = float(rng.uniform(1, 4))
    bounds = (rate * float(rng.uniform(0.4, 1)), rate * float(rng.uniform(1, 2)))
    return p / p.sum(), rng.normal(0, 0.7, d), float(rng.normal(0, 0.7)), rate, float(rng.random()), running, gain, *bounds


def by_convex_solver(choices):
    """Return K of each choice: one conic programme, the sum of independent ones."""
    import cvxpy

    terms, constraints = [], []
    for p, value, here, rate, reward, running, gain, lo, hi in choices:
        z = cvxpy.Variable(len(p), nonneg=True)  # intensities over the rate
        seen = np.flatnonzero(p > 0)
        terms.append(cvxpy.sum(cvxpy.kl_div(p[seen], z[seen])) + cvxpy.sum(z) - cvxpy.sum(z[seen]))
        constraints += [
            z @ (reward + value - here) + (running - gain) / rate >= 0,
            cvxpy.sum(z) >= lo / rate,
            cvxpy.sum(z) <= hi / rate,
        ]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.hstack(terms))), constraints).solve(
        solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )
    return [float(t.value) for t in terms]


def kinds(choice, k, rate, q):
    p, _, _, _, _, running, gain, lo, hi = choice
    yield "bounds inactive" if lo < rate < hi else "slow bound" if rate == lo else "fast bound"
    if running > gain:
        yield "running above gain"
    if running == gain:
        yield "running equals gain"
    if len(p) == 1:
        yield "one successor"
    if (p == 0).any():
        yield "empirical zero"
    if ((p == 0) & (q > 0)).any():
        yield "end of the interval"


@pytest.mark.slow
def test_k_is_the_optimum_of_the_convex_programme():
    rng = np.random.default_rng(5)
    seen, chosen = dict.fromkeys(CASES, 0), []
    while len(chosen) < 520:
        choice = draw(rng)
        q = np.empty(len(choice[0]))
        k, rate = least_divergence_row(*choice, q)
        if 1e-4 < k < 20:
            chosen.append((choice, k))
            for kind in kinds(choice, k, rate, q):
                seen[kind] += 1
            p, value, here, _, reward, running, gain, lo, hi = choice
            assert abs(reward + (running - gain) / rate + q @ value - here) < 1e-9  # it ties
            assert lo <= rate <= hi and abs(q.sum() - 1) < 1e-12
            assert divergence(p, choice[3], q, rate) == pytest.approx(k, rel=1e-9)
    assert min(seen.values()) >= 10, seen
    for start in range(0, len(chosen), 20):
        part = chosen[start : start + 20]
        for (choice, k), other in zip(part, by_convex_solver([c for c, _ in part])):
            assert k == pytest.approx(other, rel=1e-6, abs=1e-7), choice


def test_criticality_is_strict():
    """With the excess exactly 0 no choice makes the action uniquely optimal: K is infinite; a hair above it is finite."""
    for excess, finite in ((0.0, False), (1e-6, True), (-1e-6, False)):
        value, gain, reward = np.array([0.0, -0.5, 0.25]), 2.0, 0.0
        here = 0.25 - gain / 8 - excess  # best successor at the fastest rate
        k, _ = least_divergence_row(np.full(3, 1 / 3), value, here, 4.0, reward, 0.0, gain, 1.0, 8.0, np.empty(3))
        assert np.isfinite(k) == finite


def test_a_choice_that_is_already_as_good_has_k_zero():
    q = np.empty(2)
    k, rate = least_divergence_row(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0.0, 2.0, 1.0, 0.0, 0.5, 1.0, 4.0, q)
    assert k == 0 and rate == 2.0 and q.tolist() == [0.5, 0.5]


def test_tiny_gaps_and_tiny_probabilities_keep_their_digits():
    """K ~ gap²/(2 variance) for small gaps; next to the pole the root is found in the distance to it."""
    p, value = np.array([0.5, 0.5]), np.array([-1.0, 1.0])
    for gap in (1e-3, 1e-6, 1e-9):
        k, _ = least_divergence_row(p, value, gap, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, np.empty(2))
        assert k == pytest.approx(gap**2 / 2, rel=max(1e-9, gap))
    p = np.array([1.0 - 1e-13, 1e-13])
    k, _ = least_divergence_row(p, value, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, np.empty(2))  # q = (1/2, 1/2)
    assert k == pytest.approx(p[0] * np.log(2 * p[0]) + p[1] * np.log(2 * p[1]), rel=1e-12)


def moved(found, pair, share):
    """Return the model with the intensities of one pair moved by `share` of the way to the alternative."""
    model, kl = found.model, found.divergences
    row = slice(model.row_start[pair], model.row_start[pair + 1])
    old, new = model.rate[pair] * model.probability[row], kl.rate[pair] * kl.row[row]
    flow = old + share * (new - old)
    probability, rate = model.probability.copy(), model.rate.copy()
    probability[row], rate[pair] = flow / flow.sum(), flow.sum()
    return model.replace(probability=probability, rate=rate, rate_bounds=None), bool((flow > 0).all())


def check_alternatives(model):
    found = difficulty(model)
    for pair in np.flatnonzero(found.divergences.critical):
        s, a = int(model.pair_state[pair]), int(model.pair_action[pair])
        tied = found.alternative(s, a)
        assert found.rate_bounds[0] <= tied.rate[pair] <= found.rate_bounds[1]
        at = difficulty(tied)
        assert at.gain == pytest.approx(found.gain, rel=1e-8)
        assert abs(at.gaps[s, a]) <= 1e-8 * max(1.0, abs(found.bias).max())
        beyond, positive = moved(found, pair, 1.01)
        if positive:
            after = difficulty(beyond)
            assert solve(beyond).gain > found.gain
            assert np.flatnonzero(after.optimal_actions[s]).tolist() == [a]
        before = difficulty(moved(found, pair, 0.99)[0])
        assert not before.optimal_actions[s, a] and before.gain == pytest.approx(found.gain, rel=1e-9)
    return int(found.divergences.critical.sum())


@pytest.mark.parametrize("name", ["three_state", "ties", "boundary_cases", "machine_maintenance", "miller_n3_m3"])
def test_the_alternative_makes_its_action_optimal_and_nothing_nearer_does(golden_model, name):
    assert check_alternatives(golden_model(name)) >= 2


def test_alternatives_of_random_models(random_model):
    rng = np.random.default_rng(6)
    assert sum(check_alternatives(random_model(rng, 4, 3, 3, running=i % 2 == 0)) for i in range(6)) >= 20


def test_a_pair_without_alternative_is_refused_with_the_reason(golden_model):
    found = difficulty(golden_model("three_state"))
    with pytest.raises(ModelError, match=r"not critical \(K is infinite\)"):
        found.alternative(2, 0)
    with pytest.raises(ModelError, match="already optimal"):
        found.alternative(0, 0)


def test_rewards_on_the_transition_shift_the_values(golden_model):
    """Paying w_y on the jump to y instead of its mean at once keeps gain and gaps, and changes K."""
    model = golden_model("three_state")
    paid = np.random.default_rng(0).random(len(model.next_state))
    mean = np.add.reduceat(model.probability * paid, model.row_start[:-1])
    other = model.replace(reward=model.reward - mean, transition_reward=paid)
    a, b = difficulty(model), difficulty(other)
    np.testing.assert_allclose(a.gaps, b.gaps, atol=1e-12)
    assert a.gain_gap == pytest.approx(b.gain_gap) and a.diameter == pytest.approx(b.diameter)
    assert abs(a.lower_bound_constant / b.lower_bound_constant - 1) > 1e-3
    assert check_alternatives(other) >= 1


def test_unknown_bernoulli_rewards_make_alternatives_nearer(golden_model):
    from scipy.optimize import minimize

    model = golden_model("three_state")
    known, unknown = difficulty(model), difficulty(model, rewards="bernoulli")
    assert (unknown.least_divergence <= known.least_divergence).all()
    assert unknown.lower_bound_constant > known.lower_bound_constant
    for s, a in np.argwhere(unknown.critical):
        pair = model.pair(int(s), int(a))
        tied = unknown.alternative(int(s), int(a))
        at = difficulty(tied, (1, 7))
        assert at.gain == pytest.approx(known.gain, rel=1e-8) and abs(at.gaps[s, a]) < 1e-7
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        p, h, r, rate = model.probability[row], known.bias[model.next_state[row]], model.reward[pair], model.rate[pair]

        def cost(x, p=p, r=r, rate=rate):
            return p @ np.log(p / x[2:]) + np.log(rate / x[1]) + x[1] / rate - 1 + bernoulli_divergence(r, x[0])

        rules = [
            {"type": "eq", "fun": lambda x: x[2:].sum() - 1},
            {"type": "ineq", "fun": lambda x, h=h, s=s: x[0] - known.gain / x[1] + x[2:] @ h - known.bias[s]},
        ]
        low, high = max(r, 1e-6), 1 - 1e-9
        best = min(
            minimize(
                cost,
                [min(r + 0.05, 0.99), rate, *p],
                bounds=[(low, high), (1, 7), *[(1e-9, 1)] * len(p)],
                constraints=rules,
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-13},
            ).fun
            for _ in range(1)
        )
        assert unknown.least_divergence[s, a] == pytest.approx(best, rel=1e-5)


def test_bernoulli_rewards_must_be_probabilities(golden_model):
    with pytest.raises(ModelError, match=r"reward\[0, 0\] is 5; the mean of a Bernoulli reward lies in \[0, 1\]"):
        _ = difficulty(golden_model("two_state"), rewards="bernoulli").least_divergence
    with pytest.raises(ParameterError, match="did you mean 'bernoulli'"):
        difficulty(golden_model("two_state"), rewards="bernouli")


def test_a_discrete_time_model_has_the_divergence_of_its_rows_only():
    """Holding times of one unit are known, so K is the least KL of the row (Burnetas and Katehakis)."""
    transition = np.array([[[0.5, 0.5], [0.8, 0.2]], [[0.6, 0.4], [0.3, 0.7]]])
    model = CTMDP.from_mdp(transition, [[0.2, 0.1], [1.0, 0.4]])
    found = difficulty(model)
    for s, a in np.argwhere(found.critical):
        pair = model.pair(int(s), int(a))
        grid = np.linspace(1e-6, 1 - 1e-6, 400_001)
        value = found.model.reward[pair] - found.gain + (1 - grid) * found.bias[0] + grid * found.bias[1] - found.bias[s]
        p = transition[s, a]
        kl = p[0] * np.log(p[0] / (1 - grid)) + p[1] * np.log(p[1] / grid)
        assert found.least_divergence[s, a] == pytest.approx(kl[value >= 0].min(), rel=1e-4)


def test_rewards_four_hundred_decades_apart_overflow_nowhere():
    found = difficulty(case(41, 7802).model)  # an overflow would be a warning, and that an error here
    assert np.isfinite(found.lower_bound_constant) and not np.isnan(found.divergences.k).any()


def test_the_constant_of_a_bandit_is_that_of_its_rates():
    """One state: the bias is 0, and an arm is as good as the best at the rate gain/reward, log(λ/λ') + λ'/λ - 1 nats away."""
    rate, reward = np.array([[3.0, 2.5, 1.5]]), np.array([[0.8, 0.5, 0.6]])
    found = difficulty(CTMDP.from_arrays(np.ones((1, 3, 1)), rate, reward, rate_bounds=(0.5, 10.0)))
    gain = (rate * reward).max()
    needed = gain / reward[0, 1:] / rate[0, 1:]
    gap = gain / rate[0, 1:] - reward[0, 1:]
    assert found.lower_bound_constant == pytest.approx((gap / (needed - 1 - np.log(needed))).sum(), rel=1e-9)


def test_a_choice_that_stays_where_it_is_best_keeps_its_k():
    """The best successor of (2, 2) is 2 itself, worth exactly 0, and the state pays more than the gain.  K by 50 digits."""
    rows = [[0.0166015625, 0.3828125, 0.6005859375], [0.58984375, 0, 0.41015625], [1, 0, 0], [0.4999990463256836, 2.0**-20, 0.5]]
    model = CTMDP.from_pairs([0, 1, 2, 2], [0, 2, 0, 2], rows, [288.0, 0.005859375, 57344.0, 57344.0], [25e6, 6.25e6, 37.5e6, 0.0],
                             [-56.25e6, -87.5e6, 50e6, -62.5e6], actions=[0, 1, 2])
    found = difficulty(model)
    assert found.divergences.k[3] == pytest.approx(4.85203016685981, rel=1e-9)
    assert found.lower_bound_constant == pytest.approx(3864545.03, rel=1e-8)
    assert found.lower_bound_constant_unknown == pytest.approx(3864545.03, rel=1e-8)
    assert found.lower_bound_constant_bounds[0] > 3864545


def test_a_k_that_is_no_number_is_refused_and_not_left_out(golden_model, monkeypatch):
    model = golden_model("three_state")
    usual = difficulty(model).divergences
    monkeypatch.setattr("sojourn.instance.divergence_bounds.proved_divergences", lambda *given: given[-5].fill(np.nan))
    plain = difficulty(model).divergences  # by floats, and nothing is proved
    np.testing.assert_allclose(plain.k, usual.k, rtol=1e-12)
    assert (plain.low[plain.critical] == 0).all() and np.isinf(plain.high[plain.critical]).all()
    monkeypatch.setattr("sojourn.instance.least_divergence.least_divergences", lambda *given: given[-3].fill(np.nan))
    with pytest.raises(ToleranceError, match=r"^K\(.*came out as no number.*another unit"):
        _ = difficulty(model).divergences


def test_two_arms_that_nearly_tie_keep_the_digits_of_k():
    """The gap is the difference of two floats, 1e-9 of its terms; added up in floats it would have seven digits, and K with it."""
    first, second = 0.61, 0.61 - 2.0**-30
    found = difficulty(CTMDP.from_arrays(np.ones((1, 2, 1)), [[1.9, 1.9]], [[first, second]], rate_bounds=(0.5, 10.0)))
    x = (first - second) / second
    assert found.divergences.k[1] == pytest.approx(x**2 / 2 - x**3 / 3, rel=1e-14)
    assert found.lower_bound_constant == pytest.approx((first - second) / (x**2 / 2 - x**3 / 3), rel=1e-14)


def test_the_reward_alone_makes_a_pair_optimal_where_row_and_rate_cannot_move():
    """(0, 2) has one successor and the greatest rate: nearest is the mean reward that is its gap larger."""
    rows = [[0.6865234375, 0.3134765625], [0, 1], [0, 1], [0.1708984375, 0.8291015625], [0.27734375, 0.72265625],
            [0.23046875, 0.76953125]]
    model = CTMDP.from_pairs([0, 0, 0, 1, 1, 1], [1, 2, 3, 0, 2, 3], rows, [3.75, 4.25, 3, 2.75, 1.875, 1.625],
                             [0.4375, 0.25, 0.6875, 0.5, 0.8125, 0.25])
    found = difficulty(model, rewards="bernoulli")
    kl, gap = found.divergences, found.optimum.gap[1]
    assert kl.k[1] == pytest.approx(0.163029, rel=1e-5) == bernoulli_divergence(0.25, 0.25 + gap)
    assert (kl.rate[1], kl.reward[1], kl.row[model.row_start[1]]) == (4.25, 0.25 + gap, 1.0)
    assert difficulty(found.alternative(0, 2)).optimal_actions[0].tolist() == [False, False, True, True]


@pytest.mark.parametrize("room", [0.0, 1e-6, 1e-3, 0.02, 1.0])
@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.3])
def test_an_arm_of_unknown_reward_is_as_far_as_the_best_of_rate_and_reward(room, mean):
    """One state: the reward that goes with the rate l is gain/l, and what remains is one number to search."""
    rate, gain = 2.0, 1.5
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), [[1.6, rate]], [[gain / 1.6, mean]], rate_bounds=(1.55, rate * (1 + room)))
    speed = np.concatenate([rate + rate * room * np.linspace(0, 1, 100_001), rate * (1 + room * np.geomspace(1e-12, 1, 20_000))])
    reward, y = gain / speed, speed / rate - 1
    cost = y - np.log1p(y) + (1 - mean) * np.log((1 - mean) / (1 - reward)) + (mean * np.log(mean / reward) if mean else 0.0)
    found = difficulty(model, rewards="bernoulli").divergences
    assert found.k[1] == pytest.approx(cost.min(), rel=1e-7)
    assert found.rate[1] * found.reward[1] == pytest.approx(gain, rel=1e-9)


def test_a_reward_that_nearly_ties_keeps_its_digits():
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), [[1.9, 1.9]], [[0.61, 0.61 - 2.0**-30]])
    k = difficulty(model, rewards="bernoulli").divergences.k[1]
    mean, gap = model.reward[1], model.reward[0] - model.reward[1]
    assert k == pytest.approx(gap**2 / (2 * mean * (1 - mean)), rel=1e-8)
