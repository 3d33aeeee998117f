"""A session in a file: it alone suffices, goes on as if never stopped, and is taken up only by its like."""

import numpy as np
import pytest

import sojourn
from sojourn.errors import FileError, ParameterError
from sojourn.learn.catalogue import LEARNERS
from sojourn.learn.learner import Learner
from sojourn.model.names import Names
from sojourn.model.pack import pack, unpack
from sojourn.simulation.session import Session
from sojourn.zoo.catalogue import make

KNOWN = make("three-state").knowledge()
TUPLES = sojourn.Knowledge.from_choices({(1, 0): {0: 1.0, 5: {"running": 2.0}}, (0, 1): {5: 0.5}, (0, 0): {0: -1.0}}, (0.5, 9.0))


def live(session, epochs, seed=1):
    """Let a session live through `epochs` made-up epochs, and return its actions."""
    rng, actions = np.random.default_rng(seed), []
    for _ in range(epochs):
        actions.append(session.action)
        session.report(float(rng.exponential()), session.knowledge.states[int(rng.integers(3))])
    return actions


@pytest.mark.parametrize("name", [name for name in LEARNERS.built_in if name != "oracle"])
def test_every_learner_of_the_catalogue_goes_on_from_its_file(name, tmp_path):
    for knowledge in (KNOWN, TUPLES):
        first = Session(name, knowledge.states[0], knowledge=knowledge, seed=3)
        live(first, 60)
        assert first.save(tmp_path / "a.session") is None
        second = Session.load(tmp_path / "a.session")
        assert type(second.learner) is type(first.learner) and second.state == first.state and second.epoch == 61
        assert live(first, 60, seed=2) == live(second, 60, seed=2) and first.time == second.time
        assert np.array_equal(first.counts.visits, second.counts.visits)


def test_parameters_names_and_supports_come_back(tmp_path):
    knowledge = make("admission").knowledge(supports=True)
    first = Session("ct-ucrl", 0, knowledge=knowledge, parameters={"delta": 0.25, "reward_range": (-20.0, 5.0)})
    assert first.action == first.action
    first.save(tmp_path / "a")
    second = Session.load(tmp_path / "a")
    assert second.learner.delta == 0.25 and second.learner.parameters == first.learner.parameters
    assert second.knowledge.states == knowledge.states and second.knowledge.supports_known
    assert np.array_equal(second.knowledge.support_state, knowledge.support_state) and second.action == first.action


class Outside(Learner):
    """Acts: the first action; remembers how often it was asked."""

    memory = ("asked",)

    def __init__(self, knowledge, seed=0, shift=0):
        super().__init__(knowledge, seed)
        self.asked, self.shift = 0, shift

    def act(self, state):
        self.asked += 1
        return int(self.knowledge.pair_action[self.knowledge.pair_start[state]])


def test_a_learner_from_outside_is_given_not_named_by_the_file(tmp_path):
    first = Session(Outside, "A", knowledge=KNOWN, parameters={"shift": 2})
    live(first, 9)
    first.save(tmp_path / "a")
    with pytest.raises(FileError, match=r"Outside, which is not in the catalogue .* give it: Session.load"):
        Session.load(tmp_path / "a")
    for given in (Outside, Outside(KNOWN, shift=2)):
        second = Session.load(tmp_path / "a", learner=given)
        assert second.learner.asked == 9 and second.learner.shift == 2 and second.epoch == 10
    with pytest.raises(FileError, match="and the learner given is a"):
        Session.load(tmp_path / "a", learner="ct-ucrl")
    with pytest.raises(ParameterError, match="shift = 2, this one has shift = 1"):
        Session.load(tmp_path / "a", learner=Outside(KNOWN, shift=1))
    other = Outside(make("three-state").knowledge(rate_bounds=(0.5, 8.0)), shift=2)
    with pytest.raises(ParameterError, match="another model"):
        Session.load(tmp_path / "a", learner=other)


def test_a_file_that_is_not_whole_or_not_ours_is_refused_in_words(tmp_path):
    session = Session("random", "A", knowledge=KNOWN)
    live(session, 3)
    file = tmp_path / "a"
    session.save(file)
    good = file.read_bytes()
    for at in range(12, len(good), 97):  # a bit flipped anywhere
        file.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
        with pytest.raises((FileError, ParameterError)):
            Session.load(file)
    for cut in (0, 3, 7, 50, len(good) // 2, len(good) - 1):
        file.write_bytes(good[:cut])
        with pytest.raises(FileError):
            Session.load(file)
    file.write_bytes(pack({**unpack(good), "version": 2}))
    with pytest.raises(FileError, match="has version 2; this release reads version 1"):
        Session.load(file)
    file.write_bytes(pack({"format": "other"}))
    with pytest.raises(FileError, match="holds 'other'"):
        Session.load(file)
    with pytest.raises(FileError, match="cannot read"):
        Session.load(tmp_path / "none")
    with pytest.raises(FileError, match="cannot write"):
        session.save(tmp_path / "no" / "folder")


def test_what_cannot_be_saved_is_refused_and_leaves_the_old_file(tmp_path):
    class Wild:
        knowledge = KNOWN

        def act(self, state):
            return 0

        def observe(self, history):
            pass

    session = Session("random", "A", knowledge=KNOWN)
    session.save(tmp_path / "a")
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(ParameterError, match="has no state"):
        Session(Wild(), "A").save(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == before and list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_states_no_file_can_hold_come_back_as_their_labels(tmp_path):
    class Odd:
        def __init__(self, n):
            self.n = n

        def __str__(self):
            return f"odd {self.n}"

    states = [Odd(i) for i in range(3)]
    knowledge = sojourn.Knowledge.from_choices({s: [0] for s in states}, (0.5, 2.0))
    session = Session("random", states[1], knowledge=knowledge)
    session.save(tmp_path / "a")
    again = Session.load(tmp_path / "a")
    assert session.state is states[1] and again.state == "odd 1"
    assert again.knowledge.states == Names("state", ["odd 0", "odd 1", "odd 2"])
