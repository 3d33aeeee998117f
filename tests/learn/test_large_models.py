"""Planning above DENSE states: sweeps in the place of elimination, rows of what was seen in the place of rows over all states."""

import numpy as np
import pytest

import sojourn
from sojourn.kernels.jit import from_python
from sojourn.kernels.planning import Model, best_policy
from sojourn.kernels.pooled_plan import PairRows, drawn_row, pooled_mean, pooled_mean_reference
from sojourn.kernels.swept_planning import DENSE
from sojourn.learn import kl_ucrl, posterior
from sojourn.learn.catalogue import learner
from sojourn.learn.estimate import estimated
from sojourn.learn.kl_set import kl_set
from sojourn.learn.optimism import optimistic_plan
from sojourn.learn.posterior import Posterior
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve

draw = from_python(drawn_row)


def walked(model, name, epochs, seed=3, **more):
    subject = learner(name, model.knowledge(**more), seed=seed)
    simulate(model, subject, max_epochs=epochs, seed=seed)
    return subject


@pytest.fixture(scope="module")
def garnet():
    return sojourn.make("random", states=12, actions=3, branching=4, seed=2)


@pytest.mark.parametrize("name", ["tandem:capacity=19", "routing:capacity=16", "random:states=500"])
def test_sweeps_find_the_best_policy_of_a_large_model(name):
    """As `solve` does, by other means; the policy is worth what it says."""
    model = sojourn.make(name)
    assert model.n_states > DENSE
    known = Model(model.pair_start, model.row_start, model.next_state, model.probability, model.expected_reward, model.running,
                  model.rate)
    gain, bias, pair = best_policy(known, np.ones(model.n_pairs, dtype=bool), np.array(model.pair_start[:-1]))
    best = solve(model, tolerance=1e-9)
    scale = np.abs(best.bias).max()
    assert gain == pytest.approx(best.gain, rel=1e-4)
    assert sojourn.evaluate(model, model.pair_action[pair]).gain == pytest.approx(best.gain, rel=1e-6)
    assert np.allclose(bias - bias[0], best.bias, atol=2e-3 * scale)


def test_the_pooled_mean_is_the_mean_over_all_states(garnet):
    subject = walked(garnet, "random", 60)
    start, state, count = subject.counts.rows()
    known = subject.knowledge
    weight = 1 / (12 + np.arange(known.n_pairs))
    args = start, state, count, subject.counts.visits, subject.counts.holding_sum, weight, 0.1, 10.0
    found = pooled_mean(PairRows(np.array(known.pair_start), np.array(known.reward), np.array(known.running)), *args)
    rows, rate = pooled_mean_reference(12, *args)
    dense = np.zeros((garnet.n_pairs + 1, 13))
    for i in range(garnet.n_pairs + 1):
        np.add.at(dense[i], found.next_state[found.row_start[i]:found.row_start[i + 1]],
                  found.probability[found.row_start[i]:found.row_start[i + 1]])
    assert np.allclose(dense[:-1, :12] + np.outer(dense[:-1, 12], dense[-1, :12]), rows, atol=1e-15)
    assert np.allclose(found.rate[:-1], rate) and found.rate[-1] == np.inf


@pytest.mark.parametrize(("count", "weight"), [([5, 1], 0.01), ([], 0.01), ([30], 0.5)])
def test_drawn_rows_have_the_means_and_variances_of_the_dirichlet_law(count, weight):
    """100 states, 5,000 draws: mean (a + n)/(Sa + N) and variance of each successor seen, and of the mass of all others.

    Each is compared within 5 standard errors (false alarm below 1e-5); the second moment of an atom's mass tells sticks from a
    mass that is spread evenly or falls on one state only.
    """
    n_states, draws = 100, 5_000
    rng, many = np.random.default_rng(7), len(count)
    to, p = np.zeros(many + 8, dtype=np.int32), np.zeros(many + 8)
    after, seen = np.arange(many, dtype=np.int64), np.array(count, dtype=np.int64)
    rows = np.zeros((draws, n_states))
    for i in range(draws):
        size = draw(rng, after, seen, n_states, weight, to, p)
        np.add.at(rows[i], to[:size], p[:size])
    assert np.allclose(rows.sum(axis=1), 1)
    total = n_states * weight + sum(count)
    for y in range(many):
        mean = (weight + count[y]) / total
        deviation = np.sqrt(mean * (1 - mean) / (total + 1))
        assert rows[:, y].mean() == pytest.approx(mean, abs=5 * deviation / np.sqrt(draws))
        assert rows[:, y].std() == pytest.approx(deviation, rel=0.05)
    if n_states * weight <= 1.5:  # beyond, eight atoms are too few for the law of one state
        other = rows[:, many:]
        share = weight / total
        square = share * (share + (1 - share) / (total + 1))
        assert (other**2).mean() == pytest.approx(square, rel=0.1)


