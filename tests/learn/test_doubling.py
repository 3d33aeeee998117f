"""The doubling wrapper: phases, restarts, any learner inside."""

import pickle

import numpy as np
import pytest

from sojourn.errors import ParameterError
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import Doubling, DoublingCTUCRL, phase_ends
from sojourn.learn.learner import History, Plan
from sojourn.learn.unknown_bounds import UnknownRatesCTUCRL
from sojourn.zoo.catalogue import make


def test_the_phases_are_the_printed_ones_and_stay_below_two_to_the_63():
    ends = [phase_ends(i)[1] for i in range(8)]
    assert ends[:6] == [2, 4, 16, 256, 65536, 2**32]
    assert max(ends) < 2**63


def test_each_phase_starts_from_nothing_with_its_own_delta(walker):
    model = make("three-state")
    learner = DoublingCTUCRL(model.knowledge())
    walk, deltas = walker(model, learner), []
    for epochs in (1, 1, 1, 1, 12, 240):
        walk.walk(epochs)
        deltas.append((learner.delta, learner.counts.epoch - 1, int(learner.counts.visits.sum())))
    assert deltas == [(1 / 2, 1, 1), (1 / 2, 2, 2), (1 / 2, 1, 1), (1 / 2, 2, 2), (1 / 12, 12, 12), (1 / 240, 240, 240)]
    starts = [e.start_epoch for e in walk.episodes]
    assert {1, 3, 5, 17} <= set(starts)
    walk.walk(1)
    assert walk.episodes[-1].start_epoch == 257 and learner.counts.epoch == 2


def test_a_phase_is_ct_ucrl_on_the_data_of_the_phase_alone(walker):
    model = make("three-state")
    learner = DoublingCTUCRL(model.knowledge(), radius_scale=0.1)
    walk = walker(model, learner).walk(16)
    alone = CTUCRL(model.knowledge(), delta=1 / 240, radius_scale=0.1)
    plan, fresh = learner.plan(), alone.plan()
    assert plan.policy.tolist() == fresh.policy.tolist()
    assert plan.max_epochs == 240
    assert walk.learner.phase == 3


class RoundRobin:
    """The least learner there is: no counts, plain Python."""

    def __init__(self, knowledge):
        self.knowledge, self.turn, self.rows = knowledge, 0, 0

    def plan(self):
        self.turn += 1
        return Plan(np.full(self.knowledge.n_states, self.turn % 2), max_epochs=5)

    def observe(self, history):
        self.rows += len(history)


def test_any_learner_can_be_doubled():
    knowledge = make("three-state").knowledge()
    made = []

    def make_inner(delta):
        made.append(RoundRobin(knowledge))
        return made[-1]

    learner, caps = Doubling(knowledge, make_inner), []
    assert learner.counts is None
    for _ in range(8):
        plan = learner.plan()
        caps.append(plan.max_epochs)
        zeros = np.zeros(plan.max_epochs, dtype=int)
        learner.observe(History(zeros, zeros, zeros + 1.0, zeros, zeros))
    assert caps == [2, 2, 5, 5, 2, 5, 5, 5]
    assert [inner.rows for inner in made] == [2, 2, 12, 15]


@pytest.mark.parametrize("kind", [CTUCRL, DoublingCTUCRL, UnknownRatesCTUCRL])
def test_a_learner_is_not_given_the_model_itself(kind):
    with pytest.raises(ParameterError, match=r"knowledge is <CTMDP.*model.knowledge"):
        kind(make("three-state"))


def test_a_doubling_learner_can_be_pickled_in_the_middle_of_a_phase_and_goes_on_alike(walker):
    model = make("three-state")
    learner = DoublingCTUCRL(model.knowledge(), radius_scale=0.5, seed=3)
    walker(model, learner).walk(40)
    copy = pickle.loads(pickle.dumps(learner))
    assert (copy.phase, copy.delta, copy.inner.radius_scale) == (learner.phase, learner.delta, 0.5)
    walks = [walker(model, one, seed=9).walk(300).decisions for one in (learner, copy)]
    assert walks[0] == walks[1] and copy.phase == learner.phase == 4
