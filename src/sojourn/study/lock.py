"""One writer per store: a lock that the system takes back when its holder dies, and that says who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import IO

from sojourn.control.lock import locked
from sojourn.errors import StoreError


class Lock:
    """An exclusive lock on `<store>.lock`, held until `release()` or the end of the process, however it ends.

    The name is that of the real file, so that a symbolic link leads to the same lock.  A file that has several names (hard
    links) is locked itself too; others are not, since over a network that would keep readers out.
    """

    def __init__(self, store: Path, wait: float = 0.0):
        self.store = Path(os.path.realpath(store))
        self.path = Path(f"{self.store}.lock")
        self._itself: IO[bytes] | None = None
        self._file = self._opened()
        end = time.monotonic() + wait
        while not (self._taken() and self._alone()):
            if time.monotonic() >= end:
                holder = self.holder()
                self._file.close()
                raise StoreError(
                    f"the store {store} is being written by {holder}; "
                    "wait for it (--wait SECONDS), or end it first. Reading is possible meanwhile."
                )
            time.sleep(0.1)
        said = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
            "command": " ".join(Path(word).name if i == 0 else word for i, word in enumerate(sys.argv))[:200],
        }
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same, without a name on it
            self._file.seek(0)
            self._file.truncate()
            self._file.write(json.dumps(said))
            self._file.flush()

    def _opened(self) -> IO[str]:
        try:
            return open(self.path, "a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"cannot write {self.path} ({error.strerror}); the store's folder must exist and be writable. "
                "Choose another with --store."
            ) from error

    def _taken(self) -> bool:
        """Return whether the lock file is ours, and still the one that others would find by its name."""
        if not locked(self._file):
            return False
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path)):
                return True
        self._file.close()
        self._file = self._opened()
        return False

    def _alone(self) -> bool:
        """Lock the store's own file too, if it has several names; return whether nobody else holds it."""
        if self._itself is None and self.store.is_file() and self.store.stat().st_nlink > 1:
            self._itself = open(self.store, "r+b")  # noqa: SIM115 - held until `release`
            if not locked(self._itself):
                self._itself.close()
                self._itself = None
                return False
        return True

    def holder(self) -> str:
        """Return who holds the lock, in words."""
        try:
            said = json.loads(self.path.read_text(encoding="utf-8"))
            return f"process {said['pid']} on {said['host']} since {said['since']} ({said['command']})"
        except (OSError, ValueError, KeyError):
            return "another process (perhaps under another name of the file)"

    def release(self) -> None:
        """Give the lock back; the file stays, since removing it would let two processes in."""
        if not self._file.closed:
            with contextlib.suppress(OSError, ValueError):
                self._file.truncate(0)
            if self._itself is not None:
                self._itself.close()
            self._file.close()
