"""The tables of a controller's file, its format number, and the way from an older format to this one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from sojourn.control.database import Words, transaction
from sojourn.errors import ControlError

APPLICATION_ID = 0x534A4354  # "SJCT" in the file's header
FORMAT = 2

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL, checksum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE reports (seq INTEGER PRIMARY KEY, at REAL NOT NULL, state TEXT, action TEXT NOT NULL, holding_time REAL NOT NULL,
  next_state TEXT NOT NULL, reward REAL, event TEXT, answer TEXT NOT NULL, chain BLOB NOT NULL, silent TEXT);
CREATE TABLE notes (number INTEGER PRIMARY KEY, after_seq INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
  body BLOB NOT NULL, chain BLOB NOT NULL);
CREATE TABLE snapshots (number INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL, note INTEGER NOT NULL, chain BLOB NOT NULL,
  payload BLOB NOT NULL, checksum TEXT NOT NULL);
"""


def _room_for_silent_events(database: sqlite3.Connection) -> None:
    """From 1 to 2: reports may say how often events were seen that led nowhere."""
    database.execute("ALTER TABLE reports ADD COLUMN silent TEXT")


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _room_for_silent_events}  # n: what turns format n into n + 1


def damaged(what: str) -> str:
    """Return the sentence for a damaged file."""
    return (f"{what}. The file is damaged; nothing was taken from the damaged part, and nothing was written. "
            "Restore it from a copy, or create a new controller and import what `observations()` can still read.")


WORDS = Words("the controller", ControlError, damaged, "report again: what was not acknowledged is not in the file",
              "choose another path")


def make_tables(database: sqlite3.Connection) -> None:
    """Make the tables of a new file."""
    for statement in TABLES.strip().split(";")[:-1]:
        database.execute(statement)
    _mark(database, FORMAT)


def _mark(database: sqlite3.Connection, version: int) -> None:
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.execute(f"PRAGMA user_version = {version}")


def check_header(head: bytes, path: Path) -> None:
    """Refuse a file that is no controller's by its first 100 bytes, before SQLite could change anything in it."""
    if head[:16] != b"SQLite format 3\0" or len(head) < 100:
        raise ControlError(f"{path} begins with {head[:16]!r}; either it never was a controller's file, or its first bytes are "
                           "damaged. "
                           "It was left alone. Choose another path, or restore it from a copy.")
    application = int.from_bytes(head[68:72], "big")
    if application != APPLICATION_ID:
        raise ControlError(f"{path} is an SQLite file, but not that of a controller (application id {application:#x}); "
                           "it was left alone. Choose another path.")


def prepare(database: sqlite3.Connection, path: Path, write: bool) -> None:
    """Bring an older file up to date, its old content kept; refuse what is no controller's, or is newer."""
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise ControlError(f"{path} is an SQLite file, but not that of a controller (application id {application:#x}); "
                           "it was left alone. Choose another path.")
    if version > FORMAT:
        raise ControlError(f"the controller {path} has format {version}, made by a newer Sojourn; this one reads up to {FORMAT}. "
                           "Upgrade Sojourn.")
    if version < FORMAT:
        _migrate(database, path, version, write)


def _migrate(database: sqlite3.Connection, path: Path, version: int, write: bool) -> None:
    missing = [n for n in range(version, FORMAT) if n not in MIGRATIONS]
    if missing:
        raise ControlError(f"the controller {path} has format {version}; this Sojourn has no way from format {missing[0]} to "
                           f"{FORMAT}.")
    if not write:
        raise ControlError(f"the controller {path} has the older format {version}; open it once for writing to bring it to "
                           f"{FORMAT}.")
    keep_copy(database, path.with_name(f"{path.name}.format-{version}"))
    with transaction(database):
        for n in range(version, FORMAT):
            MIGRATIONS[n](database)
        _mark(database, FORMAT)


def keep_copy(database: sqlite3.Connection, target: Path) -> None:
    """Write all of `database` to `target`, synced, under its name only when it is whole; a copy that is there is left alone."""
    if target.exists():
        return
    half = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        copy = sqlite3.connect(half)
        try:
            database.backup(copy)
        finally:
            copy.close()
        with open(half, "rb") as file:
            os.fsync(file.fileno())
        os.rename(half, target)
    finally:
        half.unlink(missing_ok=True)
    sync_folder(target)


def sync_folder(path: Path) -> None:
    """Make a new name in a folder last."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
