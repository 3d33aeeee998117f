"""The least number of decisions of any stopping rule: against brute force over alternatives of one pair."""

from functools import partial
from itertools import product
from math import log

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

from sojourn.errors import AssumptionError, ParameterError, TooLarge
from sojourn.instance.difficulty import difficulty
from sojourn.instance.stopping_bound import proved_flow
from sojourn.model.closeness import within
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.catalogue import make

NATS = 0.9 * log(19)  # kl(0.05, 0.95)


def drawn(seed, states=3, actions=2):
    """A dense random model whose second action is worse or better at random; two successors from every pair."""
    rng = np.random.default_rng(seed)
    transition = np.zeros((states, actions, states))
    for s, a in product(range(states), range(actions)):
        to = rng.choice(states, 2, replace=False)
        transition[s, a, to] = rng.dirichlet([2.0, 2.0])
        transition[s, a, (s + 1) % states] += 0.5
    transition /= transition.sum(axis=2, keepdims=True)
    rate = np.exp(rng.uniform(0, 1.2, (states, actions)))
    return CTMDP.from_arrays(transition, rate, rng.uniform(0, 1, (states, actions)), rng.uniform(-1, 1, (states, actions)),
                             rate_bounds=(0.2, 12.0))


def plain(model):
    """Return (rows, rates) of all pairs; two actions in every state."""
    return model.matrix.toarray(), model.rate.copy()


def gains(model, rows, rate):
    """Return {policy: gain} of all deterministic policies, from the balance equations."""
    found, n = {}, model.n_states
    for policy in product(range(2), repeat=n):
        pair = 2 * np.arange(n) + policy
        flow = rate[pair][:, None] * (rows[pair] - np.eye(n))
        share = np.linalg.solve(np.vstack([flow.T[:-1], np.ones(n)]), np.eye(n)[-1])
        found[policy] = float(share @ (model.reward[pair] * rate[pair] + model.running[pair]))
    return found


def changed(model, pair, q, rate):
    """Return (rows, rates) with another row (as shares over the support) and rate in one pair."""
    rows, rates = plain(model)
    rows[pair, model.next_state[model.row_start[pair]:model.row_start[pair + 1]]], rates[pair] = q, rate
    return rows, rates


def divergence(model, pair, q, rate):
    p = model.probability[model.row_start[pair]:model.row_start[pair + 1]]
    seen = p > 0
    ratio = rate / model.rate[pair]
    return float(np.sum(p[seen] * np.log(p[seen] / q[seen])) + ratio - 1 - log(ratio))


def nearest(model, pair, state, action, target, sign):
    """Return the least divergence at which the best gain through the pair passes `target`, by search over rows and rates.

    For each row on a grid the rate is moved from the true one until the target is met; the grid is made finer around the best.
    """
    low, high = model.bounds
    size = model.row_start[pair + 1] - model.row_start[pair]

    def through(q, rate):
        there = gains(model, *changed(model, pair, q, rate))
        return sign * (max(g for policy, g in there.items() if policy[state] == action) - target)

    def cost(x):
        q = np.array([1.0]) if size == 1 else np.array([x, 1 - x])
        found = np.inf
        for end in (low, high):
            rate = model.rate[pair]
            if through(q, rate) >= 0:
                found = min(found, divergence(model, pair, q, rate))
            elif through(q, end) >= 0:
                found = min(found, divergence(model, pair, q, brentq(lambda x: through(q, x), rate, end, xtol=1e-10)))
        return found

    if size == 1:
        return cost(1.0)
    left, right = 1e-4, 1 - 1e-4
    for _ in range(5):
        grid = np.linspace(left, right, 9)
        values = [cost(x) for x in grid]
        if not np.isfinite(values).any():
            return np.inf
        at = int(np.argmin(values))
        left, right = grid[max(at - 1, 0)], grid[min(at + 1, 8)]
    return min(values)


def expected(model, wanted):
    """Return K of every pair by enumeration of policies and search over alternatives."""
    all_gains = gains(model, *plain(model))
    best = max(all_gains.values())
    good = [policy for policy, gain in all_gains.items() if gain >= wanted.least(best)]
    found = np.full(model.n_pairs, np.inf)
    for pair in range(model.n_pairs):
        s, a = int(model.pair_state[pair]), int(model.pair_action[pair])
        if not any(policy[s] == a for policy in good):
            found[pair] = nearest(model, pair, s, a, wanted.best_for(best), 1.0)
        elif all(policy[s] == a for policy in good):
            others = [gain for policy, gain in all_gains.items() if policy[s] != a]
            if others:
                found[pair] = nearest(model, pair, s, a, wanted.least(max(others)), -1.0)
    return found


@pytest.mark.parametrize("seed, epsilon", [(1, "10%"), (3, 0.05)])
def test_the_divergences_are_those_found_by_trying_rows_and_rates(seed, epsilon):
    model, wanted = drawn(seed, states=2), within(epsilon)
    got = difficulty(model).stopping_bound(wanted).divergence[model.pair_state, model.pair_action]
    assert np.isfinite(got).any()
    np.testing.assert_allclose(got, expected(model, wanted), rtol=2e-3)


