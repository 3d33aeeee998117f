"""A line on stderr while a large model is being built or solved, from two seconds on."""

from __future__ import annotations

import sys
import time

PATIENCE = 2.0  # seconds of silence
EVERY = 0.5  # seconds between two lines


class Progress:
    """Says what is being done; silent unless `wanted`."""

    def __init__(self, wanted: bool):
        self.wanted, self.began, self.last, self.length = wanted, time.perf_counter(), 0.0, 0

    def show(self, method: str, done: int, width: float, goal: float) -> None:
        """Say how wide the interval of the gain is, and how wide it may be."""
        self.say(f"{method}: {done:,} done, the gain is known to {width:.2g}, wanted {goal:.2g}")

    def say(self, text: str) -> None:
        """Write `text` over the line before, at most twice a second."""
        now = time.perf_counter()
        if not self.wanted or now - self.began < PATIENCE or now - self.last < EVERY:
            return
        self.last = now
        print(f"\r{text:<{self.length}}", end="", file=sys.stderr, flush=True)
        self.length = len(text)

    def end(self) -> None:
        """Wipe the line."""
        if self.length:
            print("\r" + " " * self.length + "\r", end="", file=sys.stderr, flush=True)
            self.length = 0
