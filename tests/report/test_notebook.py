"""In a notebook: pictures appear without any setting, results are readable, and a study says how far it is."""

import base64

import pytest

import sojourn
from sojourn.simulation.progress import in_notebook
from sojourn.study.notebook import NotebookDisplay
from sojourn.study.study import Study
from sojourn.study.task import Outcome

nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel (pip install '.[dev]')")
pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")

CELLS = {
    "check": "import sojourn\nmodel = sojourn.make('three-state')\nsojourn.check(model)",
    "graph": "model.plot()",
    "card": "sojourn.difficulty(model).plot()",
    "run": "run = sojourn.simulate(model, 'random', max_epochs=2_000)\nrun",
    "curve": "picture = run.plot()\npicture",
    "saved": "picture.savefig('picture.svg')\nopen('picture.svg').read()[:5]",
    "episodes": "run.episodes[:2]",
    "session": "sojourn.Session('random', 0, knowledge=model.knowledge())",
    "study": "study = sojourn.Study('s', models=['three-state'], learners=['random'], epochs=50, replications=2)\n"
             "_ = study.run(workers=1)",
    "progress": "_ = sojourn.simulate(model, 'ct-ce', max_epochs=200_000, progress=True)",
    "quiet": "_ = study.run(workers=1, progress=False)",
    "summary": "study.summary()",
    "curves": "study.plot()",
    "inline": "%matplotlib inline\nrun.plot()",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Run the cells in a kernel and return what each showed: {kind: content}, all outputs together."""
    folder = tmp_path_factory.mktemp("notebook")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS.values()])
    nbclient.NotebookClient(book, timeout=600, startup_timeout=600, kernel_name="python3",
                            resources={"metadata": {"path": str(folder)}}).execute()
    found = {}
    for name, cell in zip(CELLS, book.cells, strict=True):
        found[name] = [dict(output.get("data", {}), stream=output.get("text", "")) for output in cell.outputs]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["graph", "card", "curve", "curves", "inline"])
def test_a_picture_appears_once_without_any_setting(shown, name):
    (output,) = shown[name]
    assert base64.b64decode(output["image/png"])[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
@pytest.mark.parametrize("name, words", [
    ("check", "irreducible under every policy"), ("run", "pseudo-regret"), ("episodes", "Episodes: 1"),
    ("summary", "95 % band"), ("study", "<progress value=\"1.0000\""), ("study", "2 of 2"),
])
def test_results_are_tables_in_a_notebook(shown, name, words):
    assert any(words in output.get("text/html", "") for output in shown[name])


@pytest.mark.slow
def test_a_picture_is_saved_as_any_figure_and_what_is_told_to_be_quiet_is(shown):
    assert shown["saved"][0]["text/plain"] == "'<?xml'"
    assert shown["quiet"] == []
    assert "Session of random: decision 1" in shown["session"][0]["text/plain"]


@pytest.mark.slow
def test_the_progress_of_a_run_is_a_bar_under_the_cell_that_goes_away(shown):
    (output,) = shown["progress"]
    assert output["text/html"] == "" and output["stream"] == ""


def test_the_bar_of_a_run_in_a_notebook_is_renewed_in_place(monkeypatch):
    from sojourn.simulation import progress

    shown = []
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "show_html", lambda text, handle=None: shown.append((text, handle)) or "handle")
    monkeypatch.setattr(progress, "EVERY", 0.0)
    sojourn.simulate(sojourn.make("three-state"), "random", max_epochs=20_000, progress=True)
    texts, handles = zip(*shown, strict=True)
    assert "compiles" in texts[0] and texts[-1] == "" and handles[0] is None and set(handles[1:]) == {"handle"}
    assert 'value="1.0000"' in texts[-2] and "20,000 decisions (100 %)" in texts[-2]


def test_outside_a_notebook_a_study_is_silent(tmp_path, capfd):
    assert not in_notebook()
    Study("s", models=["two-state"], learners=["random"], epochs=10, replications=1, store=tmp_path / "s.sqlite").run(workers=1)
    assert capfd.readouterr() == ("", "")


def test_the_bars_of_a_notebook_show_what_is_done(monkeypatch):
    from types import SimpleNamespace

    bars = NotebookDisplay()
    monkeypatch.setattr(NotebookDisplay, "_show", lambda self, words: None)
    bars.begin([SimpleNamespace(label="<a> on b")], {0: 1}, total=4, epochs=10)
    bars.advance(0, Outcome(share=0.5, decisions=5, cpu_seconds=1.0))
    page = bars.html("soon")
    assert "&lt;a&gt; on b" in page and 'value="0.3750"' in page and "1 of 4" in page and "soon" in page


def test_every_result_says_in_a_line_or_a_table_what_it_is():
    model = sojourn.make("three-state")
    run = sojourn.simulate(model, "random", max_epochs=100, record=True)
    session = sojourn.Session("random", 0, knowledge=model.knowledge())
    asked = repr(session)
    _ = session.action
    for value in (sojourn.check(model), sojourn.check(model).unichain, sojourn.evaluate(model, [0, 0, 1]), run, run.learner,
                  run.episodes, run.episodes[0], run.trajectory, session, session.episode):
        assert "object at 0x" not in repr(value) and "array(" not in repr(value) and len(repr(value)) < 500
    assert asked.endswith("in state 'A', action not asked for yet>") and "action '" in repr(session)
    assert repr(run).startswith("<Run of random: 100 decisions") and repr(run.learner).startswith("<random(")
    assert repr(sojourn.simulate(model, [0, 0, 1], max_epochs=5)).startswith("<Run of a fixed policy")
