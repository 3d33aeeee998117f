"""The regret bounds of docs/learners-proofs.md as numbers, against policies one by one and formulas written again."""

import itertools
import math

import numpy as np
import pytest

import sojourn
from sojourn.errors import AssumptionError, ParameterError
from sojourn.instance.difficulty import difficulty
from sojourn.zoo.catalogue import make


def by_enumeration(model, bounds):
    """Return D, J, g, φ_max, ρ* and incomes of a small model, from every policy by itself."""
    rows, rate, income = model.matrix.toarray(), model.rate, model.expected_reward * model.rate + model.running
    n, worst, best_time, loss = model.n_states, 0.0, None, []
    choices = [range(a, b) for a, b in zip(model.pair_start[:-1], model.pair_start[1:])]

    def ways(p, cost):
        found = np.zeros((n, n))
        for target in range(n):
            keep = np.arange(n) != target
            found[keep, target] = np.linalg.solve(np.eye(n - 1) - p[np.ix_(keep, keep)], cost[keep])
        return found

    def law(p):
        return np.linalg.lstsq(np.vstack([p.T - np.eye(n), np.ones(n)]), np.eye(n + 1)[n], rcond=None)[0]

    every = [list(policy) for policy in itertools.product(*choices)]
    gains = [float(law(rows[q]) @ (income[q] / rate[q]) / (law(rows[q]) @ (1 / rate[q]))) for q in every]
    gain, at = max(gains), every[int(np.argmax(gains))]
    earned = income[at] / rate[at] - gain / rate[at]
    h = np.linalg.lstsq(np.vstack([np.eye(n) - rows[at], np.eye(n)[0]]), np.append(earned, 0.0), rcond=None)[0]
    gap = gain / rate - income / rate - rows @ h + h[model.pair_state]
    for q in every:
        worst = max(worst, ways(rows[q], np.ones(n)).max())
        time = ways(rows[q], 1 / rate[q])
        best_time = time if best_time is None else np.minimum(best_time, time)
        loss.append(float(law(rows[q]) @ gap[q]))
    ends = [model.expected_reward * edge + model.running for edge in bounds]
    return {"D": best_time.max(), "J": worst, "g": min(x for x in loss if x > 1e-9), "phi": gap.max(), "gain": gain,
            "top": max(e.max() for e in ends), "bottom": min(e.min() for e in ends), "least": income.min()}


def theorem_1(sets, model, bounds, n, k, gamma, level):
    m, (low, high) = by_enumeration(model, bounds), bounds
    pairs, states = model.n_pairs, model.n_states
    sigma = max(np.diff(model.row_start))
    theta = m["top"] - m["bottom"]
    w_theta = m["top"] - m["least"] + theta
    v = m["D"] * w_theta
    w0 = w_theta / model.rate.min() + v
    log_level = math.log(n) if level is None else math.log(1 / level)
    if sets == "kl":
        c0, x = 8.8, math.log(2 * pairs) + log_level + max(sigma * math.log(k * n / sigma), math.log(2 * n * (n + 1)))
    else:
        c0, root = 6.1, math.sqrt(high / low)
        x = math.log(pairs) + log_level + sigma * math.log(k * n / sigma) + math.log(1 + n * root) + root
    turn = 1 + math.sqrt(1 + max(gamma, 0.0625))
    r = abs(model.expected_reward).max()
    a = math.sqrt(pairs) * (turn * c0 * (r + v) * math.sqrt(x) + (1 + math.sqrt(2)) * theta / model.rate.min())
    plans = 1 + pairs * (1 + 2 / gamma + math.log(1 + gamma * n / (2 * pairs)) / math.log(1 + gamma / 2))
    if gamma == 1:
        plans = pairs * math.log2(8 * n / pairs)
    failing = (1 + 2 * gamma) * math.log2(2 * n) + 2 * states if level is None else level * n
    return (a * a / m["g"] + (m["phi"] * m["J"] + 4 * v) * plans + 2 * (8 * (1 + gamma) * x + 1) * pairs * w0
            + m["phi"] * failing)


def theorem_2(model, bounds, n, delta):
    m, low = by_enumeration(model, bounds), bounds[0]
    pairs, states, choices = model.n_pairs, model.n_states, max(np.diff(model.pair_start))
    theta = bounds[1]
    w_theta = m["top"] - m["least"] + theta
    v = m["D"] * w_theta
    lam = math.log(2 * choices * states * n / delta)
    e = theta + max(m["top"] - model.running.min(), model.running.max() - m["gain"])
    a = (1 + math.sqrt(2)) * math.sqrt(pairs) * (v * math.sqrt(14 * states * lam) + 8 * e * math.sqrt(14 * lam) / low
                                                 + theta / model.rate.min())
    return (a * a / m["g"] + (m["phi"] * m["J"] + 4 * v) * pairs * math.log2(8 * n / pairs)
            + 2 * pairs * (w_theta / model.rate.min() + v) + 0.07 * m["phi"] * delta * states)


