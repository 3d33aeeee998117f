"""Any horizon: a fresh learner in each of a few phases of growing length.   Paper: thm:UCRL2"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sojourn.learn.counts import Counts, counts_of
from sojourn.learn.ct_ucrl import CTUCRL, checked_knowledge
from sojourn.learn.learner import NO_LIMIT, Episode, History, Plan
from sojourn.learn.streams import restore_stream, stream, stream_state
from sojourn.model.knowledge import Knowledge


def phase_ends(phase: int) -> tuple[int, int]:
    """Return (epochs before the phase, epochs at its end): N_{i-1}, N_i with N_{-1} = 0, N_i = 2^(2^i), capped at 2^62.

    >>> [phase_ends(i) for i in range(5)]
    [(0, 2), (2, 4), (4, 16), (16, 256), (256, 65536)]
    """
    def end(i: int) -> int:
        return 0 if i < 0 else (2 ** (2**i) if i <= 5 else NO_LIMIT)

    return end(phase - 1), end(phase)


class Doubling:
    """Starts a fresh learner after each N_i = 2^(2^i) epochs, with delta = 1 / (N_{i+1} - N_i).   Paper: thm:UCRL2

    `make(delta)` builds the learner of a phase; data, epoch count and delta start anew, the random stream goes on.
    """

    def __init__(self, knowledge: Knowledge, make: Callable[[float], Any], seed: int = 0):
        self.knowledge = knowledge
        self.make = make
        self.rng = stream(seed)
        self.episode: Episode | None = None
        self.start_phase(0)

    def start_phase(self, phase: int) -> None:
        """Forget everything and begin phase `phase`."""
        self.phase = phase
        begin, end = phase_ends(phase)
        self.length = end - begin
        self.inner = self.make(1 / self.length)
        self.inner.rng = self.rng
        self.seen = 0  # rows observed, for learners without counts

    @property
    def counts(self) -> Counts | None:
        """The counts of the phase under way."""
        return counts_of(self.inner)

    @property
    def phase_epochs(self) -> int:
        """How many epochs of this phase have been observed."""
        return self.seen if self.counts is None else self.counts.epoch - 1

    @property
    def delta(self) -> float:
        return 1 / self.length

    def plan(self) -> Plan:
        """Return the phase's plan, cut at the end of the phase."""
        if self.phase_epochs >= self.length:
            self.start_phase(self.phase + 1)
        plan = self.inner.plan()
        left = self.length - self.phase_epochs
        cap = left if plan.max_epochs is None else min(left, plan.max_epochs)
        return Plan(plan.policy, plan.quota, cap, {**plan.info, "phase": self.phase})

    def observe(self, history: History) -> None:
        self.seen += len(history)
        self.inner.observe(history)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return what the phase's learner knew when it made the last plan."""
        taken: dict[str, np.ndarray] = self.inner.snapshot()
        return taken

    def state(self) -> dict[str, Any]:
        return {"phase": self.phase, "seen": self.phase_epochs, "inner": self.inner.state(), "rng": stream_state(self.rng),
                "episode": self.episode.state() if self.episode else {}}

    def restore(self, state: dict[str, Any]) -> None:
        self.start_phase(int(state["phase"]))
        self.inner.restore(state["inner"])
        self.seen = int(state["seen"])
        restore_stream(self.rng, state["rng"])
        self.episode = Episode.restored(state["episode"], self.knowledge) if state["episode"] else None


class DoublingCTUCRL(Doubling):
    """CT-UCRL for every horizon.   Paper: thm:UCRL2

    Takes the parameters of CTUCRL except `delta` and `horizon`, which the phases set.
    """

    def __init__(self, knowledge: Knowledge, radius_scale: float = 1.0, reward_range: tuple[float, float] | None = None,
                 stop: str = "printed", planning: str = "printed", unknown_rewards: bool = False, seed: int = 0):
        checked_knowledge(knowledge)

        make = partial(CTUCRL, knowledge, radius_scale=radius_scale, reward_range=reward_range, stop=stop, planning=planning,
                       unknown_rewards=unknown_rewards)  # can be pickled, which a function made here could not
        super().__init__(knowledge, make, seed)
