"""Posterior sampling with an index: copies of rows, what the index insists on, how long a try lasts."""

import numpy as np
import pytest

from sojourn.errors import ParameterError
from sojourn.kernels.sampled_plan import TRIAL
from sojourn.learn.catalogue import learner
from sojourn.learn.learner import History
from sojourn.learn.posterior import Posterior
from sojourn.learn.sampling import LEAST, copies_of
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


@pytest.mark.parametrize("supports", [True, False])
def test_a_state_without_a_choice_is_drawn_once(supports):
    model = make("maintenance")
    belief = Posterior(model.knowledge(supports=supports))
    often, choices = np.bincount(copies_of(belief, 8).pair), np.diff(model.pair_start)
    alone = np.repeat(choices, choices) == 1
    assert alone.any() and not alone.all() and (often[alone] == 1).all() and (often[~alone] >= LEAST).all()


@pytest.mark.parametrize("supports", [True, False])
def test_every_copy_has_the_row_of_its_pair_and_rows_are_drawn_as_often_as_they_have_successors(supports):
    model = make("random", states=12, seed=3)
    belief = Posterior(model.knowledge(supports=supports))
    copies = copies_of(belief, 8)
    size = np.diff(belief.row_start)
    assert (np.bincount(copies.pair) == np.clip(size, LEAST, 8)).all()
    assert (copies.rows.pair_start == np.searchsorted(copies.pair, belief.pair_start)).all()
    assert (copies.pair[copies.first[:-1]] == np.arange(len(size))).all()
    for copy, pair in enumerate(copies.pair):
        row = slice(copies.rows.row_start[copy], copies.rows.row_start[copy + 1])
        assert (copies.entry[row] == np.arange(belief.row_start[pair], belief.row_start[pair + 1])).all()
        assert (copies.rows.next_state[row] == belief.next_state[belief.row_start[pair]:belief.row_start[pair + 1]]).all()


@pytest.mark.parametrize(("most", "told", "untold"), [(8, 3, 5), (4, 3, 4), (2, 2, 2), (1, 1, 1), (0, 0, 0)])
def test_a_row_is_drawn_as_often_as_it_has_successors_within_three_and_the_draws_allowed(most, told, untold):
    """Every row has five successors; where they are told, three draws are enough."""
    model = make("random", states=5, branching=5, seed=3)
    for supports, often in ((True, told), (False, untold)):
        copies = copies_of(Posterior(model.knowledge(supports=supports)), most)
        assert np.bincount(copies.pair, minlength=model.n_pairs).tolist() == [often] * model.n_pairs


def test_where_the_index_decides_alone_a_plan_tells_of_no_sampled_gain():
    known = make("three-state").knowledge()
    assert list(learner("default", known, draws=0).plan().info) == ["estimated_gain"]
    assert list(learner("default", known, draws=1).plan().info) == ["estimated_gain", "sampled_gain"]


def test_a_call_makes_fewer_plans_where_each_takes_longer_and_one_of_a_large_model():
    """Ctrl-C is heard between calls. A policy takes the cube of its states; from 1 to 1,024 plans are made in a call."""
    def plans(states: int, supports: bool = True, **more: int) -> int:
        return learner("ct-psrl", make("random", states=states).knowledge(supports=supports), **more).plans_per_call

    assert plans(3) == 1024 and plans(200, samples=1000) == 1
    assert 6 < plans(50) / plans(100) < 9 and 1.9 < plans(100) / plans(100, samples=2) < 2.1
    assert plans(201, supports=False) == 1


def test_several_draws_per_row_are_optimistic():
    """The planned gain is larger on average than with one draw per row (20 seeds; the means differ by several deviations)."""
    known = make("random", states=6, seed=1).knowledge()
    gains = [[learner("default", known, seed=s, draws=draws).plan().info["sampled_gain"] for s in range(20)] for draws in (8, 1)]
    assert np.mean(gains[0]) > np.mean(gains[1])


def slow_start(visits: int, slow: float) -> tuple[CTMDP, History]:
    """Return a model of two states, two equal actions in the first, and a past in which the second was `slow` six times."""
    admissible = np.array([[True, True], [True, False]])
    transition = np.array([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]])
    reward = np.array([[0.5, 0.5], [0.0, 0.0]])
    model = CTMDP.from_arrays(transition, np.where(admissible, 1.0, 0.0), reward, admissible=admissible, rate_bounds=(0.1, 10.0))
    state = np.arange(2 * visits) % 2
    action = np.where((state == 0) & (np.arange(2 * visits) < 12), 1, 0)
    return model, History(state, action, np.where(action == 1, slow, 1.0), 1 - state, reward[state, action])


