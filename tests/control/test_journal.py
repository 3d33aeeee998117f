"""The journal by itself: what it takes from a file only where the chain says that it belongs there."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from control_plant import MODEL, Plant, drive
from sojourn.control import journal as journals
from sojourn.control.controller import Controller
from sojourn.control.database import checksum, open_writing
from sojourn.control.journal import Journal, Report, first_link, linked
from sojourn.control.wal import FRAME, HEAD
from sojourn.errors import ControlError, SojournError


def changed(path: str, statement: str, values: tuple[Any, ...] = ()) -> None:
    """Change a closed file as another program might."""
    other = sqlite3.connect(path)
    other.execute(statement, values)
    other.commit()
    other.close()


def row(seq: int, holding_time: float) -> Report:
    return Report(seq, 0.0, "1", '"go"', holding_time, "2", None, None, '"go"')


def made(path: Path, *holding_times: float) -> Journal:
    """A journal of these reports, open."""
    journal = Journal.create(path, b"setting")
    journal.append([row(i, tau) for i, tau in enumerate(holding_times, 1)])
    return journal


def test_a_file_that_ends_as_long_but_otherwise_than_when_it_was_closed_is_refused(tmp_path):
    """Its rows follow from each other; only the chain's value in the closing note tells them from those that were acknowledged."""
    made(tmp_path / "a", 0.5, 0.25).close()
    chain = first_link(b"setting")
    for entry in (row(1, 0.5), row(2, 7.0)):
        chain = linked(chain, entry)
    changed(str(tmp_path / "a"), "UPDATE reports SET holding_time = 7.0, chain = ? WHERE seq = 2", (chain,))
    with pytest.raises(ControlError, match="it was closed after report 2 and note 0, and now ends with report 2"):
        Journal(tmp_path / "a")


def test_a_report_said_again_is_not_answered_from_a_row_that_was_changed(controller, path):
    """Opening takes the snapshot, and reads no row before it; so the row itself must be checked when it is asked for."""
    drive(controller, Plant(MODEL, ("up", 0)), 6)
    third = list(controller.observations())[2]
    controller.close()
    changed(path, "UPDATE reports SET answer = '\"rush\"' WHERE seq = 3")
    with Controller.open(path) as again:
        assert again.status()["epochs"] == 6
        with pytest.raises(SojournError, match="report 3 does not follow from the one before"):
            again.report(3, third.holding_time, third.next_state)


def test_a_snapshot_of_another_chain_is_passed_over(controller, path, tmp_path):
    """An intact snapshot of as many reports, of a controller that was told others."""
    drive(controller, Plant(MODEL, ("up", 0)), 6)
    right = controller._fold.to_bytes()
    controller.close()
    with Controller.create(tmp_path / "other", MODEL.knowledge(), "ct-ucrl", ("up", 0), parameters={"delta": 0.01}) as other:
        drive(other, Plant(MODEL, ("up", 0), seed=2), 6)
        head, wrong = other._journal.head, other._fold.to_bytes()
    assert wrong != right
    row = (6, 0, head.chain, wrong)
    changed(path, "INSERT INTO snapshots (seq, note, chain, payload, checksum) VALUES (?, ?, ?, ?, ?)", (*row, checksum(*row)))
    with Controller.open(path) as again:
        assert again._fold.to_bytes() == right


def test_a_reader_that_keeps_the_log_from_being_copied_into_the_file_is_named(tmp_path, monkeypatch):
    """What an earlier sync did not bring to the disk must be written again before anything is acknowledged."""
    path = tmp_path / "a"
    journal = made(path, 0.5)
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM reports").fetchone() == (1,)
    journal.append([row(2, 0.25)])
    journal.abandon()  # as a crash leaves it: the second report is in the log alone, behind what the reader sees

    def impatient(where: Path) -> sqlite3.Connection:
        database = open_writing(where)
        database.execute("PRAGMA busy_timeout = 20")
        return database

    monkeypatch.setattr(journals, "open_writing", impatient)
    with pytest.raises(ControlError, match="is being read by another program"):
        Journal(path)
    reader.close()
    again = Journal(path)
    assert again.head.seq == 2
    again.close()


def test_only_the_owner_forgets_snapshots(path):
    with Controller.create(path, MODEL.knowledge(), "ct-ce", ("up", 0)) as controller:
        drive(controller, Plant(MODEL, ("up", 0)), 3)
        controller._append([], snapshot=True)
        journal = controller._journal
        value = json.dumps({"token": journal.token + 1, "who": "another"})
        changed(path, "UPDATE meta SET value = ?, checksum = ? WHERE key = 'owner'", (value, checksum("owner", value)))
        with pytest.raises(ControlError, match="another owner now"):
            controller.replay()
        assert len(list(journal.snapshots())) == 1


def test_a_file_whose_log_sqlite_could_not_begin_is_not_written_to(monkeypatch, tmp_path):
    """SQLite then stays in its other mode and raises nothing; the file would claim a log that it never gets."""
    journal = made(tmp_path / "a", 0.5)
    journal.close()
    before = (tmp_path / "a").read_bytes()
    monkeypatch.setattr(journals, "open_writing", lambda path: open_writing(Path(":memory:")))
    with pytest.raises(ControlError, match="the journal's mode stays memory"):
        Journal(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == before


def test_little_of_the_old_log_is_left_where_the_next_reports_are_written(tmp_path):
    """A process that is killed while it writes over an old page would leave what looks like damage; behind the end it does not."""
    journal = made(tmp_path / "a")
    for seq in range(1, 30):
        journal.append([row(seq, 0.5)])
    log = tmp_path / "a-wal"
    assert log.stat().st_size > HEAD + 29 * 4096
    journal.abandon()
    again = Journal(tmp_path / "a")
    assert HEAD < log.stat().st_size < HEAD + 4 * (FRAME + 4096) and again.head.seq == 29 and not again.torn
    again.close()
