"""How far a walk has got: a bar on a terminal or in a notebook, a plain line every few seconds elsewhere (on stderr)."""

from __future__ import annotations

import sys
import time
from collections import deque
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sojourn.simulation.walk import Walk

EVERY = 0.1  # seconds between two looks at a terminal
PLAIN_EVERY = 5.0
WINDOW = 10.0  # the speed is that of the last so many seconds, so that the time left is honest when it changes


class ProgressBar:
    """Called with the walk after every kernel call; shows decisions, decisions per second, episode and time left."""

    def __init__(self, max_epochs: float | None, max_time: float | None, stream: Any = None):
        self.max_epochs, self.max_time = max_epochs, max_time
        self.stream = stream if stream is not None else sys.stderr
        self.notebook = stream is None and in_notebook()
        self.fancy = bool(getattr(self.stream, "isatty", lambda: False)()) or self.notebook
        self.shown = 0.0
        self.past: deque[tuple[float, int, float]] = deque()  # when, decisions, share done
        self._bar: Any = None
        self._handle: Any = None  # of what a notebook shows
        if self.notebook:
            self._show(0.0, "starting; a learner's first run compiles its kernels, once")

    def __call__(self, walk: Walk) -> None:
        now = time.perf_counter()
        if not self.past:  # the first call may have compiled its kernels: the speed is measured from here on
            self.past.append((now, walk.epoch, self.share(walk)))
            self.shown = now
        if now - self.shown < (EVERY if self.fancy else PLAIN_EVERY):
            return
        self.shown = now
        share = self.share(walk)
        self.past.append((now, walk.epoch, share))
        while len(self.past) > 2 and now - self.past[0][0] > WINDOW:
            self.past.popleft()
        words = self.words(walk.epoch, share, walk.log.total) + proved(walk)
        if self.notebook:
            self._show(share, words)
        elif self.fancy:
            self._draw(share, words)
        else:
            print(words, file=self.stream, flush=True)

    def share(self, walk: Walk) -> float:
        """Return the part of the work that is done: of the decisions or of the time, whichever is further."""
        done = 0.0
        if self.max_epochs:
            done = walk.epoch / self.max_epochs
        if self.max_time:
            done = max(done, walk.time / self.max_time)
        return min(done, 1.0)

    def words(self, epoch: int, share: float, episode: int) -> str:
        """Return `12,000,000 decisions (12 %), 5.1e+07/s, episode 31, 17 s left`."""
        (then, epochs, before), now = self.past[0], self.past[-1][0]
        seconds = max(now - then, 1e-9)
        gained = share - before
        left = f", {clock((1 - share) * seconds / gained)} left" if gained > 0 else ""
        return f"{epoch:,} decisions ({100 * share:.0f} %), {(epoch - epochs) / seconds:.2g}/s, episode {episode}{left}"

    def _draw(self, share: float, words: str) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (BarColumn(bar_width=24), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(file=self.stream), transient=True, auto_refresh=False)
            self._bar.start()
            self._task = self._bar.add_task("", total=1.0)
        self._bar.update(self._task, completed=share, description=words, refresh=True)

    def _show(self, share: float, words: str) -> None:
        """Draw the bar under the cell, in the place of the last one."""
        self._handle = show_html(f'<progress value="{share:.4f}" max="1"></progress> {escape(words)}', self._handle)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
        if self._handle is not None:
            show_html("", self._handle)


def proved(walk: Walk) -> str:
    """Return how close to the best a policy is proved to be, where the run waits for that: `, within 12 % of the best`."""
    found = getattr(walk, "certificate", None)
    if found is None or not np.isfinite(found.gap):
        return ""
    share = f"{100 * found.relative_gap:.2g} %" if np.isfinite(found.relative_gap) else f"{found.gap:.3g}"
    return f", within {share} of the best"


def in_notebook() -> bool:
    """Return whether this runs in a notebook's kernel: somebody waits there, and sees no terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


def show_html(text: str, handle: Any = None) -> Any:
    """Show HTML under a notebook's cell, in the place of what `handle` shows; return the handle."""
    notebook: Any = import_module("IPython.display")
    if handle is None:
        return notebook.display(notebook.HTML(text), display_id=True)
    handle.update(notebook.HTML(text))
    return handle


def clock(seconds: float | None) -> str:
    """Return a time to wait: `42 s`, `3 min 05 s` or `2 h 07 min`, and `?` where it is unknown.

    >>> clock(41.6), clock(185), clock(7620), clock(None)
    ('42 s', '3 min 05 s', '2 h 07 min', '?')
    """
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
