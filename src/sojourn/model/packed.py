"""Text files that were packed with gzip: read line by line, and never further than an honest file of that size could reach."""

from __future__ import annotations

import gzip
import os
import zlib
from typing import IO

from sojourn.errors import ModelError

TIMES, BESIDES = 200, 10_000_000  # text packs to a thirtieth or so; what unpacks to more than this is a trap


class Unpacked:
    """The lines of an open gzip file."""

    def __init__(self, stream: IO[bytes], max_bytes: int | None = None):
        self._lines = gzip.GzipFile(fileobj=stream)
        self._packed = os.fstat(stream.fileno()).st_size
        self._left = TIMES * self._packed + BESIDES if max_bytes is None else max_bytes

    def readline(self, most: int) -> bytes:
        """Return the next line, at most so many bytes of it."""
        try:
            line = self._lines.readline(min(most, self._left + 1))
        except (OSError, EOFError, zlib.error) as error:
            raise ModelError(f"it cannot be unpacked ({error}); is it complete?") from None
        self._left -= len(line)
        if self._left < 0:
            raise ModelError(f"its {self._packed:,} bytes unpack to more than {TIMES} times as many; no model is that "
                             "regular. If you trust the file, allow more: `max_bytes=...`.")
        return line
