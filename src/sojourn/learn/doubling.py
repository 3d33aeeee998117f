"""Any horizon: a fresh learner in each of a few phases of growing length.   Paper: thm:UCRL2"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sojourn.kernels.ledger import NO_LIMIT
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.learner import History, Plan, checked_knowledge
from sojourn.learn.wrapper import Wrapper
from sojourn.model.knowledge import Knowledge


def phase_ends(phase: int) -> tuple[int, int]:
    """Return (epochs before the phase, epochs at its end): N_{i-1}, N_i with N_{-1} = 0, N_i = 2^(2^i), capped at 2^62.

    >>> [phase_ends(i) for i in range(5)]
    [(0, 2), (2, 4), (4, 16), (16, 256), (256, 65536)]
    """
    def end(i: int) -> int:
        return 0 if i < 0 else (2 ** (2**i) if i <= 5 else NO_LIMIT)

    return end(phase - 1), end(phase)


class Doubling(Wrapper):
    """Starts a fresh learner after each N_i = 2^(2^i) epochs, with delta = 1 / (N_{i+1} - N_i).   Paper: thm:UCRL2

    `make(delta)` builds the learner of a phase; data, epoch count and delta start anew, the random stream goes on.
    """

    folds = Wrapper.folds  # `seen` is only for learners whose counts are not folded

    def __init__(self, knowledge: Knowledge, make: Callable[[float], Any], seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.make = make
        self.start_phase(0)

    def start_phase(self, phase: int) -> None:
        """Forget everything and begin phase `phase`."""
        self.phase = phase
        begin, end = phase_ends(phase)
        self.length = end - begin
        self.inner = self.make(1 / self.length)
        self.inner.rng = self.rng
        self.seen = 0  # rows observed, for learners whose counts are not folded

    @property
    def phase_epochs(self) -> int:
        """How many epochs of this phase have been observed."""
        return self.counts.epoch - 1 if self.counts is not None and self.folds else self.seen

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
        """Pass it on, and count the rows."""
        self.seen += len(history)
        super().observe(history)

    def remembered(self) -> dict[str, Any]:
        """Return where in the phases it is."""
        return {"phase": self.phase, "seen": self.phase_epochs}

    def recall(self, state: dict[str, Any]) -> None:
        """Begin the phase that `remembered` named."""
        self.start_phase(int(state["phase"]))
        self.seen = int(state["seen"])


class DoublingCTUCRL(Doubling):
    """CT-UCRL for every horizon.   Paper: thm:UCRL2

    Takes the parameters of CTUCRL except `delta` and `horizon`, which the phases set.
    """

    def __init__(self, knowledge: Knowledge, radius_scale: float = 1.0, reward_range: tuple[float, float] | str | None = None,
                 stop: str = "printed", planning: str = "printed", unknown_rewards: bool = False,
                 seed: int | np.random.SeedSequence = 0):
        checked_knowledge(knowledge)

        make = partial(CTUCRL, knowledge, radius_scale=radius_scale, reward_range=reward_range, stop=stop, planning=planning,
                       unknown_rewards=unknown_rewards)  # can be pickled, which a function made here could not
        super().__init__(knowledge, make, seed)
