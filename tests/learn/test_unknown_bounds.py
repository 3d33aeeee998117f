"""Unknown rate bounds: explore, estimate with a margin, go on estimating."""

import numpy as np
import pytest

from sojourn.errors import ModelError, ParameterError
from sojourn.learn.unknown_bounds import UnknownRatesCTUCRL
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


def test_it_explores_for_the_stated_number_of_epochs_and_then_plans_with_estimated_bounds(walker):
    model = make("three-state")
    learner = UnknownRatesCTUCRL(model.knowledge(), delta=0.1, exploration=300, margin=2.0)
    walk = walker(model, learner).walk(300)
    assert len(walk.episodes) == 1 and len(walk.episodes[0].under_way.cumulative) == 3
    share = np.mean([action for _, action in walk.decisions])
    assert 0.4 < share < 0.6  # 300 fair coins leave (0.4, 0.6) with probability 5e-4, and the seed is fixed
    assert set(learner.snapshot()) >= {"visits", "truncated_mean"}
    walk.walk(1)
    low, high = learner.rate_bounds
    assert low == 1 / learner.inner.plausible.truncated_mean.max() / 2
    assert low < model.rate.min() and model.rate.max() < high
    assert walk.episodes[1].start_epoch == 301 and len(walk.episodes[1].under_way.cumulative) == 0
    assert walk.episodes[1].plan.info["rate_max"] == high


def test_the_bounds_given_are_ignored_and_the_estimates_are_updated_over_the_episodes(walker):
    model = make("three-state")
    bounds = []
    for given_bounds in ((1.0, 7.0), (0.1, 70.0)):
        learner = UnknownRatesCTUCRL(model.knowledge(rate_bounds=given_bounds), delta=0.1, exploration=30, radius_scale=0.02)
        walk = walker(model, learner).walk(600)
        bounds.append([(e.plan.info["rate_min"], e.plan.info["rate_max"]) for e in walk.episodes[1:]])
    assert bounds[0] == bounds[1]
    assert len(set(bounds[0])) > 3


def test_a_model_whose_rates_lie_outside_the_bounds_given_is_learned():
    model = make("three-state")
    wrong = Knowledge.from_arrays(model.table(model.reward, fill=0), (100.0, 200.0), admissible=model.admissible)
    run = simulate(model, "ct-ucrl-unknown-rates", knowledge=wrong, max_epochs=1000, seed=2)
    right = simulate(model, "ct-ucrl-unknown-rates", max_epochs=1000, seed=2)
    assert np.array_equal(run.visits, right.visits) and 0 < run.learner.rate_bounds[0] < 7 < run.learner.rate_bounds[1] < 100
    with pytest.raises(ModelError, match=r"told rates in \[100, 200\], the model's span \[1, 7\]"):  # every other learner
        simulate(model, "ct-ucrl", knowledge=wrong, max_epochs=1000)


@pytest.mark.parametrize("parameters, words", [
    ({"exploration": 0}, "exploration is 0; it must be a whole number"), ({"exploration": 2.5}, "exploration is 2.5"),
    ({"margin": 0.9}, "margin is 0.9; it must be a finite number, at least 1"), ({"margin": "wide"}, "margin is 'wide'"),
])
def test_bad_parameters_are_named(parameters, words):
    with pytest.raises(ParameterError, match=words):
        UnknownRatesCTUCRL(make("three-state").knowledge(), delta=0.1, **parameters)
