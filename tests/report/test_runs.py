"""The picture of a run shows what is true of it, and the bounds only where they hold."""

import numpy as np
import pytest

from sojourn.errors import ParameterError
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import DoublingCTUCRL
from sojourn.report.runs import plot_run
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


def labels(figure) -> set[str]:
    return {text.get_text() for legend in figure.legends for text in legend.get_texts()}


@pytest.fixture(scope="module")
def model():
    return make("three-state")


def test_the_upper_bound_stands_only_beside_learners_it_holds_for(model):
    knowledge = model.knowledge()
    printed = plot_run(simulate(model, CTUCRL(knowledge, horizon=500), max_epochs=500))
    fixed_delta = plot_run(simulate(model, CTUCRL(knowledge, delta=0.01), max_epochs=500))
    scaled = plot_run(simulate(model, CTUCRL(knowledge, horizon=500, radius_scale=0.5), max_epochs=500))
    doubling = plot_run(simulate(model, DoublingCTUCRL(knowledge), max_epochs=500))
    assert any("upper" in text for text in labels(printed)) and any("doubling" in text for text in labels(doubling))
    assert not any("upper" in text for text in labels(fixed_delta) | labels(scaled))
    assert all(any("lower bound" in text for text in labels(f)) for f in (printed, fixed_delta, doubling))


def test_the_curves_are_the_runs_own_numbers(model, tmp_path):
    run = simulate(model, CTUCRL(model.knowledge(), delta=0.1), max_epochs=500)
    figure = run.plot(path=tmp_path / "run.svg")
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert np.array_equal(drawn["pseudo-regret"], run.pseudo_regret) and np.array_equal(drawn["regret"], run.regret)
    assert (tmp_path / "run.svg").read_text().startswith("<?xml")


def test_equal_runs_give_equal_bytes(model, tmp_path):
    for name in ("a.png", "b.png"):
        simulate(model, [0, 1, 1], max_epochs=100).plot(path=tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_picture_of_nothing_or_of_an_unknown_kind_is_refused(model):
    run = simulate(model, [0, 1, 1], max_epochs=100)
    with pytest.raises(ParameterError, match="ends in 'txt'"):
        run.plot(path="run.txt")
    with pytest.raises(ParameterError, match="1 checkpoints"):
        simulate(model, [0, 1, 1], max_epochs=1).plot()