def test_the_index_insists_on_an_action_that_sampling_has_forgotten():
    """Six tries at a third of the rate: a draw prefers it once in 2,000; N K + log N = 6.8 is below log 5000 = 8.5 by 1.7 nats."""
    model, past = slow_start(5000, slow=2.9)
    plans = []
    for seed in range(20):
        subject = learner("default", model.knowledge(supports=True), seed=seed)
        subject.observe(past)
        plans.append(subject.plan())
    assert all(plan.policy[0] == 1 for plan in plans)
    assert all(plan.quota[1] == max(1, int(TRIAL * 6)) for plan in plans)


@pytest.mark.parametrize("slow", [3.2, 6.0])
def test_the_index_is_content_with_an_action_tried_enough(slow):
    """Six tries at 0.31 of the rate: N K + log N = 8.0 is below log 5000 = 8.5, but not by 1.5 nats.  At a sixth it is 21.

    Only a draw could ask for it, and none does.
    """
    model, past = slow_start(5000, slow=slow)
    for seed in range(20):
        subject = learner("default", model.knowledge(supports=True), seed=seed)
        subject.observe(past)
        assert subject.plan().policy[0] == 0


@pytest.mark.parametrize(("name", "longest"), [("default", 70), ("ct-bk", 1), ("ct-psrl", 1)])
def test_after_a_plan_that_ended_at_once_the_default_plans_for_long_all_the_same(name, longest):
    """0.7 times the root of 10,001 decisions; TSDE gives it one decision more than the last plan had, which was none."""
    model, past = slow_start(5000, slow=3.2)
    subject = learner(name, model.knowledge(supports=True), seed=1)
    subject.observe(past)
    subject.plan()
    assert subject.plan().max_epochs == longest


def test_what_was_never_seen_is_not_feared_for_ever():
    """A queue of 61 states, successors unknown, of which a good policy sees six; the gain is 2.28.

    With one observation's weight on all states, for ever, the mean model has a gain around 0 after 3,000 decisions: in every row it
    fears a jump to the far end, where waiting costs 60 a unit of time. (Sixty seeds gave 2.20, standard deviation 0.14.)
    """
    model = make("admission:capacity=60")
    for seed in range(3):
        subject = learner("default", model.knowledge(supports=False), seed=seed)
        simulate(model, subject, max_epochs=3000, seed=seed)
        assert 1.6 < subject.plan().info["estimated_gain"] < 2.8


@pytest.mark.parametrize(("name", "supports", "fades"), [("default", False, True), ("default", True, False),
                                                         ("ct-bk", False, False), ("ct-psrl", False, False)])
def test_only_the_default_forgets_its_prior_and_only_where_supports_are_unknown(name, supports, fades):
    subject = learner(name, make("three-state").knowledge(supports=supports))
    assert subject.belief.fades == subject.sampler.fades == fades


@pytest.mark.parametrize(("name", "value"), [("draws", -1), ("draws", 2.5), ("draws", True), ("depth", -0.1), ("depth", np.inf),
                                              ("prior", True), ("prior", 0), ("prior", np.nan), ("prior", 10**400),
                                              ("depth", 10**400)])
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ParameterError, match=f"{name} is"):
        learner("default", make("three-state").knowledge(), **{name: value})


def test_numbers_of_numpy_are_numbers():
    made = learner("default", make("three-state").knowledge(), prior=np.float32(0.5), draws=np.int64(3), depth=np.int64(2))
    assert (made.belief.weight == 0.5).all() and made.draws == 3 and made.depth == 2.0


@pytest.mark.parametrize(("name", "given", "words"), [
    ("fixed", {"policy": 0}, "the policy is 0"), ("ct-psrl", {"episodes": np.array([1, 2])}, "episodes is"),
    ("ct-kl-ucrl", {"radius_scale": 110}, "radius_scale is 110"), ("ct-kl-ucrl", {"horizon": 10**400}, "horizon is"),
    (["default"], {}, "learner")])
def test_what_is_no_parameter_is_named_too(name, given, words):
    with pytest.raises(ParameterError, match=words):
        learner(name, make("three-state").knowledge(), **given)
