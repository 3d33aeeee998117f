"""The base class: what a learner of a few lines gets for nothing, and what it may declare."""

import pickle
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from sojourn.errors import ParameterError, ReportError
from sojourn.kernels.jit import kernel
from sojourn.kernels.ledger import LEFT, NO_LIMIT
from sojourn.kernels.sampled_plan import SHORT
from sojourn.learn.abilities import abilities_of
from sojourn.learn.catalogue import learner
from sojourn.learn.ct_imed import CTIMED
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import Doubling
from sojourn.learn.learner import History, Learner, Plan
from sojourn.learn.saving import in_words, knowledge_hash
from sojourn.learn.unknown_bounds import UnknownRatesCTUCRL
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make


class LeastTried(Learner):
    """Acts: the action tried least in this state, with some noise."""

    def __init__(self, knowledge, noise=0.0, seed=0):
        super().__init__(knowledge, seed)
        self.noise = noise

    def act(self, state):
        first, last = self.knowledge.pair_start[state], self.knowledge.pair_start[state + 1]
        pair = first + np.argmin(self.counts.visits[first:last] + self.noise * self.rng.random(last - first))
        return int(self.knowledge.pair_action[pair])


class Rounds(Learner):
    """Plans: every action in turn."""

    memory = ("turn",)

    def __init__(self, knowledge, seed=0):
        super().__init__(knowledge, seed)
        self.turn = 0

    def plan(self):
        self.turn += 1
        info = {"turn": self.turn, "even": self.turn % 2 == 0}
        return Plan(np.full(self.knowledge.n_states, self.turn % 2), max_epochs=5, info=info)


@kernel
def rounds(state, desk, own):
    turn, pair_start = state
    turn[0] += 1
    for s in range(len(desk.plan.pair)):
        desk.plan.pair[s] = pair_start[s] + turn[0] % 2
    desk.plan.left[:] = NO_LIMIT
    desk.plan.epochs[LEFT] = 5
    desk.info[0], desk.info[1] = turn[0], turn[0] % 2 == 0
    return True


class CompiledRounds(Learner):
    """The same, with a compiled planner."""

    memory = ("turns",)
    compiled_plan = rounds
    info_names = ("turn", "even")

    def __init__(self, knowledge, seed=0):
        super().__init__(knowledge, seed)
        self.turns = np.zeros(1, dtype=np.int64)

    def planner_state(self):
        return self.turns, np.array(self.knowledge.pair_start)


@pytest.fixture(scope="module")
def model():
    return make("three-state")


@pytest.mark.parametrize("kind", [LeastTried, Rounds, CompiledRounds])
def test_a_learner_of_a_few_lines_is_counted_for_saved_and_shown(kind, model):
    whole, first, again = (Walk(model, kind(model.knowledge()), seed=4) for _ in range(3))
    whole.advance(100)
    first.advance(37)
    again.restore(first.state())
    again.advance(100)
    assert np.array_equal(whole.visits, again.visits) and np.array_equal(whole.visits, again.learner.counts.visits)
    assert whole.learner.counts.epoch == 101 and kind.__name__ in repr(whole.learner) and "100 epochs" in repr(whole.learner)
    session = Session(kind(model.knowledge()), 0)
    for _ in range(20):
        _ = session.action
        session.report(0.5, (session.state_index + 1) % 3)
    other = Session(kind(model.knowledge()), 0)
    other.restore(session.save())
    assert other.action == session.action and other.learner.counts.visits.sum() == 20


def test_a_compiled_planner_is_the_same_learner_as_one_in_python_and_says_the_same_of_its_plans(model):
    runs = [simulate(model, kind(model.knowledge()), max_epochs=2003, seed=3) for kind in (Rounds, CompiledRounds)]
    for one, two in zip(*([run.visits, run.regret, run.episodes.start_epoch, run.episodes.adjusted_regret] for run in runs)):
        assert np.array_equal(one, two)
    for run in runs:
        assert run.episodes.info["turn"].tolist() == list(range(1, 402))
        assert run.episodes[3].info == {"turn": 4.0, "even": 1.0} and np.isnan(run.episodes.sweeps).all()
    plan = CompiledRounds(model.knowledge()).plan()
    assert (plan.policy.tolist(), plan.max_epochs, plan.info) == ([1, 1, 1], 5, {"turn": 1.0, "even": 0.0})


