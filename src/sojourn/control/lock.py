"""One owner per file: a lock on the file itself, which the kernel takes back when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
from pathlib import Path
from typing import IO, Any

from sojourn.errors import ControlError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_OWNED: dict[tuple[int, int, int], str] = {}  # (process, device, file number) of every file owned here: where it was opened
_GUARD = threading.Lock()


def locked(file: IO[Any]) -> bool:
    """Lock an open file for this process alone; return False if another holds it."""
    if fcntl is None:  # pragma: no cover - Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise


def owned_here(path: Path) -> bool:
    """Return whether this process owns the file at `path`."""
    number = os.stat(path)
    return (os.getpid(), number.st_dev, number.st_ino) in _OWNED


class Ownership:
    """The right to write to `path`, held until `release()` or the end of the process; no file is left behind.

    The lock is of the kind (flock) that SQLite does not use on Linux, on the very file, so readers go on and links lead to the
    same lock.  Closing any handle of a file drops SQLite's own locks on it in this process; so a second attempt in the process
    that owns it is refused before the file is touched.
    """

    def __init__(self, path: Path):
        if not sys.platform.startswith("linux"):  # pragma: no cover - other systems
            raise ControlError(
                f"this is {sys.platform}; a controller needs a file lock that ends with its holder and does not meet SQLite's own "
                "locks, which was tried on Linux only. Run the controller on Linux; reading its file works everywhere.")
        with _GUARD:
            number = os.stat(path)
            self._key = (os.getpid(), number.st_dev, number.st_ino)
            if self._key in _OWNED:
                raise ControlError(f"{path} is open in this process already (as {_OWNED[self._key]}); use that controller, or "
                                   "close it first.")
            self._file = open(path, "rb")  # noqa: SIM115 - held until `release`
            try:
                if not locked(self._file):
                    raise ControlError(f"{path} is owned by another process, which is alive; end it first. "
                                       "`Controller.open(path, write=False)` can read meanwhile.")
                with contextlib.suppress(OSError):
                    if os.path.samestat(os.fstat(self._file.fileno()), os.stat(path)):
                        _OWNED[self._key] = str(path)
                        return
                raise ControlError(f"{path} was replaced by another file while it was being opened; try again.")
            except BaseException:
                self._file.close()
                raise

    def first_bytes(self, size: int) -> bytes:
        """Return the beginning of the file, read through the one handle that stays open."""
        return os.pread(self._file.fileno(), size, 0)

    def still_there(self, path: Path) -> bool:
        """Return whether `path` is still the file that is owned, and SQLite's log still beside it."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(path)) and os.path.exists(f"{path}-wal")
        except OSError:
            return False

    def release(self) -> None:
        """Give it back; to be called after SQLite has closed the file."""
        with _GUARD:
            if not self._file.closed:
                self._file.close()
                _OWNED.pop(self._key, None)
