"""What every learner of the catalogue must keep: run over all entries, so that a new one cannot be forgotten."""

import inspect

import numpy as np
import pytest

from sojourn.errors import ParameterError, ReportError
from sojourn.learn.catalogue import LEARNERS, learner, learner_class
from sojourn.learn.learner import History, Plan
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk

EPOCHS = 600


def built(name, model, seed=3, supports=False):
    """Return the learner called `name` for `model`, with the least parameters it needs."""
    allowed = inspect.signature(learner_class(name)).parameters
    given = {"delta": 0.05} if "delta" in allowed else {}
    if "radius_scale" in allowed:
        given["radius_scale"] = 0.05  # so that a short run has several episodes and policies
    if "model" in allowed:
        given["model"] = model
    return learner(name, model.knowledge(supports=supports), seed=seed, **given)


def negative_gain():
    """Two states, every reward negative, one action in one of them."""
    p = np.array([[[0.2, 0.8], [0.9, 0.1]], [[1.0, 0.0], [0.0, 0.0]]])
    return CTMDP.from_arrays(p, np.array([[1.0, 2.0], [1.5, 1.0]]), np.array([[-1.0, -0.4], [-0.5, 0.0]]),
                             np.array([[0.0, -1.0], [-2.0, 0.0]]), np.array([[True, True], [True, False]]), rate_bounds=(0.5, 3.0))


@pytest.fixture(params=["three_state", "ties", "boundary_cases", "machine_maintenance", "negative_gain"])
def model(request, golden_model):
    """Ties, action sets that depend on the state, running and negative rewards, negative gains."""
    return negative_gain() if request.param == "negative_gain" else golden_model(request.param)


every_learner = pytest.mark.parametrize("name", sorted(LEARNERS))


def replay(session, rows):
    """Return the actions of a session fed with the observations of `rows`."""
    actions = []
    for tau, arrived, reward in rows:
        actions.append(session.action)
        session.report(tau, int(arrived), float(reward))
    return actions


def observations(run):
    path = run.trajectory
    return list(zip(path.holding_time.tolist(), path.next_state.tolist(), path.reward.tolist(), strict=True))


@every_learner
def test_a_session_takes_the_decisions_of_the_simulation(name, model):
    run = simulate(model, built(name, model), max_epochs=EPOCHS, seed=5, record=True)
    session = Session(built(name, model), state=0)
    assert replay(session, observations(run)) == run.trajectory.action.tolist()


@every_learner
def test_the_same_seeds_give_the_same_run(name, model):
    one, two = (simulate(model, built(name, model), max_epochs=EPOCHS, seed=5) for _ in range(2))
    assert np.array_equal(one.visits, two.visits)
    assert np.array_equal(one.regret, two.regret)


@every_learner
@pytest.mark.parametrize("stop", [1, 37, 250])
def test_restoring_a_saved_state_equals_never_having_stopped(name, stop, golden_model):
    model = golden_model("boundary_cases")
    whole = Walk(model, built(name, model), seed=5)
    whole.advance(until_epoch=EPOCHS)
    first = Walk(model, built(name, model), seed=5)
    first.advance(until_epoch=stop)
    saved = first.state()
    first.advance(until_epoch=EPOCHS)  # what was saved must not change under its owner's hands
    second = Walk(model, built(name, model, seed=99), seed=77)
    second.restore(saved)
    second.advance(until_epoch=EPOCHS)
    assert np.array_equal(whole.visits, second.visits)
    assert whole.position == second.position and whole.time == second.time


@every_learner
def test_a_saved_state_is_arrays_scalars_and_text(name, golden_model):
    model = golden_model("three_state")
    walk = Walk(model, built(name, model), seed=5)
    walk.advance(until_epoch=50)

    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(part) for key, part in value.items())
        return isinstance(value, (int, float, str, np.generic)) or (isinstance(value, np.ndarray) and value.dtype.kind != "O")

    assert plain(walk.learner.state())


@every_learner
def test_a_bad_report_is_refused_and_leaves_no_trace(name, model):
    run = simulate(model, built(name, model), max_epochs=60, seed=5, record=True)
    session = Session(built(name, model), state=0)
    actions = []
    for tau, arrived, reward in observations(run):
        actions.append(session.action)
        for bad in [(-1.0, 0), (0.0, 0), (float("nan"), 0), (float("inf"), 0), ("long", 0), (1.0, 99), (1.0, -1), (1.0, "nowhere")]:
            with pytest.raises(ReportError):
                session.report(*bad)
        session.report(tau, int(arrived), float(reward))
    assert actions == run.trajectory.action.tolist()