def test_recording_a_compiled_planner_changes_nothing(model):
    plain, recorded = (simulate(model, CompiledRounds(model.knowledge()), max_epochs=500, seed=3, record=r) for r in (False, True))
    assert np.array_equal(plain.regret, recorded.regret) and len(recorded.trajectory) == 500
    assert recorded.episodes.total == plain.episodes.total == 100


def test_what_a_class_replaces_is_called_and_not_compiled_round(model):
    heard = []

    class Listens(CTUCRL):
        def observe(self, history):
            heard.append(len(history))
            super().observe(history)

    class Plans(CTIMED):
        def plan(self):
            heard.append("plan")
            return super().plan()

    known = model.knowledge()
    assert not abilities_of(Listens(known, delta=0.1)).folds and abilities_of(CTUCRL(known, delta=0.1)).folds
    assert abilities_of(Plans(known)).compiled_plan is None and abilities_of(CTIMED(known)).compiled_plan is not None
    told, folded = (simulate(model, kind(known, delta=0.1), max_epochs=300, seed=1) for kind in (Listens, CTUCRL))
    assert sum(heard) == 300 and np.array_equal(told.regret, folded.regret)
    heard.clear()
    asked, compiled = (simulate(model, kind(known), max_epochs=300, seed=1) for kind in (Plans, CTIMED))
    assert len(heard) == asked.episodes.total and np.array_equal(asked.regret, compiled.regret)


def test_a_learner_that_neither_plans_nor_acts_is_told_so(model):
    with pytest.raises(ParameterError, match=r"Learner has neither plan\(\) nor act"):
        simulate(model, Learner(model.knowledge()), max_epochs=5)


@kernel
def never(state, desk, own):
    return False


def test_a_compiled_planner_that_makes_no_plan_and_gives_no_reason_is_named(model):
    class Never(Learner):
        compiled_plan = never

    with pytest.raises(ParameterError, match="compiled plan of Never returned False"):
        simulate(model, Never(model.knowledge()), max_epochs=5)


@kernel
def faulty(state, desk, own):
    for s in range(len(desk.plan.pair)):
        desk.plan.pair[s] = state[0]
    desk.plan.left[:] = state[1]
    desk.plan.epochs[LEFT] = state[2]
    return True


@pytest.mark.parametrize("pair, visits, epochs, words", [
    (1, 5, 5, "chose pair 1 in state .* one of its pairs, 2 to 3"), (0, 0, 5, "at least 1 visit"),
    (0, 5, 0, "itself at least 1 epoch"),
])
def test_a_compiled_planner_that_writes_no_plan_is_refused(model, pair, visits, epochs, words):
    class Faulty(Learner):
        compiled_plan = faulty

        def planner_state(self):
            return pair, visits, epochs

    with pytest.raises(ParameterError, match=words):
        simulate(model, Faulty(model.knowledge()), max_epochs=50)


def test_what_is_no_number_in_the_info_of_a_plan_is_refused(model):
    class Talks(Rounds):
        def plan(self):
            return Plan(np.zeros(3, dtype=np.int64), info={"mood": "good"})

    with pytest.raises(ParameterError, match=r"Plan.info\['mood'\] is 'good'; it must be a number"):
        simulate(model, Talks(model.knowledge()), max_epochs=5)


# ---- saved states --------------------------------------------------------------------------------------------------


def test_a_saved_state_says_whose_it_is(model):
    state = learner("ct-ucrl", model.knowledge(), delta=0.1).state()
    assert state["format"] == 2 and state["class"] == "sojourn.learn.ct_ucrl:CTUCRL"
    assert state["parameters"]["delta"] == "0.1" and "seed" not in state["parameters"] and "knowledge" not in state["parameters"]


