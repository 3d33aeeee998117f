"""Is anything in SQLite's write-ahead log that SQLite would pass over in silence?

SQLite reads its log up to the first frame whose checksum is wrong and takes the rest for an unfinished write.  That is right after
a loss of power, where the last transaction may be torn; but a damaged frame in the middle would take acknowledged transactions
with it.  One writer syncs every transaction before it begins the next, so whatever lies behind a torn transaction was acknowledged.

The layout of the log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

HEAD, FRAME = 32, 24  # bytes of the log's header, and of a frame's


@dataclass(frozen=True)
class Log:
    """What is in a log: `torn` says that its last transaction is incomplete, `lost` that acknowledged ones cannot be read."""

    frames: int = 0
    torn: bool = False
    lost: str = ""


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
    """Return what SQLite will find in the log of the database at `path`, and what it would pass over."""
    try:
        data = Path(f"{path}-wal").read_bytes()
    except FileNotFoundError:
        return Log()
    if len(data) <= HEAD:
        return Log(torn=0 < len(data) < HEAD)
    magic, _, page, _, salt1, salt2, sum1, sum2 = struct.unpack(">8I", data[:HEAD])
    order = ">" if magic & 1 else "<"
    sound = magic & ~1 == 0x377F0682 and checksum(data[:24], (0, 0), order) == (sum1, sum2)
    if not sound:
        return _without_header(path, data)
    salts, running = (salt1, salt2), (sum1, sum2)
    count = (len(data) - HEAD) // (FRAME + page)
    committed, valid, behind = 0, 0, []
    for i in range(count):
        at = HEAD + i * (FRAME + page)
        _, commit, s1, s2, c1, c2 = struct.unpack(">6I", data[at : at + FRAME])
        if valid == i and (s1, s2) == salts:
            running = checksum(data[at : at + 8] + data[at + FRAME : at + FRAME + page], running, order)
            if running == (c1, c2):
                valid = i + 1
                committed = valid if commit else committed
                continue
        if s1 == salts[0] or s2 == salts[1]:  # of this log, not left over from an earlier one
            behind.append(bool(commit))
    if True in behind and behind.index(True) + 1 < len(behind):
        return Log(committed, True, f"frame {valid + 1} of {count} in its log does not match its checksum, and further ones follow")
    return Log(committed, bool(behind))


def _without_header(path: Path, data: bytes) -> Log:
    """Judge a log whose header cannot be read: harmless if every page in it has been copied to the database already."""
    with open(path, "rb") as file:
        head = file.read(18)
        page = struct.unpack(">H", head[16:18])[0] if len(head) == 18 else 0
        page = 65536 if page == 1 else page
        if page < 512:
            return Log(0, True, "neither the log's header nor the file's can be read")
        latest = {}
        for at in range(HEAD, len(data) - FRAME - page + 1, FRAME + page):
            number = struct.unpack(">I", data[at : at + 4])[0]
            latest[number] = data[at + FRAME : at + FRAME + page]
        for number, content in latest.items():
            file.seek((number - 1) * page)
            if file.read(page) != content:
                return Log(0, True, "the log's header cannot be read, and it holds pages that are not in the file")
    return Log(0, bool(latest))
