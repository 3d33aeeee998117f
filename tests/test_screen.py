"""What is said on stderr while something takes long: one line written over on a terminal, a few lines elsewhere."""

import io
import sys

import pytest

from sojourn import screen
from sojourn.kernels import jit
from sojourn.model import progress
from sojourn.model.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def seen(text: str) -> list[str]:
    """The lines that a reader of a terminal is left with, or sees written over: what stands after the last return on each."""
    return [line.split("\r")[-1].rstrip() for line in text.split("\n")]


def test_a_compiling_line_begins_on_a_line_of_its_own(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    line = Progress(True)
    clock[0] += 3
    line.say("sweeps: 1,000 done, the gain is known to 0.1, wanted 1e-09")
    jit.Announcer().say()
    clock[0] += 3
    line.say("sweeps: 2,000 done")
    line.end()
    first, last = seen(sys.stderr.getvalue())
    assert first == "sojourn: compiling for this machine, once, up to half a minute in all ..." and last == ""


def test_elsewhere_lines_are_whole_few_and_never_twice_the_same(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = Progress(True)
    for second in range(7200):
        clock[0] += 0.5
        line.say(f"sweeps: {second} done" if second < 3600 else "sweeps: 3,600 done")
    line.end()
    lines = sys.stderr.getvalue().split("\n")
    assert "\r" not in sys.stderr.getvalue() and lines[-1] == "" and 8 <= len(lines) <= 14
    assert len(set(lines)) == len(lines)


def test_nothing_is_said_of_what_is_quick(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = Progress(True)
    clock[0] += 1.9
    line.say("sweeps")
    line.end()
    screen.wipe()
    assert sys.stderr.getvalue() == ""