def test_no_policy_that_is_good_enough_here_is_good_enough_in_the_nearest_models():
    """Both kinds of alternatives, their rates moved just beyond the target, judged by enumeration in three states."""
    kinds = set()
    for seed in range(6):
        model, wanted = drawn(seed), within("5%")
        here = gains(model, *plain(model))
        good = {policy for policy, gain in here.items() if gain >= wanted.least(max(here.values()))}
        found = difficulty(model).stopping_bound(wanted)
        for pair in range(model.n_pairs):
            s, a = int(model.pair_state[pair]), int(model.pair_action[pair])
            k = found.divergence[s, a]
            if not np.isfinite(k):
                continue
            kinds.add(all(policy[s] == a for policy in good))
            q = model.probability[model.row_start[pair]:model.row_start[pair + 1]]
            for rate in model.bounds:  # the rate alone: if this passes the target, it costs at least K
                there = gains(model, *changed(model, pair, q, rate))
                enough = {policy for policy, gain in there.items() if gain >= wanted.least(max(there.values()))}
                if not enough & good:
                    least = brentq(partial(_apart, model, pair, q, wanted, good), model.rate[pair], rate, xtol=1e-9)
                    assert divergence(model, pair, q, least) >= k * (1 - 1e-6)
    assert kinds == {True, False}


def _apart(model, pair, q, wanted, good, rate):
    """Return by how much the best of the policies `good` misses what is good enough in the changed model."""
    there = gains(model, *changed(model, pair, q, rate))
    return wanted.least(max(there.values())) - max(there[policy] for policy in good)


def test_three_state_at_ten_and_five_per_cent_of_its_gain():
    """With the laxer log(1/(2.4 delta)) for kl(delta, 1 - delta), and no ends of the flow, another program got 24 and 161."""
    hard, laxer = difficulty(make("three-state")), log(1 / (2.4 * 0.05)) / NATS
    gain = hard.gain
    assert hard.stopping_bound(0.10 * gain).epochs * laxer == pytest.approx(24, abs=1.5)
    assert hard.stopping_bound(0.05 * gain).epochs * laxer == pytest.approx(161, abs=2.5)
    assert hard.stopping_bound(0.10 * gain).time * laxer == pytest.approx(11.5, abs=1.0)


def test_visits_flow_and_reach_what_is_needed_and_no_others_are_fewer():
    model = make("three-state")
    found = difficulty(model).stopping_bound("5%")
    visits = found.visits[model.pair_state, model.pair_action]
    needed = found.needed[model.pair_state, model.pair_action]
    assert (visits >= needed * (1 - 1e-9)).all()
    np.testing.assert_allclose(needed[needed > 0], NATS / found.divergence[found.needed > 0], rtol=1e-6)
    left = np.bincount(model.pair_state, visits) - model.matrix.T @ visits  # what goes out beyond what comes in
    assert np.abs(left).max() <= 1 + 1e-6 and left.sum() == pytest.approx(0, abs=1e-6)
    out = (model.pair_state == np.arange(3)[:, None]) - model.matrix.T.toarray()  # the same programme, written another way
    again = linprog(np.ones(6), A_ub=np.vstack([out, -out]), b_ub=np.ones(6), bounds=[(n, None) for n in needed])
    assert again.fun <= found.epochs * (1 + 1e-9) + 1e-9 and found.epochs <= visits.sum() + 1e-6
    assert found.epochs == pytest.approx(visits.sum(), rel=1e-6)


def test_whatever_a_solver_says_the_proved_value_is_no_more_than_the_least():
    model, rng = make("three-state"), np.random.default_rng(2)
    found = difficulty(model).stopping_bound("5%")
    needed = found.needed[model.pair_state, model.pair_action]
    for scale in (0.01, 0.1, 0.5, 2.0):
        for _ in range(20):
            assert proved_flow(model, needed, np.ones(6), scale * rng.normal(size=3)) <= found.epochs * (1 + 1e-9)


def test_a_wider_epsilon_a_larger_delta_and_a_smaller_class_need_less():
    hard = difficulty(make("river-swim"))
    least = [hard.stopping_bound(epsilon).epochs for epsilon in ("40%", "10%", "2%")]
    assert least[0] < least[1] < least[2]
    assert hard.stopping_bound("10%", delta=0.01).epochs > hard.stopping_bound("10%", delta=0.1).epochs
    assert hard.stopping_bound("10%", delta=0.5).epochs == 0
    assert hard.stopping_bound("10%", supports=False).epochs > hard.stopping_bound("10%").epochs


def test_units_of_money_and_time_change_nothing_but_the_unit():
    model = drawn(3)
    found = difficulty(model).stopping_bound("5%")
    dear = model.replace(reward=model.reward * 1e3, running=model.running * 1e3)
    slow = model.replace(rate=model.rate / 60, running=model.running / 60, rate_bounds=(0.2 / 60, 12.0 / 60))
    assert difficulty(dear).stopping_bound("5%").epochs == pytest.approx(found.epochs, rel=1e-7)
    assert difficulty(slow).stopping_bound("5%").epochs == pytest.approx(found.epochs, rel=1e-7)
    assert difficulty(slow).stopping_bound("5%").time == pytest.approx(60 * found.time, rel=1e-7)


def test_what_makes_no_sense_is_refused(monkeypatch):
    hard = difficulty(make("three-state"))
    for epsilon in ("5 per cent", -0.1, 0, "0%", "100%", None, "1_5%", True):
        with pytest.raises(ParameterError, match="epsilon is"):
            hard.stopping_bound(epsilon)
    with pytest.raises(ParameterError, match="delta is"):
        hard.stopping_bound("5%", delta=0)
    monkeypatch.setattr("sojourn.instance.stopping_bound.MOST_PAIRS", 5)
    with pytest.raises(TooLarge, match="at most 5 pairs; this model has 6"):
        hard.stopping_bound("5%")
    stays = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    parts = CTMDP.from_arrays(stays, np.ones((2, 2)), np.eye(2), rate_bounds=(0.5, 2))
    with pytest.raises(AssumptionError, match="every policy irreducible"):
        difficulty(parts).stopping_bound("5%")
