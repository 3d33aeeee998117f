"""A process that makes plans, for a controller that may not wait for them (late.py), and the line to it.

`python -m sojourn.control.planner` reads frames (8 bytes of length, then packed bytes): first a setting, then what is due; each of
these it answers with a plan.  It ends when its input does, so it does not outlive its controller.  Whatever goes wrong there, the
controller makes the plan itself.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import IO, Any

from sojourn.control.fold import Fold
from sojourn.control.late import planned
from sojourn.control.setting import Setting
from sojourn.model.pack import pack, unpack


def send(stream: IO[bytes], data: bytes) -> None:
    """Write one frame."""
    stream.write(len(data).to_bytes(8, "big") + data)
    stream.flush()


def received(stream: IO[bytes]) -> bytes:
    """Return one frame; b"" where the other end is gone."""
    size = int.from_bytes(stream.read(8), "big")
    data = stream.read(size) if size else b""
    return data if len(data) == size else b""


def plan_of(setting: Setting, due: dict[str, Any]) -> dict[str, Any]:
    """Return the plan that is due under a controller's setting."""
    return planned(setting.learner, setting.allowed(), setting.parameters, setting.seed, due)


class Planner:
    """The controller's end: `ask` once, then `answer` until it is there."""

    def __init__(self, setting: Setting):
        self.setting = setting
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._due: dict[str, Any] = {}
        self._found: bytes = b""

    @property
    def busy(self) -> bool:
        """Whether a plan was asked for and not taken yet."""
        return self._thread is not None

    def start(self) -> None:
        """Start the process, so that it is there when it is needed; without one the plans are made here."""
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen([sys.executable, "-m", "sojourn.control.planner"], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, start_new_session=True)  # Ctrl-C is the controller's
            assert self._process.stdin is not None
            send(self._process.stdin, self.setting.to_bytes())

    def ask(self, due: dict[str, Any]) -> None:
        """Let the plan be made, from what is known now."""
        self._due, self._found = due, b""
        self._thread = threading.Thread(target=self._wait, args=(pack(due),), daemon=True)
        self._thread.start()

    def _wait(self, due: bytes) -> None:
        process = self._process
        with contextlib.suppress(OSError, ValueError):
            if process is not None and process.stdin is not None and process.stdout is not None:
                send(process.stdin, due)
                self._found = received(process.stdout)

    def answer(self, wait: bool) -> dict[str, Any] | None:
        """Return the plan if it is there, or None; with `wait` it is waited for, and made here if the other process failed."""
        thread = self._thread
        assert thread is not None
        if thread.is_alive() and not wait:
            return None
        thread.join()
        self._thread = None
        found: dict[str, Any] = unpack(self._found) if self._found else plan_of(self.setting, self._due)
        return found

    def stop(self) -> None:
        """End the process."""
        process, self._process, self._thread = self._process, None, None
        if process is not None:
            process.kill()
            process.communicate()


class LatePlans:
    """What a controller does about plans that are due: asks for them, takes them over, and ends with it."""

    def __init__(self) -> None:
        self._planner: Planner | None = None

    def ask(self, fold: Fold) -> None:
        """Let the other process begin with a plan that is due."""
        due = getattr(fold.session, "due", None)
        if due is not None:
            if self._planner is None:
                self._planner = Planner(fold.setting)
                self._planner.start()
            if not self._planner.busy:
                self._planner.ask(due.as_tree())

    def taken(self, fold: Fold) -> int | None:
        """Take the plan that was due over, if it is there or can be waited for no longer; return how many answers it came late."""
        due = getattr(fold.session, "due", None)
        if due is None:
            return None
        self.ask(fold)
        assert self._planner is not None
        found = self._planner.answer(wait=due.late >= fold.setting.max_late)
        return None if found is None else fold.adopt(found)

    def stop(self) -> None:
        """End the other process."""
        planner, self._planner = self._planner, None
        if planner is not None:
            planner.stop()


def main() -> None:
    """Read frames and answer them until the input ends, or nobody wants an answer any more."""
    reading, writing = sys.stdin.buffer, sys.stdout.buffer
    first = received(reading)
    if not first:
        return  # the controller was killed before it said what it runs
    setting = Setting.from_bytes(first)
    while due := received(reading):
        try:
            send(writing, pack(plan_of(setting, unpack(due))))
        except BrokenPipeError:
            os._exit(0)  # the controller was killed


if __name__ == "__main__":
    main()
