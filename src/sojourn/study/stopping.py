"""When the runs of a study could have stopped, and whether they would have been right: the study knows the model.

A study with `within` asks in every run for a certificate, at growing numbers of decisions (simulation/looks.py).  It notes the
first one and goes on to its horizon, so that regrets stay those of all N decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, SojournError
from sojourn.instance.difficulty import difficulty
from sojourn.learn.certificate import Certificate
from sojourn.learn.stopping import TELL_BOUNDS
from sojourn.model.closeness import Within, within
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.holding import HoldingTimes, other_law
from sojourn.simulation.looks import Looks
from sojourn.simulation.walk import Walk
from sojourn.solving.evaluate import evaluate

QUANTILES = (0.1, 0.5, 0.9)
LEAVE_OUT = 'leave rate_bounds = "unknown" out of the learner\'s table'  # TELL_BOUNDS in the words of a study file
ROUNDING = 1e-9  # relative: a policy that is short of what is good enough by less is right


@dataclass(frozen=True)
class Stopping:
    """The runs of one learner on one model: how many could stop, how many of these rightly, after how many decisions.

    Of runs that never could the quantiles are beyond the horizon: infinite.  `least` is what any rule needs in the mean (NaN where
    that is not known), `refused` says why no run could be judged.
    """

    model: str
    learner: str
    runs: int
    stopped: int
    correct: int
    early: float  # decisions: a tenth of the runs had stopped by then
    median: float
    late: float  # nine tenths
    median_time: float
    least: float = float("nan")
    refused: str = ""


class Watch:
    """Asks for a certificate during one replication, and notes when the first one came."""

    def __init__(self, walk: Walk, table: dict[str, Any] | None):
        self.walk, self.refused, self.time = walk, "", 0.0
        self.looks: Looks | None = None
        self.wanted = None if table is None else wish(table)
        if self.wanted is not None:
            try:
                self.looks = Looks(walk, self.wanted)
            except ParameterError as error:
                self.refused = str(error).replace(TELL_BOUNDS, LEAVE_OUT)

    def note(self) -> None:
        """Take the time if the certificate has just come."""
        if self.looks is not None and self.looks.certified and not self.time:
            self.time = float(self.walk.time)

    def result(self) -> dict[str, Any]:
        """Return what a store keeps: decisions and time (0: never certified), and what the policy falls short of the best gain."""
        if self.wanted is None:
            return {}
        found = self.looks.last if self.looks is not None else None
        if found is None or found.policy is None or not found.certified:
            return {"stopping": {"epochs": 0, "time": 0.0, "short": 0.0, "correct": 0, "refused": self.refused}}
        best = self.walk.yardstick.gain
        gain = float(evaluate(self.walk.model, found.policy).gain)
        right = gain >= self.wanted.least(best) - ROUNDING * abs(best)
        return {"stopping": {"epochs": found.epochs, "time": self.time, "short": best - gain, "correct": int(right), "refused": ""}}

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs."""
        if self.looks is None:
            return {}
        last = self.looks.last
        return {"looks": {"next": self.looks.next or 0, "time": self.time, "last": None if last is None else last.tree()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as `state()` described."""
        if self.looks is not None:
            tree = state["looks"]
            self.looks.next, self.time = int(tree["next"]) or None, float(tree["time"])
            last = tree["last"]
            self.looks.last = None if last is None else Certificate.from_tree(last, self.walk.knowledge)


def wish(table: Any) -> Within:
    """Return what `within` in a study file asks for: "5%", 0.05, or {epsilon = "5%", delta = 0.05}.

    >>> wish({"epsilon": "5%", "delta": 0.01}), wish(0.2).epsilon
    (Within(epsilon=0.05, relative=True, delta=0.01), 0.2)
    """
    if isinstance(table, dict):
        unknown = sorted(set(table) - {"epsilon", "delta"})
        if unknown or "epsilon" not in table:
            raise ParameterError(f"within is {table!r}; a table has epsilon, and delta if it is not 0.05.")
        return within(**table)
    return within(table)


def stopping_of(runs: Sequence[dict[str, Any]], model: str, learner: str, least: float) -> Stopping:
    """Return the figures of some runs, as `Watch.result` wrote them."""
    epochs = np.array([run["epochs"] or np.inf for run in runs], dtype=float)
    times = np.array([run["time"] or np.inf for run in runs], dtype=float)
    early, median, late = (float(np.quantile(epochs, share, method="inverted_cdf")) for share in QUANTILES)
    refused = next((str(run["refused"]) for run in runs if run["refused"]), "")
    return Stopping(model, learner, len(runs), int(np.isfinite(epochs).sum()), sum(int(run["correct"]) for run in runs),
                    early, median, late, float(np.quantile(times, 0.5, method="inverted_cdf")), least, refused)


def least_needed(model: CTMDP, wanted: Within, kind: str, holding_times: HoldingTimes = None) -> float:
    """Return the decisions that any rule needs whose learner was told `kind` (study/bounds.py); NaN where that is not known."""
    if kind == "events" or other_law(model, holding_times):
        return float("nan")
    try:
        return difficulty(model).as_told.stopping_bound(wanted, supports=kind == "supports").epochs
    except SojournError:
        return float("nan")
