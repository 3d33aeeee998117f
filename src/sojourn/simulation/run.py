"""What a simulation gives back."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import require
from sojourn.learn.abilities import called, structure_of
from sojourn.learn.certificate import Certificate
from sojourn.learn.learner import History
from sojourn.learn.streams import Seed
from sojourn.model.ctmdp import CTMDP
from sojourn.model.words import html_card
from sojourn.simulation.episodes import Episodes
from sojourn.simulation.regret import COLUMNS, REGRETS, Point

SHOWN = 9  # checkpoints in the table of a notebook, the first and the last among them

if TYPE_CHECKING:
    from sojourn.learn.structure_test import Evidence
    from sojourn.report.look import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One run of a learner on a model.  Arrays over the checkpoints; rewards and regrets in reward units.

    With `max_epochs`, a checkpoint is the moment S_N of the N-th decision: `epochs` N, `times` S_N (N - 1 holding times),
    `rewards` everything paid until then, N lump sums included, and `regret` = gain · times - rewards (eq:regret_SN).
    With `max_time` it is a fixed time T: `epochs` is N(T), which counts the decision at time 0, `times` is T, `rewards`
    includes the running reward of the unfinished sojourn, and `regret` is R_T.  `completed_regret` lets the sojourn under
    way finish; `adjusted_regret` (eq:deltak) and `pseudo_regret` (Σ φ* · visits) depend on the visits only.
    """

    epochs: np.ndarray
    times: np.ndarray
    rewards: np.ndarray
    regret: np.ndarray
    completed_regret: np.ndarray
    adjusted_regret: np.ndarray
    pseudo_regret: np.ndarray
    visits: np.ndarray  # (S, A), 0 where not admissible
    episodes: Episodes
    gain: float  # the optimal one, which the regrets measure against
    bias: np.ndarray
    start: Any  # the state in which it began, as the user calls it
    state: Any  # where it ended
    seconds: float
    decisions_per_second: float  # over the later half of the decisions
    model: CTMDP
    learner: Any
    seed: Seed
    interrupted: bool = False
    trajectory: History | None = None
    other_law: str = ""  # of the holding times, where they were not drawn as the model says
    certificate: Certificate | None = None  # of the last look, where `stop_when` was given: true where the run ended by it

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters that the learner used, defaults included; empty for a learner that does not say."""
        return dict(getattr(self.learner, "settings", {}))

    def bad_steps(self, epsilon: float) -> int:
        """Return L_ε(N): the decisions taken in ε-bad episodes, those with adjusted regret >= ε per decision."""
        return self.episodes.bad_steps(epsilon)

    def points(self) -> list[Point]:
        """Return the checkpoints one by one."""
        return [Point(*row) for row in zip(*(column.tolist() for column in self.columns().values()))]

    def frame(self) -> Any:
        """Return one row per checkpoint as a pandas DataFrame (needs the extra `frame`)."""
        pandas: Any = require("pandas", "frame")
        return pandas.DataFrame(self.columns())

    def columns(self) -> dict[str, np.ndarray]:
        """Return the checkpoints as columns, named as in the export of a study."""
        return {name: getattr(self, column) for name, column in zip(("epoch", "time", "reward", *REGRETS), COLUMNS, strict=True)}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file: the checkpoints as `.csv` or `.parquet`, or as `.npz` all of it, which `Run.load` reads back."""
        from sojourn.simulation.run_file import write_run

        write_run(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], max_bytes: int | None = None) -> Run:
        """Return the run that `save` wrote to a `.npz` file, its model, episodes and trajectory included.

        A learner of the catalogue comes back as it was at the end; of another one its name, parameters and knowledge are left.
        Reading runs nothing.  `max_bytes` is how much may be unpacked; without it that is in proportion to the size of the file.
        """
        from sojourn.simulation.run_file import read_run

        return read_run(path, max_bytes)

    @property
    def structure(self) -> Evidence | None:
        """The evidence against the events that the learner was told (learn/structure_test.py); None if it was told of none."""
        return structure_of(self.learner)

    def plot(self, path: str | PathLike[str] | None = None, bounds: bool = True) -> Figure:
        """Draw the regret against the decisions, beside what is proved of it; write it to `path` if given (extra `plot`)."""
        from sojourn.report.runs import plot_run

        return plot_run(self, path, bounds)

    def __repr__(self) -> str:
        if not len(self.epochs):
            return f"<Run of {called(self.learner)}: no checkpoint reached{', interrupted' if self.interrupted else ''}>"
        return (f"<Run of {called(self.learner)}: {self.epochs[-1]:,} decisions, time {self.times[-1]:.6g}, "
                f"pseudo-regret {self.pseudo_regret[-1]:.6g}, {self.episodes.total:,} episodes"
                f"{', certified' if self.certificate else ''}{', interrupted' if self.interrupted else ''}>")

    def _repr_html_(self) -> str:
        head = [name.replace("_", " ") for name in Point._fields]
        last, points = len(self.epochs) - 1, self.points()
        shown = [points[i] for i in np.unique(np.linspace(0, last, SHOWN).round().astype(int))] if points else []
        return html_card(repr(self)[1:-1], head, [[f"{value:,.6g}" for value in point] for point in shown])
