"""One writer per store: a lock that the system takes back when its holder dies, and that says who holds it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import IO

from sojourn.errors import StoreError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


class Lock:
    """An exclusive lock on `<store>.lock`, held until `release()` or the end of the process, however it ends."""

    def __init__(self, store: Path, wait: float = 0.0):
        self.path = Path(f"{store}.lock")
        self._file = self._opened()
        end = time.monotonic() + wait
        while not self._taken():
            if time.monotonic() >= end:
                self._file.close()
                raise StoreError(
                    f"the store {store} is being written by {self.holder()}; "
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
        if fcntl is None:  # pragma: no cover - Windows
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise

    def holder(self) -> str:
        """Return who holds the lock, in words."""
        try:
            said = json.loads(self.path.read_text(encoding="utf-8"))
            return f"process {said['pid']} on {said['host']} since {said['since']} ({said['command']})"
        except (OSError, ValueError, KeyError):
            return "another process"

    def release(self) -> None:
        """Give the lock back; the file stays, since removing it would let two processes in."""
        if not self._file.closed:
            with contextlib.suppress(OSError, ValueError):
                self._file.truncate(0)
            self._file.close()
