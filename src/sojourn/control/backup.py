"""Whole copies of a controller's file, made while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

from sojourn.control.database import half_made, refuse_leftovers, remove_half, said, transaction
from sojourn.control.journal import Head, Journal, close_entries
from sojourn.control.schema import WORDS, sync_folder
from sojourn.errors import ControlError

COPY = WORDS._replace(name="the copy", goes_on="make the copy; the controller itself goes on, and lacks nothing")


def backup(path: Path, target: Path) -> dict[str, Any]:
    """Copy the controller at `path` to the new file `target`; return how many reports and notes it holds, and its chain.

    The copy is what stood there at one moment, its log included, and needs no log itself.  Every page and row of it is checked,
    and it is on the disk, before it gets its name.  Another process may go on reporting meanwhile.
    """
    if os.path.lexists(target):
        raise ControlError(f"{target} exists already; a backup never replaces a file. Choose another path. Nothing was changed.")
    refuse_leftovers(target, COPY)
    half = half_made(target)
    source = Journal(path, write=False)
    try:
        with said(target, COPY):
            head = _copied(source, half)
        check = Journal(half, write=False)
        try:
            check.verify()
        finally:
            check.close()
        with open(half, "rb") as file:
            os.fsync(file.fileno())
        _named(half, target)
    except OSError as error:
        raise ControlError(f"cannot write {target} ({error.strerror}); the folder must exist and be writable.") from error
    finally:
        source.close()
        remove_half(half)
    return {"reports": head.seq, "notes": head.note, "chain": head.chain.hex()}


def _copied(source: Journal, half: Path) -> Head:
    """Copy one state of `source`, and write into the copy that it is closed; return where it ends."""
    with contextlib.closing(sqlite3.connect(half, isolation_level=None)) as copy:
        source.database.execute("BEGIN")
        try:
            head, token = source.checked_head(), int(json.loads(source.meta("owner"))["token"])
            source.database.backup(copy)
        finally:
            source.database.execute("COMMIT")
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute("PRAGMA synchronous = FULL")
        with transaction(copy):
            close_entries(copy, head, token)
    return head


def _named(half: Path, target: Path) -> None:
    """Give the copy its name, which must be free."""
    try:
        os.link(half, target)
    except FileExistsError:
        raise ControlError(f"{target} was just made by another process; choose another path.") from None
    except OSError:  # a file system without links
        os.rename(half, target)
    sync_folder(target)
