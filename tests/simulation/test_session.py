"""A session counts what is true, refuses what cannot be, and shows the episode as it was at its start."""

import random

import numpy as np
import pytest

from sojourn.errors import ParameterError, ReportError
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import DoublingCTUCRL
from sojourn.learn.learner import Plan
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


@pytest.fixture
def session() -> Session:
    return Session(CTUCRL(make("three-state").knowledge(), delta=0.1), 0)


def counted(session: Session) -> dict:
    return session.learner.counts.state()


@pytest.mark.parametrize("report, words", [
    ((0.5, 3), "next_state is 3"), ((0.5, -1), "next_state is -1"), ((0.5, "nowhere"), "'nowhere'"), ((0.5, 1.0), "state is 1.0"),
    ((0.5, True), "True"), ((0.5, None), "None"), ((float("nan"), 1), "holding_time is nan"), ((float("inf"), 1), "time is inf"),
    ((0.0, 1), "holding_time is 0"), ((-1e-9, 1), "holding_time is -1e-09"), (("0.5", 1), "holding_time is '0.5'"),
    ((0.5, 1, float("inf")), "reward is inf"), ((0.5, 1, float("nan")), "reward is nan"), ((0.5, 1, "much"), "reward is 'much'"),
    ((None, 1), "holding_time is None"), ((True, 1), "holding_time is True"),
    ((10**400, 1), "holding_time is an integer of 1329"), ((0.5, 1, -(10**400)), "reward is an integer of"),
    ((0.5, 10**400), "next_state is an integer of 1329 bits"), ((0.5, 10**5000), "next_state is an integer of 16610 bits"),
])
def test_a_report_that_cannot_be_true_is_refused_and_counts_nothing(session, lab, report, words):
    for _ in range(5):
        _ = session.action
        session.report(0.25, 1 if session.state_index != 1 else 2)
    action, before, left = session.action, counted(session), session._episode.left.copy()
    with pytest.raises(ReportError, match=words):
        session.report(*report)
    assert lab.equal(counted(session), before) and np.array_equal(session._episode.left, left)
    assert (session.action, session.epoch) == (action, 6)
    session.report(0.25, 0)
    assert session.epoch == 7


def test_a_report_before_an_action_was_asked_for_is_refused(session, lab):
    before = counted(session)
    with pytest.raises(ReportError, match="before an action was asked for"):
        session.report(0.5, 1)
    _ = session.action
    session.report(0.5, 1)
    with pytest.raises(ReportError, match="before an action"):
        session.report(0.5, 1)
    assert counted(session)["epoch"] == before["epoch"] + 1


def test_asking_again_gives_the_same_action_also_for_a_randomized_plan():
    knowledge = make("three-state").knowledge()

    class Coin:
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def plan(self):
            return Plan(np.full((3, 2), 0.5))

        def observe(self, history):
            pass

    session = Session(Coin(), 0, knowledge)
    seen = set()
    for _ in range(30):
        assert session.action == session.action
        seen.add(session.action_index)
        session.report(1.0, 0)
    assert seen == {0, 1}


def test_labels_are_understood_and_known_rewards_need_not_be_reported(session):
    model = make("three-state")
    _ = session.action
    session.report(0.5, model.states[2])
    assert session.state == "C" and session.state_index == 2 and session.time == 0.5
    assert session.action == session.action_label == model.actions[session.action_index]
    pair = session.knowledge.pair_table[0, :]
    assert np.isclose(session.learner.counts.reward_sum[pair].sum(), session.knowledge.reward[session.learner.counts.visits > 0][0])


def test_the_episode_is_the_pending_actions_and_its_arrays_are_copies(session):
    first = session.episode
    assert (first.index, first.start_epoch) == (1, 1) and first.visits.shape == (3, 2)
    assert first.rate_interval.shape == (3, 2, 2) and first.truncated_mean.shape == first.holding_radius.shape == (3, 2)
    session.report(0.5, 1)
    first.visits[:] = 99
    first.policy[:] = 7
    assert session.episode.visits.max() == 0 and session.episode.policy.max() <= 1
    while session.episode.index == 1:
        session.report(0.5, (session.state_index + 1) % 3)
    second = session.episode
    assert second.start_epoch == session.epoch and second.visits.sum() == session.epoch - 1
    assert second.transition_radius.shape == (3, 2)


