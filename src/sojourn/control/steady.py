"""A session that goes on where a plan fails: a plant gets an answer whatever its reports were.

A plan can fail: what was reported may contradict what was told so far that no plan can be proved, or a learner may be wrong.  Then
the safe action is advised where it can be taken, else the policy of the last plan, and a plan is asked for again after 10
decisions, after 20 if that fails too, and so on.  All of this follows from the reports, so that a journal folded again gives the
same.
"""

from __future__ import annotations

from typing import Any

from sojourn.kernels.ledger import LEFT, NO_LIMIT
from sojourn.simulation.episode import Episode
from sojourn.simulation.session import Session

RETRY = 10  # decisions after the first failure
MOST = 2**40  # decisions after any


def is_failure(error: Exception) -> bool:
    """Return whether a plan that ended so would end so again; one that had no room may have it next time."""
    return not isinstance(error, (MemoryError, OSError))


def in_short(error: Exception) -> str:
    """Return an error as the words of an alarm."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"


class SteadySession(Session):
    """`safe` is the position of the action to advise while plans fail; `failures` counts them in a row."""

    safe: int | None = None
    failures: int = 0
    failed: str = ""  # why the last plan failed, until it has been read

    def _begin(self) -> Episode:
        if self._episode is None:
            return super()._begin()  # a controller that cannot make its first plan is refused
        try:
            episode = super()._begin()
        except Exception as error:
            if not is_failure(error):
                raise
            return self._go_on(in_short(error))
        self.failures = 0
        return episode

    def _go_on(self, failed: str) -> Episode:
        """Keep the policy of the last plan for a while."""
        assert self._episode is not None
        self.failed = failed
        self._episode.left[:] = NO_LIMIT
        self._episode.under_way.epochs[LEFT] = self.retry
        self.failures += 1
        return self._episode

    @property
    def retry(self) -> int:
        """After how many decisions a plan is asked for again."""
        return min(MOST, RETRY << min(self.failures, 60))

    def _choose(self) -> int:
        pair = super()._choose()
        return self._safe_pair(pair) if self.failures else pair

    def _safe_pair(self, other: int) -> int:
        """Return the pair of the safe action, where there is one here."""
        pair = -1 if self.safe is None else int(self.knowledge.pair_table[self.state_index, self.safe])
        return pair if pair >= 0 else other

    @property
    def action_index(self) -> int:
        """The position of the action to take now."""
        if self._pair is None and self.can.acts:  # a learner that has no plans
            try:
                found = super().action_index
                self.failures = 0
                return found
            except Exception as error:
                if not is_failure(error):
                    raise
                self.failed, self.failures = in_short(error), self.failures + 1
                self._pair = self._safe_pair(int(self.knowledge.pair_start[self.state_index]))
        return super().action_index

    def save_tree(self) -> dict[str, Any]:
        """Return everything as `save` does, and the failures in a row."""
        return {**self.save(), "failures": self.failures}

    def restore(self, saved: dict[str, Any]) -> None:
        """Become the session that `save_tree()` described."""
        super().restore(saved)
        self.failures = int(saved.get("failures", 0))
