"""The journal of a controller: every raw observation in one SQLite file, append-only, each row chained to the one before.

Two kinds of rows make one sequence: *reports* (numbered by seq), and *notes* (a missed event, an imported log, a plan that came
late), each of which stands behind the report `after_seq`.  The chain is a hash over all before it, beginning with the setting that
the controller was made with; so a row that was changed, dropped or moved is found.  Snapshots are copies of what follows from
the rows, for a quick start; they can be thrown away.

While it is open, SQLite's log beside the file (FILE-wal) holds what was acknowledged last, also after a crash.  So the file says
which log belongs to it (`log` in the entry `owner`) from before the first report until it is closed, and that log is never empty
meanwhile: a copy without it, or with another one, is noticed.  A closed file is in SQLite's rollback mode: a log beside it is not
its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.control.database import (
    attached,
    checksum,
    close_writing,
    half_made,
    open_reading,
    open_writing,
    refuse_leftovers,
    refuse_other_journal,
    refuse_strange,
    remove_half,
    said,
    transaction,
    without_its_log,
)
from sojourn.control.lock import Ownership, owned_here
from sojourn.control.schema import WORDS, check_header, damaged, make_tables, prepare, sync_folder
from sojourn.control.wal import Log, examine, foreign, named, set_aside, stray, without_log
from sojourn.errors import ControlError

BATCH = 4096  # rows read at once
KEPT_SNAPSHOTS = 2
NOBODY = "nobody has it open"
LOOKS, PAUSE = 5, 0.05  # of one who reads while the owner may be writing: so often, with so many seconds between


class Report(NamedTuple):
    """One observation as it was reported, states and actions written as JSON; `answer` is the action that was advised then, and
    `silent` says how often events were seen that led nowhere.
    """

    seq: int
    at: float
    state: str | None
    action: str
    holding_time: float
    next_state: str
    reward: float | None
    event: str | None
    answer: str
    silent: str | None = None


class Note(NamedTuple):
    """Something else that happened, behind the report `after_seq`."""

    number: int
    after_seq: int
    at: float
    kind: str
    body: bytes


class Head(NamedTuple):
    """How far the journal goes: the last report, the last note, the chain's value."""

    seq: int
    note: int
    chain: bytes


REPORTS = f"SELECT {', '.join(Report._fields)}, chain FROM reports"
NOTES = f"SELECT {', '.join(Note._fields)}, chain FROM notes"
NEW_REPORT = f"INSERT INTO reports ({', '.join(Report._fields)}, chain) VALUES ({', '.join('?' * (len(Report._fields) + 1))})"
NEW_NOTE = f"INSERT INTO notes ({', '.join(Note._fields)}, chain) VALUES ({', '.join('?' * (len(Note._fields) + 1))})"


def is_sound(entry: Report | Note) -> bool:
    """Return whether every cell has a type that was ever written (SQLite keeps whatever a column is given)."""
    if isinstance(entry, Note):
        return type(entry.after_seq) is int and isinstance(entry.kind, str) and isinstance(entry.body, bytes)
    texts, numbers = (entry.action, entry.next_state, entry.answer), (entry.at, entry.holding_time, entry.reward or 0.0)
    maybe = (entry.state, entry.event, entry.silent)
    return (all(isinstance(x, str) for x in texts) and all(isinstance(x, (str, type(None))) for x in maybe)
            and all(isinstance(x, (int, float)) and abs(x) < 1e300 for x in numbers) and entry.holding_time > 0)


def linked(chain: bytes, entry: Report | Note) -> bytes:
    """Return the chain's value behind `entry`; a report without silent events is what it was before there were any."""
    if isinstance(entry, Report) and entry.silent is None:
        entry = entry[:-1]  # type: ignore[assignment]
    return hashlib.blake2b(chain + repr(tuple(entry)).encode(), digest_size=16).digest()


def first_link(setting: bytes) -> bytes:
    """Return the chain's value in front of everything."""
    return hashlib.blake2b(setting, digest_size=16).digest()


