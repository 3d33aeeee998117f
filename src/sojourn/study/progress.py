"""How a run is going, on stderr: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import IO, TYPE_CHECKING, Any

from sojourn.simulation.progress import clock, in_notebook
from sojourn.study.adopt import Cell
from sojourn.study.task import Outcome

if TYPE_CHECKING:
    from sojourn.study.notebook import NotebookDisplay

PLAIN_SECONDS = 10.0


class Gauge:
    """What both displays show: per cell and overall the share done, the mean final regret, decisions per second."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.cells: list[Cell] = []
        self.finished: list[float] = []
        self.part: list[float] = []  # replications' worth of progress since the start
        self.left: list[float] = []  # replications missing at the start
        self.pace: list[float] = []  # the best share per second of processor time; 0 while unknown
        self.slices: list[int] = []
        self.processor_seconds = 0.0
        self.sums: list[float] = []
        self.runs: list[int] = []
        self.total = 0
        self.at_start = 0.0
        self.decisions = 0
        self.failed = 0

    def begin(self, cells: list[Cell], finished: dict[int, int], total: int, epochs: int | None) -> None:
        self.began = time.monotonic()
        self.cells, self.total = cells, total
        self.finished = [float(finished[i]) for i in range(len(cells))]
        self.at_start = sum(self.finished)
        self.part = [0.0] * len(cells)
        self.left = [total - there for there in self.finished]
        self.pace, self.slices, self.processor_seconds = [0.0] * len(cells), [0] * len(cells), 0.0
        self.sums, self.runs = [0.0] * len(cells), [0] * len(cells)

    def advance(self, cell: int, outcome: Outcome) -> None:
        self.finished[cell] += len(outcome.finished)
        self.failed += len(outcome.failed)
        self.part[cell] += outcome.share
        self.decisions += outcome.decisions
        self.sums[cell] += sum(outcome.final_regret)
        self.runs[cell] += len(outcome.final_regret)
        self.processor_seconds += outcome.cpu_seconds
        if self.slices[cell] and outcome.cpu_seconds > 0 and not outcome.failed:
            self.pace[cell] = max(self.pace[cell], outcome.share / outcome.cpu_seconds)
        self.slices[cell] += 1

    @property
    def share(self) -> float:
        """The share of all replications that is done, parts of replications included."""
        whole = self.total * len(self.cells)
        return min(1.0, (self.at_start + sum(self.part)) / whole) if whole else 1.0

    @property
    def speed(self) -> float:
        return self.decisions / max(1e-9, time.monotonic() - self.began)

    @property
    def seconds_left(self) -> float | None:
        """What the best pace of each cell promises; None while no cell has been worked on twice.

        The first slice of a cell, and that of every further worker, goes into compiling and says nothing about the pace.  A cell
        whose pace is unknown is taken for an average one.
        """
        known = [pace for pace in self.pace if pace > 0]
        if not known:
            return None
        usual = sum(known) / len(known)
        cells = zip(self.left, self.part, self.pace, strict=True)
        work = sum(max(0.0, left - part) / (pace or usual) for left, part, pace in cells)
        at_once = self.processor_seconds / max(1e-9, time.monotonic() - self.began)  # processors in use, on average
        return work / max(1e-9, at_once)

    def mean_regret(self, cell: int) -> str:
        return f"{self.sums[cell] / self.runs[cell]:,.1f}" if self.runs[cell] else "-"


class PlainLines(Gauge):
    """A line every ten seconds, and one at the end; mean regrets only of a study so small that they fit into the line."""

    CELLS = 8

    def __init__(self, stream: IO[str] | None = None, every: float = PLAIN_SECONDS):
        super().__init__()
        self._stream = stream or sys.stderr
        self._every = every
        self._last = time.monotonic()

    def begin(self, cells: list[Cell], finished: dict[int, int], total: int, epochs: int | None) -> None:
        super().begin(cells, finished, total, epochs)
        there = int(self.at_start)
        known = f", {there} of them there already" if there else ""
        self.say(f"{len(cells)} x {total} replications{known}")

    def advance(self, cell: int, outcome: Outcome) -> None:
        super().advance(cell, outcome)
        if time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            self.say(self._line())

    def _line(self) -> str:
        left = self.seconds_left
        failed = f"; {self.failed} failed" if self.failed else ""
        shown = [i for i in range(len(self.cells)) if self.runs[i] and len(self.cells) <= self.CELLS]
        regrets = ", ".join(f"{self.cells[i].label}: {self.mean_regret(i)}" for i in shown)
        return (
            f"{self.share:.0%} done, {sum(self.finished):.0f} of {self.total * len(self.cells)} replications, "
            f"{self.speed:.3g} decisions/s, {clock(left)} left" + failed + (f"; mean regret {regrets}" if regrets else "")
        )

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def end(self) -> None:
        if self.decisions:
            took = time.monotonic() - self.began
            self.say(
                f"{sum(self.finished):.0f} of {self.total * len(self.cells)} replications there; {self.decisions:,} decisions "
                f"in {took:.1f} s ({self.speed:.3g} a second)" + (f"; {self.failed} failed" if self.failed else "")
            )


class LiveDisplay(Gauge):
    """Bars in the terminal: one overall, one for each learner on each model (of many, the unfinished ones)."""

    ROWS = 16

    def __init__(self, console: Any = None):
        super().__init__()
        from rich.console import Console

        self._console = console or Console(stderr=True)
        self._live: Any = None

    def begin(self, cells: list[Cell], finished: dict[int, int], total: int, epochs: int | None) -> None:
        from rich.live import Live

        super().begin(cells, finished, total, epochs)
        self._live = Live(get_renderable=self._table, console=self._console, refresh_per_second=4)
        self._live.start()

    def _table(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table = Table(box=None, pad_edge=False, expand=False)
        table.add_column("", overflow="ellipsis", max_width=44, no_wrap=True)
        table.add_column("")
        table.add_column("replications", justify="right")
        table.add_column("mean regret", justify="right")
        table.add_row(
            "all",
            ProgressBar(total=1.0, completed=self.share, width=30),
            f"{sum(self.finished):.0f}/{self.total * len(self.cells)}",
            "",
        )
        open_cells = [i for i in range(len(self.cells)) if self.finished[i] < self.total]
        shown = range(len(self.cells)) if len(self.cells) <= self.ROWS else open_cells[: self.ROWS]
        for i in shown:
            done = min(1.0, (self.finished[i] + max(0.0, self.part[i] - self.runs[i])) / max(1, self.total))
            table.add_row(
                self.cells[i].label,
                ProgressBar(total=1.0, completed=done, width=30),
                f"{self.finished[i]:.0f}/{self.total}",
                self.mean_regret(i),
            )
        failed = f"{self.failed} failed" if self.failed else ""
        table.add_row(f"{self.speed:.3g} decisions/s, {clock(self.seconds_left)} left", failed, "", "")
        return table

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)

    def end(self) -> None:
        if self._live is not None:
            self._live.refresh()
            self._live.stop()
            self._live = None


def display(stream: IO[str] | None = None) -> PlainLines | LiveDisplay | NotebookDisplay:
    """Return the display that suits the place: a notebook, a terminal, or a file of lines."""
    from sojourn.study.notebook import NotebookDisplay

    if stream is None and in_notebook():
        return NotebookDisplay()
    return LiveDisplay() if (stream or sys.stderr).isatty() else PlainLines(stream)
