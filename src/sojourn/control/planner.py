"""A process that makes plans, for a controller that may not wait for them (late.py), and the line to it.

`python -m sojourn.control.planner` reads frames (8 bytes of length, then packed bytes): first a setting, which it answers when it
is ready, then what is due; each of these it answers with a plan.  It ends when its input does, so it does not outlive its
controller.  Whatever goes wrong there, the controller makes the plan itself: also where that process is not ready yet, or neither
answers nor computes (it was stopped, or waits for a dead disk).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from typing import IO, Any

from sojourn.control.fold import Fold
from sojourn.control.late import Due, planned
from sojourn.control.setting import Setting
from sojourn.model.pack import pack, unpack

READY = b"ready"
PATIENCE = 0.25  # seconds in which the other process must compute something, where its plan is waited for


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
        self._wanted = False
        self._thread: threading.Thread | None = None  # that waits for the other process
        self._late = False  # the plan it waits for is one that was given up
        self._seen: tuple[str, float] | None = None  # processor time of the other process when that was looked at, and when
        self._due: dict[str, Any] = {}
        self._found: list[bytes] = []
        self._ready = threading.Event()
        self._setting = b""  # that the process is still to be told

    @property
    def busy(self) -> bool:
        """Whether a plan was asked for and not taken yet."""
        return self._wanted

    def start(self) -> None:
        """Start the process, so that it is there when it is needed; without one the plans are made here."""
        self._ready = threading.Event()
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen([sys.executable, "-m", "sojourn.control.planner"], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, start_new_session=True)  # Ctrl-C is the controller's
            self._setting = self.setting.to_bytes()  # sent by the thread: a large one fills the pipe until it is read

    def ask(self, due: dict[str, Any]) -> None:
        """Let the plan be made, from what is known now; here, where the other process still makes one that was given up."""
        self._due, self._wanted, self._late = due, True, self._thread is not None and self._thread.is_alive()
        if not self._late:
            self._seen = None
            self._found = []  # a list of its own: a thread whose process was ended writes nothing into the next one's
            self._thread = threading.Thread(target=self._wait, daemon=True,
                                            args=(self._process, self._ready, self._setting, pack(due), self._found))
            self._setting = b""
            self._thread.start()

    @staticmethod
    def _wait(process: subprocess.Popen[bytes] | None, ready: threading.Event, setting: bytes, due: bytes,
              found: list[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            if process is not None and process.stdin is not None and process.stdout is not None:
                if setting:
                    send(process.stdin, setting)
                send(process.stdin, due)
                if ready.is_set() or received(process.stdout) == READY:
                    ready.set()
                    found.append(received(process.stdout))

    def answer(self, wait: bool) -> dict[str, Any] | None:
        """Return the plan if it is there, or None; with `wait` it is waited for, and made here if the other process is not ready,
        failed or stands still; in place of one that stands still another is started."""
        thread = self._thread
        assert thread is not None
        if not wait and (self._late or thread.is_alive()):
            return None
        if self._late:
            self._end_if_still()
        elif self._ready.is_set():
            while thread.is_alive() and self._thread is thread:
                thread.join(PATIENCE / 5)
                self._end_if_still()
        data = b"" if self._late or thread.is_alive() or not self._found else self._found[0]
        self._wanted = False
        found: dict[str, Any] = unpack(data) if data else plan_of(self.setting, self._due)
        return found

    def _end_if_still(self) -> None:
        """Start the other process anew where it owes a plan and has computed nothing for a while."""
        used, now = self._cpu_time(), time.monotonic()
        if self._seen is None or used != self._seen[0]:
            self._seen = used, now
        elif now - self._seen[1] > PATIENCE and self._thread is not None and self._thread.is_alive():
            self.stop()
            self.start()

    def _cpu_time(self) -> str:
        """Return the processor time that the other process has used, or a new text each time while it waits for a processor."""
        if self._process is None:
            return ""
        try:
            with open(f"/proc/{self._process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return ""
        return str(time.monotonic()) if fields[0] == "R" else f"{fields[11]} {fields[12]}"

    def stop(self) -> None:
        """End the process."""
        process, self._process, self._thread = self._process, None, None
        if process is not None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that waits for a dead disk ends when that answers
                process.communicate(timeout=PATIENCE)


class LatePlans:
    """What a controller does about plans that are due: asks for them, takes them over, and ends with it."""

    def __init__(self) -> None:
        self._planner: Planner | None = None
        self._asked: Due | None = None  # the plan that was asked for last

    def ask(self, fold: Fold) -> None:
        """Let the other process begin with a plan that is due."""
        due = getattr(fold.session, "due", None)
        if due is not None:
            if self._planner is None:
                self._planner = Planner(fold.setting)
                self._planner.start()
            if self._asked is not due or not self._planner.busy:  # what was asked for before an import is of no use any more
                self._asked = due
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
    try:
        send(writing, READY)
        while due := received(reading):
            send(writing, pack(plan_of(setting, unpack(due))))
    except BrokenPipeError:
        os._exit(0)  # the controller was killed; the usual way out would complain of what could not be written


if __name__ == "__main__":
    main()
