"""Which arrays a walk folds its observations into: a learner's counts, or scratch ones where it keeps none."""

from __future__ import annotations

import numpy as np

from sojourn.kernels.ledger import CountArrays
from sojourn.learn.counts import Counts
from sojourn.model.knowledge import Knowledge


class Folding:
    """Gives the arrays for a walk with `entries` possible jumps, and keeps the slots they know while they are the same."""

    def __init__(self, knowledge: Knowledge, entries: int):
        self.knowledge = knowledge
        self.entries = entries
        self.arrays: CountArrays | None = None
        self._used = -1  # slots in use when the last call ended; others mean that someone else has counted
        self._scratch: Counts | None = None

    def into(self, counts: Counts | None) -> CountArrays:
        """Return the arrays of `counts` (or of scratch counts), keeping the known slots while they are the same arrays."""
        if counts is None:
            counts = self._scratch = self._scratch or Counts(self.knowledge)
        old = self.arrays
        if old is not None and old.head is counts.head and old.slot_state is counts.slot_state and self._used == counts.used[0]:
            return old
        counts.reserve(self.entries)
        self._used = int(counts.used[0])
        self.arrays = counts.arrays(np.full(self.entries, -1, dtype=np.int64))
        return self.arrays

    def folded(self) -> None:
        """Take note that a call has ended."""
        if self.arrays is not None:
            self._used = int(self.arrays.used[0])

    def forget(self) -> None:
        """Take the arrays anew next time: the counts have been replaced."""
        self.arrays = None
