"""A learner that runs a real system for months: every report durable before it is answered, nothing lost, nothing counted twice."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sojourn.control.backup import backup
from sojourn.control.database import intact
from sojourn.control.fold import Alarm, Fold
from sojourn.control.journal import Head, Journal, Note, Report
from sojourn.control.planner import LatePlans
from sojourn.control.said import checked_report, checked_reports, known_or_safe, refuse_deep, refuse_impossible, same_again, short
from sojourn.control.said_events import read_silent
from sojourn.control.schema import WORDS
from sojourn.control.setting import Setting, checked_setting
from sojourn.control.values import read, written
from sojourn.errors import ControlError, ParameterError, ReportError, SojournError, names_keywords
from sojourn.learn.certificate import Certificate
from sojourn.learn.estimate import Estimate
from sojourn.learn.event_estimate import EventEstimate
from sojourn.learn.learner import MAX_CHUNK
from sojourn.model.closeness import DELTA, Within
from sojourn.model.files import file_path
from sojourn.model.pack import pack

SNAPSHOT_ROWS = 1000  # reports between two snapshots, at least
SNAPSHOT_SECONDS = 0.1  # of folding, after which the next report brings one
BYTES_PER_ROW = 200  # about what a report takes in the file: snapshots shall not take more than reports


@dataclass(frozen=True)
class Observation:
    """One report as it was made: in `state`, `action` was done for `holding_time`, and led to `next_state`.

    `state` is None where it was not known (after a missed event); `reward`, `event`, `silent` are None where they were not given;
    `advised` is the action that this report was answered with, `at` the time of the clock in seconds since 1970.
    """

    seq: int
    state: Any
    action: Any
    holding_time: float
    next_state: Any
    reward: float | None
    event: Any
    advised: Any
    at: float
    silent: dict[str, int] | None = None


class Controller:
    """A durable controller in one file.  Ask for `.action`, carry it out, `.report` what happened; the answer is the next action.

    `create` makes the file, `open` goes on with it; one process has it open at a time, and after a crash the next one goes on
    where the last acknowledged report ended.

    >>> import tempfile, sojourn
    >>> known = sojourn.make("three-state").knowledge()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Controller.create(f"{folder}/plant.control", known, learner="ct-ce", start="A") as controller:
    ...         answer = controller.report(1, holding_time=0.4, next_state="C")
    ...     with Controller.open(f"{folder}/plant.control") as controller:
    ...         controller.report(1, holding_time=0.4, next_state="C") == answer, controller.status()["epochs"]
    (True, 1)
    """

    def __init__(self, journal: Journal, learner: str | type | None = None):
        self.path = journal.path
        self._learner = learner
        self.write = journal.write
        self.lost = journal.lost  # what was accepted as lost when the file was opened
        self._guard = threading.RLock()
        self._journal: Journal | None = journal
        self._closed = self._heard = False  # `_heard`: whether a report was taken since the file was opened
        self._left: tuple[bytes, Head] | None = None  # the setting and the last acknowledged row, when an error made us let go
        self._plans = LatePlans()
        self._since, self._work, self._size = 0, 0.0, 0  # reports, seconds of folding and bytes since and of the last snapshot
        try:
            self._load(journal)
        except BaseException:
            journal.abandon()
            raise
        if self.write:
            _OPEN.add(self)

    @classmethod
    @names_keywords
    def create(cls, path: str | PathLike[str], knowledge: Any, learner: str | type = "default", start: Any = None, *, seed: int = 0,
               parameters: Mapping[str, Any] | None = None, safe_action: Any = None, forbidden: Any = None, shadow: bool = False,
               window: int = 100, false_alarms: float = 0.01, max_late: int = 0) -> Controller:
        """Make a new controller at `path`, where nothing may be yet.

        - `learner` by name, with `seed` and `parameters`; told `knowledge`; the plant is in state `start`;
        - `safe_action`: advised in a state that the model does not have (without one such a report is refused);
        - `forbidden`: {state: [actions]}, or [actions] forbidden everywhere: never advised;
        - `shadow`: advise only; every report must say which action was done;
        - `window`, `false_alarms`: see control/watch.py, the alarm on drifting rates;
        - `max_late`: answers that the old policy may give at the end of an episode, while another process plans (0: `report` takes
          as long as the plan; see control/late.py).
        """
        setting = checked_setting(knowledge, learner, start, seed, parameters, safe_action, forbidden, shadow, window, false_alarms,
                                  max_late)
        Fold(setting, learner)  # refused now rather than from a file
        return cls(Journal.create(file_path(path).absolute(), setting.to_bytes()), learner)

    @classmethod
    def open(cls, path: str | PathLike[str], write: bool = True, learner: str | type | None = None,
             accept_loss: bool = False) -> Controller:
        """Go on with the controller at `path`; `write=False` only looks, while another process may own it.

        `learner` is needed for one that is not of the catalogue (its class or "module:Class"): a file never says which code to run.
        `accept_loss` goes on where the log beside the file is lost for good, or damaged: with the reports that are left, all of
        them checked, and a note in the journal.
        """
        place = Path(os.path.realpath(file_path(path)))  # SQLite keeps its log beside the file that a link leads to
        with intact(place, WORDS):
            return cls(Journal(place, write, accept_loss), learner)

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write a snapshot, and give the file up."""
        with self._guard:
            journal, self._journal, self._closed = self._journal, None, True
            self._plans.stop()
            if journal is not None:
                if self.write and os.getpid() == journal._pid and self._since and journal.head.seq == self._fold.seq:
                    with contextlib.suppress(SojournError, OSError):  # a full disk: the journal has everything
                        journal.append([], self._fold.to_bytes())
                journal.close()

    # ---- what a plant asks and says -----------------------------------------------------------------------------

    @property
    def action(self) -> Any:
        """The action to take now; asking again gives the same."""
        with self._guard:
            return self._ready().answer

    @names_keywords
    def report(self, seq: int, holding_time: float, next_state: Any, reward: float | None = None, action: Any = None,
               event: Any = None, silent: Mapping[str, int] | None = None) -> Any:
        """Say how report number `seq` went; return the next action, after the report is durable.

        `reward` is all that was paid, if not as known; `action` what was really done, if not as advised; `event` what happened,
        where several events lead there; `silent` how often events were seen that led nowhere, as in {"arrive": 2}.
        The same report again gets the same answer and counts nothing; another content under a known number, or a number that
        leaves one out, raises ReportError with what was expected.
        """
        return self.report_many([{"seq": seq, "holding_time": holding_time, "next_state": next_state, "reward": reward,
                                  "action": action, "event": event, "silent": silent}])[0]

    def report_many(self, reports: Iterable[Mapping[str, Any]]) -> list[Any]:
        """Report several observations in one synced write (the arguments of `report`, each in a dict); return all answers.

        Where one is refused, those before it have been written.
        """
        with self._guard:
            fold, journal = self._ready(), self._writable()
            head, refused = journal.head, None
            answers: list[Any] = []
            new: list[Report | Note] = []
            known: dict[int, Report] = {}
            try:
                for said in checked_reports(reports):
                    try:
                        row = checked_report(fold, said)
                        if row.seq > head.seq + 1:
                            raise ReportError(self._left_out(row.seq, head.seq))
                        if row.seq <= head.seq:
                            answers.append(same_again(row, known[row.seq] if row.seq in known else journal.report(row.seq)))
                            continue
                        refuse_impossible(fold, row.holding_time)
                        action = read(row.action) if row.action else fold.answer
                        fold.refuse_untold(action, row.holding_time, read(row.next_state), row.reward, read(row.event),
                                           read_silent(row.silent))
                    except ReportError as error:
                        refused = error
                        break
                    begun = time.perf_counter()
                    note = self._late_plan(fold, head)
                    if note is not None:
                        new.append(note)
                        head = Head(head.seq, note.number, b"")
                    row = row._replace(state=None if fold.state is None else written(fold.state),
                                       action=row.action or written(fold.answer, "action"))
                    answer = fold.report(read(row.action), row.holding_time, read(row.next_state), row.reward, read(row.event),
                                         read_silent(row.silent))
                    known[row.seq] = row._replace(answer=written(answer, "action"))
                    new.append(known[row.seq])
                    answers.append(answer)
                    self._plans.ask(fold)
                    head, self._work = Head(row.seq, head.note, b""), self._work + time.perf_counter() - begun
                self._append(new)
                self._heard |= bool(answers)
            except BaseException:
                self._drop()
                raise
            if refused is not None:
                raise refused
            return answers

    def missed(self, state: Any = None) -> Any:
        """Say that an event was lost: nothing is counted until the next report, or from now on if `state` is where the plant is.

        Returns the action to take now: the safe action, if there is one, while the state is not known.
        """
        with self._guard:
            fold, journal = self._ready(), self._writable()
            if state is not None:
                refuse_deep(state, "state")
                state = known_or_safe(fold, state, "state")
            if state is None and fold.away == [None]:
                return fold.answer  # said before
            body = short(state, "state").encode()
            try:
                answer = fold.missed(state)
                self._append([self._note("missed", body, journal.head)])
            except BaseException:
                self._drop()
                raise
            return answer

    def import_log(self, log: Any, columns: Mapping[str, str] | None = None, contiguous: bool = True,
                   max_bytes: int | None = None) -> int:
        """Learn from observations of the past (anything that `sojourn.fit` reads); return how many complete sojourns were counted.

        Unfinished sojourns count as time without a jump (learn/unfinished.py).  To begin with what is known already, import before
        the first report.  `columns`, `contiguous` and `max_bytes` are those of `fit`.
        """
        with self._guard:
            fold, journal = self._ready(), self._writable()
            from sojourn.control.log import read_log
            from sojourn.control.log_unfinished import stored, unfinished

            rows = read_log(log, fold.told, contiguous, columns, max_bytes)
            rows.check_pairs(fold.told)
            unfinished(rows, fold.told)  # refused before anything is counted
            try:
                head = journal.head
                notes: list[Note] = []
                for begin in range(0, max(1, len(rows)), MAX_CHUNK):
                    part = slice(begin, begin + MAX_CHUNK)
                    chunk = {**rows.parts(fold.told, part), **stored(unfinished(rows, fold.told, part))}
                    fold.learn(chunk)
                    notes.append(self._note("import", pack(chunk), head))
                    head = Head(head.seq, head.note + 1, head.chain)
                self._append(notes, snapshot=True)
            except BaseException:
                self._drop()
                raise
            return len(rows)

    # ---- looking ------------------------------------------------------------------------------------------------

    def status(self, within: float | str | Within | None = None, delta: float = DELTA) -> dict[str, Any]:
        """Return where the plant is, what to do there, and how it went so far; `next_seq` is the number of the next report.

        With `within`, such as "5%", `good_enough` says whether learning could stop there, and how close to the best a policy is
        proved to be now (see `good_enough`).

        `late` counts answers that an old policy gave while the next was being planned, `late_plans` how often that happened, and
        `plan_due` says whether it is so now (only with `max_late`); `silent_events` can be seen without leading anywhere.
        """
        with self._guard:
            answer = {} if within is None else {"good_enough": self.good_enough(within, delta).as_dict()}
            with intact(self.path, WORDS):
                fold, journal = self._ready(), self._opened()
                due, events = getattr(fold.session, "due", None), fold.told.events
                return {
                    "next_seq": journal.head.seq + 1, "state": fold.state, "action": fold.answer, "epochs": fold.epochs,
                    "time": fold.time, "reward": fold.reward, "gain": fold.reward / fold.time if fold.time else None,
                    "uncounted": fold.uncounted, "imported": fold.imported, "followed": fold.followed,
                    "learner": fold.setting.learner, "parameters": dict(fold.setting.parameters), "shadow": fold.setting.shadow,
                    "episode": fold.episode,
                    "late": fold.late + (due.late if due else 0), "late_plans": fold.late_plans, "plan_due": due is not None,
                    "silent_events": [] if events is None else [events.names[k] for k in events.silent],
                    "alarms": fold.alarm_count, "last_alarm": fold.alarms[-1].text if fold.alarms else None, "owner": journal.owner,
                    **answer,
                }

    @property
    def alarms(self) -> Sequence[Alarm]:
        """The last alarms, oldest first: (seq, kind, text); `status()["alarms"]` counts all."""
        with self._guard:
            return tuple(self._ready().alarms)

    def estimate(self, confidence: float = 0.95) -> Estimate | EventEstimate:
        """Return what has been learned: rates and rows (or events) with intervals, the best policy now, its gain, what to try."""
        with self._guard, intact(self.path, WORDS, ParameterError):
            return self._ready().session.estimate(confidence)

    def good_enough(self, epsilon: float | str | Within | None = None, delta: float = DELTA) -> Certificate:
        """Return whether a policy is proved to be within `epsilon` of the best gain, so that learning may stop: see
        `Session.good_enough`.  Worked out when asked, from what the journal holds."""
        with self._guard, intact(self.path, WORDS, ParameterError):
            return self._ready().session.good_enough(epsilon, delta)

    def observations(self) -> Iterator[Observation]:
        """Yield every report in order, each checked against the chain of those before."""
        with self._guard:
            self._ready()
            journal = self._opened()
        for entry in journal.entries():
            if isinstance(entry, Report):
                with intact(self.path, WORDS):
                    seen = Observation(entry.seq, read(entry.state), read(entry.action), entry.holding_time, read(entry.next_state),
                                       entry.reward, read(entry.event), read(entry.answer), entry.at, read_silent(entry.silent))
                yield seen

    def verify(self) -> dict[str, Any]:
        """Check every page and row, fold the journal anew, and compare with what is in memory; raise where something differs."""
        with self._guard, intact(self.path, WORDS):
            fold, journal = self._ready(), self._opened()
            reports = journal.verify()
            anew, differs = Fold(Setting.from_bytes(journal.setting), self._learner), 0
            anew.tested_from = fold.tested_from
            for entry in journal.entries():
                anew.take(entry)
                differs += isinstance(entry, Report) and written(anew.answer, "action") != entry.answer
            if anew.to_bytes() != fold.to_bytes():
                raise ControlError(f"the controller {self.path}: folding its {reports} reports anew gives another state than its "
                                   f"snapshots ({differs} answers differ). Where Sojourn was updated since, its learner may decide "
                                   f"otherwise now, and nothing is amiss. `replay()` makes the snapshots anew from the journal, "
                                   "which is intact.")
            return {"reports": reports, "notes": journal.head.note, "answers_that_differ": differs,
                    "chain": journal.head.chain.hex()}

    def backup(self, path: str | PathLike[str]) -> dict[str, Any]:
        """Make a whole, checked copy of the file at the new `path` while reports go on; return how far it goes.

        The copy needs no log: it is opened, moved and copied as one file.
        """
        if self._closed:
            self._opened()
        return backup(self.path, file_path(path).absolute())

    def replay(self) -> dict[str, Any]:
        """Throw the snapshots away and fold the whole journal anew; return how many answers would be other today."""
        with self._guard, intact(self.path, WORDS):
            self._ready()
            journal = self._writable()
            journal.forget_snapshots()
            fold, differs = Fold(Setting.from_bytes(journal.setting), self._learner), 0
            for entry in journal.entries():
                fold.take(entry)
                differs += isinstance(entry, Report) and written(fold.answer, "action") != entry.answer
            self._load(journal)
            self._append([], snapshot=True)
            return {"reports": journal.head.seq, "notes": journal.head.note, "answers_that_differ": differs}

    # ---- inside -------------------------------------------------------------------------------------------------

    def _load(self, journal: Journal) -> None:
        """Take the latest snapshot that can be used, and fold what came after it."""
        setting = Setting.from_bytes(journal.setting)
        fold, after = Fold(setting, self._learner), None
        for head, payload in journal.snapshots():
            try:
                fold.restore(payload)
                after = head
                break
            except (SojournError, KeyError, TypeError, ValueError):  # of another version: fold from an older one, or from the start
                fold = Fold(setting, self._learner)
        begun, entry, self._since = time.perf_counter(), None, 0
        for entry in journal.entries(after):
            fold.take(entry)
            self._since += 1
        if isinstance(entry, Report):
            fold.answer = read(entry.answer)  # what the plant was told, should this program decide otherwise today
        self._fold, self._work, self._size = fold, time.perf_counter() - begun, 0
        again = "If the plant had an answer to a later report, report it again."
        if journal.torn:
            self._found(journal, "torn", f"the last write behind report {journal.head.seq} was found incomplete: the process was "
                                         "killed or the power failed before it was acknowledged, or the end of the log is lost or "
                                         f"damaged. {again}")
        if journal.lost:
            self._found(journal, "loss", f"the file was opened though {journal.lost}; it goes on behind report {journal.head.seq}, "
                                         f"and later ones may have been acknowledged. {again}")
        journal.torn, journal.lost = False, ""

    def _found(self, journal: Journal, kind: str, text: str) -> None:
        """Note in the journal, with an alarm, what opening the file has found."""
        fold, note = self._fold, self._note(kind, text.encode(), journal.head)
        fold.take(note)
        if journal.write:
            journal.append([note], fold.to_bytes())

    def _left_out(self, seq: int, last: int) -> str:
        """Return the sentence for a report whose number leaves others out."""
        said = f"seq is {seq}, but the next report is number {last + 1}; report that one first."
        lost = f"If it is lost, call `missed()` and go on with number {last + 1}. Nothing was counted."
        if self._heard:
            return f"{said} {lost}"
        return (f"{said} If the plant had answers to reports behind number {last}, with which this file ends, {self.path.name} is "
                f"an older copy of the controller: put the latest one in its place, or report again from number {last + 1} on. "
                f"{lost}")

    def _opened(self) -> Journal:
        if self._closed or self._journal is None:
            raise ControlError(f"the controller {self.path} is closed; `Controller.open` goes on with it.")
        return self._journal

    def _writable(self) -> Journal:
        journal = self._opened()
        if not self.write:
            raise ControlError(f"the controller {self.path} was opened with write=False, to look only; open it for writing.")
        return journal

    def _ready(self) -> Fold:
        """Return the fold; after an error it is read from the file again."""
        if self._journal is None and not self._closed:
            journal = Journal(self.path, self.write)
            try:
                self._check_same(journal)
                self._load(journal)
            except BaseException:
                journal.abandon()
                raise
            self._journal = journal
        self._opened()
        return self._fold

    def _drop(self) -> None:
        """Forget everything in memory: the file is the truth, and is read at the next call."""
        self._plans.stop()
        journal, self._journal = self._journal, None
        if journal is not None:
            self._left = (journal.setting, journal.head)
            journal.abandon()

    def _check_same(self, journal: Journal) -> None:
        """Refuse a file that is not the one that was open before the error, or lacks what had been acknowledged."""
        if self._left is None:
            return
        setting, known = self._left
        here = journal.head
        behind = here.seq < known.seq or here.note < known.note
        if behind or journal.setting != setting or journal._chain_at(known.seq, known.note) != known.chain:
            raise ControlError(f"{self.path} is not the file that was open until an error: that one had {known.seq} reports, and "
                               f"this one has {here.seq}, of its own. Put the right one back; `Controller.open` goes on with "
                               "whatever is there.")

    def _late_plan(self, fold: Fold, head: Head) -> Note | None:
        """Take the plan that was due over, if it is there or can be waited for no longer; return the note that says so."""
        late = self._plans.taken(fold)
        return None if late is None else self._note("plan", json.dumps({"late": late}).encode(), head)

    def _note(self, kind: str, body: bytes, head: Head) -> Note:
        return Note(head.note + 1, head.seq, time.time(), kind, body)

    def _append(self, entries: Sequence[Report | Note], snapshot: bool = False) -> None:
        """Write, with a snapshot where one is due: after many reports, or much work, since the last."""
        self._since += len(entries)
        due = self._since >= max(SNAPSHOT_ROWS, self._size / BYTES_PER_ROW) or self._work > SNAPSHOT_SECONDS
        payload = self._fold.to_bytes() if snapshot or (due and entries) else None
        if entries or payload:
            self._opened().append(entries, payload)
        if payload is not None:
            self._since, self._work, self._size = 0, 0.0, len(payload)


_OPEN: weakref.WeakSet[Controller] = weakref.WeakSet()  # those that may write


@atexit.register
def _close_all() -> None:
    """Close what is open when the process ends, so that one file is left; not where another thread is still at it."""
    for controller in list(_OPEN):
        journal = controller._journal
        if journal is not None and journal._pid == os.getpid() and controller._guard.acquire(timeout=1):
            try:
                controller.close()
            finally:
                controller._guard.release()