class Journal:
    """The journal at `path`.  Opened for writing it has one owner; reading needs no lock and may go on meanwhile.

    `torn` says that the last write was found incomplete: the process was killed or the power failed before it was acknowledged,
    or the last bytes of the log are lost or damaged.  Where the log is gone or damaged, acknowledged reports may be missing: that
    is refused, unless `accept_loss`; then `lost` says what was found, and every page and row of the rest has been checked.
    """

    def __init__(self, path: Path, write: bool = True, accept_loss: bool = False):
        if not path.is_file():
            raise ControlError(f"there is no controller at {path}; `Controller.create({str(path)!r}, ...)` makes one.")
        refuse_strange(path, WORDS)
        self.path, self.write, self._pid, self.token = path, write, os.getpid(), 0
        self._owner: Ownership | None = None
        self._database: sqlite3.Connection | None = None
        self._keeper: sqlite3.Connection | None = None
        self.torn, self.lost = False, ""
        try:
            self._owner = Ownership(path) if write else None
            log = self._examined(accept_loss)
            with said(path, WORDS):
                self._database = open_writing(path) if write else open_reading(path)
                prepare(self._database, path, write)
                self._keeper = attached(path) if write else None
                self.setting = bytes(self.meta("setting"))
            self._look_for_log(accept_loss)
            if self.lost or log.gap:
                self._read_all(log.gap)
            with said(path, WORDS):
                if write:
                    self._settle()
            self.head = self.checked_head()
            if write:
                self._take_over()
        except BaseException as error:
            self.abandon()
            if isinstance(error, OSError):  # of the file, or of what lies beside it
                raise ControlError(f"cannot open {error.filename or path} ({error.strerror}); check its permissions, and the disk. "
                                   "Nothing was changed.") from error
            raise

    @classmethod
    def create(cls, path: Path, setting: bytes) -> Journal:
        """Make a new journal, whole or not at all; an existing file is refused."""
        if os.path.lexists(path):
            raise ControlError(f"{path} exists already; `Controller.open({str(path)!r})` goes on with it. Nothing was changed.")
        refuse_leftovers(path, WORDS)
        half = half_made(path)
        with said(path, WORDS):
            try:
                database = open_writing(half)
                with transaction(database):
                    make_tables(database)
                    _set(database, "setting", setting)
                    _set(database, "owner", json.dumps({"token": 0, "who": NOBODY, "log": False}))
                    _set(database, "closed", json.dumps({"seq": 0, "note": 0, "chain": first_link(setting).hex()}))
                close_writing(database)
                os.link(half, path)  # fails where another process was faster
                sync_folder(path)
            except FileExistsError:
                raise ControlError(f"{path} was just made by another process; `Controller.open` goes on with it.") from None
            except OSError as error:
                raise ControlError(f"cannot write {path} ({error.strerror}); the folder must exist and be writable.") from error
            finally:
                remove_half(half)
        return cls(path)

    # ---- opening and closing ------------------------------------------------------------------------------------

    @property
    def database(self) -> sqlite3.Connection:
        if self._database is None:
            raise ControlError(f"the controller {self.path} is closed; open it again.")
        return self._database

    def _examined(self, accept_loss: bool) -> Log:
        """Look at the file's first bytes and at its log before SQLite does, which would pass over what is wrong in silence.

        One who only reads looks again where something is wrong: the owner may have been writing just then.
        """
        if self._owner is None and owned_here(self.path):
            return Log()  # its owner has looked
        for _ in range(1 if self._owner else LOOKS):
            log, wrong = self._judged(accept_loss)
            if wrong is None:
                break
            time.sleep(0 if self._owner else PAUSE)
        else:
            assert wrong is not None
            raise wrong
        if log.lost:
            kept = f"; the damaged log was kept as {set_aside(self.path).name}" if self.write else ""
            self.lost = f"{log.lost}{kept}"
        self.torn = log.torn and self.write  # while somebody writes, the last transaction may be under way
        return log

    def _judged(self, accept_loss: bool) -> tuple[Log, ControlError | None]:
        """Return what is in the log, and why it must not be read into the file, if it must not."""
        if self._owner is not None:
            first = self._owner.first_bytes(100)
        else:
            with open(self.path, "rb") as file:
                first = file.read(100)
        check_header(first, self.path)
        try:
            refuse_other_journal(self.path, WORDS)
        except ControlError as error:
            return Log(), error
        log = examine(self.path)
        if log.frames and first[18] == 1:
            return log, ControlError(stray(self.path))
        if log.name and self._own_log() not in ("", log.name):
            return log, ControlError(foreign(self.path))
        if not log.fits(first):
            return log, self._damage(f"its log was not copied at the same time: the database has {log.pages} pages with it, and "
                                     "the file says another number")
        if log.lost and not accept_loss:
            return log, ControlError(f"the controller {self.path}: {damaged(log.lost)} If there is none, "
                                     f"`Controller.open({str(self.path)!r}, accept_loss=True)` goes on without what is damaged.")
        return log, None

    def _own_log(self) -> str:
        """Return the name of the log that belongs to the file, as the file alone says; "" where it says none."""
        rows = without_its_log(self.path, "SELECT value FROM meta WHERE key = 'owner'")
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            name = json.loads(str(rows[0][0])).get("log") if rows else ""
            return name if isinstance(name, str) else ""
        return ""

    def _look_for_log(self, accept_loss: bool) -> None:
        """Notice that a log which belongs to the file is not there."""
        page = int(self.database.execute("PRAGMA page_size").fetchone()[0])
        for _ in range(LOOKS):  # another process may be closing the file just now
            if not json.loads(self.meta("owner")).get("log") or not without_log(self.path, page):
                return
        last = int(self.database.execute("SELECT coalesce(max(seq), 0) FROM reports").fetchone()[0])
        size = os.stat(f"{self.path}-wal").st_size if os.path.exists(f"{self.path}-wal") else 0
        what = (f"is cut off after {size} bytes: it was not copied to its end" if size else
                "is not beside it: it was copied without it, or the log was removed")
        if not accept_loss:
            if self._keeper is not None and not size:
                self._keeper.close()  # SQLite then takes the empty log away that it made
            raise ControlError(
                f"the controller {self.path} was not closed, and its log, {self.path.name}-wal, {what}. Reports after number "
                f"{last}, with which the file ends, may be missing. Put the whole log beside it, or take a copy that "
                "`Controller.backup` made. If the log is lost for good, "
                f"`Controller.open({str(self.path)!r}, accept_loss=True)` goes on after report {last}. Nothing was changed.")
        self.lost = f"its log, {self.path.name}-wal, was {f'cut off after {size} bytes' if size else 'not there'}"

    def _read_all(self, gap: bool) -> None:
        """Check every page and row, before anything is written: without its log a file may be a mixture of old and new pages."""
        try:
            self.head = self.checked_head()
            self.verify()
        except ControlError as error:
            if not gap:
                raise
            raise self._damage(f"pages are missing between the file and its log, {self.path.name}-wal, as where the two were "
                               "copied one after the other while it was running") from error

    def _settle(self) -> None:
        """Copy all of the log into the file, synced: what was written before a failed sync is written again.

        The log is not emptied, since it belongs to the file; the next transaction is written over its beginning.
        """
        busy, _, _ = self.database.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        if busy:
            raise ControlError(f"the controller {self.path} is being read by another program; try again when it is done.")

    def _take_over(self) -> None:
        """Write that we are the owner now, and that the log belongs to the file: whoever had it before can write nothing more."""
        with said(self.path, WORDS):
            self.database.execute("PRAGMA journal_size_limit = 0")  # this commit cuts off what is left of the old log (see `torn`)
            with transaction(self.database):
                owner = json.loads(self.meta("owner"))
                self.token = int(owner["token"]) + 1
                who = f"process {self._pid} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}"
                owner = {"token": self.token, "who": who, "log": owner.get("log", False)}
                _set(self.database, "owner", json.dumps(owner))
                _set(self.database, "closed", "null")
            with transaction(self.database):  # now the log is there and has its name
                _set(self.database, "owner", json.dumps({**owner, "log": named(self.path) or True}))
            self.database.execute("PRAGMA journal_size_limit = -1")  # a log that is not cut and grown again is synced faster
            self._settle()

    def close(self) -> None:
        """Write where the journal ends, fold the log into the one file, and give up the ownership."""
        if self._database is not None and self._keeper is not None and os.getpid() == self._pid:
            with contextlib.suppress(sqlite3.Error, ControlError):
                with transaction(self._database):
                    self._check_owner()
                    close_entries(self._database, self.head, self.token)
                self._keeper.close()
                close_writing(self._database)
                self._database = None
        self.abandon()

    def abandon(self) -> None:
        """Let go without writing anything more: after an error, the file is the truth, and its log stays beside it."""
        database, self._database = self._database, None
        for connection in (database, self._keeper):  # the keeper last: else SQLite would take the log away
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        if self._owner is not None:
            self._owner.release()

    def __del__(self) -> None:
        for name in ("_database", "_keeper"):  # in this order, see `abandon`
            connection = getattr(self, name, None)
            if connection is not None:
                connection.close()

    @property
    def owner(self) -> str:
        """Who has it open for writing, in words, as far as the file says."""
        return str(json.loads(self.meta("owner"))["who"])

    # ---- reading ------------------------------------------------------------------------------------------------

    def meta(self, key: str) -> Any:
        """Return a value of the controller as a whole: setting, owner, closed."""
        with said(self.path, WORDS):
            row = self.database.execute("SELECT key, value, checksum FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None or checksum(row[0], row[1]) != row[2]:
            raise self._damage(f"its entry {key!r} is missing or does not match its checksum")
        return row[1]

    def _damage(self, what: str) -> ControlError:
        return ControlError(f"the controller {self.path}: {damaged(what)}")

    def checked_head(self) -> Head:
        """Return where the journal ends; after a clean end that must be where it was closed."""
        with said(self.path, WORDS):
            seq = int(self.database.execute("SELECT coalesce(max(seq), 0) FROM reports").fetchone()[0])
            note = int(self.database.execute("SELECT coalesce(max(number), 0) FROM notes").fetchone()[0])
        head = Head(seq, note, self._chain_at(seq, note))
        closed = json.loads(self.meta("closed"))
        if closed is not None and (closed["seq"], closed["note"], closed["chain"]) != (seq, note, head.chain.hex()):
            raise self._damage(f"it was closed after report {closed['seq']} and note {closed['note']}, and now ends with report "
                               f"{seq} "
                               f"and note {note}, or these were changed")
        return head

    def _chain_at(self, seq: int, note: int) -> bytes:
        """Return the chain's value behind report `seq` and note `note`, as the file has it."""
        with said(self.path, WORDS):
            last = self.database.execute("SELECT after_seq, chain FROM notes WHERE number = ?", (note,)).fetchone()
            row = self.database.execute("SELECT chain FROM reports WHERE seq = ?", (seq,)).fetchone()
        if (note and last is None) or (seq and row is None):
            raise self._damage(f"report {seq} or note {note} is missing")
        if last is not None and int(last[0]) == seq:
            return bytes(last[1])
        return bytes(row[0]) if row is not None else first_link(self.setting)

    def entries(self, after: Head | None = None) -> Iterator[Report | Note]:
        """Yield reports and notes in the order in which they happened, each checked against the chain, behind `after`."""
        seq, number, chain = after or Head(0, 0, first_link(self.setting))
        notes = self._rows(NOTES, "number", number, Note)
        reports = self._rows(REPORTS, "seq", seq, Report)
        note, report = next(notes, None), next(reports, None)
        while note is not None or report is not None:
            entry: Report | Note
            if note is not None and (report is None or note[0].after_seq < report[0].seq):
                entry, found = note
                number += 1
                right = entry[:2] == (number, seq)
                note = next(notes, None)
            else:
                assert report is not None
                entry, found = report
                seq += 1
                right = entry[0] == seq
                report = next(reports, None)
            chain = linked(chain, entry)
            if not right or chain != found:
                raise self._damage(f"{'report' if isinstance(entry, Report) else 'note'} {entry[0]} does not follow from those "
                                   "before")
            yield entry

    def _rows(self, query: str, key: str, last: int, kind: Any) -> Iterator[tuple[Any, bytes]]:
        while True:
            with said(self.path, WORDS):
                rows = self.database.execute(f"{query} WHERE {key} > ? ORDER BY {key} LIMIT {BATCH}", (last,)).fetchall()
            for row in rows:
                entry = kind(*row[:-1])
                if not is_sound(entry):
                    raise self._damage(f"{key} {entry[0]} has cells of a type that is never written")
                yield entry, row[-1]
            if len(rows) < BATCH:
                return
            last = rows[-1][0]

    def report(self, seq: int) -> Report:
        """Return the report numbered `seq`, checked against the row before it."""
        with said(self.path, WORDS):
            row = self.database.execute(f"{REPORTS} WHERE seq = ?", (seq,)).fetchone()
            note = self.database.execute("SELECT coalesce(max(number), 0) FROM notes WHERE after_seq = ?", (seq - 1,)).fetchone()[0]
        if row is None:
            raise self._damage(f"report {seq} is missing")
        found = Report(*row[:-1])
        if linked(self._chain_at(seq - 1, int(note)), found) != row[-1]:
            raise self._damage(f"report {seq} does not follow from the one before")
        return found

    def snapshots(self) -> Iterator[tuple[Head, bytes]]:
        """Yield the snapshots that are intact and of this journal, the latest first."""
        with said(self.path, WORDS):
            query = "SELECT seq, note, chain, payload, checksum FROM snapshots ORDER BY number DESC"
            rows = self.database.execute(query).fetchall()
        for seq, note, chain, payload, mark in rows:
            if checksum(seq, note, chain, payload) == mark and seq <= self.head.seq and note <= self.head.note:
                with contextlib.suppress(ControlError):
                    if self._chain_at(seq, note) == chain:
                        yield Head(seq, note, chain), payload

    def verify(self) -> int:
        """Return the number of reports after checking every page and every row; raise where one is wrong."""
        with said(self.path, WORDS):
            found = [row[0] for row in self.database.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise self._damage("; ".join(found))
        for key in ("setting", "owner", "closed"):
            self.meta(key)
        reports = sum(isinstance(entry, Report) for entry in self.entries())
        with said(self.path, WORDS):
            rows = self.database.execute("SELECT seq, note, chain, payload, checksum FROM snapshots").fetchall()
        if any(checksum(*row[:-1]) != row[-1] for row in rows):
            raise self._damage("a snapshot does not match its checksum; `replay()` makes new ones")
        return reports

    # ---- writing ------------------------------------------------------------------------------------------------

    def _check_owner(self) -> None:
        if os.getpid() != self._pid:
            raise ControlError(f"process {os.getpid()} was forked from the owner of {self.path}, process {self._pid}; only that "
                               "one writes.")
        if self._owner is None or not self._owner.still_there(self.path):
            raise ControlError(f"{self.path} or its log ({self.path.name}-wal) was moved or removed while it was open; what would "
                               "be written now, nobody would find. Put it back, and open it again. Nothing was counted.")
        if json.loads(self.meta("owner"))["token"] != self.token:
            raise ControlError(f"the controller {self.path} has another owner now ({self.owner}); this one can write no more.")

    def append(self, entries: Sequence[Report | Note], snapshot: bytes | None = None) -> None:
        """Write entries, all or none, in one synced transaction; `snapshot` is what follows from everything up to the last of them.

        After an error nothing here is certain but the file: `abandon` this journal and open it again.
        """
        head = self.head
        with said(self.path, WORDS), transaction(self.database):
            self._check_owner()
            for entry in entries:
                chain = linked(head.chain, entry)
                if isinstance(entry, Report):
                    self.database.execute(NEW_REPORT, (*entry, chain))
                    head = Head(entry.seq, head.note, chain)
                else:
                    self.database.execute(NEW_NOTE, (*entry, chain))
                    head = Head(head.seq, entry.number, chain)
            if snapshot is not None:
                row = (*head, snapshot)
                self.database.execute("INSERT INTO snapshots (seq, note, chain, payload, checksum) VALUES (?, ?, ?, ?, ?)",
                                      (*row, checksum(*row)))
                self.database.execute("DELETE FROM snapshots WHERE number <= (SELECT max(number) FROM snapshots) - ?",
                                      (KEPT_SNAPSHOTS,))
        self.head = head

    def forget_snapshots(self) -> None:
        """Throw the snapshots away; the next opening folds every row again."""
        with said(self.path, WORDS), transaction(self.database):
            self._check_owner()
            self.database.execute("DELETE FROM snapshots")


def close_entries(database: sqlite3.Connection, head: Head, token: int) -> None:
    """Write that nobody has the file open, that it ends with `head`, and that no log belongs to it."""
    _set(database, "closed", json.dumps({"seq": head.seq, "note": head.note, "chain": head.chain.hex()}))
    _set(database, "owner", json.dumps({"token": token, "who": NOBODY, "log": False}))


def _set(database: sqlite3.Connection, key: str, value: Any) -> None:
    database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, checksum(key, value)))
