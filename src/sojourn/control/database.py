"""SQLite as every file of ours uses it: one writer, a write-ahead log, every commit synced, errors in sentences."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sojourn.errors import FileError, ModelError, ParameterError, ReportError, SojournError, StoreError
from sojourn.model.numbers import shown
from sojourn.model.pack import digest

ROLLBACK = bytes.fromhex("d9d505f920a163d7")  # the first bytes of a rollback journal
POWERS = [2**k for k in range(5, 17)]  # bytes that a sector can have, and from the fifth on a page
BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class Words(NamedTuple):
    """How a kind of file speaks: its name, its error, what to do when it is damaged, after a full disk, in a bad place."""

    name: str  # "the store"
    error: type[SojournError]
    damaged: Callable[[str], str]
    goes_on: str  # after "then run again and ..."
    elsewhere: str


def refuse_strange(path: Path, words: Words) -> None:
    """Raise where what SQLite keeps beside `path` is no file there: it would wait for a pipe for ever."""
    for suffix in ("-wal", "-journal", "-shm"):
        beside = Path(f"{path}{suffix}")
        if os.path.lexists(beside) and not beside.is_file():
            raise words.error(f"{beside}, beside {words.name} {path}, is not a regular file; SQLite keeps a log under that name. "
                              "Move it to another folder, then open it again. Nothing was changed.")


def refuse_leftovers(path: Path, words: Words) -> None:
    """Raise where what SQLite kept for another file lies beside the new file `path`: it would be read into the new one."""
    for suffix in ("-wal", "-journal"):
        beside = Path(f"{path}{suffix}")
        if os.path.lexists(beside) and (not beside.is_file() or beside.stat().st_size):
            raise words.error(f"{beside.name} lies where {words.name} {path} would be made, and belongs to a file that was there "
                              "before. Move it to another folder, or choose another path. Nothing was changed.")


def half_made(path: Path) -> Path:
    """Return the name under which this thread makes the new file `path`; what a killed process has left there is removed."""
    half = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_native_id()}.new")
    remove_half(half)
    return half


def remove_half(half: Path) -> None:
    """Remove a file that is not needed any more, with all that SQLite keeps beside it."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):  # where nothing can be written, nothing is there
            Path(f"{half}{suffix}").unlink(missing_ok=True)


def refuse_other_journal(path: Path, words: Words) -> None:
    """Raise where a rollback journal lies beside `path` that this program did not leave there: SQLite would write it into the file,
    and cut or lengthen the file, whatever file it belongs to.

    What a kill of ours can leave there is one page, the first, with another mode of the journal and another count of changes: to
    write that back changes nothing.  The layout: https://www.sqlite.org/fileformat2.html#the_rollback_journal
    """
    try:
        journal = open(f"{path}-journal", "rb")  # noqa: SIM115 - closed by the `with` below
    except FileNotFoundError:
        return
    with journal:
        magic, count, nonce, pages, sector, size = struct.unpack(">8s5I", journal.read(28).ljust(28, b"\0"))
        if magic != ROLLBACK or size not in POWERS[4:] or sector not in POWERS:
            return  # SQLite takes nothing from it either, as where the power failed before it was whole
        record, length = os.pread(journal.fileno(), 8 + size, sector), os.fstat(journal.fileno()).st_size
    with open(path, "rb") as file:
        first, here = file.read(size), os.fstat(file.fileno()).st_size
    harmless = length <= sector + 8 + size and pages * size == here
    number, page, mark = record[:4], record[4:-4], record[-4:]
    if count and len(record) == 8 + size and int.from_bytes(mark, "big") == (nonce + sum(page[size - 200:0:-200])) % 2**32:
        harmless = harmless and number == b"\0\0\0\1" and _unversioned(page) == _unversioned(first)
    if not harmless:
        name = f"{path.name}-journal"
        raise words.error(f"{name}, beside {words.name} {path}, is SQLite's journal of another file, such as the one whose place "
                          "this copy took; or another program was changing this file when it was stopped. Move "
                          f"{name} to another folder, then open it again; in the second case open it with that program first. "
                          "Nothing was changed.")


