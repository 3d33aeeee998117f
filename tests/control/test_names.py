"""Texts that a plant reports: what nobody sees is refused, and what is printed steers no terminal."""

import contextlib
import sqlite3

import pytest

import sojourn
from command_line import run as sojourn_command
from sojourn.control.controller import Controller
from sojourn.control.journal import Journal, Report
from sojourn.control.values import written
from sojourn.errors import ControlError, ReportError
from sojourn.hidden_characters import has_hidden

KNOWN = sojourn.make("three-state").knowledge()


@pytest.fixture
def controller(tmp_path):
    with Controller.create(tmp_path / "plant.control", KNOWN, "ct-ce", "A", safe_action=KNOWN.actions[0]) as made:
        yield made


@pytest.mark.parametrize("text", ["\x1b[2J", "a\u202eb", "a\u200b", ("room", "\x1b[31m"), (1, ("x\u2066",))])
def test_unknown_states_and_events_with_hidden_characters_are_refused_and_count_nothing(controller, text):
    with pytest.raises(ReportError, match=r"next_state is .*nobody sees\. Nothing was counted"):
        controller.report(1, 0.5, text)
    with pytest.raises(ReportError, match=r"event is .*nobody sees"):
        controller.report(1, 0.5, "B", event=text)
    with pytest.raises(ReportError, match=r"state is .*nobody sees"):
        controller.missed(text)
    if isinstance(text, str):
        with pytest.raises(ReportError, match=r"event in silent is .*nobody sees"):
            controller.report(1, 0.5, "B", silent={text: 1})
    assert controller.status()["next_seq"] == 1 and not controller.alarms
    assert controller.report(1, 0.5, "somewhere else") == KNOWN.actions[0]  # unknown and harmless: an alarm, as ever


@pytest.mark.parametrize(("name", "words"), [("half\ud800", "nobody sees"), ("x" * 10**6, "silent has 1,000,006 characters")])
def test_silent_events_are_texts_that_the_file_can_hold(controller, name, words):
    """Half of a character pair was a UnicodeEncodeError, and a name could have any length."""
    with pytest.raises(ReportError, match=words):
        controller.report(1, 0.5, "B", silent={name: 1})
    assert controller.report(1, 0.5, "B") == controller.action


@pytest.mark.parametrize("cells", ["holding_time = 'long'", "action = 5", "reward = 'much'", "holding_time = -1.0"])
def test_cells_of_a_type_that_was_never_written_are_refused_in_words(controller, cells):
    controller.report(1, 0.5, "B")
    path = controller.path
    controller.close()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE reports SET {cells}")
        database.execute("DELETE FROM snapshots")
    with pytest.raises(ControlError, match=r"plant\.control.*(never written|damaged)"):
        Controller.open(path)


def test_a_file_of_before_with_terminal_escapes_is_shown_escaped(tmp_path):
    path = tmp_path / "old.control"
    with Controller.create(path, KNOWN, "ct-ce", "A", safe_action=KNOWN.actions[0]) as made:
        action = made.action
    journal = Journal(path)  # as older programs wrote it
    safe = written(KNOWN.actions[0])
    journal.append([Report(1, 0.0, written("A"), written(action), 0.5, written("\x1b[31mred\u202e"), None, None, safe)])
    journal.close()
    for words in (["status", path], ["status", path, "--json"], ["verify", path]):
        said = sojourn_command("control", *words)
        assert said.code == 0 and not has_hidden((said.out + said.err).replace("\n", "")), words
    assert r"\x1b[31mred\u202e" in sojourn_command("control", "status", path).out
