"""The store's tables, its format number, and the way from an older format to this one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from sojourn.errors import StoreError
from sojourn.study.pack import digest

APPLICATION_ID = 0x534A524E  # "SJRN" in the file's header
FORMAT = 1
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}  # n: what turns format n into n + 1
RESULTS = 1  # part of every content key: raise it when the same inputs come to mean other results

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE specs (id INTEGER PRIMARY KEY, text TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE models (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
  content BLOB NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE learners (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
  checksum TEXT NOT NULL);
CREATE TABLE codes (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, versions TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE results (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, model INTEGER NOT NULL REFERENCES models,
  learner INTEGER NOT NULL REFERENCES learners, replication INTEGER NOT NULL, code INTEGER NOT NULL REFERENCES codes,
  seconds REAL NOT NULL, payload BLOB NOT NULL, checksum TEXT NOT NULL, UNIQUE (model, learner, replication));
CREATE TABLE checkpoints (key TEXT PRIMARY KEY, epoch INTEGER NOT NULL, code INTEGER NOT NULL, payload BLOB NOT NULL,
  checksum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE failures (key TEXT PRIMARY KEY, model INTEGER NOT NULL, learner INTEGER NOT NULL, replication INTEGER NOT NULL,
  code INTEGER NOT NULL, said TEXT NOT NULL, checksum TEXT NOT NULL) WITHOUT ROWID;
"""
# `failures` came later: a store without it has none, and gets it when it is next opened for writing (older programs ignore it)
LATER = TABLES[TABLES.index("CREATE TABLE failures") :].replace("TABLE", "TABLE IF NOT EXISTS", 1).strip().rstrip(";")


def connect(path: Path, write: bool) -> sqlite3.Connection:
    """Open the file; a new one is made only for writing."""
    if not write and not path.exists():
        raise StoreError(f"there is no store {path}; `sojourn study run FILE --store {path}` makes one.")
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a store is one file, such as {path / 'study.sqlite'}.")
    with speaking(path):
        if write:
            database = sqlite3.connect(path, isolation_level=None, timeout=10)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA foreign_keys = ON")
            return database
        return _readable(path)


def _readable(path: Path) -> sqlite3.Connection:
    """Open for reading; in a folder that cannot be written, where no log is pending, as a file that nobody changes."""
    address = path.absolute().as_uri()
    database = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None, timeout=10)
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return database
    except sqlite3.OperationalError:
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            raise
        database.close()
        return sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None)


def prepare(database: sqlite3.Connection, path: Path, write: bool) -> None:
    """Make the tables of a new store; bring an older one up to date; refuse what is not a store, or is newer."""
    with speaking(path):
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        empty = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if empty and write and application == 0 and version == 0:
            with transaction(database):
                for statement in TABLES.strip().split(";")[:-1]:
                    database.execute(statement)
                _mark(database, FORMAT)
            return
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} is an SQLite file, but not the store of a study (application id {application:#x}); "
            "it was left alone. Choose another --store."
        )
    if version > FORMAT:
        raise StoreError(
            f"the store {path} has format {version}, made by a newer Sojourn; this one reads up to {FORMAT}. Upgrade Sojourn."
        )
    if version < FORMAT:
        _migrate(database, path, version, write)
    if write:
        with speaking(path):
            database.execute(LATER)


def _mark(database: sqlite3.Connection, version: int) -> None:
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.execute(f"PRAGMA user_version = {version}")


def _migrate(database: sqlite3.Connection, path: Path, version: int, write: bool) -> None:
    missing = [n for n in range(version, FORMAT) if n not in MIGRATIONS]
    if missing:
        raise StoreError(
            f"the store {path} has format {version}; this Sojourn has no way from format {missing[0]} to {FORMAT}. "
            "Export it with the Sojourn that made it."
        )
    if not write:
        raise StoreError(
            f"the store {path} has the older format {version}; open it once with `sojourn study run` to bring it to {FORMAT}."
        )
    with speaking(path), transaction(database):
        for n in range(version, FORMAT):
            MIGRATIONS[n](database)
        _mark(database, FORMAT)


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def speaking(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences that say what is safe and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the store {path}: {_sentence(str(error))}") from error
    except UnicodeDecodeError as error:  # SQLite's own message quotes bytes that are no text any more
        raise StoreError(f"the store {path}: " + damaged(f"its tables cannot be read ({error})")) from error


def _sentence(said: str) -> str:
    if "not a database" in said or "unsupported file format" in said:
        return (
            f"{said}. Either it never was a store, or its first bytes are damaged; restore it from a copy, or start anew elsewhere."
        )
    if any(words in said for words in ("malformed", "corrupt", "Could not decode", "no such table", "no such column")):
        return damaged(said)
    if "full" in said or "I/O error" in said or "too big" in said:
        return (
            f"{said}. What was written before is safe; free some space (or raise the file size limit), then run again "
            "and the study goes on from there."
        )
    if "readonly" in said or "read-only" in said or "unable to open" in said:
        return f"{said}. The file and its folder must be writable; choose another place with --store."
    if "locked" in said or "busy" in said:
        return f"{said} by another program; end that program, or wait for it."
    return said


def damaged(what: str) -> str:
    """Return the sentence for a damaged store: what is wrong, and how to keep the rest."""
    return (
        f"{what}. The file is damaged; nothing was taken from the damaged part. "
        "`sojourn study merge NEW DAMAGED --salvage --study FILE` "
        "copies every intact replication, and `sojourn study run FILE --store NEW` computes the others again."
    )


def checksum(*values: object) -> str:
    """Return the checksum of a row's columns."""
    return digest(*[value if isinstance(value, bytes) else repr(value) for value in values])
