"""What follows from a journal: the learner, where the plant is, what was counted, which alarms were raised.

Nothing here is the truth; folding the rows of the journal again, in order, gives the same to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sojourn.control.bounds_test import BoundsTest, Contradiction, in_words
from sojourn.control.journal import Note, Report
from sojourn.control.late import LateSession, planned
from sojourn.control.log import history_of
from sojourn.control.log_unfinished import unstored
from sojourn.control.said_events import read_silent
from sojourn.control.setting import Setting
from sojourn.control.steady import SteadySession
from sojourn.control.values import read, tuples
from sojourn.control.watch import Watch
from sojourn.errors import ParameterError, ReportError
from sojourn.learn.catalogue import LEARNERS, said_name
from sojourn.learn.learner import History
from sojourn.learn.unfinished import tell
from sojourn.model.pack import pack, unpack
from sojourn.simulation.reported_events import ReportedEvents

KEPT_ALARMS = 100
NUMBERS = ("seq", "uncounted", "imported", "followed", "alarm_count", "reward", "late", "late_plans", "rejected")


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
        kind = LateSession if setting.max_late else SteadySession
        self.session = kind(which, setting.start, self.told, setting.seed, setting.parameters)
        if not self.session.can.saves:
            raise ParameterError(f"{setting.learner} has no state() and restore(state); a controller needs both, to go on where it "
                                 "stopped.")
        if setting.safe_action is not None:
            self.session.safe = self.told.actions.position(setting.safe_action)
        self.watch = Watch(self.told.n_pairs, setting.window, setting.false_alarms)
        self.bounds = BoundsTest(self.told, setting.window, setting.false_alarms)
        self.tested_from = (0, 0)  # reports and imported rows before which an older Sojourn did not test the rate bounds
        self.seq = 0
        self.away: list[Any] | None = None
        self.uncounted = self.imported = self.followed = self.alarm_count = 0
        self.waiting = np.zeros(self.told.n_pairs)  # time of imported unfinished sojourns that is not told to the learner yet
        self.late = self.late_plans = 0  # answers that an old policy gave while its successor was being planned, and successors
        self.rejected = 0  # the report behind which the declared events were given up
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
        if self.away is not None:
            return self.setting.safe_action
        action = self.session.action
        self._check_plan()
        return action

    def _check_plan(self) -> None:
        """Raise an alarm where the learner's plan has failed."""
        session = self.session
        failed, session.failed = session.failed, ""
        if failed:
            goes_on = "its last policy goes on" if session.safe is None else (
                f"the safe action {self.setting.safe_action!r} is advised where it can be taken")
            self._alarm("plan", f"the learner's plan failed, and {goes_on} until a plan succeeds ({failed}). What was reported may "
                                "contradict what was told: look at the alarms before this one, and at `estimate()`.")

    # ---- one entry after the other ------------------------------------------------------------------------------

    def take(self, entry: Report | Note) -> None:
        """Fold one row."""
        if isinstance(entry, Report):
            self.report(read(entry.action), entry.holding_time, read(entry.next_state), entry.reward, read(entry.event),
                        read_silent(entry.silent))
        elif entry.kind == "plan":
            self.adopt(self.plan_due())
        elif entry.kind == "missed":
            self.missed(read(bytes(entry.body).decode()))
        elif entry.kind == "import":
            self.learn(unpack(entry.body))
        elif entry.kind in ("torn", "loss"):
            self._alarm({"torn": "torn write", "loss": "lost log"}[entry.kind], bytes(entry.body).decode())

    def report(self, action: Any, holding_time: float, next_state: Any, reward: float | None, event: Any,
               silent: dict[str, int] | None = None) -> Any:
        """Count one observation if it can be counted, go where it led, and return what to do there."""
        self.seq += 1
        self.followed += action == self.answer
        arrived = self._position(next_state)
        pair = self._pair(action, arrived)
        seen = None if pair is None or arrived is None else self._events(pair, arrived, holding_time, reward, event, silent)
        if pair is None or arrived is None or seen is None:
            self.uncounted += 1
        else:
            known = self.told
            paid = float(known.reward[pair] + known.running[pair] * holding_time) + seen.paid if reward is None else reward
            told = {} if known.events is None else {"event": event, "silent": silent}
            self.session.report(holding_time, next_state, reward, action=action, **told)
            self.reward += paid
            for drift in self.watch.tell(pair, holding_time, arrived):
                self._drifted(drift)
            self._test_bounds(pair, holding_time)
        if arrived is None:
            self.away = [next_state]
        elif seen is None:
            self.session.state = next_state
            self.away = None
        self.answer = self._advice()
        self._examine()
        return self.answer

    def refuse_untold(self, action: Any, holding_time: float, next_state: Any, reward: float | None, event: Any,
                      silent: dict[str, int] | None) -> None:
        """Raise where a learner of events could not tell from this report what happened; nothing is changed."""
        check, known = getattr(self.session.learner, "check", None), self.told
        if check is None or self.away is not None or next_state not in known.states:
            return
        arrived, place = known.states.position(next_state), known.actions.position(action)
        pair = int(known.pair_table[self.session.state_index, place])
        if pair < 0 or not self._possible(pair, arrived):
            return  # an alarm, but no riddle
        try:
            seen = ReportedEvents(known, pair, arrived, event, silent, self._extra(pair, holding_time, reward))
        except ReportError:
            return
        row = (self.session.state_index, place, holding_time, arrived, 0.0, 0.0)
        check(replace(History.of_parts(*(np.array([value]) for value in row)), event=seen.label, silent=seen.silent))

    def _extra(self, pair: int, holding_time: float, reward: float | None) -> float | None:
        """Return what was paid beyond what is known of the pair."""
        known = self.told
        return None if reward is None else reward - float(known.running[pair]) * holding_time - float(known.reward[pair])

    def _events(self, pair: int, arrived: int, holding_time: float, reward: float | None, event: Any,
                silent: dict[str, int] | None) -> ReportedEvents | None:
        """Return what is said of events; None with an alarm where they cannot have happened there."""
        if self.told.events is None:
            event = silent = None
        try:
            return ReportedEvents(self.told, pair, arrived, event, silent, self._extra(pair, holding_time, reward))
        except ReportError as error:
            self._alarm("structure", f"{error} If it happens again, the declared events are wrong.")
            return None

    def _examine(self) -> None:
        """Raise an alarm once when the learner's own test has given the declared events up (learn/structure_test.py)."""
        if not self.rejected and getattr(self.session.learner, "rejected_epoch", False):
            self.rejected = self.seq
            self._alarm("structure", f"{self.session.structure}.")

    def plan_due(self) -> dict[str, Any]:
        """Make the plan that is due, here."""
        setting, due = self.setting, self.session.due  # type: ignore[attr-defined]
        return planned(setting.learner, self.told, setting.parameters, setting.seed, due.as_tree())

    def adopt(self, found: dict[str, Any]) -> int:
        """Go on with a plan that was due; return how many answers were given without it."""
        late: int = self.session.adopt(found)  # type: ignore[attr-defined]
        self._check_plan()
        self.late += late
        self.late_plans += 1
        return late

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
        if not self._possible(pair, arrived):
            self._alarm("structure", f"{action!r} in state {known.states[state]!r} led to {known.states[arrived]!r}, which the "
                                     "known structure rules out; nothing was counted. If it happens again, the structure is wrong.")
            return None
        return pair

    def _possible(self, pair: int, arrived: int) -> bool:
        """Return whether a pair can lead to a state, as far as is known."""
        start, states = self.told.support_start, self.told.support_state
        return start is None or states is None or arrived in states[start[pair]:start[pair + 1]]

    def _drifted(self, drift: Any) -> None:
        known = self.told
        action, state = known.actions[int(known.pair_action[drift.pair])], known.states[int(known.pair_state[drift.pair])]
        where = f"{action!r} in state {state!r}"
        what = "rate" if drift.what == "rate" else f"probability of going to {known.states[drift.successor]!r}"
        self._alarm("drift", f"the {what} of {where} went from {drift.before:.4g} to {drift.after:.4g} within the last "
                             f"{self.watch.window} visits (p-value {drift.p_value:.2g}).")

    def _test_bounds(self, pair: int, holding_time: float) -> None:
        """Raise an alarm where holding times contradict the rate bounds that were told, or never change."""
        if (self.seq, self.imported) <= self.tested_from:
            return
        for found in (self.bounds.tell(pair, holding_time), self._contradiction(pair)):
            if found is not None:
                self._alarm("holding times", in_words(found, self.told, self.bounds))
        times = self.bounds.stuck(holding_time)
        if times:
            self._alarm("holding times", f"the last {times} holding times are all {holding_time!r}, to the last digit, which times "
                                         "of an exponential law never are. The clock may stand still or be too coarse, or one "
                                         "report is sent again and again under new numbers.")

    def _contradiction(self, pair: int) -> Contradiction | None:
        """Return whether all that was counted of a pair contradicts its bounds, if it did not before."""
        counts = self.session.counts
        unfinished = counts.unfinished is not None and bool(counts.unfinished[pair])
        return self.bounds.of_pair(pair, int(counts.visits[pair]), float(counts.holding_sum[pair]), unfinished)

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
        whole, cut = unstored(log)
        rows = history_of(whole)
        if getattr(self.session, "due", None) is not None:
            self.adopt(self.plan_due())  # what is imported is told to the learner that planned
        tell(self.session.learner, rows, cut, self.told, self.waiting)
        if len(rows):
            self.session.counts.observe(rows, self.told)
        if len(cut):
            self.session.counts.expose(cut)
        self.imported += len(rows)
        self._test_imported()
        self.session.replan(at_once=self.seq == 0)
        if self.seq == 0:
            self.session.waits = False  # type: ignore[attr-defined]
            self.answer = self._advice()
            self.session.waits = True  # type: ignore[attr-defined]

    def _test_imported(self) -> None:
        """Raise an alarm for each pair whose holding times contradict its bounds now."""
        if (self.seq, self.imported) > self.tested_from:
            for pair in range(self.told.n_pairs):
                found = self._contradiction(pair)
                if found is not None:
                    self._alarm("holding times", in_words(found, self.told, self.bounds))

    # ---- stopping and going on ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return everything, for a snapshot."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return pack({**numbers, "session": self.session.save_tree(), "watch": self.watch.state(), "bounds": self.bounds.state(),
                     "tested_from": list(self.tested_from), "waiting": self.waiting.copy(),
                     "alarms": [list(alarm) for alarm in self.alarms], "away": self.away, "answer": self.answer})

    def restore(self, data: bytes) -> None:
        """Become what a snapshot holds."""
        found = unpack(data)
        for name in NUMBERS:
            number = found.get(name, 0)
            if not isinstance(number, (int, float)):
                raise TypeError(f"{name} is {number!r}")
            setattr(self, name, number)
        self.session.restore(found["session"])
        self.watch.restore(found["watch"])
        if "bounds" in found:
            self.bounds.restore(found["bounds"])
            self.tested_from = tuple(found["tested_from"])
        else:  # of a Sojourn that did not test them
            self.tested_from = (self.seq, self.imported)
        self.waiting = np.array(found.get("waiting", np.zeros(self.told.n_pairs)), dtype=np.float64)
        if self.waiting.shape != (self.told.n_pairs,) or not (self.waiting >= 0).all():
            raise ValueError(f"waiting has shape {self.waiting.shape}")
        self.alarms = [Alarm(*alarm) for alarm in found["alarms"]]
        self.away = None if found["away"] is None else [tuples(found["away"][0])]
        self.answer = tuples(found["answer"])
