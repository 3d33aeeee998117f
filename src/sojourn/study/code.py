"""Which program produced a result: a fingerprint of the sources that can change one, and the versions beneath."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

FOLDERS = ("kernels", "model", "solving", "instance", "learn", "simulation")
BENEATH = ("numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Return the versions worth printing under a table of results."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    return {"sojourn": version("sojourn")} | found | {name: version(name) for name in BENEATH}


@cache
def fingerprint() -> str:
    """Return a hash of every source file on which a replication's numbers depend, and of the versions beneath."""
    total = hashlib.sha256(repr(sorted((k, v) for k, v in versions().items() if k != "sojourn")).encode())
    root = Path(__file__).parents[1]
    for path in sorted([*(p for folder in FOLDERS for p in (root / folder).glob("*.py")), root / "study" / "task.py"]):
        total.update(path.relative_to(root).as_posix().encode())
        total.update(path.read_bytes())
    return total.hexdigest()
