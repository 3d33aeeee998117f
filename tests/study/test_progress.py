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


def begun(finished=0, total=10, cells=2):
    gauge = progress.Gauge()
    labels: list[Any] = [SimpleNamespace(label=str(i)) for i in range(cells)]
    gauge.begin(labels, dict.fromkeys(range(cells), finished), total=total, epochs=1000)
    return gauge


def test_time_left_is_promised_only_once_a_cell_was_worked_on_twice(clock):
    gauge = begun(finished=5)
    clock.seconds += 20
    assert gauge.seconds_left is None
    gauge.advance(0, Outcome(share=1e-7, decisions=1, cpu_seconds=20.0))
    assert gauge.seconds_left is None and progress.clock(gauge.seconds_left) == "?"
    clock.seconds += 5
    gauge.advance(0, Outcome(share=1.0, decisions=1000, cpu_seconds=5.0))
    assert gauge.seconds_left == pytest.approx(9 * 5, rel=1e-6)


def test_the_time_that_compiling_took_is_not_promised_again(clock):
    """Two workers compile for 20 s and then do a tenth of a replication a second each: 97.8 of 100 are left, about 490 s."""
    gauge = begun(total=100, cells=1)
    clock.seconds += 21
    for _ in range(2):
        gauge.advance(0, Outcome(share=0.1, decisions=100, cpu_seconds=21.0))
    clock.seconds += 10
    for _ in range(2):
        gauge.advance(0, Outcome(share=1.0, decisions=1000, cpu_seconds=10.0))
    assert gauge.seconds_left == pytest.approx(97.8 / 0.2, rel=0.01)


def test_a_replication_that_failed_at_once_promises_nothing(clock):
    gauge = begun(cells=1)
    clock.seconds += 10
    gauge.advance(0, Outcome(share=1.0, cpu_seconds=5.0))
    gauge.advance(0, Outcome(share=1.0, cpu_seconds=1e-3, failed=[(0, {})]))
    assert gauge.seconds_left is None


@pytest.mark.parametrize(("cells", "shown"), [(2, True), (300, False)])
def test_a_line_names_mean_regrets_only_of_a_study_that_fits_into_it(clock, capsys, cells, shown):
    lines = progress.PlainLines()
    labels: list[Any] = [SimpleNamespace(label=f"learner {i}") for i in range(cells)]
    lines.begin(labels, dict.fromkeys(range(cells), 0), total=2, epochs=1000)
    for cell in range(cells):
        clock.seconds += 20
        lines.advance(cell, Outcome(share=1.0, decisions=1000, cpu_seconds=1.0, finished=[(0, b"", 1.0)], final_regret=[3.5]))
    said = capsys.readouterr().err
    assert ("mean regret learner 0: 3.5" in said) == shown and max(map(len, said.splitlines())) < 200
