"""The line on stderr that is written over while something takes long, and whole lines that do not run into it."""

from __future__ import annotations

import sys
import threading

_lock = threading.Lock()
_length = 0  # of the line that stands unfinished on the terminal


def is_terminal() -> bool:
    """Return whether stderr is a terminal, where a line can be written over."""
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def write_over(text: str) -> None:
    """Write `text` in the place of the unfinished line."""
    global _length
    with _lock:
        print(f"\r{text:<{_length}}", end="", file=sys.stderr, flush=True)
        _length = len(text)


def wipe() -> None:
    """Take the unfinished line away."""
    with _lock:
        _wipe()


def write_line(text: str) -> None:
    """Write a whole line; an unfinished one is taken away first."""
    with _lock:
        _wipe()
        print(text, file=sys.stderr, flush=True)


def _wipe() -> None:
    global _length
    if _length:
        print("\r" + " " * _length + "\r", end="", file=sys.stderr, flush=True)
        _length = 0
