"""A learner around another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.learn.abilities import abilities_of
from sojourn.learn.counts import Counts
from sojourn.learn.learner import History, Learner, checked_knowledge
from sojourn.learn.saving import header, refuse_others
from sojourn.learn.streams import restore_stream, stream, stream_state
from sojourn.model.knowledge import Knowledge


class Wrapper(Learner):
    """Counts, folding, observing and tables are those of `inner`, whose stream is the wrapper's own."""

    inner: Any

    def __init__(self, knowledge: Knowledge, seed: int | np.random.SeedSequence = 0):
        self.knowledge = checked_knowledge(knowledge)
        self.rng = stream(seed)

    @property
    def counts(self) -> Counts | None:  # type: ignore[override]
        """The counts of the inner learner, if it keeps any."""
        return self.inner.counts if isinstance(getattr(self.inner, "counts", None), Counts) else None

    @property
    def folds(self) -> bool:  # type: ignore[override]
        return abilities_of(self.inner).folds

    def observe(self, history: History) -> None:
        """Pass it on."""
        self.inner.observe(history)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return what the inner learner's last plan was based on."""
        taken: dict[str, np.ndarray] = self.inner.snapshot()
        return taken

    def state(self) -> dict[str, Any]:
        return {**header(self), "rng": stream_state(self.rng), "inner": self.inner.state(), **self.remembered()}

    def restore(self, state: dict[str, Any]) -> None:
        refuse_others(self, state)
        self.recall(state)
        self.inner.restore(state["inner"])
        restore_stream(self.rng, state["rng"])