@pytest.mark.parametrize("other, words", [
    (lambda known: CTIMED(known), "of a sojourn.learn.ct_ucrl:CTUCRL, this learner is a sojourn.learn.ct_imed:CTIMED"),
    (lambda known: CTUCRL(known, delta=0.2), r"with delta = 0.1, this one has delta = 0.2"),
    (lambda known: CTUCRL(known, delta=0.1, stop="gain"), "with stop = printed, this one has stop = gain"),
    (lambda known: CTUCRL(make("two-state").knowledge(), delta=0.1), "knew another model than <Knowledge: 2 states"),
    (lambda known: CTUCRL(make("three-state").knowledge(rate_bounds=(0.5, 9)), delta=0.1), "knew another model"),
    (lambda known: CTUCRL(make("three-state").knowledge(supports=True), delta=0.1), "supports must be the same"),
])
def test_a_state_of_another_learner_other_parameters_or_another_model_is_refused_in_words(other, words, model):
    saved = CTUCRL(model.knowledge(), delta=0.1)
    saved.counts.add(0, 0.5, 1)
    here = other(model.knowledge())
    before = here.counts.state()
    with pytest.raises(ParameterError, match=words):
        here.restore(saved.state())
    assert all(np.array_equal(before[key], value) for key, value in here.counts.state().items())


def test_a_state_of_a_later_format_is_refused_and_one_of_the_first_is_read(model):
    saved = CTUCRL(model.knowledge(), delta=0.1)
    simulate(model, saved, max_epochs=50)
    state = saved.state()
    with pytest.raises(ParameterError, match="has format 3"):
        CTUCRL(model.knowledge(), delta=0.1).restore({**state, "format": 3})
    first = {key: state[key] for key in ("counts", "rng", "values", "plausible")} | {"episode": {}}
    again = CTUCRL(model.knowledge(), delta=0.1)
    again.restore(first)
    assert again.counts.epoch == 51


def test_a_sampling_learner_of_the_first_format_knows_how_long_its_last_plan_was(model):
    walk = Walk(model, CTIMED(model.knowledge()), seed=2)
    walk.advance(120)
    state = walk.learner.state()
    old = {key: state[key] for key in ("counts", "rng", "sampled_pair", "greedy_pair")} | {"episode": walk.episode.state()}
    again = CTIMED(model.knowledge())
    again.restore(old)
    assert np.array_equal(again.sampler.planned, walk.learner.sampler.planned)
    assert again.plan().max_epochs == max(walk.episode.epochs + 1, int(SHORT * np.sqrt(again.counts.epoch)))


def test_the_hash_of_a_knowledge_is_over_what_it_holds(model):
    one, two = model.knowledge(), make("three-state").knowledge()
    assert knowledge_hash(one) == knowledge_hash(two)
    others = [model.knowledge(supports=True), model.knowledge(rate_bounds=(0.5, 20)), make("two-state").knowledge()]
    assert len({knowledge_hash(each) for each in (one, *others)}) == 4


def test_a_field_added_to_knowledge_later_keeps_the_hashes_of_those_who_do_not_use_it(model):
    @dataclass(frozen=True, eq=False, repr=False)
    class Later(Knowledge):
        event: np.ndarray | None = None

    known = model.knowledge()
    later = Later(**{part.name: getattr(known, part.name) for part in fields(known)})
    assert knowledge_hash(later) == knowledge_hash(known)


def test_parameters_are_written_alike_however_they_were_given():
    assert in_words(np.array([1, 2])) == in_words([1, 2]) == in_words((1, 2)) == "(1, 2)"
    assert in_words(np.int64(3)) == "3" and in_words(True) == "True" and in_words(object()) == "a object"
    assert "hash" in in_words(list(range(1000))) != in_words(list(range(1001)))


