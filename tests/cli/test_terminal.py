"""The command line at a terminal: options it does not know, narrow windows, Tab."""

import threading

import pytest
from click.shell_completion import BashComplete

from command_line import run
from sojourn.cli.common import waiting
from sojourn.cli.main import sojourn
from sojourn.model import files, progress
from sojourn.zoo.catalogue import make


def test_an_unknown_kind_is_refused_also_where_nothing_is_drawn():
    ran = run("show", "three-state", "--kind", "pie")
    assert ran.code == 2 and "'pie' is not one of 'auto', 'graph', 'grid', 'curves'" in ran.err and not ran.out


NARROW = [("zoo",), ("zoo", "admission"), ("learners",), ("show", "river-swim"), ("difficulty", "three-state"),
          ("check", "river-swim")]


def test_on_a_narrow_terminal_lines_are_folded_and_on_none_they_are_not(monkeypatch):
    wide = {words: run(*words).out for words in NARROW}
    monkeypatch.setenv("COLUMNS", "60")
    for words in NARROW:
        folded = run(*words).out
        assert max(map(len, folded.splitlines())) <= 60 < max(map(len, wide[words].splitlines())), words
        assert folded.split() == wide[words].split(), words


def test_what_takes_long_says_so_and_wipes_its_line(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.001)
    monkeypatch.setattr(progress, "is_terminal", lambda: True)
    said = threading.Event()
    monkeypatch.setattr(progress.Progress, "say", lambda line, text, say=progress.Progress.say: (say(line, text), said.set()))
    with waiting("counting"):
        assert said.wait(30)
    words = capsys.readouterr()
    assert "counting ... 0 s" in words.err and words.err.endswith("\r") and not words.out


def test_a_large_file_is_said_to_be_read(monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.001)
    said = threading.Event()
    monkeypatch.setattr(progress.Progress, "say", lambda line, text, say=progress.Progress.say: (say(line, text), said.set()))
    path = tmp_path / "small.drn"
    make("three-state").save(path)

    def slow(*given, load=files.load):
        assert said.wait(30)
        return load(*given)

    monkeypatch.setattr(files, "load", slow)
    for words in (("solve", str(path)), ("convert", str(path), str(tmp_path / "again.npz"))):
        said.clear()
        assert f"reading {path} ... 0 s" in run(*words).err


@pytest.mark.parametrize(("typed", "wanted"), [
    ("sojourn so", "solve"), ("sojourn solve thr", "three-state"), ("sojourn learn x --learner ct-u", "ct-ucrl"),
    ("sojourn show x --kind gr", "grid"), ("sojourn study re", "report"),
])
def test_tab_completes_commands_models_learners_and_options(monkeypatch, typed, wanted):
    words = typed.split()
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert f"plain,{wanted}" in BashComplete(sojourn, {}, "sojourn", "_SOJOURN_COMPLETE").complete().split()
