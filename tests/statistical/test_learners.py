"""The learners on known instances: short forms of the tables in docs/learners.md, fixed seeds."""

from math import log

import numpy as np
import pytest

from sojourn.instance.difficulty import difficulty
from sojourn.learn.catalogue import learner
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def final(model, name, epochs, seeds, supports=True, **parameters):
    """Return the pseudo-regret after `epochs` for each seed."""
    solution, known = solve(model), model.knowledge(supports=supports)
    runs = (simulate(model, learner(name, known, seed=s, **parameters), max_epochs=epochs, seed=500 + s, checkpoints=[epochs],
                     solution=solution) for s in seeds)
    return np.array([float(run.pseudo_regret[-1]) for run in runs])


@pytest.mark.parametrize("name", ["three_state", "boundary_cases", "ties", "machine_maintenance", "miller_n3_m3"])
def test_the_default_stays_below_the_lower_bounds_line_at_1e5(name, golden, golden_model):
    bound = float(golden(name)["constants"]["C_M"]) * log(1e5)
    known = final(golden_model(name), "default", 10**5, range(8))
    unknown = final(golden_model(name), "default", 10**5, range(8), supports=False)
    assert known.mean() <= bound and known.max() <= 5 * bound
    assert unknown.mean() <= 2 * bound


def test_the_index_alone_locks_on_a_long_river_swim_and_the_default_does_not():
    """Supports unknown: without sampling most runs stay downstream; each costs more than any of the default's."""
    model = make("river-swim", length=12, leak=0.01)
    alone = final(model, "ct-imed", 20_000, range(8), supports=False, draws=0)
    default = final(model, "default", 20_000, range(8), supports=False)
    assert np.median(alone) > 4 * default.max()


def test_several_draws_per_row_free_the_default_on_a_line_with_a_tempting_small_reward():
    """Supports unknown: with one draw per row most runs stay with the small reward."""
    model = make("river-swim", length=8, small_reward=0.2, leak=0.01)
    bound = difficulty(model).lower_bound_constant * log(1e5)
    assert final(model, "default", 10**5, range(5), supports=False).max() <= 4 * bound
    assert np.median(final(model, "default", 10**5, range(5), supports=False, draws=1)) > 10 * bound


def test_the_default_leaves_the_worse_of_two_regimes_close_in_gain():
    """Staying there costs 7 times the bound, what the index alone pays in every run; the default paid more than 5 once in 300."""
    model = make("river-swim", length=6, small_reward=0.3, leak=0.01)
    bound = difficulty(model).lower_bound_constant * log(1e5)
    default, alone = final(model, "default", 10**5, range(12)), final(model, "default", 10**5, range(4), draws=0)
    assert alone.min() > 5 * bound
    assert np.median(default) <= 2.5 * bound and (default > 5 * bound).sum() <= 1


def test_the_default_has_no_linear_regret_where_the_lower_bound_is_not_defined(golden_model):
    model = golden_model("riverswim_unichain")
    early, late = final(model, "default", 20_000, range(6)), final(model, "default", 200_000, range(6))
    assert late.mean() <= early.mean() + 40
    early, late = (final(model, "default", epochs, range(4), supports=False) for epochs in (20_000, 200_000))
    assert (late <= early + 60).all()  # linear regret would add some 50,000


def test_ct_kl_ucrl_pays_at_least_40_times_less_than_ct_ucrl_on_three_state():
    model = make("three-state")
    printed = final(model, "ct-ucrl", 10**6, [1], supports=False, delta=0.01)
    assert final(model, "ct-kl-ucrl", 10**6, [1], supports=False, delta=0.01) * 40 <= printed


def test_a_pessimistic_rate_prior_with_doubling_episodes_fails_and_the_default_prior_does_not():
    """Rates believed to be the slowest possible, with the weight of 30 visits: what looks slow is not tried again for long."""
    model = make("three-state")
    bad = final(model, "ct-psrl", 10**5, range(6), episodes="doubling", rate_prior=(30.0, 30.0))
    good = final(model, "ct-psrl", 10**5, range(6))
    assert np.median(bad) > 5 * np.median(good)


def test_posterior_sampling_with_the_best_of_several_draws_is_a_valid_choice():
    model = make("three-state")
    assert final(model, "ct-psrl", 20_000, range(3), samples=3).max() < 1000


def test_the_oracle_has_no_pseudo_regret_and_random_pays_linearly():
    model = make("three-state")
    run = simulate(model, learner("oracle", model.knowledge(), model=model), max_epochs=1000)
    assert np.abs(run.pseudo_regret).max() < 1e-9
    one, two = final(model, "random", 10_000, [0]), final(model, "random", 20_000, [0])
    assert 1.9 < two / one < 2.1


def test_certainty_equivalence_tries_every_action_c_log_n_times():
    model = make("three-state")
    run = simulate(model, learner("ct-ce", model.knowledge(), exploration=3.0), max_epochs=20_000, seed=2)
    seen = run.visits.sum(axis=1, keepdims=True)
    assert (run.visits >= 3.0 * np.log1p(seen) - 1).all()


def test_known_unit_rates_are_never_doubted():
    """Discrete time: with rate bounds (1, 1) and unit holding times the learners plan with rate 1 and learn rows only."""
    rng = np.random.default_rng(2)
    transition, reward = rng.dirichlet(np.ones(3), size=(3, 2)), rng.uniform(0, 1, (3, 2))
    model = CTMDP.from_arrays(transition, np.ones((3, 2)), reward, rate_bounds=(1.0, 1.0))
    for name in ("default", "ct-psrl", "ct-bk"):
        subject = learner(name, model.knowledge(), seed=1)
        simulate(model, subject, max_epochs=2000, seed=1, holding_times="deterministic")
        subject.belief.update(subject.counts)
        assert (subject.belief.mean().rate == 1).all()  # drawn rates: tests/kernels/test_learner_kernels.py
