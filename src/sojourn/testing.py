"""The contracts that a learner and a model must keep, for the tests of other packages to inherit.

    from sojourn.testing import LearnerContract

    class TestMine(LearnerContract):
        def make_learner(self, knowledge):
            return Mine(knowledge, seed=3)

and pytest runs every `test_...` below.  Nothing here needs pytest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, ReportError
from sojourn.learn.abilities import abilities_of
from sojourn.learn.learner import History, Learner
from sojourn.learn.random_actions import RandomActions
from sojourn.model.checks import check
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.run import Run
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

COLUMNS = ("state", "action", "holding_time", "next_state", "reward", "lump", "running")
BAD_REPORTS = ((-1.0, 0), (0.0, 0), (float("nan"), 0), (float("inf"), 0), ("long", 0), (1.0, 10**6), (1.0, -1), (1.0, "nowhere"))
BAD_VALUES = (("state", -1), ("state", 10**6), ("action", 10**6), ("next_state", -1), ("next_state", 10**6), ("holding_time", -1.0),
              ("holding_time", 0.0), ("holding_time", np.nan), ("holding_time", np.inf), ("reward", np.nan))


def negative_gain() -> CTMDP:
    """Return two states where every reward is negative; one of them has one action."""
    p = np.array([[[0.2, 0.8], [0.9, 0.1]], [[1.0, 0.0], [0.0, 0.0]]])
    return CTMDP.from_arrays(p, np.array([[1.0, 2.0], [1.5, 1.0]]), np.array([[-1.0, -0.4], [-0.5, 0.0]]),
                             np.array([[0.0, -1.0], [-2.0, 0.0]]), np.array([[True, True], [True, False]]), rate_bounds=(0.5, 3.0))


def one_state() -> CTMDP:
    """Return one state with two actions."""
    return CTMDP.from_arrays(np.ones((1, 2, 1)), np.array([[1.0, 2.0]]), np.array([[0.5, 0.2]]), rate_bounds=(0.5, 4.0))


def refused(errors: type[Exception] | tuple[type[Exception], ...], call: Callable[..., Any], *args: Any, words: str = "") -> None:
    """Assert that a call raises one of `errors`, with `words` in its message."""
    try:
        call(*args)
    except errors as error:
        assert words in str(error), f"{error} does not say {words!r}"
        return
    raise AssertionError(f"{call} took {args}; it must refuse it")


def observations(run: Run) -> list[tuple[float, Any, float]]:
    """Return what a session would be told of a recorded run: holding time, next state, lump sum."""
    path = run.trajectory
    assert path is not None
    arrived = [run.model.states[s] for s in path.next_state]
    return list(zip(path.holding_time.tolist(), arrived, path.lump.tolist(), strict=True))


def replay(session: Session, rows: list[tuple[float, Any, float]]) -> list[int]:
    """Return the actions (positions) of a session fed with `rows`."""
    actions = []
    for held, arrived, paid in rows:
        actions.append(session.action_index)
        session.report(held, arrived, lump=paid)
    return actions


def same(one: Any, two: Any) -> bool:
    """Return whether two saved states are equal, arrays entry by entry."""
    if isinstance(one, dict):
        return isinstance(two, dict) and one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return np.array_equal(one, two)


class LearnerContract:
    """What every learner must keep.  Write `make_learner`; the same knowledge must give the same learner, stream included."""

    epochs = 600
    shown_the_model = False  # True for a yardstick that is
    counts_depend_on_plans = False  # True for a learner that begins its counts anew at certain plans

    def make_learner(self, knowledge: Knowledge) -> Any:
        """Return a new learner."""
        raise NotImplementedError("write make_learner(self, knowledge), which returns a new learner")

    def models(self) -> list[CTMDP]:
        """Return the models it is tried on: state-dependent action sets, running and negative rewards, a single state."""
        return [make("three-state"), make("admission:capacity=6"), negative_gain(), one_state()]

    def learner_on(self, model: CTMDP, supports: bool = False) -> Any:
        """Return a new learner for `model`."""
        return self.make_learner(model.knowledge(supports=supports))

    def session_on(self, model: CTMDP) -> Session:
        return Session(self.learner_on(model), state=model.states[0], knowledge=model.knowledge())

    def run_on(self, model: CTMDP, epochs: int | None = None, seed: int = 5, supports: bool = False) -> Run:
        subject = self.learner_on(model, supports)
        return simulate(model, subject, max_epochs=epochs or self.epochs, seed=seed, record=True)

    # ---- deciding ---------------------------------------------------------------------------------------------------

    def test_a_session_takes_the_decisions_of_the_simulation(self) -> None:
        for model in self.models():
            run = self.run_on(model)
            assert run.trajectory is not None
            assert replay(self.session_on(model), observations(run)) == run.trajectory.action.tolist(), model

    def test_the_same_seeds_give_the_same_run(self) -> None:
        for model in self.models():
            one, two = self.run_on(model), self.run_on(model)
            assert np.array_equal(one.visits, two.visits) and np.array_equal(one.regret, two.regret), model

    def test_it_takes_admissible_actions_from_no_data_and_from_pairs_never_visited(self) -> None:
        for model in self.models():
            for supports in (False, True):
                run = self.run_on(model, seed=8, supports=supports)
                assert run.visits.sum() == self.epochs, model
                assert (run.visits[model.table(np.ones(model.n_pairs), fill=0) == 0] == 0).all(), model
                assert np.isfinite(run.pseudo_regret).all() and run.pseudo_regret.min() > -1e-9, model

    # ---- saving -----------------------------------------------------------------------------------------------------

    def test_restoring_a_saved_state_equals_never_having_stopped(self) -> None:
        model = self.models()[-1 if len(self.models()) < 2 else 1]
        whole = Walk(model, self.learner_on(model), seed=5)
        whole.advance(until_epoch=self.epochs)
        for stop in (1, 37, 250):
            first = Walk(model, self.learner_on(model), seed=5)
            first.advance(until_epoch=stop)
            saved = first.state()
            first.advance(until_epoch=self.epochs)  # what was saved must not change under its owner's hands
            second = Walk(model, self.learner_on(model), seed=77)
            second.restore(saved)
            second.advance(until_epoch=self.epochs)
            assert np.array_equal(whole.visits, second.visits), f"stopped after {stop} epochs, it went on otherwise"
            assert whole.position == second.position and whole.time == second.time

    def test_a_session_that_was_saved_goes_on_as_if_never_stopped(self) -> None:
        for model in self.models():
            run = self.run_on(model, epochs=120)
            rows, wanted = observations(run), run.trajectory.action.tolist()  # type: ignore[union-attr]
            first, second = self.session_on(model), self.session_on(model)
            assert replay(first, rows[:50]) == wanted[:50], model
            second.restore(first.save())
            assert replay(second, rows[50:]) == wanted[50:], model

    def test_a_saved_state_is_arrays_scalars_and_text(self) -> None:
        def plain(value: Any) -> bool:
            if isinstance(value, dict):
                return all(isinstance(key, str) and plain(part) for key, part in value.items())
            return isinstance(value, (int, float, str, np.generic)) or (isinstance(value, np.ndarray) and value.dtype.kind != "O")

        model = self.models()[0]
        walk = Walk(model, self.learner_on(model), seed=5)
        walk.advance(until_epoch=50)
        assert plain(walk.learner.state())

    def test_a_state_is_taken_up_only_by_its_like(self) -> None:
        model = self.models()[0]
        saved = self.learner_on(model).state()
        self.learner_on(model).restore(saved)
        refused(ParameterError, self.learner_on(one_state()).restore, saved, words="another model")
        other = Learner(model.knowledge())
        refused(ParameterError, other.restore, saved, words="the saved state is of a")

    # ---- observing --------------------------------------------------------------------------------------------------

    def test_observing_is_what_the_kernels_fold(self) -> None:
        """Chunks of any size give the counts of the walk; and so do single reports to a session."""
        for model in self.models():
            run, told = self.run_on(model), self.learner_on(model)
            if not abilities_of(told).folds:
                return
            folded, path = run.learner.counts.state(), run.trajectory
            if not self.counts_depend_on_plans:
                for chunk in np.array_split(np.arange(self.epochs), [1, 2, 50, 333]):
                    told.observe(History(*(getattr(path, column)[chunk] for column in COLUMNS)))
                counted = told.counts.state()
                assert all(np.array_equal(folded[key], counted[key]) for key in counted if key != "scale"), model
            session = self.session_on(model)
            replay(session, observations(run))
            assert same(folded, session.learner.counts.state()), model

    def test_a_bad_report_is_refused_and_leaves_no_trace(self) -> None:
        for model in self.models():
            run, session = self.run_on(model, epochs=60), self.session_on(model)
            actions = []
            for held, arrived, paid in observations(run):
                actions.append(session.action_index)
                for bad in BAD_REPORTS:
                    refused(ReportError, session.report, *bad)
                session.report(held, arrived, lump=paid)
            assert actions == run.trajectory.action.tolist(), model  # type: ignore[union-attr]

    def test_a_chunk_that_cannot_be_true_is_refused_and_leaves_no_trace(self) -> None:
        for model in self.models():
            path = simulate(model, RandomActions(model.knowledge()), max_epochs=20, seed=5, record=True).trajectory
            subject = self.learner_on(model, supports=True)
            before = subject.state()
            for column, value in BAD_VALUES:
                wrong = {name: np.array(getattr(path, name)) for name in COLUMNS}
                wrong[column][-1] = value  # the last row: those before it must not be counted either
                refused(ReportError, subject.observe, History(**wrong), words=column)
            assert same(before, subject.state()), model
            assert path is not None
            subject.observe(path)

    # ---- knowing ----------------------------------------------------------------------------------------------------

    def test_it_does_not_hold_the_model(self) -> None:
        model = self.models()[0]
        subject = self.learner_on(model)
        Walk(model, subject, seed=5).advance(until_epoch=50)
        seen: set[int] = set()
        queue: list[Any] = [subject]
        while queue:
            item = queue.pop()
            if id(item) in seen or isinstance(item, (str, int, float, np.ndarray, type)):
                continue
            seen.add(id(item))
            assert not isinstance(item, CTMDP), "the learner got hold of the model; it may know the Knowledge only"
            queue += list(item.values()) if isinstance(item, dict) else list(item) if isinstance(item, (list, tuple)) else []
            queue += list(getattr(item, "__dict__", {}).values())

    def test_two_worlds_that_look_alike_get_the_same_first_action(self) -> None:
        if self.shown_the_model:
            return
        model = self.models()[0]
        rows = np.split(model.probability, model.row_start[1:-1])
        other = model.replace(rate=np.full(model.n_pairs, float(np.mean(model.bounds))), rate_bounds=model.bounds,
                              probability=np.concatenate([row[::-1] for row in rows]))
        told = model.replace(rate_bounds=model.bounds)
        for state in model.states:
            assert len({Session(self.learner_on(m), state, knowledge=m.knowledge()).action for m in (told, other)}) == 1


class ModelContract:
    """What every model must keep.  Write `make_model`, which returns the same model whenever it is called."""

    def make_model(self) -> CTMDP:
        """Return the model."""
        raise NotImplementedError("write make_model(self), which returns a CTMDP")

    def test_it_is_the_same_every_time(self) -> None:
        assert self.make_model().equals(self.make_model())

    def test_labels_are_unique_and_for_people(self) -> None:
        model = self.make_model()
        for labels in (model.states.labels, model.actions.labels):
            assert len(set(labels)) == len(labels)
            assert all(label.strip() == label and label and len(label) <= 40 for label in labels)

    def test_it_can_be_learned_for_ever_and_solved_with_a_proof(self) -> None:
        model = self.make_model()
        assert check(model).communicating.holds is not False, "some state cannot be left or reached; learning for ever needs both"
        low, high = solve(model).gain_bounds
        assert low <= high and np.isfinite([low, high]).all()

    def test_a_walk_earns_what_evaluation_promises(self) -> None:
        """Within a tenth of the scale of the gain, or of the rewards, after 20,000 decisions."""
        model = self.make_model()
        found = solve(model)
        run = simulate(model, found.policy, max_epochs=20_000, seed=1, solution=found)
        scale = max(abs(found.gain), float(np.abs(model.expected_reward * model.rate + model.running).max()))
        assert abs(run.rewards[-1] / run.times[-1] - found.gain) <= 0.1 * scale

    def test_a_copy_through_a_file_is_the_model(self) -> None:
        from tempfile import TemporaryDirectory

        from sojourn.model.files import load

        model = self.make_model()
        with TemporaryDirectory() as folder:
            model.save(f"{folder}/model.json")
            assert load(f"{folder}/model.json").equals(model)


__all__ = ["LearnerContract", "ModelContract", "negative_gain", "one_state", "refused"]
