"""What follows from a journal: the learner, where the plant is, what was counted, which alarms were raised.

Nothing here is the truth; folding the rows of the journal again, in order, gives the same to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sojourn.control.journal import Note, Report
from sojourn.control.setting import Setting
from sojourn.control.values import read
from sojourn.control.watch import Watch
from sojourn.errors import ParameterError
from sojourn.learn.catalogue import LEARNERS, said_name
from sojourn.learn.learner import History
from sojourn.model.pack import pack, unpack
from sojourn.simulation.session import Session

KEPT_ALARMS = 100


class Alarm(NamedTuple):
    """Something that a person should see: after which report, of which kind, in words."""

    seq: int
    kind: str
    text: str


class Fold:
    """The state of a controller.  `away` is None in a known state; else the state that nobody knows, in a list of one."""

    def __init__(self, setting: Setting, learner: str | type | None = None):
        self.setting = setting
        self.told = setting.allowed()
        if setting.learner not in LEARNERS and (learner is None or said_name(learner) != setting.learner):
            raise ParameterError(f"the controller was made with the learner {setting.learner!r}, which is not of the catalogue "
                                 f"(`sojourn learners`), and the learner given is {learner!r}; give it: "
                                 "Controller.open(path, learner=...).")
        which = setting.learner if setting.learner in LEARNERS or learner is None else learner
        self.session = Session(which, setting.start, self.told, setting.seed, setting.parameters)
        if not self.session.can.saves:
            raise ParameterError(f"{setting.learner} has no state() and restore(state); a controller needs both, to go on where it "
                                 "stopped.")
        self.watch = Watch(self.told.n_pairs, setting.window, setting.false_alarms)
        self.seq = 0
        self.away: list[Any] | None = None
        self.uncounted = self.imported = self.followed = self.alarm_count = 0
        self.reward = 0.0
        self.alarms: list[Alarm] = []
        self.answer = self._advice()

    @property
    def state(self) -> Any:
        """Where the plant is; None after a missed event."""
        return self.session.state if self.away is None else self.away[0]

    @property
    def epochs(self) -> int:
        """How many observations were counted, without those of imported logs."""
        return self.session.epoch - 1

    @property
    def time(self) -> float:
        """The sum of the counted holding times."""
        return self.session.time

    @property
    def episode(self) -> int | None:
        """The number of the plan under way; None for a learner that decides anew each time."""
        under_way = self.session.episode
        return under_way.index if under_way is not None else None

    def _advice(self) -> Any:
        return self.session.action if self.away is None else self.setting.safe_action

    # ---- one entry after the other ------------------------------------------------------------------------------

    def take(self, entry: Report | Note) -> None:
        """Fold one row."""
        if isinstance(entry, Report):
            self.report(read(entry.action), entry.holding_time, read(entry.next_state), entry.reward, read(entry.event))
        elif entry.kind == "missed":
            self.missed(read(bytes(entry.body).decode()))
        elif entry.kind == "import":
            self.learn(unpack(entry.body))
        elif entry.kind == "torn":
            self._alarm("torn write", bytes(entry.body).decode())

    def report(self, action: Any, holding_time: float, next_state: Any, reward: float | None, event: Any) -> Any:
        """Count one observation if it can be counted, go where it led, and return what to do there."""
        self.seq += 1
        self.followed += action == self.answer
        arrived = self._position(next_state)
        pair = self._pair(action, arrived)
        if pair is None or arrived is None:
            self.uncounted += 1
        else:
            known = self.told
            paid = float(known.reward[pair] + known.running[pair] * holding_time) if reward is None else reward
            self.session.report(holding_time, next_state, reward, action=action, event=event if known.events is not None else None)
            self.reward += paid
            for drift in self.watch.tell(pair, holding_time, arrived):
                self._drifted(drift)
        if arrived is None:
            self.away = [next_state]
        elif pair is None:
            self.session.state = next_state
            self.away = None
        self.answer = self._advice()
        return self.answer

    def _position(self, state: Any) -> int | None:
        """Return the position of a reported state; None with an alarm for one that nobody knows."""
        if state in self.told.states:
            return self.told.states.position(state)
        self._alarm("unknown state", f"the plant is in state {state!r}, which the model does not have; the safe action "
                                     f"{self.setting.safe_action!r} was advised, and nothing is counted until it is back.")
        return None

    def _pair(self, action: Any, arrived: int | None) -> int | None:
        """Return the pair that was observed, or None where it cannot be counted: from nowhere, forbidden, against the structure."""
        if self.away is not None or arrived is None:
            return None
        known, state = self.told, self.session.state_index
        pair = int(known.pair_table[state, known.actions.position(action)])
        if pair < 0:
            self._alarm("forbidden action", f"{action!r} was done in state {known.states[state]!r}, where it is forbidden or not "
                                            "known; nothing was counted.")
            return None
        if known.support_start is not None and known.support_state is not None:
            row = known.support_state[known.support_start[pair]:known.support_start[pair + 1]]
            if arrived not in row:
                self._alarm("structure", f"{action!r} in state {known.states[state]!r} led to {known.states[arrived]!r}, which the "
                                         "known structure rules out; nothing was counted. If it happens again, the structure is "
                                         "wrong.")
                return None
        return pair

    def _drifted(self, drift: Any) -> None:
        known = self.told
        action, state = known.actions[int(known.pair_action[drift.pair])], known.states[int(known.pair_state[drift.pair])]
        where = f"{action!r} in state {state!r}"
        what = "rate" if drift.what == "rate" else f"probability of going to {known.states[drift.successor]!r}"
        self._alarm("drift", f"the {what} of {where} went from {drift.before:.4g} to {drift.after:.4g} within the last "
                             f"{self.watch.window} visits (p-value {drift.p_value:.2g}).")

    def _alarm(self, kind: str, text: str) -> None:
        self.alarm_count += 1
        self.alarms = [*self.alarms[1 - KEPT_ALARMS:], Alarm(self.seq, kind, text)]

    def missed(self, state: Any) -> Any:
        """An event was lost: nothing is counted until the plant is seen in a known state, at once if `state` is given."""
        self._alarm("missed", "an event was lost; the sojourn during which it happened is not counted.")
        if state is None or self._position(state) is None:
            self.away = [state]
            if self.setting.safe_action is not None:
                self.answer = self.setting.safe_action
        else:
            self.away, self.session.state = None, state
            self.answer = self._advice()
        return self.answer

    def learn(self, log: dict[str, np.ndarray]) -> None:
        """Count observations of the past, in positions; the plan under way ends with the pending decision."""
        rows = History.of_parts(**{name: np.asarray(values) for name, values in log.items()})
        self.session.learner.observe(rows)
        self.session.counts.observe(rows, self.told)
        self.imported += len(rows)
        self.session.replan(at_once=self.seq == 0)
        if self.seq == 0:
            self.answer = self._advice()

    # ---- stopping and going on ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return everything, for a snapshot."""
        numbers = {name: getattr(self, name) for name in ("seq", "uncounted", "imported", "followed", "alarm_count", "reward")}
        return pack({**numbers, "session": self.session.save(), "watch": self.watch.state(),
                     "alarms": [list(alarm) for alarm in self.alarms], "away": self.away, "answer": self.answer})

    def restore(self, data: bytes) -> None:
        """Become what a snapshot holds."""
        found = unpack(data)
        for name in ("seq", "uncounted", "imported", "followed", "alarm_count", "reward"):
            setattr(self, name, found[name])
        self.session.restore(found["session"])
        self.watch.restore(found["watch"])
        self.alarms = [Alarm(*alarm) for alarm in found["alarms"]]
        self.away = None if found["away"] is None else [_tuples(found["away"][0])]
        self.answer = _tuples(found["answer"])


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
