"""What is being done while a large model is built or solved, on stderr, from two seconds on."""

from __future__ import annotations

import time

from sojourn.screen import is_terminal, wipe, write_line, write_over

PATIENCE = 2.0  # seconds of silence
EVERY = 0.5  # seconds between two looks at a terminal
LONGER = 2.0  # elsewhere each pause is this many times as long as the one before: a dozen lines in an hour


class Progress:
    """Says what is being done; silent unless `wanted`.  On a terminal one line is written over, elsewhere there are a few lines."""

    def __init__(self, wanted: bool):
        self.wanted, self.began, self.last, self.pause = wanted, time.perf_counter(), 0.0, EVERY
        self.terminal, self.shown, self.before = is_terminal(), False, ""

    def show(self, method: str, done: int, width: float, goal: float) -> None:
        """Say how wide the interval of the gain is, and how wide it may be."""
        self.say(f"{method}: {done:,} done, the gain is known to {width:.2g}, wanted {goal:.2g}")

    def say(self, text: str) -> None:
        """Write `text` over the line before, at most twice a second; off a terminal on a line of its own, and ever more rarely."""
        now = time.perf_counter()
        if not self.wanted or now - self.began < PATIENCE or now - self.last < self.pause or text == self.before:
            return
        self.last, self.before = now, text
        if self.terminal:
            write_over(text)
            self.shown = True
        else:
            write_line(text)
            self.pause = LONGER * max(self.pause, PATIENCE / LONGER)

    def end(self) -> None:
        """Wipe the line."""
        if self.shown:
            wipe()
            self.shown = False
