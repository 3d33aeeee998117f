"""The learners do not care in which unit rewards or time are measured."""

import numpy as np
import pytest

from sojourn.learn.catalogue import learner
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make

NAMES = {"ct-imed": {}, "ct-bk": {}, "ct-psrl": {}, "ct-ce": {}, "ct-kl-ucrl": {}, "ct-joint-ucrl": {}}
RIVALS = {name: {} for name in ("smdp-ucrl", "ucrl2", "kl-ucrl", "scal", "smart", "rvi-q", "optimistic-q")}
ALL = {**NAMES, **RIVALS}


def visits(name, model, supports=True):
    known = model.knowledge(supports=supports)
    return simulate(model, learner(name, known, seed=4, **ALL[name]), max_epochs=1500, seed=9).visits


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("power", [-40, 40])
def test_rewards_in_another_unit_change_no_decision(name, power):
    """Scaled by a power of two, so that not even rounding differs."""
    model = make("maintenance")
    scaled = model.replace(reward=model.reward * 2.0**power, running=model.running * 2.0**power,
                           transition_reward=None if model.transition_reward is None else model.transition_reward * 2.0**power)
    assert np.array_equal(visits(name, model), visits(name, scaled))


@pytest.mark.parametrize("name", ALL)
def test_time_in_another_unit_changes_no_decision(name):
    model = make("maintenance")
    low, high = model.bounds
    scaled = model.replace(rate=model.rate * 2.0**10, running=model.running * 2.0**10, rate_bounds=(low * 2.0**10, high * 2.0**10))
    assert np.array_equal(visits(name, model), visits(name, scaled))


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_running_reward_changes_no_decision(name):
    """It changes the gain by that constant and nothing else; 2^10 times the largest reward, on numbers that stay exact."""
    model = make("maintenance")
    model = model.replace(reward=np.round(model.reward * 2**20) / 2**20, running=np.round(model.running * 2**20) / 2**20)
    level = 2.0**10 * np.ceil(np.abs(model.running).max() + np.abs(model.reward).max())
    assert np.array_equal(visits(name, model), visits(name, model.replace(running=model.running + level)))


@pytest.mark.parametrize("name", ["ct-kl-ucrl", "ct-joint-ucrl"])
def test_rewards_in_another_unit_change_no_decision_where_states_may_fall_apart(name):
    """Jumps that are certain: the optimistic policy has states that never meet, whose values are not used in any unit."""
    rng = np.random.default_rng(3)
    to = np.where(np.arange(24) % 3 == 0, (np.arange(24) // 3 + 1) % 8, rng.integers(0, 8, 24))
    model = CTMDP.from_pairs(np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8), np.eye(8)[to], rng.uniform(0.5, 5, 24),
                             rng.normal(size=24), rng.normal(size=24))
    for power in (-40, -13, 40):
        scaled = model.replace(reward=model.reward * 2.0**power, running=model.running * 2.0**power)
        assert np.array_equal(visits(name, model), visits(name, scaled))
