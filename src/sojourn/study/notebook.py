"""How a run is going, in a notebook: a table with bars under the cell, renewed in place."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from sojourn.simulation.progress import clock, show_html
from sojourn.study.adopt import Cell
from sojourn.study.progress import Gauge
from sojourn.study.task import Outcome

EVERY = 0.5  # seconds between two looks


class NotebookDisplay(Gauge):
    """A bar for all replications and one for each learner on each model."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = 0.0
        self._handle: Any = None
        self._said: list[str] = []

    def begin(self, cells: list[Cell], finished: dict[int, int], total: int, epochs: int | None) -> None:
        super().begin(cells, finished, total, epochs)
        self._show(f"{clock(self.seconds_left)} left; the first replications may wait for compiling")

    def advance(self, cell: int, outcome: Outcome) -> None:
        super().advance(cell, outcome)
        if time.monotonic() - self._shown >= EVERY:
            self._show(f"{self.speed:.3g} decisions a second, {clock(self.seconds_left)} left")

    def say(self, text: str) -> None:
        self._said.append(text)
        self._show("")

    def end(self) -> None:
        took = time.monotonic() - self.began
        self._show(f"{self.decisions:,} decisions in {took:.1f} s" if self.decisions else "nothing was missing")

    def _show(self, words: str) -> None:
        self._shown = time.monotonic()
        self._handle = show_html(self.html(words), self._handle)

    def html(self, words: str) -> str:
        """Return the table; bars for the replications that are done, parts of replications included."""
        rows = [_row("all", self.share, f"{sum(self.finished):.0f} of {self.total * len(self.cells)}", "")]
        for i, cell in enumerate(self.cells):
            done = min(1.0, (self.finished[i] + max(0.0, self.part[i] - self.runs[i])) / max(1, self.total))
            rows.append(_row(cell.label, done, f"{self.finished[i]:.0f} of {self.total}", self.mean_regret(i)))
        head = "<tr><th></th><th></th><th>replications</th><th>mean pseudo-regret</th></tr>"
        failed = [f"{self.failed} failed"] if self.failed else []
        lines = "".join(f"<div>{escape(text)}</div>" for text in (*self._said, *failed, words) if text)
        return f"<table>{head}{''.join(rows)}</table>{lines}"


def _row(label: str, done: float, replications: str, regret: str) -> str:
    bar = f'<progress value="{done:.4f}" max="1"></progress>'
    return f"<tr><td>{escape(label)}</td><td>{bar}</td><td>{replications}</td><td>{regret}</td></tr>"
