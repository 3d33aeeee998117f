"""The write-ahead log: what SQLite would pass over in silence is found."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from sojourn.control.wal import FRAME, HEAD, checksum, examine


def checksum_reference(data: bytes, start: tuple[int, int], order: str) -> tuple[int, int]:
    """The recurrence as SQLite's documentation has it."""
    s0, s1 = start
    words = np.frombuffer(data, dtype=f"{order}u4").tolist()
    for x0, x1 in zip(words[::2], words[1::2]):
        s0 = (s0 + x0 + s1) & 0xFFFFFFFF
        s1 = (s1 + x1 + s0) & 0xFFFFFFFF
    return s0, s1


def test_the_checksum_is_sqlite_s_recurrence():
    rng = np.random.default_rng(1)
    for length in (8, 24, 4104):
        data = rng.bytes(length)
        for order in "<>":
            assert checksum(data, (3, 2**32 - 5), order) == checksum_reference(data, (3, 2**32 - 5), order)


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A database whose log holds 30 transactions, as a killed process leaves it."""
    live = tmp_path / "live"
    database = sqlite3.connect(live, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE t (a)")
    for i in range(29):
        database.execute("INSERT INTO t VALUES (?)", (i,))
    for suffix in ("", "-wal"):
        shutil.copy(f"{live}{suffix}", f"{tmp_path / 'image'}{suffix}")
    database.close()
    return tmp_path / "image"


def test_a_sound_log_is_sound_and_as_long_as_sqlite_says(crashed):
    log = examine(crashed)
    found = sqlite3.connect(crashed).execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    assert (log.torn, log.lost) == (False, "") and log.frames == found[1]


def test_a_flip_anywhere_but_at_the_end_is_damage_and_at_the_end_a_torn_write(crashed):
    log = Path(f"{crashed}-wal")
    whole = log.read_bytes()
    frame = FRAME + 4096
    for at in range(HEAD, len(whole), 997):
        broken = bytearray(whole)
        broken[at] ^= 4
        log.write_bytes(broken)
        found = examine(crashed)
        assert found.lost or (found.torn and at >= len(whole) - 2 * frame), at
    for at in range(HEAD):
        broken = bytearray(whole)
        broken[at] ^= 4
        log.write_bytes(broken)
        assert examine(crashed).lost, at


def test_a_log_that_ends_early_is_no_damage_and_a_torn_last_frame_is_told(crashed):
    log = Path(f"{crashed}-wal")
    whole = log.read_bytes()
    for cut in range(len(whole) - 2 * (FRAME + 4096), len(whole), 512):
        log.write_bytes(whole[:cut])
        assert not examine(crashed).lost
    log.write_bytes(whole[:-512] + b"\0" * 512)
    assert examine(crashed).torn and not examine(crashed).lost
    log.write_bytes(b"")
    assert not examine(crashed).torn