def test_learners_can_be_pickled_and_copied(model):
    again = pickle.loads(pickle.dumps(CTUCRL(model.knowledge(), delta=0.1)))
    assert again.parameters["delta"] == "0.1" and again.plan().policy.shape == (3,)


# ---- bounds that do not matter, wrappers -----------------------------------------------------------------------------


def test_a_learner_that_needs_no_rate_bounds_may_be_told_wrong_ones(model):
    wrong = replace(model.knowledge(), rate_min=100.0, rate_max=101.0)
    run = simulate(model, UnknownRatesCTUCRL(wrong, delta=0.1, exploration=50), max_epochs=200)
    assert run.visits.sum() == 200
    low, high = run.learner.rate_bounds
    assert low < model.rate.min() and high > model.rate.max()


def test_a_wrapper_folds_only_if_the_learner_inside_does(model):
    class Hears(Rounds):
        heard = 0

        def observe(self, history: History):
            self.heard += len(history)

    doubled = Doubling(model.knowledge(), lambda delta: Hears(model.knowledge()))
    assert not abilities_of(doubled).folds and abilities_of(Doubling(model.knowledge(), lambda d: Rounds(model.knowledge()))).folds
    simulate(model, doubled, max_epochs=3)
    assert doubled.inner.heard == 1  # the second phase began after two


def test_a_history_holds_all_that_was_paid_and_its_parts():
    """Against the world's own books, on models with lump sums, running costs and rewards on jumps."""
    for name in ("admission", "service-rate", "three-state", "hospital-beds"):
        model = make(name)
        run = simulate(model, "random", max_epochs=400, seed=2, record=True)
        path = run.trajectory
        pair = np.array([model.pair_at(s, a) for s, a in zip(path.state, path.action)])
        assert np.array_equal(path.reward, path.lump + path.running), name
        assert np.array_equal(path.running, model.running[pair] * path.holding_time), name
        known = model.reward[pair]
        if model.transition_reward is not None:
            rows = model.matrix.copy()
            rows.data = np.array(model.transition_reward)
            known = known + np.asarray(rows[pair, path.next_state]).ravel()
        assert np.allclose(path.lump, known, rtol=1e-15), name
        assert np.isclose(path.reward[:-1].sum() + model.reward[pair[-1]], run.rewards[-1], rtol=1e-12), name


def test_where_parts_are_not_given_the_reward_was_a_lump_sum():
    one = np.zeros(1, dtype=np.int64)
    plain = History(one, one, np.ones(1), one, np.array([3.0]))
    assert plain.lump.tolist() == [3.0] and plain.running.tolist() == [0.0]
    told = History(one, one, np.ones(1), one, np.array([3.0]), running=np.array([2.0]))
    assert told.lump.tolist() == [1.0]
    assert History(one, one, np.ones(1), one, np.array([3.0]), lump=np.array([2.0])).running.tolist() == [1.0]


def test_unknown_rewards_read_the_lump_sum_whatever_a_session_is_told():
    """The pay of an epoch, or its lump sum: the same is counted; what runs up is known."""
    knowledge = make("admission").knowledge()
    told, parts = (Session("ct-ucrl", 0, knowledge=knowledge, parameters={"unknown_rewards": True}) for _ in range(2))
    for held, arrived, lump in ((0.5, 1, 20.0), (0.25, 2, 20.0), (0.125, 1, 0.0)):
        pair = knowledge.pair_table[told.state_index, told.action_index]
        assert parts.action_index == told.action_index
        told.report(held, arrived, reward=lump + float(knowledge.running[pair]) * held)
        parts.report(held, arrived, lump=lump)
    assert np.array_equal(told.learner.counts.reward_sum, parts.learner.counts.reward_sum)
    assert told.learner.counts.reward_sum.sum() == 40.0
    with pytest.raises(ReportError, match="give one of them"):
        _ = told.action
        told.report(0.5, 1, reward=1.0, lump=1.0)
