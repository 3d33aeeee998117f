"""Pictures of models: the right kind for each, labels read as coordinates, colours that differ in grey."""

import numpy as np
import pytest

import sojourn
from sojourn.errors import ParameterError
from sojourn.zoo.catalogue import families, make

pytest.importorskip("matplotlib")
from sojourn.report.model_graph import layout
from sojourn.report.model_grid import is_grid
from sojourn.report.model_path import plot_path
from sojourn.report.model_style import action_colors, axis_names, coordinates, text_on
from sojourn.report.models import kind_of, plot_model


def grey(color):
    from matplotlib.colors import to_rgb

    r, g, b = to_rgb(color)
    return 0.299 * r + 0.587 * g + 0.114 * b


@pytest.mark.parametrize("name, kind", [
    ("two-state", "graph"), ("three-state", "graph"), ("customer-selection", "graph"), ("maintenance", "graph"),
    ("random", "graph"), ("admission", "curves"),
    ("market-making", "curves"), ("sis-epidemic", "curves"), ("routing", "grid"), ("tandem", "grid"),
    ("sir-epidemic", "grid"), ("server-switching", "grid"), ("criss-cross", "grid"),
])
def test_each_model_gets_the_picture_that_suits_it(name, kind):
    assert kind_of(make(name)) == kind


