"""The store's tables, its format number, and the way from an older format to this one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sojourn.control.database import (
    Words,
    intact,
    open_reading,
    open_writing,
    refuse_other_journal,
    refuse_strange,
    said,
    transaction,
)
from sojourn.errors import ParameterError, StoreError

P = ParamSpec("P")
R = TypeVar("R")

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
CELLS: dict[str, tuple[type, ...]] = {  # of each table, what a row holds before its checksum
    "meta": (str, str), "specs": (int, str), "models": (int, str, str, str, bytes), "learners": (int, str, str, str),
    "codes": (int, str, str), "results": (int, str, int, int, int, int, float, bytes),
    "failures": (str, int, int, int, int, str),
}
# `failures` came later: a store without it has none, and gets it when it is next opened for writing (older programs ignore it)
LATER = TABLES[TABLES.index("CREATE TABLE failures") :].replace("TABLE", "TABLE IF NOT EXISTS", 1).strip().rstrip(";")


def connect(path: Path, write: bool) -> sqlite3.Connection:
    """Open the file; a new one is made only for writing."""
    if not write and not path.exists():
        raise StoreError(f"there is no store {path}; `sojourn study run FILE --store {path}` makes one.")
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a store is one file, such as {path / 'study.sqlite'}.")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a regular file; a store is one. Choose another --store.")
    refuse_strange(path, WORDS)
    if path.exists():
        refuse_other_journal(path, WORDS)
    with speaking(path):
        return open_writing(path) if write else open_reading(path)


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


def speaking(path: Path) -> contextlib.AbstractContextManager[None]:
    """Turn SQLite's errors into sentences that say what is safe and what to do."""
    return said(path, WORDS)


def from_store(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function whose first argument is a Store say it in words where the store's content cannot be what was written."""

    @wraps(function)
    def told(*values: P.args, **options: P.kwargs) -> R:
        store: Any = next(value for value in (*values, *options.values()) if hasattr(value, "path"))
        with intact(store.path, WORDS, ParameterError), np.errstate(all="ignore"):
            return function(*values, **options)

    return told


def damaged(what: str) -> str:
    """Return the sentence for a damaged store: what is wrong, and how to keep the rest."""
    return (
        f"{what}. The file is damaged; nothing was taken from the damaged part. "
        "`sojourn study merge NEW DAMAGED --salvage --study FILE` "
        "copies every intact replication, and `sojourn study run FILE --store NEW` computes the others again."
    )


WORDS = Words("the store", StoreError, damaged, "the study goes on from there", "choose another place with --store")
