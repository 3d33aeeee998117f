"""What all tests share: the exact reference data of `tests/data/golden`, the hypothesis profile, Ctrl-C."""

import json
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sojourn.kernels.jit import Announcer
from sojourn.model.ctmdp import CTMDP

GOLDEN = Path(__file__).parent / "data" / "golden"

# The first example may compile a kernel for seconds, and the same examples must be drawn on every machine.
settings.register_profile(
    "sojourn", deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("sojourn")

Announcer.patience = 3600.0  # no word about compiling in what tests read from stderr

# A shell starts a background job with Ctrl-C ignored, and children inherit that: the tests that press it would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what commands print unfolded: notebook kernels and terminals set COLUMNS."""
    monkeypatch.delenv("COLUMNS", raising=False)


def read_golden(name: str) -> Any:
    """Return the parsed content of `tests/data/golden/<name>.json`."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def model_of(parts: dict[str, Any]) -> CTMDP:
    """Return the CTMDP of a golden "model" entry: rationals as strings, action rows that may differ in length."""
    n_states, n_actions = len(parts["p"]), max(len(row) for row in parts["p"])
    transition = np.zeros((n_states, n_actions, n_states))
    rate, reward, running = (np.zeros((n_states, n_actions)) for _ in range(3))
    admissible = np.zeros((n_states, n_actions), dtype=bool)
    for s in range(n_states):
        for a, row in enumerate(parts["p"][s]):
            admissible[s, a] = True
            transition[s, a] = [float(Fraction(x)) for x in row]
            rate[s, a] = float(Fraction(parts["rates"][s][a]))
            reward[s, a] = float(Fraction(parts["r"][s][a]))
            running[s, a] = float(Fraction(parts["c"][s][a]))
    bounds = (float(Fraction(parts["lambda_min"])), float(Fraction(parts["lambda_max"])))
    return CTMDP.from_arrays(transition, rate, reward, running, admissible, rate_bounds=bounds, name=parts["name"])


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """A function: name of a file in tests/data/golden -> its parsed content."""
    return read_golden


@pytest.fixture(scope="session")
def golden_model() -> Callable[[str], CTMDP]:
    """A function: name of a file in tests/data/golden with a "model" -> the CTMDP, rate bounds included."""
    return lambda name: model_of(read_golden(name)["model"])