def test_episodes_are_counted_over_the_whole_session_also_in_doubling():
    session = Session(DoublingCTUCRL(make("three-state").knowledge()), 0)
    starts = []
    for _ in range(300):
        episode = session.episode
        if not starts or starts[-1][0] != episode.index:
            starts.append((episode.index, episode.start_epoch, int(episode.visits.sum())))
        session.report(0.3, (session.state_index + 1) % 3)
    assert [index for index, *_ in starts] == list(range(1, len(starts) + 1))
    epochs = [start for _, start, _ in starts]
    assert epochs[0] == 1 and {3, 5, 17, 257} <= set(epochs) and epochs == sorted(epochs)
    assert {start for _, start, seen in starts if seen == 0} == {1, 3, 5, 17, 257}  # data start anew in each phase


def test_saving_and_restoring_in_the_middle_changes_nothing(lab):
    model = make("three-state")
    rng = np.random.default_rng(1)
    reports = [(float(t), int(s)) for t, s in zip(rng.exponential(size=200), rng.integers(0, 3, 200))]
    whole = Session(CTUCRL(model.knowledge(), delta=0.1), 0)
    cut = Session(CTUCRL(model.knowledge(), delta=0.1), 0)
    for i, report in enumerate(reports):
        assert whole.action == cut.action
        if i % 37 == 5:
            saved = cut.save()
            cut = Session(CTUCRL(model.knowledge(), delta=0.1), 2)
            cut.restore(saved)
            assert cut.episode.index == whole.episode.index and np.array_equal(cut.episode.visits, whole.episode.visits)
        whole.report(*report)
        cut.report(*report)
    assert lab.equal(whole.save(), cut.save())


def test_bad_beginnings_are_refused():
    learner = CTUCRL(make("three-state").knowledge(), delta=0.1)
    with pytest.raises(ParameterError, match="state is 3"):
        Session(learner, 3)
    with pytest.raises(ParameterError, match="knowledge"):
        Session(object(), 0)


def test_an_action_outside_the_admissible_ones_is_refused():
    class Wild:
        knowledge = make("three-state").knowledge()

        def act(self, state):
            return 9

        def observe(self, history):
            pass

    with pytest.raises(ParameterError, match="chose action 9"):
        _ = Session(Wild(), 0).action


def test_a_restored_session_shows_its_episode_as_before():
    knowledge = make("three-state").knowledge()
    session = Session(CTUCRL(knowledge, delta=0.1), 0)
    for _ in range(20):
        _ = session.action
        session.report(0.3, (session.state_index + 1) % 3)
    again = Session(CTUCRL(knowledge, delta=0.1), 0)
    again.restore(session.save())
    before, after = session.episode, again.episode
    assert (after.index, after.start_epoch) == (before.index, before.start_epoch) and after.visits.sum() == before.start_epoch - 1
    for table in ("policy", "visits", "truncated_mean", "transition_radius", "holding_radius", "rate_interval"):
        assert np.array_equal(getattr(after, table), getattr(before, table))


@pytest.mark.parametrize("row", [[0.5, 0.5 - 9e-10, 0.0], [1 - 9e-10, 0.0, 0.0], [0.1 + 0.2, 0.6, 0.1 - 1e-16]])
def test_a_draw_beyond_the_sum_of_a_row_of_probabilities_takes_its_last_action(row):
    class AlmostOne:
        def random(self):
            return 1 - 2.0**-53

    class Coin:
        knowledge = Knowledge.from_arrays([[1.0, 1.0, 1.0]], (1, 1), admissible=[[True, True, row[2] > 0]])
        rng = AlmostOne()

        def plan(self):
            return Plan(np.array([row]))

    session = Session(Coin(), 0)
    assert session.action_index == np.flatnonzero(row)[-1]
    assert session._episode.under_way.cumulative[0, session.action_index] > 1


def test_a_random_stream_that_numpy_does_not_know_is_refused_in_words():
    class Coin:
        rng = random.Random(0)

        def plan(self):
            return Plan(np.full((3, 2), 0.5))

    with pytest.raises(ParameterError, match=r"rng is <random.Random.*must be a numpy Generator"):
        simulate(make("three-state"), Coin(), max_epochs=10)


@pytest.mark.parametrize("quota", [np.zeros(6), np.full(6, np.nan), np.full((3, 2), 0.5)])
def test_a_quota_that_could_end_a_plan_at_once_is_refused(quota):
    class Impatient:
        knowledge = make("three-state").knowledge()

        def plan(self):
            return Plan(np.zeros(3, dtype=np.int64), quota=quota)

    with pytest.raises(ParameterError, match="each pair needs at least 1"):
        _ = Session(Impatient(), 0).action