def _unversioned(page: bytes) -> bytes:
    """Return the first page without what every change of the journal's mode changes: modes, counts of changes, SQLite's version."""
    return page[:18] + page[20:24] + page[28:92] + page[100:]


def open_writing(path: Path) -> sqlite3.Connection:
    """Open for writing: commits go to a write-ahead log and are on the disk when COMMIT returns.

    On macOS a plain fsync leaves data in the drive's own memory, so the drive is told to write it out (F_FULLFSYNC).
    """
    database = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
    mode = database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":  # SQLite says so instead of raising an error
        database.close()
        raise sqlite3.OperationalError(f"unable to open its write-ahead log (the journal's mode stays {mode})")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    if sys.platform == "darwin":  # pragma: no cover - macOS
        database.execute("PRAGMA fullfsync = ON")
        database.execute("PRAGMA checkpoint_fullfsync = ON")
    return database


def open_reading(path: Path) -> sqlite3.Connection:
    """Open for reading; in a folder that cannot be written, where no log is pending, as a file that nobody changes."""
    address = path.absolute().as_uri()
    database = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None, timeout=10, check_same_thread=False)
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return database
    except sqlite3.OperationalError:
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            raise
        database.close()
        return sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False)


def without_its_log(path: Path, query: str) -> list[tuple[object, ...]] | None:
    """Return what the file alone says, whatever log lies beside it; None where it cannot be read.

    Closing it drops SQLite's locks on the file in this process, so it must not be asked by a process that owns the file.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            return database.execute(query).fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def attached(path: Path) -> sqlite3.Connection:
    """Return a second connection that only reads: while it is open, and when it is closed, SQLite leaves the log where it is.

    The last connection that may write would take the log away, though not what the file says of it.
    """
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return database


def close_writing(database: sqlite3.Connection) -> None:
    """Fold the log into the one file, and close it; the file can then be read where nothing can be written."""
    with contextlib.suppress(sqlite3.Error):  # a full disk: the log keeps what was acknowledged, for the next opening
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
    database.close()


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
def said(path: Path, words: Words) -> Iterator[None]:
    """Turn SQLite's errors into sentences that say what is safe and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise words.error(f"{words.name} {path}: {_sentence(str(error), words)}") from error
    except UnicodeDecodeError as error:  # SQLite's own message quotes bytes that are no text any more
        raise words.error(f"{words.name} {path}: " + words.damaged(f"its tables cannot be read ({error})")) from error


@contextlib.contextmanager
def intact(path: Path, words: Words, passing: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn content that cannot be what was written, whatever its checksums say, into a sentence that names the file.

    `passing` is left as it is: what the caller gave may be wrong, too.
    """
    try:
        yield
    except passing:
        raise
    except (ModelError, ParameterError, FileError, StoreError, ReportError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{words.name} {path}: {error}") from error
    except SojournError:
        raise
    except BROKEN as error:
        what = f"a part of its content is missing or is none ({type(error).__name__}: {shown(str(error), 100)})"
        raise words.error(f"{words.name} {path}: {words.damaged(what)}") from error


def _sentence(text: str, words: Words) -> str:
    kind = words.name.removeprefix("the ")
    if "not a database" in text or "unsupported file format" in text:
        return (f"{text}. Either it never was a {kind}, or its first bytes are damaged; restore it from a copy, "
                "or start anew elsewhere.")
    if any(part in text for part in ("malformed", "corrupt", "Could not decode", "no such table", "no such column")):
        return words.damaged(text)
    if "full" in text or "I/O error" in text or "too big" in text:
        return (f"{text}. What was written before is safe; free some space (or raise the file size limit), then run again "
                f"and {words.goes_on}.")
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return f"{text}. The file and its folder must be writable; {words.elsewhere}."
    if "locked" in text or "busy" in text:
        return f"{text} by another program; end that program, or wait for it."
    return text


def checksum(*values: object) -> str:
    """Return the checksum of a row's columns."""
    return digest(*[value if isinstance(value, bytes) else repr(value) for value in values])
