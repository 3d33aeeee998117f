"""Plans that may come late: while another process makes the next plan, the old policy answers a bounded number of times.

The plan that is due behind an episode depends on its very last holding time, so it cannot be made ahead: whoever must not wait
for it can only be answered by the old policy meanwhile.  That is never done unasked (`max_late=0`).  Where it was asked for:

- when an episode ends, what the learner knows then is set aside (`Due`), and a plan is made from that, elsewhere;
- until it comes, the old policy goes on, for at most `max_late` answers; then whoever reports has to wait;
- a note in the journal says behind which report the plan was taken over.  From there on the learner is the one that planned,
  told what happened since.  So a journal folded again gives the same, to the last bit, however long the plans took.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sojourn.control.steady import SteadySession, in_short, is_failure
from sojourn.kernels.ledger import LEFT, NO_LIMIT
from sojourn.learn.abilities import abilities_of
from sojourn.learn.catalogue import learner as made_learner
from sojourn.learn.learner import History
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.episode import Episode, next_episode

COLUMNS = ("state", "action", "holding_time", "next_state", "reward", "lump", "running", "event", "silent")


@dataclass
class Due:
    """A plan that is due: what the learner knew, the decision it was due for, its number, and what was reported since."""

    learner: dict[str, Any]
    epoch: int
    index: int
    late: int = 0  # answers that the old policy gave since
    since: list[dict[str, Any]] = field(default_factory=list)

    def as_tree(self) -> dict[str, Any]:
        return {"learner": self.learner, "epoch": self.epoch, "index": self.index, "late": self.late, "since": self.since}


def planned(which: str, knowledge: Knowledge, parameters: dict[str, Any], seed: int, due: dict[str, Any]) -> dict[str, Any]:
    """Return the plan that is due, and the learner behind it, or why it failed: the same in whatever process it is made."""
    learner = made_learner(which, knowledge, seed, **parameters)
    learner.restore(due["learner"])
    try:
        episode = next_episode(learner, knowledge, None, int(due["epoch"]))
    except Exception as error:
        if not is_failure(error):
            raise
        return {"failed": in_short(error)}
    episode.index = int(due["index"])
    tables = learner.snapshot() if abilities_of(learner).shows else {}
    return {"learner": learner.state(), "episode": episode.state(), "tables": {k: np.array(v) for k, v in tables.items()}}


class LateSession(SteadySession):
    """A session whose next plan is made by somebody else; `due` is not None while one is wanted."""

    due: Due | None = None
    waits = True  # for a plan of somebody else; False: make it here and now

    def _begin(self) -> Episode:
        if self._episode is None or not self.waits:
            return super()._begin()
        self.due = Due(self.learner.state(), self.epoch, self._episode.index + 1)
        self._episode.left[:] = NO_LIMIT
        self._episode.under_way.epochs[LEFT] = NO_LIMIT
        return self._episode

    def _choose(self) -> int:
        pair = super()._choose()
        if self.due is not None:
            self.due.late += 1
        return pair

    def _observe(self, history: History) -> None:
        super()._observe(history)
        if self.due is not None:
            rows = {name: getattr(history, name) for name in COLUMNS}
            self.due.since.append({name: np.array(value) for name, value in rows.items() if value is not None})

    def adopt(self, found: dict[str, Any]) -> int:
        """Go on with the plan that was due, behind the pending decision; return how many answers were given without it."""
        due, self.due = self.due, None
        assert due is not None
        if "failed" in found:
            self._go_on(found["failed"])
            return due.late
        self.failures = 0
        self.learner.restore(found["learner"])
        for row in due.since:
            self.learner.observe(History(**row))
        self._episode = Episode.restored(found["episode"], self.knowledge)
        self._episode.start_epoch = self.epoch + 1
        self._tables = {name: np.array(table) for name, table in found["tables"].items()}
        return due.late

    def save_tree(self) -> dict[str, Any]:
        """Return everything as `save` does, with the plan that is due."""
        return {**super().save_tree(), "due": {} if self.due is None else self.due.as_tree()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Become the session that `save_tree()` described."""
        super().restore(saved)
        self.due = Due(**saved["due"]) if saved.get("due") else None