@pytest.fixture(scope="module", params=["three-state", "costs"])
def known(request):
    if request.param == "three-state":
        model = make("three-state")
        return model, difficulty(model), model.bounds
    rng = np.random.default_rng(9)
    rows = rng.dirichlet(np.ones(3), (3, 2))
    model = sojourn.CTMDP.from_arrays(rows, np.exp(rng.normal(0, 1, (3, 2))), rng.normal(0, 1, (3, 2)),
                                      running=rng.normal(0, 2, (3, 2)))
    bounds = float(model.rate.min() / 3), float(model.rate.max() * 2)
    return model, difficulty(model, bounds), bounds


@pytest.mark.parametrize("sets", ["kl", "joint"])
@pytest.mark.parametrize(("gamma", "level"), [(0.1, None), (0.03, None), (1.0, 1e-5), (1.0, None)])
def test_the_bound_of_theorem_1_is_what_the_page_says(known, sets, gamma, level):
    model, found, bounds = known
    for n, supports in ((1e5, False), (1e3, True)):
        k = max(np.diff(model.row_start)) if supports else model.n_states
        bound = found.optimism_bound(sets, n, supports=supports, growth=gamma, delta=level)
        assert bound.total == pytest.approx(theorem_1(sets, model, bounds, n, k, gamma, level), rel=1e-6)


def test_the_bound_of_theorem_2_is_what_the_page_says(known):
    model, found, bounds = known
    for n, delta in ((1e5, None), (1e8, 0.2)):
        assert found.optimism_bound("printed", n, delta=delta).total == pytest.approx(
            theorem_2(model, bounds, n, delta or 0.01), rel=1e-6)


def test_the_bound_is_logarithmic_and_the_same_in_every_unit_of_time_and_reward():
    """At N^2 it is at most 2.2 times that at N; ct-ucrl stops planning in fixed units, so only the other two scale."""
    model = make("three-state")
    other = model.replace(rate=model.rate * 1e3, running=model.running * 5e3, reward=model.reward * 5,
                          rate_bounds=tuple(1e3 * np.array(model.bounds)))
    for sets in ("kl", "joint"):
        here, there = (difficulty(one).optimism_bound(sets, 1e6) for one in (model, other))
        assert there.total == pytest.approx(5 * here.total)
        assert here.total < difficulty(model).optimism_bound(sets, 1e12).total < 2.2 * here.total


def test_the_bound_lies_above_what_is_seen_and_above_the_lower_bound():
    model = make("three-state")
    found = difficulty(model)
    for name, sets in (("ct-kl-ucrl", "kl"), ("ct-joint-ucrl", "joint"), ("ct-ucrl", "printed")):
        run = sojourn.simulate(model, name, max_epochs=2000, seed=1)
        bound = found.optimism_bound(sets, 2000).total
        assert run.pseudo_regret[-1] < bound and found.lower_bound(epochs=2000, supports=False) < bound


def test_a_model_without_a_wrong_choice_loses_nothing():
    assert difficulty(make("two-state").replace(reward=np.zeros(4))).optimism_bound("kl", 1e6).total == 0


@pytest.mark.parametrize(("call", "said"), [
    (lambda found: found.optimism_bound("ct-psrl", 1e6), "sets is"),
    (lambda found: found.optimism_bound("kl", 2), "at least the number of pairs"),
    (lambda found: found.optimism_bound("kl", 1e6, growth=0), "growth is 0"),
    (lambda found: found.optimism_bound("kl", 1e6, delta=2), "delta is 2"),
    (lambda found: found.optimism_bound("printed", 1e300, delta=0.9), "take a smaller delta"),
])
def test_what_cannot_be_bounded_is_refused_in_words(call, said):
    with pytest.raises((ParameterError, AssumptionError), match=said):
        call(difficulty(make("three-state")))


def test_a_model_with_a_policy_that_is_not_irreducible_has_no_number():
    rows = [[[0.5, 0.5, 0], [0, 0.5, 0.5]], [[0, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]]
    model = sojourn.CTMDP.from_arrays(rows, np.ones((3, 2)), np.arange(6.0).reshape(3, 2), rate_bounds=(1, 1))
    with pytest.raises(AssumptionError, match="every policy is irreducible"):
        difficulty(model).optimism_bound("kl", 1e6)
