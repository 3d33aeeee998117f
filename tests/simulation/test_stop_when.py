"""Runs that end when a policy is proved to be good enough."""

import signal

import numpy as np
import pytest

from sojourn.errors import ModelError, ParameterError
from sojourn.learn.certificate import Certificate
from sojourn.learn.ct_joint_ucrl import CTJointUCRL
from sojourn.learn.stopping import certificate
from sojourn.model.closeness import within
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.looks import Looks, looks_until
from sojourn.simulation.progress import ProgressBar
from sojourn.simulation.run import Run
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk

ARMS = CTMDP.from_arrays([[[1.0], [1.0]]], [[1.0, 1.5]], [[1.0, 1.0]], rate_bounds=(0.3, 4.0))
WISH = within("20%")


def stopped(**more):
    more = {"max_epochs": 50_000, "seed": 1, "stop_when": WISH, **more}
    return simulate(ARMS, "ct-joint-ucrl", knowledge=ARMS.knowledge(supports=True), **more)


def test_looks_are_a_twentieth_apart_and_begin_when_every_state_could_have_been_left():
    looks = looks_until(10**6, 3)
    assert looks[0] == 10 and looks_until(10**6, 500)[0] == 500 and looks_until(5, 3) == []
    apart = np.array(looks[1:]) / np.array(looks[:-1])
    assert (apart > 1).all() and apart[looks.index(21):].max() < 1.1 and len(looks) < 260


def test_a_run_ends_at_the_first_look_that_finds_a_certificate():
    run = stopped()
    found = run.certificate
    assert found and found.epochs == run.epochs[-1] == run.visits.sum() < 50_000 and "certified" in repr(run)
    assert found.policy.tolist() == [1] and found.gap <= found.epsilon
    again = simulate(ARMS, "ct-joint-ucrl", knowledge=ARMS.knowledge(supports=True), max_epochs=int(run.epochs[-1]), seed=1)
    assert np.array_equal(again.visits, run.visits)  # waiting for it changed no decision
    looks = looks_until(found.epochs, 1)
    before = simulate(ARMS, "ct-joint-ucrl", knowledge=ARMS.knowledge(supports=True), max_epochs=looks[-2], seed=1)
    assert looks[-1] == found.epochs
    assert not certificate(before.learner, before.learner.counts, before.learner.knowledge, WISH)


def test_where_it_stops_does_not_depend_on_how_the_run_is_cut_into_pieces():
    whole = stopped()
    for other in (stopped(checkpoints=[1, 17, 300, 301, 49_999]), stopped(checkpoints=7), stopped(record=True),
                  stopped(max_epochs=10**7), stopped(max_epochs=None, max_time=40_000.0), stopped(progress=lambda walk: None)):
        assert other.certificate.as_dict() == whole.certificate.as_dict()
        assert other.epochs[-1] == whole.epochs[-1] and np.array_equal(other.visits, whole.visits)


def test_a_horizon_before_the_certificate_ends_the_run_without_one():
    for run in (stopped(max_epochs=200), stopped(max_epochs=None, max_time=100.0)):
        assert not run.certificate and run.certificate.epochs <= 200 and "asked for" in str(run.certificate)
        assert "certified" not in repr(run)
    assert stopped(max_epochs=5).certificate is None  # not looked at yet
    assert stopped(stop_when=None, max_epochs=100).certificate is None


def test_a_time_horizon_still_has_its_checkpoints():
    run = stopped(max_epochs=None, max_time=300.0, checkpoints=[50.0, 100.0, 300.0])
    assert run.times.tolist() == [50.0, 100.0, 300.0] and run.certificate.epochs > 50


def test_a_moment_that_falls_into_the_last_sojourn_is_noted_before_the_run_ends():
    whole = stopped()
    ends = [simulate(ARMS, "ct-joint-ucrl", knowledge=ARMS.knowledge(supports=True), max_epochs=n, seed=1, record=True)
            .trajectory.holding_time.sum() for n in (whole.certificate.epochs - 1, whole.certificate.epochs)]
    middle = float(np.mean(ends))
    run = stopped(max_epochs=None, max_time=1e5, checkpoints=[middle, 1e5])
    assert run.certificate.epochs == whole.certificate.epochs and run.times.tolist() == [middle]


def test_ctrl_c_ends_a_run_that_waits_for_a_certificate():
    def interrupt(walk):
        if walk.epoch >= 1000:
            signal.raise_signal(signal.SIGINT)

    run = stopped(stop_when=within("0.1%"), max_epochs=10**9, progress=interrupt)
    assert run.interrupted and 1000 <= run.epochs[-1] < 2000 and run.certificate is not None and not run.certificate
    assert run.certificate.epochs in looks_until(int(run.epochs[-1]), 1)[-2:]  # it may be interrupted as it was about to look


def test_a_run_in_a_file_keeps_its_certificate(tmp_path):
    for run in (stopped(), stopped(max_epochs=200), stopped(max_epochs=5)):
        run.save(tmp_path / "run.npz")
        again = Run.load(tmp_path / "run.npz")
        assert str(again.certificate) == str(run.certificate) and bool(again.certificate) == bool(run.certificate)
        if run.certificate is not None:
            assert again.certificate.as_dict() == run.certificate.as_dict()


def test_a_certificate_in_a_file_that_cannot_be_is_refused():
    found, known = stopped().certificate, ARMS.knowledge()
    tree = found.tree()
    assert Certificate.from_tree(tree, known).as_dict() == found.as_dict()
    with pytest.raises(ModelError, match="none must be above the next"):
        Certificate.from_tree({**tree, "ends": np.array([2.0, 3.0, 1.0])}, known)
    for policy in (np.array([7]), np.array([0, 0]), np.array([[1]]).T.astype(float)):
        with pytest.raises(ParameterError, match="policy"):
            Certificate.from_tree({**tree, "policy": policy}, known)


def test_a_learner_that_forgets_is_found_out():
    walk = Walk(ARMS, CTJointUCRL(ARMS.knowledge()), seed=1)
    looks = Looks(walk, WISH)
    walk.advance(until_epoch=10)
    walk.learner.counts.visits[:] = 1
    with pytest.raises(ParameterError, match="keeps no counts of all that happened"):
        looks.look()


def test_the_progress_line_says_how_close_a_policy_is():
    said = []

    class Stream:
        def write(self, text):
            said.append(text)

        def flush(self):
            pass

    bar = ProgressBar(1e5, None, Stream())

    def show(walk):
        bar.shown = -1e9  # as if the last line were long ago
        bar(walk)

    stopped(progress=show)
    lines = [line for line in said if "decisions" in line]
    assert "of the best" not in lines[0] and lines[-1].endswith("% of the best")
