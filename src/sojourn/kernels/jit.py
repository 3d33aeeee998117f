"""The one compile decorator, and a disk cache that cannot serve old code.

numba's cache looks at the file of the compiled function only: a change in a kernel that it calls in another file
goes unnoticed.  So the cache directory is named by a hash of all the files of this folder.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

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
        return numba.njit(function, cache=True, nogil=True, fastmath=False, error_model="numpy")  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(function, nogil=True, fastmath=False, error_model="numpy")  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """As `kernel`, written into its callers' code: for the few lines of an innermost loop that a call would slow down."""
    return numba.njit(function, inline="always", nogil=True, fastmath=False, error_model="numpy")  # type: ignore[no-any-return]


def is_kept(name: str) -> bool:
    """Return whether a compiled kernel called `name` is in the disk cache, for whatever arguments."""
    return bool(numba.config.CACHE_DIR) and any(Path(numba.config.CACHE_DIR).rglob(f"*.{name}-*.nbi"))
