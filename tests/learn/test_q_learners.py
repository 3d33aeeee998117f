"""What is special to the Q-learners: what they converge to, that they beat playing at random, what they refuse."""

import numpy as np
import pytest

from sojourn.errors import ParameterError
from sojourn.learn.catalogue import learner
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

NAMES = ("smart", "rvi-q", "optimistic-q")


@pytest.fixture(scope="module")
def three_state():
    model = make("three-state")
    return model, solve(model)


@pytest.mark.parametrize("name", NAMES)
def test_a_q_learner_ends_with_the_best_policy_of_three_state(name, three_state):
    model, solution = three_state
    subject = learner(name, model.knowledge(), seed=1)
    simulate(model, subject, max_epochs=200_000, seed=1, solution=solution)
    worth = subject.knowledge.table(subject.table.bound) if name == "optimistic-q" else subject.q
    assert np.array_equal(np.nanargmax(worth, axis=1), solution.policy)


def test_relative_values_settle_at_the_gain_and_the_bias_of_the_best_policy(three_state):
    """What Abounadi et al. and Wan et al. prove: f(Q) tends to the best gain, and Q solves the optimality equation."""
    model, solution = three_state
    subject = learner("rvi-q", model.knowledge(), seed=2, power=0.8, exploration=0.5, exploration_power=0.0)  # all actions for ever
    simulate(model, subject, max_epochs=1_000_000, seed=2, solution=solution)
    assert subject.gain == pytest.approx(solution.gain, rel=0.01)
    best = np.nanmax(subject.q, axis=1)
    bias = np.asarray(solution.bias)
    assert np.allclose(best - best[0], bias - bias[0], atol=0.03)


def test_the_bound_of_optimistic_q_only_falls(three_state):
    model, _ = three_state
    subject = learner("optimistic-q", model.knowledge(), seed=3)
    before = subject.table.bound.copy()
    for _ in range(5):
        simulate(model, subject, max_epochs=300, seed=3)
        assert (subject.table.bound <= before).all()
        before = subject.table.bound.copy()
    assert (before < 1e9).all() and (subject.table.bound <= subject.table.value + 1e-12).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_q_learner_beats_playing_at_random_with_its_defaults(name):
    for zoo in ("river-swim", "machine-repair"):
        model = make(zoo)
        solution = solve(model)
        paid = [simulate(model, learner(which, model.knowledge(), seed=4), max_epochs=200_000, seed=4, solution=solution,
                         checkpoints=[200_000]).pseudo_regret[-1] for which in (name, "random")]
        assert paid[0] < 0.8 * paid[1], zoo


def test_steps_that_do_not_settle_are_refused(three_state):
    with pytest.raises(ParameterError, match=r"above 0\.5 and at most 1"):
        learner("rvi-q", three_state[0].knowledge(), power=0.5)