@every_learner
@pytest.mark.parametrize("supports", [False, True])
def test_a_chunk_that_cannot_be_true_is_refused_and_leaves_no_trace(name, supports, golden_model):
    model = golden_model("boundary_cases")
    subject = built(name, model, supports=supports)
    run = simulate(model, built("random", model), max_epochs=20, seed=5, record=True)
    path = run.trajectory
    columns = {"state": path.state, "action": path.action, "holding_time": path.holding_time, "next_state": path.next_state,
               "reward": path.reward}
    before = subject.counts.state()
    nowhere = [("state", -1), ("state", 99), ("action", 99), ("next_state", -1), ("next_state", 99), ("holding_time", -1.0),
               ("holding_time", 0.0), ("holding_time", np.nan), ("holding_time", np.inf), ("reward", np.nan)]
    for column, value in nowhere:
        wrong = {key: np.array(values) for key, values in columns.items()}
        wrong[column][-1] = value  # the last row: those before it must not be counted either
        with pytest.raises(ReportError, match=column):
            subject.observe(History(**wrong))
    assert all(np.array_equal(before[key], value) for key, value in subject.counts.state().items())
    subject.observe(History(**columns))
    assert subject.counts.epoch == 21


RESTARTS = ("ct-ucrl-doubling", "ct-ucrl-unknown-rates")  # what they count depends on the plans made in between
LEARNS_FROM_SUPPORTS = sorted({"ct-imed", "ct-psrl", "ct-bk", "ct-ce", "ct-kl-ucrl", "default"} & set(LEARNERS))


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
def test_observing_is_what_the_kernels_fold(name, model):
    """Chunks of any size give the counts of the walk; and so do single reports to a session."""
    run = simulate(model, built(name, model), max_epochs=EPOCHS, seed=5, record=True)
    folded, path, told = run.learner.counts.state(), run.trajectory, built(name, model)
    if name not in RESTARTS:
        columns = [path.state, path.action, path.holding_time, path.next_state, path.reward]
        for chunk in np.array_split(np.arange(EPOCHS), [1, 2, 50, 333]):
            told.observe(History(*(column[chunk] for column in columns)))
        assert all(np.array_equal(folded[key], value) for key, value in told.counts.state().items() if key != "scale")
    session = Session(built(name, model), state=0)
    replay(session, observations(run))
    assert all(np.array_equal(folded[key], value) for key, value in session.learner.counts.state().items())


@every_learner
def test_a_state_is_taken_up_only_by_its_like(name, golden_model):
    model = golden_model("three_state")
    saved = built(name, model).state()
    built(name, model, seed=8).restore(saved)
    with pytest.raises(ParameterError, match="another model"):
        built(name, golden_model("boundary_cases")).restore(saved)
    with pytest.raises(ParameterError, match="the saved state is of a"):
        built("ct-ce" if name != "ct-ce" else "random", model).restore(saved)


@every_learner
def test_no_learner_but_the_oracle_holds_the_model(name, golden_model):
    model = golden_model("three_state")
    subject = built(name, model)
    walk = Walk(model, subject, seed=5)
    walk.advance(until_epoch=50)
    seen, queue, found = set(), [subject], False
    while queue:
        item = queue.pop()
        if id(item) in seen or isinstance(item, (str, int, float, np.ndarray, type)):
            continue
        seen.add(id(item))
        found = found or isinstance(item, CTMDP)
        queue += list(item.values()) if isinstance(item, dict) else list(item) if isinstance(item, (list, tuple)) else []
        queue += list(getattr(item, "__dict__", {}).values())
    assert not found


@every_learner
def test_two_worlds_that_look_alike_get_the_same_first_plan(name, golden_model):
    if name == "oracle":
        pytest.skip("the oracle is shown the model")
    model = golden_model("three_state")
    other = model.replace(rate=np.full(model.n_pairs, 2.0), probability=np.full(len(model.probability), 0.5))
    one, two = built(name, model).plan(), built(name, other).plan()
    assert np.array_equal(one.policy, two.policy)


@every_learner
@pytest.mark.parametrize("supports", [False, True])
def test_plans_are_made_from_no_data_and_from_pairs_never_visited(name, supports, model):
    subject = built(name, model, supports=supports)
    plan = subject.plan()
    assert isinstance(plan, Plan)
    run = simulate(model, built(name, model, supports=supports), max_epochs=EPOCHS, seed=8)
    assert run.visits.sum() == EPOCHS
    assert (run.visits[model.table(np.ones(model.n_pairs), fill=0) == 0] == 0).all()
    assert np.isfinite(run.pseudo_regret).all() and run.pseudo_regret.min() > -1e-9


@every_learner
def test_a_state_with_one_action_and_a_model_with_one_state_are_no_trouble(name):
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), np.array([[1.0, 2.0]]), np.array([[0.5, 0.2]]), rate_bounds=(0.5, 4.0))
    run = simulate(model, built(name, model), max_epochs=300, seed=1)
    assert run.visits.sum() == 300


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
