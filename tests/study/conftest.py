"""A small study that runs in a fraction of a second once the kernels are compiled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sojourn.study.spec import Spec, checked_study
from sojourn.study.study import Study

SMALL: dict[str, Any] = {
    "study": {"name": "small", "epochs": 400, "replications": 3, "seed": 5, "checkpoints": 12},
    "models": [{"zoo": "three-state"}, {"zoo": "two-state"}],
    "learners": [{"name": "ct-ucrl", "delta": 0.1, "reward_range": [0, 12]}],
}


def raw(**changes: Any) -> dict[str, Any]:
    """Return the small study as parsed TOML, with changes to [study] or whole tables replaced."""
    tables = {key: changes.pop(key) for key in ("models", "learners") if key in changes}
    return {**SMALL, **tables, "study": {**SMALL["study"], **changes}}


@pytest.fixture
def small_raw() -> Callable[..., dict[str, Any]]:
    return raw


@pytest.fixture
def small_spec() -> Callable[..., Spec]:
    """A function: changes -> the checked small study."""
    return lambda **changes: checked_study(raw(**changes))


@pytest.fixture
def small_study(tmp_path: Path) -> Callable[..., Study]:
    """A function: (file name, changes) -> the small study with its store in a folder of the test's own."""

    def make(name: str = "store", **changes: Any) -> Study:
        given = raw(**changes)
        return Study(**given["study"], models=given["models"], learners=given["learners"], store=tmp_path / f"{name}.sqlite")

    return make
