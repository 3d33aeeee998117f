"""Which arrays a walk folds its observations into: a learner's counts, or scratch ones where it keeps none."""

from __future__ import annotations

import numpy as np

from sojourn.learn.counts import Counts
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.shapes import Fold


class Folding:
    """Makes the Fold of a walk with `entries` possible jumps and keeps it, with the slots it knows, while it holds."""

    def __init__(self, knowledge: Knowledge, entries: int):
        self.knowledge = knowledge
        self.entries = entries
        self.fold: Fold | None = None
        self._used = -1  # slots in use when the last call ended; others mean that someone else has counted
        self._scratch: Counts | None = None

    def into(self, counts: Counts | None) -> Fold:
        """Return the arrays of `counts` (or of scratch counts), keeping the known slots while they are the same arrays."""
        if counts is None:
            counts = self._scratch = self._scratch or Counts(self.knowledge)
        old = self.fold
        if old is not None and old.head is counts.head and old.slot_state is counts.slot_state and self._used == counts.used[0]:
            if old.scale != counts.scale:  # a learner that estimates its rate bounds truncates anew from here on
                old = self.fold = old._replace(scale=counts.scale)
            return old
        counts.reserve(self.entries)
        self._used = int(counts.used[0])
        self.fold = Fold(counts.visits, counts.holding_sum, counts.reward_sum, counts.head, counts.slot_state, counts.slot_next,
                         counts.slot_count, counts.used, np.full(self.entries, -1, dtype=np.int64), counts.scale)
        return self.fold

    def folded(self) -> None:
        """Take note that a call has ended."""
        if self.fold is not None:
            self._used = int(self.fold.used[0])

    def forget(self) -> None:
        """Make a new Fold next time: the counts have been replaced."""
        self.fold = None
