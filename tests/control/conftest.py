"""A controller of the small plant, in a new file."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_plant import MODEL
from sojourn.control.controller import Controller


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, where there is one: these tests sync thousands of times, and mean no disk in particular."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "plant.control")


@pytest.fixture
def controller(path: str) -> Iterator[Controller]:
    with Controller.create(path, MODEL.knowledge(), learner="ct-ucrl", start=("up", 0), parameters={"delta": 0.01}) as made:
        yield made
