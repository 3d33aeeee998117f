"""A controller of the small plant, in a new file."""

from collections.abc import Iterator
from typing import Any

import pytest
from control_plant import MODEL

from sojourn.control.controller import Controller


@pytest.fixture
def path(tmp_path: Any) -> str:
    return str(tmp_path / "plant.control")


@pytest.fixture
def controller(path: str) -> Iterator[Controller]:
    with Controller.create(path, MODEL.knowledge(), learner="ct-ucrl", start=("up", 0), parameters={"delta": 0.01}) as made:
        yield made
