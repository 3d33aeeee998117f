"""The bound at N decisions: second ways to the same numbers, what is proved about it, and what it must not depend on."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import sojourn
from sojourn.errors import AssumptionError, ParameterError, TooLarge
from sojourn.instance.bound_at import asked, proved, settled
from sojourn.instance.divergence import divergence
from sojourn.instance.tilting import divergences, nearest, value, written
from sojourn.instance.visits_program import cheapest
from sojourn.model.ctmdp import CTMDP

pytestmark = pytest.mark.xdist_group("bound_at")  # bounds once worked out are kept with their model


@pytest.fixture(scope="module")
def three():
    return sojourn.difficulty(sojourn.make("three-state"), (1, 7))


@pytest.fixture(scope="module")
def river():
    return sojourn.difficulty(sojourn.make("river-swim", length=4, small_reward=0.5))


def two_arms(rate=(2.0, 1.5), reward=(1.0, 1.1)):
    return CTMDP.from_arrays(np.ones((1, 2, 1)), [rate], [reward], rate_bounds=(0.5, 6))


def brute_two_arms(model, epochs, elsewhere, top=6, grid=4000):
    """Return the bound of two arms by a grid over both rates: each pair of rates asks for some visits of the second arm."""
    (one, two), (r1, r2) = model.rate, model.reward
    gap = r1 * one / two - r2
    a, b = np.meshgrid(one * np.exp(np.linspace(-0.02, 0.02, 801)), np.linspace(two, top, grid))
    loss = np.maximum(r2 * b / a - r1, 1e-300)  # of one decision for the first arm where the second is better
    told = [x / y - 1 - np.log(x / y) for x, y in ((a, one), (b, two))]
    nats = np.log(epochs * loss / elsewhere)
    visits = np.where(nats > 0, (nats - epochs * told[0]) / np.maximum(told[1] - told[0], 1e-300), 0.0)
    return gap * float(np.where((told[1] > told[0]) & (loss > 1e-200), visits, 0.0).max())


@pytest.mark.parametrize("epochs, elsewhere", [(1e4, 0.5), (1e6, 0.5), (1e6, 20.0)])
def test_two_arms_are_the_same_by_a_grid_over_all_alternatives(epochs, elsewhere):
    model = two_arms()
    found = sojourn.difficulty(model).bound_at(epochs, elsewhere=elsewhere)
    brute = brute_two_arms(model, epochs, elsewhere)
    assert brute > 0 and found == pytest.approx(brute, rel=0.01) and found <= brute * (1 + 1e-3)


def test_two_arms_in_balance_pay_here_what_they_may_lose_elsewhere():
    model = two_arms()
    found = sojourn.difficulty(model).bound_at(1e6)
    assert found == pytest.approx(brute_two_arms(model, 1e6, float(found)), rel=0.01) and found.elsewhere == found.value


def test_the_slope_in_log_n_becomes_that_of_the_lower_bound(three):
    values = [three.bound_at(n, elsewhere=1.0) for n in (1e4, 1e6, 1e9)]
    slopes = np.diff(values) / np.diff(np.log([1e4, 1e6, 1e9]))
    assert slopes[1] == pytest.approx(three.lower_bound_constant, rel=0.1)
    assert abs(slopes[1] - three.lower_bound_constant) < abs(slopes[0] - three.lower_bound_constant)


def test_where_good_play_sees_every_state_it_stays_below_the_lower_bound_and_comes_nearer():
    for model in (sojourn.make("three-state"), sojourn.make("maintenance", levels=4)):
        found = sojourn.difficulty(model)
        parts = [found.bound_at(n, events=False) / found.lower_bound(epochs=n) for n in (1e4, 1e8)]
        assert 0 < parts[0] < parts[1] < 1


def test_where_good_play_hardly_sees_the_other_regime_it_is_far_above_the_lower_bound():
    found = sojourn.difficulty(sojourn.make("river-swim", small_reward=0.35))
    bound = found.bound_at(1e6)
    assert bound > 2 * found.lower_bound(epochs=1e6) and "right in 2" in bound.alternatives[0].label
    assert bound.low > 0.999 * bound


def test_every_alternative_makes_good_play_suboptimal_and_is_as_far_away_as_it_says(river):
    model, bound = river.model, river.bound_at(1e4)
    rows = model.dense()["transition"]
    assert bound.alternatives
    for other in bound.alternatives:
        solved = sojourn.solve(other.model)
        assert solved.gain_bounds[0] > sojourn.evaluate(other.model, river.policy).gain_bounds[1]
        assert other.model.rate.min() >= river.rate_bounds[0] and other.model.rate.max() <= river.rate_bounds[1]
        there = other.model.dense()["transition"]
        assert ((there > 0) == (rows > 0)).all()
        for i in range(model.n_pairs):
            s, a = model.pair_state[i], model.pair_action[i]
            told = divergence(rows[s, a], model.rate[i], there[s, a], other.model.rate[i])
            assert other.divergence[i] == pytest.approx(told, rel=1e-6, abs=1e-13) and other.divergence[i] >= told * (1 - 1e-9)
        lost = river.visit_shares @ sojourn.gaps(other.model)[np.arange(model.n_states), river.policy]
        assert 0.95 * lost < other.loss <= lost * (1 + 1e-9)  # a walk may start where that costs least


def test_the_visits_are_a_walk_that_gathers_what_is_asked_and_costs_the_bound(river):
    bound = river.bound_at(1e4)
    visits = bound.visits[river.model.pair_state, river.model.pair_action]
    assert visits.sum() == pytest.approx(1e4) and river.optimum.gap @ visits == pytest.approx(bound, rel=1e-4)
    out = np.bincount(river.model.pair_state, visits)
    assert np.abs(out - river.model.matrix.T @ visits).sum() <= 2 + 1e-3
    for other in bound.alternatives:
        assert visits @ other.divergence >= math.log(1e4 * other.loss / bound) - 1e-3


def loss_of_walks(best, other, policy, epochs):
    """Return the least that so many decisions of a policy that is optimal in one model cost in another, over all starts."""
    model = best.model
    pairs, lost = model.policy_pairs(np.array(policy)), np.zeros(model.n_states)
    price, row = sojourn.gaps(other)[np.arange(model.n_states), policy], model.matrix.toarray()[pairs]
    for _ in range(epochs):
        lost = price + row @ lost
    return lost.min()


def two_homes(fast=2.0**17, leak=2.0**-13):
    """Two states, each with a way to stay and one to leave, all optimal, and a worse choice in the first."""
    rows = [[1 - leak, leak], [leak, 1 - leak], [1 - leak, leak], [1 - leak, leak], [leak, 1 - leak]]
    return CTMDP.from_pairs([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], rows, [1.0, 1, 1, fast, fast], [1, 1, 0.9, 1 / fast, 1 / fast],
                            rate_bounds=(0.5, 2 * fast))


def slow_homes(leak=1e-7):
    """Two states that are hardly ever left, two arms in the first."""
    return CTMDP.from_pairs([0, 0, 1], [0, 1, 0], [[1 - leak, leak], [1 - leak, leak], [leak, 1 - leak]], [2.0, 1.5, 1.0],
                            [1.0, 1.1, 1.9], rate_bounds=(0.5, 6))


@pytest.mark.parametrize("model, policy, epochs", [(two_homes(), [1, 1], 100_000), (slow_homes(), [0, 0], 10_000)])
def test_good_play_loses_in_an_alternative_what_it_says_however_it_plays_and_wherever_it_starts(model, policy, epochs):
    found = sojourn.difficulty(model)
    assert all(found.optimal_actions[s, a] for s, a in enumerate(policy))
    bound = found.bound_at(epochs)
    for other in bound.alternatives:
        assert other.loss * epochs <= loss_of_walks(found.optimum, other.model, policy, epochs) * (1 + 1e-6)
    assert bound < 1  # about the price of one wrong choice: there is a good walk that meets next to nothing of it


def least_by_slsqp(model, pairs, good, visits, margin):
    """Return Σ visits KL of the nearest model in which `pairs` earn `margin` more than `good`, by a general solver."""
    changed = np.union1d(pairs, good)
    inside = model.row[changed] > 0
    steady = model.rate[:, None] * model.row

    def spread(x):
        q = steady.copy()
        part = q[changed]
        part[inside] *= np.exp(x)
        q[changed] = part
        return q

    total = [lambda x, i=i, sign=sign: sign * (spread(x)[i].sum() - model.bounds[sign < 0]) for i in changed for sign in (1, -1)]
    ahead = {"type": "ineq", "fun": lambda x: 10 * (value(model, spread(x), pairs)[0] - value(model, spread(x), good)[0] - margin)}
    found = minimize(lambda x: visits @ divergences(model, spread(x)), np.zeros(inside.sum()), method="SLSQP",
                     constraints=[ahead, *({"type": "ineq", "fun": f} for f in total)], options={"maxiter": 500, "ftol": 1e-10})
    assert found.success
    return found.fun


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_model_is_the_one_that_a_general_solver_finds(random_model, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 3)
    found = sojourn.difficulty(model)
    good = model.policy_pairs(found.policy)
    other = model.policy_pairs(1 - found.policy)
    small, visits = written(model, found.rate_bounds, True), rng.uniform(1, 50, model.n_pairs)
    steady = small.rate[:, None] * small.row
    margin = 0.1 * (value(small, steady, good)[0] - value(small, steady, other)[0])
    tilted = nearest(small, other, good, visits, margin)
    by_hand = least_by_slsqp(small, other, good, visits, tilted.ahead)
    assert visits @ tilted.divergence == pytest.approx(by_hand, rel=5e-3) and visits @ tilted.divergence >= by_hand * (1 - 1e-4)


def test_it_does_not_depend_on_the_units_of_reward_and_time(river):
    model, bound = river.model, river.bound_at(1e3)
    paid = sojourn.difficulty(model.replace(reward=model.reward * 8, running=model.running * 8)).bound_at(1e3)
    low, high = model.bounds
    timed = sojourn.difficulty(model.replace(rate=model.rate * 16, running=model.running * 16, rate_bounds=(low * 16, high * 16)))
    assert paid == pytest.approx(8 * bound, rel=1e-3) and timed.bound_at(1e3) == pytest.approx(bound, rel=1e-3)


def test_it_does_not_depend_on_the_order_of_states_and_actions(river):
    whole, order = river.model.dense(), np.array([2, 0, 3, 1])
    turned = CTMDP.from_arrays(whole["transition"][order][:, ::-1][:, :, order], whole["rate"][order][:, ::-1],
                               whole["reward"][order][:, ::-1], whole["running"][order][:, ::-1], rate_bounds=river.rate_bounds)
    assert sojourn.difficulty(turned).bound_at(1e3) == pytest.approx(river.bound_at(1e3), rel=0.03)


def test_it_grows_with_n_and_with_the_list_and_when_less_may_be_lost_elsewhere(river):
    values = [river.bound_at(n) for n in (1e3, 1e4, 1e5, 1e6)]
    assert 0 < values[0] < values[1] < values[2] <= values[3]
    bound = values[2]
    listed = list(bound.alternatives)
    prices = [settled(river.optimum, bound.within, listed[:k], None, 1.0).price for k in range(1, len(listed) + 1)]
    assert len(listed) > 2 and (np.diff(prices) >= -1e-6 * prices[-1]).all() and prices[-1] == pytest.approx(bound, rel=1e-5)
    assert river.bound_at(1e4, elsewhere=values[1] / 4) > values[1] > river.bound_at(1e4, elsewhere=values[1] * 4)


@pytest.mark.parametrize("second, epochs, few", [(1.1, 30.0, False), (1.1, 1e5, False), (1.3333, 1e4, True)])
def test_what_is_paid_and_what_may_be_lost_meet_where_halving_finds_it(second, epochs, few):
    found = sojourn.difficulty(two_arms(reward=(1.0, second)))
    best, listed = found.optimum, list(found.bound_at(1e6).alternatives)
    told, low, high = np.array([a.divergence for a in listed]), 1e-9, epochs * max(a.loss for a in listed)
    for _ in range(60):
        middle = math.sqrt(low * high)
        found = cheapest(best, epochs, told, asked(epochs, listed, middle))
        low, high = (low, middle) if found is not None and found.price <= middle else (middle, high)
    assert (cheapest(best, epochs, told, asked(epochs, listed, low * (1 - 1e-6))) is None) == few  # N decisions cannot gather more
    for start in (1e-5, high, 1e5):
        assert settled(best, epochs, listed, None, start).price == pytest.approx(high, rel=1e-6)


def test_what_was_lost_earlier_stays_lost_though_later_good_play_sees_the_rest_for_nothing(river):
    bound = river.bound_at(1e6)
    assert bound.within == 1e5 and bound.epochs == 1e6 and bound == river.bound_at(1e5)
    assert np.nansum(bound.visits) == pytest.approx(1e5)


def test_no_dual_however_wrong_proves_too_much_and_the_right_one_proves_all(river):
    bound, rng = river.bound_at(1e4), np.random.default_rng(5)
    listed, best = list(bound.alternatives), river.optimum
    right = cheapest(best, 1e4, np.array([a.divergence for a in listed]), asked(1e4, listed, bound.elsewhere))
    true = settled(best, 1e4, listed, None, 1.0).price
    assert true * (1 - 1e-5) < proved(best, 1e4, listed, right, None) <= true * (1 + 1e-6)
    for scale in (1e-3, 0.1, 10.0):
        wrong = type(right)(right.visits, right.price, right.worth * (1 + scale * rng.standard_normal(len(right.worth))),
                            right.per_nat * np.exp(scale * rng.standard_normal(len(right.per_nat))))
        assert proved(best, 1e4, listed, wrong, None) < true
    greedy = type(right)(right.visits, right.price, right.worth, right.per_nat * 10)
    assert proved(best, 1e4, listed, greedy, None) < true


def test_with_unknown_supports_it_is_no_less_and_an_alternative_may_jump_anywhere(river):
    found = sojourn.difficulty(sojourn.make("river-swim", length=4))
    bound = found.bound_at(1e5, supports=False)
    assert bound > 1.1 * found.bound_at(1e5) and river.bound_at(1e5, supports=False) >= river.bound_at(1e5)
    here = found.model.dense()["transition"]
    other = next(a for a in bound.alternatives if ((a.model.dense()["transition"] > 0) & (here == 0)).any())
    there = other.model.dense()["transition"]
    told = [divergence(here[s, a], r, there[s, a], q) for s, a, r, q in zip(found.model.pair_state, found.model.pair_action,
                                                                            found.model.rate, other.model.rate)]
    assert other.divergence == pytest.approx(told, rel=1e-6, abs=1e-13)


def test_with_unknown_supports_it_grows_like_the_lower_bound_for_them_however_often_good_play_is_seen():
    """No trace of jumps that an alternative does not use: good play, seen 10^12 times, would have noticed them."""
    found = sojourn.difficulty(sojourn.make("three-state"))
    bounds = [found.bound_at(n, supports=False) for n in (1e10, 1e12)]
    slope = (bounds[1] - bounds[0]) / math.log(100)
    assert slope == pytest.approx(found.lower_bound_constant_unknown, rel=0.15) and bounds[1] > found.bound_at(1e12)


def test_what_was_lost_within_a_million_decisions_is_lost_within_10_to_the_12():
    """Between 10^8 and 10^12 decisions less is found here than within 10^7."""
    found = sojourn.difficulty(sojourn.make("river-swim:small_reward=0.35"))
    late = found.bound_at(1e12)
    assert late.within < 1e8 and late.epochs == 1e12 and late >= found.bound_at(1e6)


def test_a_bound_below_the_price_of_one_wrong_choice_is_found_too():
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), [[1.0, 0.1]], [[1.0, 1.0]], rate_bounds=(0.05, 2))
    found = sojourn.difficulty(model)
    bound = found.bound_at(1e3)
    assert 0 < bound < np.nanmax(found.gaps) and bound < found.lower_bound(epochs=1e3)
    assert bound == pytest.approx(brute_two_arms(model, 1e3, float(bound), 2), rel=0.02)


def test_what_cannot_be_had_is_said_in_words(three):
    assert sojourn.difficulty(CTMDP.from_arrays(np.ones((1, 2, 1)), [[1.0, 1.0]], [[1.0, 1.0]])).bound_at(100) == 0
    with pytest.raises(ParameterError, match="positive amount of reward"):
        three.bound_at(1e3, elsewhere=0)
    with pytest.raises(ParameterError, match="epochs >= 1"):
        three.bound_at(0.5)
    with pytest.raises(TooLarge, match=r"up to 1e\+12.*from below or from above"):
        three.bound_at(1e300)
    with pytest.raises(TooLarge, match="at most 150 pairs"):
        sojourn.difficulty(sojourn.make("admission", capacity=300)).bound_at(1e6)
    split = CTMDP.from_arrays([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]], np.ones((2, 2)), [[1.0, 0], [0, 0]])
    with pytest.raises(AssumptionError, match="irreducible"):
        sojourn.difficulty(split).bound_at(1e3)
    assert three.bound_at(50, elsewhere=1e-6) == math.inf