@pytest.mark.parametrize("name", ["two-state", "customer-selection", "market-making", "routing", "server-switching"])
def test_pictures_are_drawn(name, tmp_path):
    path = tmp_path / f"{name}.png"
    fig = make(name).plot(path=path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert fig.get_suptitle() == name


def test_a_policy_map_shows_the_policy():
    model = make("routing", capacity=4)
    fig = plot_model(model)
    image = fig.axes[0].images[0].get_array()
    solution = sojourn.solve(model)
    used = sorted(set(solution.policy.tolist()))
    for s, label in enumerate(model.states.labels):
        x, y = (int(v) for v in label.strip("()").split(", "))
        assert used[int(image[y, x])] == solution.policy[s]
    assert fig.axes[0].get_xlabel() == "customers at queue 1" and fig.axes[0].get_ylabel() == "customers at queue 2"


def test_another_policy_can_be_shown():
    model = make("admission")
    fig = plot_model(model, policy={s: "reject" for s in model.states})
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == ["reject"]


@pytest.mark.parametrize("kind", ["graph", "curves"])
def test_the_gain_of_another_policy_is_not_called_optimal_and_is_proved_as_far_as_it_is(kind):
    model = make("three-state")
    worst = sojourn.evaluate(model, [1, 1, 0])
    assert worst.gain < sojourn.solve(model).gain - 0.1
    (words,) = [t.get_text() for t in plot_model(model, kind=kind, policy=[1, 1, 0]).texts if "per unit of time" in t.get_text()]
    width = worst.gain_bounds[1] - worst.gain_bounds[0]
    assert f"gain of the policy shown {worst.gain:.6g} per unit of time (proved to {width:.1g})" in words and "optimal" not in words
    assert any("optimal gain" in t.get_text() for t in plot_model(model, kind=kind).texts)


def test_every_default_model_has_a_kind_and_named_axes():
    for name in families():
        model = make(name)
        at = coordinates(model.states.labels)
        assert kind_of(model) in ("graph", "grid", "curves")
        if at is not None:
            assert all(axis_names(model, at.shape[1]))


def test_labels_are_read_as_coordinates():
    assert coordinates(["(0, 3)", "(12, 1)"]).tolist() == [[0, 3], [12, 1]]
    assert coordinates(["inventory -2", "inventory 3"]).tolist() == [[-2], [3]]
    assert coordinates(["new", "worn 1"]) is None
    assert coordinates(["(1, 2)", "(1,  2)"]) is None
    assert not is_grid(["(0, 0)", "(1, 0)"])


def test_colours_of_actions_differ_in_grey():
    for n in range(1, 9):
        shades = sorted(grey(c) for c in action_colors(n))
        assert len(shades) == n and (n == 1 or np.diff(shades).min() > 0.07)
    assert text_on("#ffffff") != text_on("#000000")


def test_a_chain_is_drawn_in_a_line_and_anything_else_on_a_circle():
    assert np.ptp(layout(make("customer-selection"))[:, 1]) == 0
    around = layout(make("random", states=6))
    np.testing.assert_allclose(np.hypot(*around.T), np.hypot(*around[0]))
    assert len({tuple(p) for p in around.round(6).tolist()}) == 6


def test_a_path_is_drawn_with_its_regret_under_it(tmp_path):
    model = make("two-state")
    run = sojourn.simulate(model, [0, 1], max_epochs=300, seed=3, record=True)
    fig = plot_path(run, path=tmp_path / "path.svg")
    regret, pseudo = fig.axes[1].lines[1:3]
    assert pseudo.get_ydata()[-1] == pytest.approx(run.pseudo_regret[-1], rel=1e-9)
    assert regret.get_ydata()[-1] == pytest.approx(run.completed_regret[-1], rel=1e-9)
    assert (tmp_path / "path.svg").stat().st_size > 1000
    with pytest.raises(ParameterError, match="record=True"):
        plot_path(sojourn.simulate(model, [0, 1], max_epochs=10))


@pytest.mark.parametrize("options, words", [
    ({"kind": "gird"}, "did you mean 'grid'"), ({"kind": "grid"}, "no points of a plane"), ({"path": "x.doc"}, "'x.doc'"),
])
def test_what_cannot_be_drawn_is_refused(options, words):
    with pytest.raises(ParameterError) as caught:
        plot_model(make("admission"), **options)
    assert words in str(caught.value)


def test_a_graph_of_many_states_is_refused():
    with pytest.raises(ParameterError, match="100 states"):
        plot_model(make("random", states=100), kind="graph")


def test_of_a_large_grid_the_part_is_shown_where_time_is_spent():
    model = make("routing", capacity=60)
    fig = plot_model(model)
    shape = fig.axes[0].images[0].get_array().shape
    assert 8 < max(shape) < 40
    assert any("where time is spent" in text.get_text() for text in fig.texts)
    assert plot_model(make("routing", capacity=20)).axes[0].images[0].get_array().shape == (21, 21)


@pytest.mark.parametrize("kind", ["graph", "curves"])
def test_labels_are_written_as_they_stand(kind, tmp_path):
    states = ("costs $5 or $_{", "100 % {braces} \\ $", "a state with a label as long as a whole sentence, and then some")
    model = make("three-state").replace(states=states, actions=("$\\frac$", "an action that takes many words to say what it does"))
    fig = plot_model(model, kind=kind, path=tmp_path / "m.png", title="between $1 and $2_")
    run = sojourn.simulate(model, sojourn.solve(model).policy, max_epochs=20, record=True)
    plot_path(run, path=tmp_path / "p.png")
    assert (tmp_path / "m.png").exists() and (tmp_path / "p.png").exists()
    if kind == "graph":
        words = [text.get_text() for text in fig.axes[0].texts]
        assert max(map(len, words)) <= 20 and any(word.endswith("…") for word in words)


def test_numbers_on_arrows_stand_clear_of_the_states():
    from sojourn.report.model_graph import RADIUS

    model = make("random")
    place = layout(model)
    numbers = [t for t in plot_model(model).axes[0].texts if t.get_bbox_patch() is not None]
    assert len(numbers) > 20
    for text in numbers:
        assert np.hypot(*(place - text.get_position()).T).min() > RADIUS


def test_arrows_do_not_run_through_other_states():
    from sojourn.report.model_graph import RADIUS, _bend, _edges, _on_arrow

    model = make("random")
    place, edges = layout(model), _edges(model, sojourn.solve(model).policy)
    for (s, j), (mine, _) in edges.items():
        if mine and s != j:
            bend = _bend(10, np.hypot(*(place[j] - place[s]))) if (j, s) in edges else 0.0
            points = np.array([_on_arrow(place[s], place[j], bend, t) for t in np.linspace(0, 1, 30)])
            others = np.delete(place, [s, j], axis=0)
            assert np.hypot(*(points[:, None] - others[None]).transpose(2, 0, 1)).min() > RADIUS


@pytest.mark.parametrize("label", ["({0}000, {0}0000000)", "id {0}00003", "part 1000000000000000000000000{0}"])
def test_numbers_that_lie_far_apart_are_names_and_not_coordinates(label, tmp_path):
    states = tuple(label.format(i) for i in range(20))
    model = make("random", states=20).replace(states=states, name="names")
    assert coordinates(states) is None
    assert kind_of(model) == "curves"
    plot_model(model, path=tmp_path / "m.png")


def test_states_that_are_no_line_are_not_named_after_the_first_coordinate():
    model = make("routing", capacity=4, service_rates=[1, 1, 1], costs=[1, 1, 1])
    assert plot_model(model).axes[2].get_xlabel() == "state, numbered in the model's order"
    assert plot_model(make("admission")).axes[2].get_xlabel() == "customers in the system"


def test_the_graph_explains_its_numbers_and_shades():
    note = " ".join(text.get_text() for text in plot_model(make("three-state")).texts).replace("\n", " ")
    assert "share of time spent there in percent (darker: more)" in note and "rates per unit of time" in note
    assert "Pale arrows" not in note
    busy = " ".join(text.get_text() for text in plot_model(make("random")).texts).replace("\n", " ")
    assert "Pale arrows belong to other actions" in busy
