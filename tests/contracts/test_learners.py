"""What every learner of the catalogue must keep: run over all entries, so that a new one cannot be forgotten.

The contract itself is sojourn.testing.LearnerContract, which other packages inherit."""

import inspect

import numpy as np
import pytest

from sojourn.errors import ParameterError, ReportError
from sojourn.learn.catalogue import LEARNERS, learner, learner_class, learner_for
from sojourn.learn.learner import Plan
from sojourn.simulation.session import Session
from sojourn.testing import LearnerContract, negative_gain, one_state, refused

every_learner = pytest.mark.parametrize("name", sorted(LEARNERS))
RESTARTS = ("ct-ucrl-doubling", "ct-ucrl-unknown-rates")  # what they count depends on the plans made in between
LEARNS_FROM_SUPPORTS = sorted({"ct-imed", "ct-psrl", "ct-bk", "ct-ce", "ct-kl-ucrl", "ct-joint-ucrl", "default", "smdp-ucrl",
                               "ucrl2", "kl-ucrl", "scal"} & set(LEARNERS))
MODELS = ["three_state", "ties", "boundary_cases", "machine_maintenance"]  # ties, state-dependent actions, running rewards


def built(name, model, seed=3, supports=False):
    """Return the learner called `name` for `model`, with the least parameters it needs."""
    allowed = inspect.signature(learner_class(name)).parameters
    given = {"delta": 0.05} if "delta" in allowed else {}
    if "radius_scale" in allowed:
        given["radius_scale"] = 0.05  # so that a short run has several episodes and policies
    return learner_for(model, name, knowledge=model.knowledge(supports=supports), seed=seed, parameters=given)


class TestEveryLearner(LearnerContract):
    @pytest.fixture(autouse=True, params=sorted(LEARNERS))
    def _chosen(self, request, golden_model):
        self.name, self.golden = request.param, golden_model
        self.counts_depend_on_plans = self.name in RESTARTS
        self.shown_the_model = "model" in inspect.signature(learner_class(self.name)).parameters

    def models(self):
        return [*map(self.golden, MODELS), negative_gain(), one_state()]

    def learner_on(self, model, supports=False):
        return built(self.name, model, supports=supports)


@every_learner
def test_a_state_of_another_learner_of_the_catalogue_is_refused(name, golden_model):
    model = golden_model("three_state")
    refused(ParameterError, built("ct-ce" if name != "ct-ce" else "random", model).restore, built(name, model).state(),
            words="the saved state is of a")


@pytest.mark.parametrize("name", LEARNS_FROM_SUPPORTS)
def test_a_successor_outside_a_known_support_is_refused_and_leaves_no_trace(name, golden_model):
    model = golden_model("three_state")
    session = Session(built(name, model, supports=True), state=0)
    _ = session.action
    before = session.learner.counts.state()
    with pytest.raises(ReportError, match="outside the known support"):
        session.report(1.0, 0)  # three_state never stays where it is
    assert all(np.array_equal(before[key], value) for key, value in session.learner.counts.state().items())
    session.report(1.0, 1)
    assert session.epoch == 2


@every_learner
@pytest.mark.parametrize("supports", [False, True])
def test_a_plan_or_an_action_is_made_from_no_data(name, supports, golden_model):
    subject = built(name, golden_model("ties"), supports=supports)
    if hasattr(subject, "act"):
        assert subject.act(0) in subject.knowledge.pair_action[:subject.knowledge.pair_start[1]]
    else:
        assert isinstance(subject.plan(), Plan)


@every_learner
def test_an_unknown_parameter_is_named_with_the_known_ones(name, golden_model):
    model = golden_model("three_state")
    with pytest.raises(ParameterError, match="no parameter named 'gamma'"):
        learner(name, model.knowledge(), gamma=1)


@every_learner
def test_an_entry_says_what_it_knows_what_is_proved_and_where_it_is_from(name):
    entry = LEARNERS[name]
    assert all(getattr(entry, part).strip() for part in ("summary", "knows", "proved", "source"))
    assert learner_class(name).__doc__