def test_pooled_kl_sets_are_those_over_all_states(garnet, monkeypatch):
    """The same radii and the same optimistic gain, with rows of what was seen and one place more."""
    subject = walked(garnet, "random", 400)
    dense = kl_set(subject.counts, Posterior(subject.knowledge), 1e-3)
    monkeypatch.setattr(posterior, "DENSE", 5)
    pooled = kl_set(subject.counts, Posterior(subject.knowledge), 1e-3)
    assert pooled.rows.pooled and len(pooled.count) < len(dense.count)
    assert np.allclose(pooled.row_radius, dense.row_radius, rtol=1e-12)
    one, two = (optimistic_plan(s.iteration(), subject.knowledge, 1e-9, max_looks=2000) for s in (dense, pooled))
    assert one.gain == pytest.approx(two.gain, rel=1e-8) and np.array_equal(one.policy, two.policy)
    rows = np.zeros((garnet.n_pairs, 12))
    rows[np.repeat(np.arange(garnet.n_pairs), np.diff(garnet.row_start)), garnet.next_state] = garnet.probability
    assert pooled.contains(rows, garnet.rate) == dense.contains(rows, garnet.rate)


@pytest.mark.parametrize("name", ["default", "ct-bk", "ct-psrl", "ct-ce", "ct-kl-ucrl"])
def test_a_pooled_learner_plans_saves_and_learns_on_a_small_model(garnet, name, monkeypatch):
    """The gain of the mean model is that of the learner with full rows; a saved one goes on alike; it learns."""
    full = walked(garnet, name, 4000)
    monkeypatch.setattr(posterior, "DENSE", 5)
    subject = learner(name, garnet.knowledge(), seed=3)
    run = simulate(garnet, subject, max_epochs=4000, seed=3)
    assert subject.belief.pooled
    twin = learner(name, garnet.knowledge(), seed=99)
    twin.restore(subject.state())
    plan, again = subject.plan(), twin.plan()
    assert np.array_equal(plan.policy, again.policy) and plan.info == again.info
    same = learner(name, garnet.knowledge(), seed=3)
    same.counts.restore(full.counts.state())
    if "estimated_gain" in plan.info:
        assert same.plan().info["estimated_gain"] == pytest.approx(full.plan().info["estimated_gain"], rel=1e-9)
    random = simulate(garnet, "random", max_epochs=4000, seed=3)
    assert run.pseudo_regret[-1] < 0.7 * random.pseudo_regret[-1]


@pytest.mark.parametrize("dense", [5, 100])
def test_without_a_choice_several_draws_make_nothing_look_better_than_one(dense, monkeypatch):
    """150 plans with eight draws and with one: mean gains within 5 standard errors (false alarm below 1e-6)."""
    monkeypatch.setattr(posterior, "DENSE", dense)
    model = sojourn.make("random", states=12, actions=1, branching=4, seed=2)
    gains = []
    for draws in (8, 1):
        subject = learner("ct-imed", model.knowledge(), seed=3, draws=draws)
        simulate(model, subject, max_epochs=200, seed=3)
        assert subject.belief.pooled == (dense == 5)
        gains.append([subject.plan().info["sampled_gain"] for _ in range(150)])
    eight, one = np.array(gains)
    assert abs(eight.mean() - one.mean()) < 5 * np.sqrt((eight.var() + one.var()) / 150)


@pytest.mark.parametrize("name", ["default", "ct-psrl", "ct-kl-ucrl", "ct-ucrl", "ct-ce", "kl-ucrl"])
@pytest.mark.parametrize("supports", [True, False])
def test_what_a_learner_holds_of_a_large_model_grows_with_what_was_observed(name, supports):
    """900 states, two actions: rows over all states would be 13 MB each."""
    model: CTMDP = sojourn.make("tandem:capacity=29")
    subject = learner(name, model.knowledge(supports=supports), seed=1)
    simulate(model, subject, max_epochs=300, seed=1)
    arrays = [part for part in _parts(subject.state())]
    assert sum(part.nbytes for part in arrays) < 400_000
    belief = getattr(subject, "belief", None)
    if belief is not None:
        assert sum(v.nbytes for v in vars(belief).values() if isinstance(v, np.ndarray)) < 600_000


def _parts(state):
    for value in state.values():
        if isinstance(value, dict):
            yield from _parts(value)
        elif isinstance(value, np.ndarray):
            yield value


@pytest.mark.parametrize("epochs", [0, 40, 3000])
def test_kl_ucrl_plans_over_the_same_balls_with_rows_of_what_was_seen(garnet, epochs, monkeypatch):
    """The same policy and the same optimistic gain as with rows over all states: unvisited pairs, thin data, and more."""
    subject = walked(garnet, "kl-ucrl", epochs) if epochs else learner("kl-ucrl", garnet.knowledge(), seed=3)
    monkeypatch.setattr(kl_ucrl, "DENSE", 5)
    twin = learner("kl-ucrl", garnet.knowledge(), seed=3)
    twin.restore(subject.state())
    rows, pooled = subject.steps(), twin.steps()
    assert twin.pooled and not subject.pooled and len(rows.next_state) == garnet.n_pairs * 12
    seen = np.diff(subject.counts.rows()[0])
    assert (np.diff(pooled.row_start) <= seen + 2).all() and (pooled.probability[pooled.row_start[1:] - 1] == 0).all()
    full, plan = subject.plan(), twin.plan()
    assert plan.info["optimistic_gain"] == pytest.approx(full.info["optimistic_gain"], rel=1e-10)
    assert np.array_equal(plan.policy, full.policy)


def test_an_estimate_of_a_large_model_with_unknown_supports_holds_the_true_gain():
    model = sojourn.make("random:states=250,actions=2,branching=3")
    subject = walked(model, "random", 60_000)
    found = estimated(subject.counts, subject.knowledge)
    low, high = found.gain_bounds
    assert low <= found.gain <= high and low <= solve(model).gain <= high
