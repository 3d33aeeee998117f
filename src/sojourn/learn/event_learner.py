"""What every learner of events shares: it counts events instead of jumps, and plans over an event table.

Told no events, it takes one per pair and possible successor (all states where the supports are not told either): then it learns
what a tabular learner learns, and no rate is shared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sojourn.learn.event_counts import EventCounts
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.found import Found
from sojourn.learn.guard import Guard
from sojourn.learn.learner import History, Learner, Plan
from sojourn.learn.structure_test import Evidence, StructureTest
from sojourn.learn.unfinished import Unfinished
from sojourn.model.events import EventTable, event_table
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import yes_or_no

FIRST_TEST, GROWTH = 100, 1.25  # epochs at the first look at the structure, and by how much they have grown at the next


class EventLearner(Learner):
    """Counts events; children write `plan_events()`, from `self.events` (counts), `self.table` (what is told) and `self.planner`.

    At plans, whenever the epochs have grown by a quarter, the test of structure_test.py looks at the counts: `evidence` is the
    largest log E so far, `rejected_epoch` when it first passed log 100 (0: never).  With `guard`, the learner goes on from there as
    the tabular default with what was counted (guard.py).
    """

    folds = False
    exposes: ClassVar[bool] = True
    needs_rate_bounds: ClassVar[bool] = False
    needs_events: ClassVar[bool] = True

    memory: ClassVar[tuple[str, ...]] = ("evidence", "tested_epoch", "rejected_epoch")

    def __init__(self, knowledge: Knowledge, guard: bool = False, seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.evidence, self.tested_epoch, self.rejected_epoch = 0.0, 0, 0
        self.table = knowledge.events.told() if knowledge.events is not None else table_of(knowledge)
        self.events = EventCounts(knowledge, self.table)
        self.planner = EventPlanner(knowledge, self.table)
        self.found = Found(0.0, np.zeros(knowledge.n_states), np.array(knowledge.pair_start[:-1], dtype=np.int64))
        self.test = StructureTest(knowledge, self.table)
        self.guard = Guard(self) if yes_or_no("guard", guard) else None

    def plan(self) -> Plan:
        """Return what to do next: the plan of the events, or of the tabular default where the guard has given them up."""
        if self.counts.epoch >= max(FIRST_TEST, GROWTH * self.tested_epoch):
            self.examine()
        if self.guard is not None and self.rejected_epoch:
            return self.guard.plan()
        return self.plan_events()

    def plan_events(self) -> Plan:
        """Return the plan of a child."""
        raise NotImplementedError(f"{type(self).__name__} has no plan_events(); a learner of events needs one.")

    @property
    def structure(self) -> Evidence:
        """The evidence against the declared events in what was counted so far, and when it first was enough."""
        return replace(self.test.evidence(self.events), since=self.rejected_epoch)

    def examine(self) -> Evidence:
        """Return the evidence against the declared events in what was counted so far, and keep the largest."""
        found = self.structure
        self.tested_epoch = self.counts.epoch
        self.evidence = max(self.evidence, found.log_e)
        if found.rejected and not self.rejected_epoch:
            self.rejected_epoch = self.counts.epoch
        return found

    def check(self, history: History) -> None:
        """Raise if one of the epochs could not be counted: by its successor, its label, or what it leaves unsaid."""
        self.events.check(history)

    def observe(self, history: History) -> None:
        """Count a chunk of epochs: its events, and its jumps; one that cannot be true is refused and nothing is counted."""
        self.events.observe(history)  # refuses a successor to which no event leads
        self.counts.observe(history, self.knowledge)

    def expose(self, cut: Unfinished) -> None:
        """Count time without a jump: exposure of the events, and time of the pairs."""
        self.events.expose(cut)
        super().expose(cut)

    @property
    def reference(self) -> int:
        """The state in which most time was spent, where biases are 0."""
        known = self.knowledge
        return int(np.argmax(np.add.reduceat(self.events.time, known.pair_start[:-1])))

    def remembered(self) -> dict[str, Any]:
        """Return the counts of events and the policy from which the next one is searched."""
        found = {"gain": self.found.gain, "bias": self.found.bias.copy(), "pair": self.found.pair.copy()}
        guard = {} if self.guard is None else {"guard": self.guard.state()}
        return {**super().remembered(), "events": self.events.state(), "found": found, **guard}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        super().recall(state)
        self.events.restore(state["events"])
        if self.guard is not None:
            self.guard.restore(state["guard"])
        found = state["found"]
        self.found = Found(float(found["gain"]), np.array(found["bias"], dtype=float), np.array(found["pair"], dtype=np.int64))


def table_of(knowledge: Knowledge) -> EventTable:
    """Return one event per pair and possible successor, with what the pairs are known to pay."""
    if knowledge.support_start is not None and knowledge.support_state is not None:
        pair = np.repeat(np.arange(knowledge.n_pairs), np.diff(knowledge.support_start))
        after = np.asarray(knowledge.support_state)
    else:
        pair = np.repeat(np.arange(knowledge.n_pairs), knowledge.n_states)
        after = np.tile(np.arange(knowledge.n_states), knowledge.n_pairs)
    names = [f"jump {i}" for i in range(len(pair))]
    return event_table(names, pair, after, np.arange(len(pair)), 1.0, reward=knowledge.reward, running=knowledge.running)
