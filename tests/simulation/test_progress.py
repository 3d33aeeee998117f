"""The progress line says what is true: the share done, the speed of late, the time left."""

import io
from types import SimpleNamespace

from sojourn.simulation import progress
from sojourn.simulation.progress import ProgressBar
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


def walk(epoch: int, time: float = 0.0, episodes: int = 1) -> SimpleNamespace:
    return SimpleNamespace(epoch=epoch, time=time, log=SimpleNamespace(total=episodes))


def clocked(monkeypatch, bar: ProgressBar, steps: list[tuple[float, int]]) -> None:
    for now, epoch in steps:
        monkeypatch.setattr(progress.time, "perf_counter", lambda now=now: now)
        bar(walk(epoch))


def test_the_time_left_comes_from_the_speed_of_late_not_from_the_compiling_first_call(monkeypatch):
    out = io.StringIO()
    bar = ProgressBar(1000, None, out)
    clocked(monkeypatch, bar, [(100.0, 1), (106.0, 301)])
    assert out.getvalue() == "301 decisions (30 %), 50/s, episode 1, 14 s left\n"


def test_the_window_forgets_a_slow_beginning(monkeypatch):
    out = io.StringIO()
    bar = ProgressBar(10_000, None, out)
    clocked(monkeypatch, bar, [(0.0, 1), (6.0, 7), (12.0, 607), (18.0, 1207), (24.0, 1807)])
    assert "1e+02/s" in out.getvalue().splitlines()[-1] and "1 min 22 s left" in out.getvalue().splitlines()[-1]


def test_the_share_is_of_time_where_time_is_the_limit():
    bar = ProgressBar(None, 50.0, io.StringIO())
    assert bar.share(walk(10, time=25.0)) == 0.5 and bar.share(walk(10, time=60.0)) == 1.0
    assert ProgressBar(100, 50.0, io.StringIO()).share(walk(90, time=5.0)) == 0.9


def test_simulate_is_silent_unless_asked(capsys):
    simulate(make("two-state"), [1, 0], max_epochs=1000)
    said = capsys.readouterr()
    assert said.out == said.err == ""


def test_a_bar_on_a_terminal_is_drawn_and_taken_away(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    bar = ProgressBar(1000, None, out)
    clocked(monkeypatch, bar, [(0.0, 1), (1.0, 100), (2.0, 200)])
    bar.close()
    assert "200 decisions (20 %)" in out.getvalue() and "\x1b[2K" in out.getvalue()
