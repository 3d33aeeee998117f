"""The picture of a run shows what is true of it, and the bounds only where they hold."""

from pathlib import Path

import numpy as np
import pytest

from sojourn.errors import ParameterError
from sojourn.instance.difficulty import difficulty
from sojourn.learn.ct_kl_ucrl import CTKLUCRL
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import DoublingCTUCRL
from sojourn.report.runs import plot_run
from sojourn.simulation.run import Run
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


def words(figure) -> str:
    """Return everything that is written about the bounds: legends, and the line below."""
    legends = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    return " | ".join([*legends, figure.get_supxlabel()])


@pytest.fixture(scope="module")
def model():
    return make("three-state")


def test_the_upper_bound_stands_only_beside_learners_it_holds_for(model):
    knowledge = model.knowledge()
    printed = plot_run(simulate(model, CTUCRL(knowledge, horizon=500), max_epochs=500))
    fixed_delta = plot_run(simulate(model, CTUCRL(knowledge, delta=0.01), max_epochs=500))
    scaled = plot_run(simulate(model, CTUCRL(knowledge, horizon=500, radius_scale=0.5), max_epochs=500))
    doubling = plot_run(simulate(model, DoublingCTUCRL(knowledge), max_epochs=500))
    assert "thm:UCRL)" in words(printed) and "thm:UCRL2)" in words(doubling)
    assert "upper" not in words(fixed_delta) + words(scaled)
    for other in (DoublingCTUCRL(knowledge, radius_scale=0.05), CTUCRL(knowledge, horizon=500, estimator="mean"),
                  CTKLUCRL(knowledge, delta=0.01), CTKLUCRL(knowledge, horizon=500, radius_scale=0.5),
                  CTUCRL(knowledge, delta=0.01, reward_range=(0, 2))):
        drawn = words(plot_run(simulate(model, other, max_epochs=500)))
        assert "upper" not in drawn and "Proved" not in drawn
    assert all("C_u(M), the long-run bound" in words(f) and "not a floor" in words(f) for f in (printed, fixed_delta, doubling))
    assert "C(M)" not in words(plot_run(simulate(model, [0, 1, 1], max_epochs=100), bounds=False))


def test_what_is_proved_of_optimism_is_named_beside_a_run_and_not_drawn(model):
    found = difficulty(model)
    for learner, name, sets, theorem in ((CTKLUCRL(model.knowledge(), horizon=500), "ct-kl-ucrl", "kl", "Theorem 1"),
                                   (CTUCRL(model.knowledge(), delta=0.01), "ct-ucrl", "printed", "Theorem 2")):
        run = simulate(model, learner, max_epochs=500)
        drawn = plot_run(run)
        growth, delta = run.settings.get("growth", 1.0), run.settings["delta"]
        bound = found.optimism_bound(sets, 500, growth=growth, delta=delta).total
        assert f"Proved of {name} at this N: a mean pseudo-regret of at most {bound:.3g} ({theorem}," in words(drawn)
        assert all(axes.get_ylim()[1] < 1e-3 * bound for axes in drawn.axes)


def test_no_bound_stands_beside_a_learner_that_was_told_no_rate_bounds_or_had_learned_before(model):
    for told in (None, "unknown"):
        learner = CTKLUCRL(model.knowledge(told))
        first, again = (words(plot_run(simulate(model, learner, max_epochs=epochs))) for epochs in (400, 200))
        assert ("Proved" in first) == ("C_u(M)" in first) == (told is None) and "Proved" not in again
        assert ("No bounds: no rate bounds are told" in again) == (told is not None)


def test_a_learner_at_a_fixed_level_is_not_called_uniformly_fast(model):
    fixed, printed = (words(plot_run(simulate(model, kind(model.knowledge(), delta=0.02), max_epochs=500)))
                      for kind in (CTKLUCRL, CTUCRL))
    assert "with a probability of up to 0.02: it need not be uniformly fast." in fixed and "stay wrong" not in printed


