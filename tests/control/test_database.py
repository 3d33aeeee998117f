"""SQLite as every file of ours uses it: how it is opened, and what is said of its errors."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from sojourn.control import database as module
from sojourn.control.database import close_writing, intact, open_reading, open_writing, said, transaction
from sojourn.control.schema import WORDS
from sojourn.errors import ControlError, ModelError, ParameterError


def pragma(database, name):
    return database.execute(f"PRAGMA {name}").fetchone()[0]


def made(path):
    """A database with one committed row in its log, open."""
    database = open_writing(path)
    database.execute("CREATE TABLE rows (number INTEGER)")
    database.execute("INSERT INTO rows VALUES (1)")
    return database


@pytest.mark.parametrize("platform, told", [("linux", 0), ("win32", 0), ("darwin", 1)])
def test_a_drive_on_macos_is_told_to_write_out_what_it_holds_and_no_other(tmp_path, monkeypatch, platform, told):
    monkeypatch.setattr(module.sys, "platform", platform)
    database = open_writing(tmp_path / "a")
    assert [pragma(database, name) for name in ("fullfsync", "checkpoint_fullfsync")] == [told, told]
    assert pragma(database, "synchronous") == 2 and pragma(database, "foreign_keys") == 1
    assert pragma(database, "journal_mode") == "wal"
    database.close()


def test_a_lock_of_another_program_is_waited_for_ten_seconds(tmp_path):
    writer = made(tmp_path / "a")
    reader = open_reading(tmp_path / "a")
    assert [pragma(database, "busy_timeout") for database in (writer, reader)] == [10_000, 10_000]
    reader.close()
    writer.close()


class Refusing(sqlite3.Connection):
    """A connection as in a folder that cannot be written, where SQLite finds no place for what it needs besides the file."""

    def execute(self, *_):
        raise sqlite3.OperationalError("unable to open database file")


def test_a_file_with_a_pending_log_is_not_read_without_it_where_nothing_can_be_written(tmp_path, monkeypatch):
    """SQLite's mode for files that nobody changes passes over the log, and with it over what was acknowledged last."""
    live = made(tmp_path / "live")
    live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    live.execute("INSERT INTO rows VALUES (2)")
    for suffix in ("", "-wal"):
        shutil.copyfile(tmp_path / f"live{suffix}", tmp_path / f"copy{suffix}")
    live.close()
    log, right = tmp_path / "copy-wal", sqlite3.connect
    monkeypatch.setattr(module.sqlite3, "connect", lambda address, **options: right(
        address, **options, **({} if "immutable=1" in address else {"factory": Refusing})))
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        open_reading(tmp_path / "copy")
    log.write_bytes(b"")
    for _ in range(2):  # an empty log, and none
        reader = open_reading(tmp_path / "copy")
        assert reader.execute("SELECT number FROM rows").fetchall() == [(1,)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("INSERT INTO rows VALUES (3)")
        reader.close()
        log.unlink(missing_ok=True)


@pytest.mark.parametrize("text, words", [
    ("file is not a database", "Either it never was a controller, or its first bytes are damaged"),
    ("unsupported file format", "Either it never was a controller"),
    *[(text, "The file is damaged; nothing was taken from the damaged part") for text in (
        "database disk image is malformed", "corrupt", "Could not decode to UTF-8", "no such table: meta", "no such column: at")],
    *[(text, "What was written before is safe; free some space") for text in (
        "database or disk is full", "disk I/O error", "string or blob too big")],
    *[(text, "The file and its folder must be writable; choose another path") for text in (
        "attempt to write a readonly database", "read-only file system", "unable to open database file")],
    ("database is locked", "database is locked by another program; end that program, or wait for it."),
    ("database table is busy", "database table is busy by another program; end that program"),
    ("something new", "the controller a: something new"),
])
def test_what_sqlite_says_becomes_a_sentence_that_says_what_to_do(text, words):
    with pytest.raises(ControlError) as caught, said(Path("a"), WORDS):
        raise sqlite3.OperationalError(text)
    found = str(caught.value)
    assert words in found and found.startswith("the controller a: ")
    if text == "something new":
        assert found == words


def test_text_that_is_none_is_damage():
    with pytest.raises(ControlError, match=r"the controller a: .*its tables cannot be read"), said(Path("a"), WORDS):
        b"\xff".decode()


def test_content_that_cannot_be_what_was_written_names_the_file_once():
    with pytest.raises(ModelError, match=r"^the controller a\.control: row 1 is wrong$"), intact(Path("a.control"), WORDS):
        raise ModelError("row 1 is wrong")
    with pytest.raises(ModelError, match=r"^a\.control: row 1 is wrong$"), intact(Path("a.control"), WORDS):
        raise ModelError("a.control: row 1 is wrong")
    with pytest.raises(ControlError, match=r"a part of its content is missing or is none \(ValueError: 'no number'\)"), \
            intact(Path("a.control"), WORDS):
        raise ValueError("no number")
    with pytest.raises(ParameterError, match=r"^as given$"), intact(Path("a.control"), WORDS, ParameterError):
        raise ParameterError("as given")


def test_a_closed_file_is_one_file_and_a_transaction_is_all_or_nothing(tmp_path):
    database = made(tmp_path / "a")
    with pytest.raises(ZeroDivisionError), transaction(database):
        database.execute("INSERT INTO rows VALUES (2)")
        raise ZeroDivisionError
    close_writing(database)
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
    reader = open_reading(tmp_path / "a")
    assert reader.execute("SELECT number FROM rows").fetchall() == [(1,)] and pragma(reader, "journal_mode") == "delete"
    reader.close()
