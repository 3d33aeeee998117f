"""Is anything in SQLite's write-ahead log that SQLite would pass over in silence?

SQLite reads its log up to the first frame whose checksum is wrong and takes the rest for an unfinished write.  That is right after
a loss of power, where the last transaction may be torn; but a damaged frame in the middle would take acknowledged transactions
with it.  One writer syncs every transaction before it begins the next, so whatever lies behind a torn transaction was acknowledged.

The layout of the log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import os
import shutil
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np

HEAD, FRAME = 32, 24  # bytes of the log's header, and of a frame's
PAGES = [2**k for k in range(9, 17)]  # bytes that a page can have
LOCK_BYTE = 1 << 30  # SQLite never writes the page that holds it


@dataclass(frozen=True)
class Log:
    """What is in a log: `torn` says that its last transaction is incomplete, `lost` that acknowledged ones cannot be read.  The
    database has `pages` after it, and `told` of them by what its first page says in the log (0: not there).  `gap`: some of these
    are neither in the file nor in the log, as where the two were copied one after the other.  `name` tells logs apart (`named`).
    """

    frames: int = 0
    torn: bool = False
    lost: str = ""
    pages: int = 0
    told: int = 0
    gap: bool = False
    name: str = ""

    def fits(self, first: bytes) -> bool:
        """Return whether file and log agree on how many pages there are; `first` are the first 100 bytes of the file."""
        valid = first[24:28] == first[92:96]  # else the file does not say
        return not self.frames or not valid or self.pages == (self.told or int.from_bytes(first[28:32], "big"))


@lru_cache(maxsize=4)
def _powers(steps: int) -> np.ndarray:
    """Return A^0 ... A^steps modulo 2^32 for A = [[1, 1], [1, 2]], one step of the checksum's recurrence."""
    found = np.empty((steps + 1, 2, 2), dtype=np.uint32)
    a, b = 1, 0  # A^k = [[a, b], [b, a + b]]
    for k in range(steps + 1):
        found[k] = [[a, b], [b, (a + b) & 0xFFFFFFFF]]
        a, b = (a + b) & 0xFFFFFFFF, (a + 2 * b) & 0xFFFFFFFF
    return found