def test_the_upper_bound_beside_a_run_is_the_same_in_every_unit_of_time_and_above_the_lower_bound(model):
    """As printed in the paper it falls with the unit: with rates x 1e9 it read 3.29e+03, where it is 1.88e+09 in the other unit."""
    fast = model.replace(rate=model.rate * 1e9, running=model.running * 1e9, rate_bounds=tuple(1e9 * np.array(model.bounds)))
    for learner in (lambda known: CTUCRL(known, horizon=500), DoublingCTUCRL):
        said = [words(plot_run(simulate(one, learner(one.knowledge()), max_epochs=500))) for one in (model, fast)]
        values = [float(text.split("(thm:UCRL")[1].split(": ")[1].split()[0].rstrip(".")) for text in said]
        assert values[0] == values[1] > 1e3 * difficulty(model).lower_bound(epochs=500, supports=False)
        assert all("same in every unit of time" in text and "as printed" not in text for text in said)


def test_the_bound_is_a_line_beside_the_slope_of_the_run(model):
    run = simulate(model, CTUCRL(model.knowledge(), delta=0.1), max_epochs=5000)
    lost, growth = plot_run(run).axes
    drawn = {line.get_label(): line.get_ydata() for line in growth.lines}
    slope = drawn["slope against log N, from N/100 to N"]
    before = np.interp(np.log(run.epochs[-1] / 100), np.log(run.epochs), run.pseudo_regret)
    assert slope[-1] == pytest.approx((run.pseudo_regret[-1] - before) / np.log(100))
    found = difficulty(model)
    assert set(drawn["C_u(M), the long-run bound on the mean slope"]) == {found.lower_bound_constant_unknown}
    told = plot_run(simulate(model, CTUCRL(model.knowledge(supports=True), delta=0.1), max_epochs=500)).axes[1]
    drawn = {line.get_label(): line.get_ydata() for line in told.lines}
    assert set(drawn["C(M), the long-run bound on the mean slope"]) == {found.lower_bound_constant} != {
        found.lower_bound_constant_unknown}
    assert not any("(M)" in str(line.get_label()) for line in lost.lines)


def test_a_run_with_holding_times_of_another_law_has_no_bounds_beside_it(model, tmp_path):
    learner = CTUCRL(model.knowledge(), horizon=500)
    run = simulate(model, learner, max_epochs=500, holding_times="pareto:shape=2.2")
    run.save(tmp_path / "run.npz")
    for drawn in (run, Run.load(tmp_path / "run.npz")):
        said = words(plot_run(drawn))
        assert "(M)" not in said and "upper" not in said
        assert "No bounds: holding times are drawn as pareto:shape=2.2, and the bounds are for exponential ones." in said
        assert "No bounds" not in words(plot_run(drawn, bounds=False))
    learner = CTUCRL(model.knowledge(), horizon=500)
    same = simulate(model, learner, max_epochs=500, holding_times={(s, a): "exponential" for s in "AB" for a in ("slow", "quick")})
    assert same.other_law == "" and "thm:UCRL)" in words(plot_run(same))


def test_the_curves_are_the_runs_own_numbers(model, tmp_path):
    run = simulate(model, CTUCRL(model.knowledge(), delta=0.1), max_epochs=500)
    figure = run.plot(path=tmp_path / "run.svg")
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert np.array_equal(drawn["pseudo-regret, what the choices cost"], run.pseudo_regret)
    assert np.array_equal(drawn["regret, with the luck of the run"], run.regret)
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


def test_the_guide_calls_the_line_of_the_bound_what_it_is():
    """docs/start.md shows the picture of a run and says which of its lines is the bound."""
    model = make("three-state")
    figure = plot_run(simulate(model, "ct-imed", max_epochs=3_000, seed=1))
    (bound,) = [line for line in figure.axes[1].lines if "bound" in str(line.get_label())]
    on, off = bound._dash_pattern[1][:2]
    assert on == off < 3 * bound.get_linewidth()
    text = (Path(__file__).parents[2] / "docs" / "start.md").read_text(encoding="utf-8")
    assert "The dotted line there is C_u(M)" in text and "dashed" not in text
