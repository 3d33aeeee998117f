"""How a run is going: what it promises, and when it does not promise yet."""

from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.study import progress
from sojourn.study.task import Outcome


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now.seconds)
    return now


def test_time_left_is_promised_only_once_a_thousandth_is_done(clock):
    gauge = progress.Gauge()
    cells: list[Any] = [SimpleNamespace(label="a"), SimpleNamespace(label="b")]
    gauge.begin(cells, {0: 5, 1: 5}, total=10, epochs=1000)
    clock.seconds += 20
    assert gauge.seconds_left is None
    gauge.advance(0, Outcome(share=1e-7, decisions=1))
    assert gauge.seconds_left is None and progress.clock(gauge.seconds_left) == "?"
    gauge.advance(1, Outcome(share=2.0, decisions=2000))
    assert gauge.seconds_left == pytest.approx(20 * 8 / 2, rel=1e-6)