def checksum(data: bytes, start: tuple[int, int], order: str) -> tuple[int, int]:
    """Return SQLite's checksum of `data` (a multiple of 8 bytes) that goes on from `start`; `order` is ">" or "<".

    s0 += x0 + s1, s1 += x1 + s0 for each pair of 32-bit words: linear, so all words are weighed at once.
    """
    words = np.frombuffer(data, dtype=f"{order}u4").astype(np.uint32).reshape(-1, 2)
    inputs = np.stack([words[:, 0], words[:, 0] + words[:, 1]], axis=1)
    powers = _powers(len(words))
    total = (powers[:-1][::-1] * inputs[:, None, :]).sum(axis=(0, 2), dtype=np.uint32)
    total = total + (powers[-1] * np.array(start, dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
    return int(total[0]), int(total[1])


def examine(path: Path) -> Log:
    """Return what SQLite will find in the log of the database at `path`, and what it would pass over; page by page."""
    try:
        file = open(f"{path}-wal", "rb")  # noqa: SIM115 - closed by the `with` below
    except FileNotFoundError:
        return Log()
    with file:
        length, head = os.fstat(file.fileno()).st_size, file.read(HEAD)
        if length <= HEAD:
            return Log(torn=0 < length < HEAD)
        magic, _, page, _, salt1, salt2, sum1, sum2 = struct.unpack(">8I", head)
        if not (name := _name(head)):
            return _without_header(path, file, length)
        order, salts, running = ">" if magic & 1 else "<", (salt1, salt2), (sum1, sum2)
        count = (length - HEAD) // (FRAME + page)
        committed, valid, behind, follows = 0, 0, False, False  # behind the sound part: a frame of this log, one after a commit
        commit_behind, size = False, 0
        pending: list[tuple[int, int]] = []
        there: dict[int, int] = {}  # where the latest content of a page stands
        for i in range(count):
            at = HEAD + i * (FRAME + page)
            frame = os.pread(file.fileno(), FRAME, at)
            if len(frame) < FRAME:
                break  # it was cut while we read
            number, commit, s1, s2, c1, c2 = struct.unpack(">6I", frame)
            if valid == i and (s1, s2) == salts:
                content = os.pread(file.fileno(), page, at + FRAME)
                running = checksum(frame[:8] + content, running, order) if len(content) == page else (-1, -1)
                if running == (c1, c2):
                    valid = i + 1
                    pending.append((number, at + FRAME))
                    if commit:
                        committed, size = valid, commit
                        there |= dict(pending)
                        pending.clear()
                    continue
            if s1 == salts[0] or s2 == salts[1]:  # of this log, not left over from an earlier one
                behind, follows, commit_behind = True, follows or commit_behind, commit_behind or bool(commit)
        told = int.from_bytes(os.pread(file.fileno(), 4, there[1] + 28), "big") if 1 in there else 0
    beyond = range(path.stat().st_size // page + 1, size + 1)
    gap = any(number not in there for number in beyond if number != LOCK_BYTE // page + 1)
    lost = f"frame {valid + 1} of {count} in its log does not match its checksum, and further ones follow" if follows else ""
    cut = (length - HEAD) % (FRAME + page) != 0
    return Log(committed, behind or cut, lost, size, told, gap, name)


def _name(head: bytes) -> str:
    """Return what tells a log from others by its header, "" where that is damaged.

    SQLite draws a number for each new log; with every restart it adds 1 to it, and 1 to the count of restarts beside it.
    """
    if len(head) < HEAD:
        return ""
    magic, _, page, restarts, salt, _, *sums = struct.unpack(">8I", head)
    sound = magic & ~1 == 0x377F0682 and page in PAGES and checksum(head[:24], (0, 0), ">" if magic & 1 else "<") == tuple(sums)
    return f"{(salt - restarts) % 2**32:08x}" if sound else ""


def named(path: Path) -> str:
    """Return the name of the log of the database at `path`; it stays as long as the log is there, and no other log has it."""
    try:
        with open(f"{path}-wal", "rb") as file:
            return _name(file.read(HEAD))
    except FileNotFoundError:
        return ""


def _without_header(path: Path, log: IO[bytes], length: int) -> Log:
    """Judge a log whose header cannot be read: harmless if every page in it has been copied to the database already."""
    with open(path, "rb") as file:
        head = file.read(18)
        page = struct.unpack(">H", head[16:18])[0] if len(head) == 18 else 0
        page = 65536 if page == 1 else page
        if page not in PAGES:
            return Log(0, True, "neither the log's header nor the file's can be read")
        latest = {}
        for at in range(HEAD, length - FRAME - page + 1, FRAME + page):
            latest[struct.unpack(">I", os.pread(log.fileno(), 4, at))[0]] = at + FRAME
        for number, at in latest.items():
            there = os.pread(file.fileno(), page, (number - 1) * page) if number else b""
            if there != os.pread(log.fileno(), page, at):
                return Log(0, True, "the log's header cannot be read, and it holds pages that are not in the file")
    return Log(0, bool(latest))


def without_log(path: Path, page: int) -> bool:
    """Return whether the database at `path`, with pages of so many bytes, has no log beside it, or one without a single page.

    SQLite makes an empty one where there is none; one that is shorter was cut off.
    """
    try:
        return os.stat(f"{path}-wal").st_size < HEAD + FRAME + page
    except FileNotFoundError:
        return True


def stray(path: Path) -> str:
    """Return the sentence for a closed file with a log beside it."""
    return (f"the controller {path} was closed and needs no log, but {path.name}-wal lies beside it: it is that of another file, "
            f"such as the one whose place this copy took. Move {path.name}-wal to another folder, then open it again. Nothing was "
            "changed.")


def foreign(path: Path) -> str:
    """Return the sentence for a file that was not closed, with the log of another one beside it."""
    return (f"the log beside the controller {path}, {path.name}-wal, is not its own: it is that of another file, or it was not "
            "copied at the same time. Put its own log there, or take a copy that `Controller.backup` made. If its own log is lost "
            f"for good, move {path.name}-wal to another folder; `Controller.open({str(path)!r}, accept_loss=True)` then goes on "
            "with what the file holds. Nothing was changed.")


def set_aside(path: Path) -> Path:
    """Keep a copy of the log of the database at `path`, synced; return where."""
    target = path.with_name(f"{path.name}-wal.damaged")
    shutil.copyfile(f"{path}-wal", target)
    with open(target, "rb") as file:
        os.fsync(file.fileno())
    return target
