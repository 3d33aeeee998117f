"""The joint confidence sets of ct-joint-ucrl: how often they fail, optimism while they hold, and what they buy."""

import numpy as np
import pytest
from scipy.stats import binom

from sojourn.kernels.joint_optimism import joint_threshold
from sojourn.learn.ct_joint_ucrl import CTJointUCRL
from sojourn.learn.joint_set import joint_set
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

RUNS, VISITS, LEVEL = 1500, 300, 0.3


def ever_outside(rng, flow, successors, slack):
    """Return how many of RUNS samples of one pair ever leave the set whose threshold is lowered by `slack` nats."""
    p, failures = flow / flow.sum(), 0
    checked = np.unique(np.geomspace(1, VISITS, 40).astype(int))
    for _ in range(RUNS):
        jumps = np.cumsum(np.eye(len(p), dtype=np.int64)[rng.choice(len(p), VISITS, p=p)], axis=0)
        time = np.cumsum(rng.exponential(1 / flow.sum(), VISITS))
        for i in checked - 1:
            seen = jumps[i] > 0
            n, spent = jumps[i][seen], time[i]
            lack = (n * np.log(n / (flow[seen] * spent)) - n).sum() + flow.sum() * spent
            if lack > joint_threshold(n, spent, successors, 0.5, LEVEL) - slack:
                failures += 1
                break
    return failures


@pytest.mark.parametrize(("flow", "successors"), [([1.0, 1.0], 2), ([0.1, 3.0, 0.4], 3), ([2.0, 0.5], 12)])
def test_the_true_intensities_ever_leave_their_set_no_more_often_than_promised(flow, successors):
    """False alarms below 1e-6.  Looked at after 40 of 300 visits, which can only miss failures."""
    failures = ever_outside(np.random.default_rng(4), np.array(flow), successors, 0.0)
    assert failures <= binom.ppf(1 - 1e-6, RUNS, LEVEL)


def test_sets_that_are_three_nats_too_small_are_noticed():
    failures = ever_outside(np.random.default_rng(4), np.array([1.0, 1.0]), 2, 3.0)
    assert failures > binom.ppf(1 - 1e-6, RUNS, LEVEL)


def test_planned_gains_are_at_least_the_true_one_whenever_the_model_is_plausible():
    """30 runs at delta = 0.2: plausible in all but a few (false alarms below 1e-6), and optimistic in every plan where it is."""
    model = make("three-state")
    gain, matrix, runs, covered = solve(model).gain, model.matrix.toarray(), 30, 0
    for seed in range(runs):
        learner = CTJointUCRL(model.knowledge(supports=seed % 2 == 0), delta=0.2, seed=seed)
        walk = Walk(model, learner, seed=seed)
        always, seen = True, None
        while walk.step(until_epoch=3000):
            if walk.episode is not seen:
                seen = walk.episode
                plausible = learner.contains(matrix, model.rate)
                always = always and plausible
                assert not plausible or seen.plan.info["optimistic_gain"] >= gain - 1e-9
        covered += always
    assert covered >= binom.ppf(1e-6, runs, 0.8)


def test_a_wrong_model_is_not_plausible_for_long():
    model = make("three-state")
    walk = Walk(model, CTJointUCRL(model.knowledge(), delta=0.05), seed=1)
    walk.advance(until_epoch=20_000)
    known = joint_set(walk.learner.counts, walk.learner.knowledge, 1e-3)
    assert known.contains(model.matrix.toarray(), model.rate)
    assert not known.contains(np.full((model.n_pairs, model.n_states), 1 / model.n_states), model.rate)
    assert not known.contains(model.matrix.toarray(), model.rate * 1.5)


def test_one_budget_for_row_and_rate_costs_less_than_two():
    """Pseudo-regret at 10^5 on three-state, supports known, 8 runs each: at least 15 % less."""
    from sojourn.learn.catalogue import learner
    from sojourn.simulation.simulate import simulate

    model = make("three-state")
    solution = solve(model)

    def regret(name, seed):
        subject = learner(name, model.knowledge(supports=True), seed=seed)
        return simulate(model, subject, max_epochs=10**5, seed=seed, checkpoints=[10**5], solution=solution).pseudo_regret[-1]

    paid = {name: [regret(name, seed) for seed in range(8)] for name in ("ct-kl-ucrl", "ct-joint-ucrl")}
    assert np.mean(paid["ct-joint-ucrl"]) < 0.85 * np.mean(paid["ct-kl-ucrl"]), paid
