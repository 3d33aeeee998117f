"""The one compile decorator, a disk cache that cannot serve old code, and a word while it compiles.

numba's cache looks at the file of the compiled function only: a change in a kernel that it calls in another file
goes unnoticed.  So the cache directory is named by a hash of all the files of this folder.
"""

import hashlib
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba
from numba.core.event import Event, Listener, register

from sojourn.screen import write_line

F = TypeVar("F", bound=Callable)


def _cache_directory() -> str:
    """Return the folder of the cache; the empty string where there is no home to keep it in."""
    digest = hashlib.sha256(f"{numba.__version__}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    try:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without an entry in the list of users, as in containers
        return ""
    return str(Path(root) / "sojourn" / digest.hexdigest()[:16])


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = _cache_directory()


def kernel(function: F) -> F:
    """Compile `function`: no fastmath, no GIL, cached on disk.  `NUMBA_DISABLE_JIT=1` leaves it as Python.

    Where no folder can be written, as on a read-only disk, it is compiled anew in every process.
    """
    try:
        made = numba.njit(function, cache=True, nogil=True, fastmath=False, error_model="numpy")
    except (RuntimeError, OSError):  # the second: a function typed into a notebook has no file
        made = numba.njit(function, nogil=True, fastmath=False, error_model="numpy")
    _OURS.add(id(made))
    return made  # type: ignore[no-any-return]


def inner(function: F) -> F:
    """As `kernel`, for functions that only kernels call: without a door for Python, which takes long to compile for a ledger."""
    made = numba.njit(function, nogil=True, fastmath=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
    if not numba.config.DISABLE_JIT:  # a call from Python would end in a crash: there is nothing to call
        made._insert = lambda *_, **__: None
        made._compile_for_args = _refusal(function.__name__)
    return made  # type: ignore[no-any-return]


def _refusal(name: str) -> Callable:
    def refuse(*_: object, **__: object) -> None:
        raise TypeError(f"{name} can only be called by kernels; from_python({name}) may be called from Python.")

    return refuse


def from_python(function: Callable) -> Callable:
    """Return a kernel that calls an `inner` function and that Python may call: for tests, and for a look at what it does."""

    def call(*arguments):  # type: ignore[no-untyped-def]
        return function(*arguments)

    return numba.njit(call, nogil=True, fastmath=False, error_model="numpy")  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """As `kernel`, written into its callers' code: for the few lines of an innermost loop that a call would slow down."""
    return numba.njit(function, inline="always", nogil=True, fastmath=False, error_model="numpy")  # type: ignore[no-any-return]


class Announcer(Listener):
    """Says on stderr that kernels are being compiled, when that takes more than a moment, and then how long it took.

    Several kernels are compiled one after the other, each when it is first called: the first time it says what this is about.
    """

    patience = 2.0  # seconds

    def __init__(self) -> None:
        self.depth = 0
        self.began = 0.0
        self.said = False
        self.explained = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Event) -> None:
        self.depth += 1
        if self.depth == 1 and id(event.data["dispatcher"]) in _OURS and multiprocessing.parent_process() is None:
            self.began, self.said = time.perf_counter(), False
            self.timer = threading.Timer(self.patience, self.say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            if self.said:
                seconds = time.perf_counter() - self.began
                write_line(f"sojourn: compiled in {seconds:.0f} s")

    def say(self) -> None:
        about = "a further part" if self.explained else "for this machine, once, up to half a minute in all"
        self.said = self.explained = True
        write_line(f"sojourn: compiling {about} ...")


_OURS: set[int] = set()  # the functions that `kernel` has made
register("numba:compile", Announcer())
