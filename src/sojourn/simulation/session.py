"""A learner in the world: one epoch at a time, the same plans and the same decisions as in a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sojourn.errors import ParameterError, ReportError, names_keywords
from sojourn.learn.abilities import Acting, Planning, abilities_of, called, structure_of
from sojourn.learn.catalogue import is_named
from sojourn.learn.catalogue import learner as made_learner
from sojourn.learn.counts import Counts
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.learner import History, checked_knowledge
from sojourn.learn.streams import Seed, restore_stream, stream, stream_state
from sojourn.model.closeness import DELTA, Within, within
from sojourn.model.knowledge import Knowledge
from sojourn.model.numbers import shown
from sojourn.model.scalars import is_number
from sojourn.simulation.episode import Episode, chosen_pair, next_episode
from sojourn.simulation.reported_events import ReportedEvents

if TYPE_CHECKING:
    from sojourn.learn.certificate import Certificate
    from sojourn.learn.estimate import Estimate
    from sojourn.learn.event_estimate import EventEstimate
    from sojourn.learn.structure_test import Evidence
    from sojourn.model.rates import Rate

TABLES = ("visits", "truncated_mean", "transition_radius", "holding_radius", "rate_interval")


@dataclass(frozen=True, eq=False, repr=False)
class SessionEpisode:
    """The episode that the pending action belongs to, as it was at its start.  All arrays are copies.

    `index` and `start_epoch` count from 1 over the whole session.  The tables are (S, A), `rate_interval` (S, A, 2) in
    rates, low and high; a learner that has no such table leaves None.
    """

    index: int
    start_epoch: int
    policy: np.ndarray
    visits: np.ndarray | None = None
    truncated_mean: np.ndarray | None = None
    transition_radius: np.ndarray | None = None
    holding_radius: np.ndarray | None = None
    rate_interval: np.ndarray | None = None

    def __repr__(self) -> str:
        tables = [name for name in TABLES if getattr(self, name) is not None]
        return (f"<SessionEpisode {self.index}: from decision {self.start_epoch:,} on, policy {self.policy.tolist()}; "
                f"tables {', '.join(tables) or 'none'}>")


class Session:
    """Walks `learner` from `state`: ask for `.action`, carry it out, `.report` what happened, and so on.

    `learner` is a learner; or the name of one, its "module:Class" or its class, then made with `seed` and `parameters` and told
    `knowledge`.  `state` and `action` are as the user calls them; `state_index` and `action_index` are their positions in arrays.
    `epoch` is the number of the pending decision, counted from 1.  A report that cannot be true raises ReportError and counts
    nothing.

    >>> from sojourn.zoo.catalogue import make
    >>> from sojourn.learn.catalogue import learner
    >>> session = Session(learner("ct-ucrl", make("three-state").knowledge(), delta=0.01), state="A")
    >>> action = session.action
    >>> session.report(holding_time=0.4, next_state="C")
    >>> session.state, session.state_index, session.epoch, session.episode.index
    ('C', 2, 2, 1)
    """

    @names_keywords
    def __init__(self, learner: str | type | Planning | Acting, state: Any, knowledge: Knowledge | None = None, seed: Seed = 0,
                 parameters: Mapping[str, Any] | None = None):
        if is_named(learner):
            learner = made_learner(learner, checked_knowledge(knowledge), seed, **(parameters or {}))
        elif parameters is not None:
            raise ParameterError(f"parameters is {parameters!r}, but the learner is made already; give its name or class, "
                                 "or leave them out.")
        known = knowledge if knowledge is not None else getattr(learner, "knowledge", None)
        if not isinstance(known, Knowledge):
            raise ParameterError(f"{type(learner).__name__} has knowledge {known!r}; "
                                 "pass knowledge=model.knowledge() to the session.")
        self.learner: Any = learner  # what it can do beside planning or acting is in `can`
        self.knowledge = known
        self.state_index = known.states.position(state, "state", ParameterError)
        self.epoch = 1
        self.time = 0.0
        self.counts = Counts(known)  # of its own, all holding times: a learner may keep none, or leave out long ones
        self.can = abilities_of(learner)
        self._episode: Episode | None = None  # the plan under way
        self._own = stream(0)  # for randomized plans of a learner that has no stream
        self._pair: int | None = None  # of the pending action, once it was asked for
        self._tables: dict[str, np.ndarray] = {}

    @property
    def state(self) -> Any:
        """The state it is in, as the user calls it; setting it puts the session there, as when the world was reset."""
        return self.knowledge.states[self.state_index]

    @state.setter
    def state(self, state: Any) -> None:
        self.state_index = self.knowledge.states.position(state, "state", ParameterError)
        self._pair = None

    @property
    def action(self) -> Any:
        """The action to take now, as the user calls it; asking again gives the same."""
        return self.knowledge.actions[self.action_index]

    @property
    def action_index(self) -> int:
        """The position of the action to take now."""
        if self._pair is None:
            self._pair = chosen_pair(self.learner, self.state_index, self.knowledge) if self.can.acts else self._choose()
        return int(self.knowledge.pair_action[self._pair])

    @property
    def action_label(self) -> str:
        """The action to take now, as a text to show."""
        return self.knowledge.actions.label(self.action_index)

    @property
    def episode(self) -> SessionEpisode | None:
        """The episode the pending action belongs to (None for a learner that chooses anew at every epoch)."""
        _ = self.action_index
        episode = self._episode
        if episode is None:
            return None
        tables = {name: self._tables[name].copy() for name in TABLES if name in self._tables}
        return SessionEpisode(episode.index, episode.start_epoch, np.array(episode.plan.policy), **tables)

    def report(self, holding_time: float, next_state: Any, reward: float | None = None, *, lump: float | None = None,
               event: str | Rate | None = None, silent: Mapping[Any, int] | None = None, action: Any = None) -> None:
        """Say how the pending action went: how long it held, where it led, and what it paid, if that is not as known.

        `reward` is all that was paid in the epoch; what is known to run up (`knowledge.running`) is taken as its running part.  Or
        give the `lump` sum alone, where that is what one knows.  `action` is what was really done, if it was not as advised.

        For a learner of events, `event` names the one that ended the sojourn (or is its Rate), where neither successor nor pay
        tells it, and `silent` says how often events were seen that led nowhere, as in {"arrive": 2}.
        """
        pair = self._pair if action is None else self._done(action)  # one that is refused leaves the pending action as it is
        if pair is None:
            raise ReportError("a report came before an action was asked for; read `session.action` first, take it, then report.")
        tau = real_number("holding_time", holding_time)
        if not tau > 0:
            raise ReportError(f"holding_time is {tau:g}; it must be positive. Nothing was counted.")
        if reward is not None and lump is not None:
            raise ReportError(f"reward is {reward!r} and lump is {lump!r}; the lump sum is a part of the reward: give one of them. "
                              "Nothing was counted.")
        running = float(self.knowledge.running[pair]) * tau
        paid = float(self.knowledge.reward[pair])
        if reward is not None:
            paid = real_number("reward", reward) - running
        elif lump is not None:
            paid = real_number("lump", lump)
        arrived = self.knowledge.states.position(next_state, "next_state", ReportError, "Nothing was counted.")
        said = reward is not None or lump is not None
        extra = paid - float(self.knowledge.reward[pair]) if said else None
        seen = ReportedEvents(self.knowledge, pair, arrived, event, silent, extra)
        self._count(pair, tau, arrived, paid if said else paid + seen.paid, running, seen)
        self.state_index, self._pair = arrived, None
        self.epoch += 1
        self.time += tau

    def replan(self, at_once: bool = False) -> None:
        """End the plan under way: behind the pending decision, or `at_once`, so that this one is chosen anew too."""
        if self._episode is not None:
            self._episode.end()
        if at_once:
            self._pair = None

    @property
    def structure(self) -> Evidence | None:
        """The evidence against the events that the learner was told (learn/structure_test.py); None if it was told of none."""
        return structure_of(self.learner)

    def __repr__(self) -> str:
        pending = "not asked for yet" if self._pair is None else repr(self.action)
        return (f"<Session of {called(self.learner)}: decision {self.epoch:,} at time {self.time:.6g}, in state "
                f"{self.state!r}, action {pending}>")

    # ---- inside -------------------------------------------------------------------------------------------------

    def _done(self, action: Any) -> int:
        """Return the pair of an action that was done, whatever was advised."""
        place = self.knowledge.actions.position(action, "action", ReportError, "Nothing was counted.")
        pair = int(self.knowledge.pair_table[self.state_index, place])
        if pair < 0:
            raise ReportError(f"action is {action!r}, which is not admissible in state {self.state!r}. Nothing was counted.")
        return pair

    def _choose(self) -> int:
        """Return the pair of the plan under way, beginning a new one where the last has ended.   Paper: alg: CTUCRL, step 6"""
        episode = self._episode
        if episode is None or episode.epochs_left <= 0:
            episode = self._begin()
        rng = getattr(self.learner, "rng", self._own)
        pair = episode.pair_in(self.state_index, rng)
        while episode.left[pair] <= 0:
            episode = self._begin()
            pair = episode.pair_in(self.state_index, rng)
        return pair

    def _begin(self) -> Episode:
        self._episode = next_episode(self.learner, self.knowledge, self._episode, self.epoch)
        taken = self.learner.snapshot() if self.can.shows else {}
        self._tables = {name: np.array(value) for name, value in taken.items()}
        return self._episode

    def _count(self, pair: int, holding_time: float, next_state: int, lump: float, running: float,
               seen: ReportedEvents) -> None:
        row = (self.state_index, int(self.knowledge.pair_action[pair]), holding_time, next_state, lump, running)
        history = History.of_parts(*(np.array([value]) for value in row))
        self._observe(replace(history, event=seen.label, silent=seen.silent))
        self.counts.add(pair, holding_time, next_state, lump)
        if self._episode is not None:
            self._episode.spend(pair)

    def _observe(self, history: History) -> None:
        self.learner.observe(history)

    # ---- stopping and going on ----------------------------------------------------------------------------------

    def estimate(self, confidence: float = 0.95) -> Estimate | EventEstimate:
        """Return what has been learned so far: rates and rows with intervals, the best policy now, what the gain may be, what
        remains to be tried (learn/estimate.py); of a learner of events the rates of events (learn/event_estimate.py)."""
        from sojourn.learn.estimate import estimated
        from sojourn.learn.event_estimate import event_estimated

        events = getattr(self.learner, "events", None)
        if isinstance(events, EventCounts):
            return event_estimated(events, self.counts.visits, confidence)
        return estimated(self.counts, self.knowledge, confidence)

    def good_enough(self, epsilon: float | str | Within | None = None, delta: float = DELTA) -> Certificate:
        """Return whether a policy is proved to be within `epsilon` of the best gain, with its proved gains: true where it is.

        `epsilon` is an amount of gain (0.05), a share of the best gain ("5%") or `sojourn.within(...)`; without it the answer says
        how close the policy is proved to be now.  Wrong with probability at most `delta`, however often one asks, if delta was
        chosen before.  The answer rests on all that was reported, whichever learner decided; one that does not try what would
        bring a certificate is named in its `note`.  It costs two plans and more, at most one for each state with a choice besides.
        docs/how-to/stop-learning.md
        """
        from sojourn.learn.stopping import certificate

        wanted = None if epsilon is None else within(epsilon, delta)
        return certificate(self.learner, self.counts, self.knowledge, wanted, delta)

    @overload
    def save(self) -> dict[str, Any]: ...
    @overload
    def save(self, path: str | PathLike[str]) -> None: ...
    def save(self, path: str | PathLike[str] | None = None) -> dict[str, Any] | None:
        """Write everything to a file that suffices alone (`Session.load(path)`); without a path, return it as arrays and scalars,
        from which `restore` goes on as if never stopped."""
        if path is not None:
            from sojourn.simulation.session_file import write_session

            write_session(self, path)
            return None
        if not self.can.saves:
            kind = called(self.learner)
            raise ParameterError(f"{kind} has no state(); give it state() and restore(state) to save its session.")
        return {
            "state": self.state_index, "epoch": self.epoch, "time": self.time, "pair": -1 if self._pair is None else self._pair,
            "learner": self.learner.state(), "episode": self._episode.state() if self._episode else {},
            "own": stream_state(self._own), "counts": self.counts.state(),
            "tables": {name: table.copy() for name, table in self._tables.items()},
        }

    @classmethod
    def load(cls, path: str | PathLike[str], learner: str | type | Planning | Acting | None = None,
             max_bytes: int | None = None) -> Session:
        """Return the session that `save(path)` wrote; it goes on as if never stopped.

        `learner` is needed for one that is not of the catalogue: its class, its "module:Class", or a new object.
        `max_bytes` is the size of the largest file that is read (4 GB).
        """
        from sojourn.simulation.session_file import read_session

        return read_session(path, learner, max_bytes)

    def restore(self, saved: dict[str, Any]) -> None:
        """Become the session that `save()` described."""
        self.learner.restore(saved["learner"])
        self.state_index, self.epoch, self.time = int(saved["state"]), int(saved["epoch"]), float(saved["time"])
        self._pair = None if int(saved["pair"]) < 0 else int(saved["pair"])
        self._episode = Episode.restored(saved["episode"], self.knowledge) if saved["episode"] else None
        if "own" in saved:
            restore_stream(self._own, saved["own"])
        if "counts" in saved or isinstance(getattr(self.learner, "counts", None), Counts):  # saved before sessions counted
            self.counts.restore(saved.get("counts") or self.learner.counts.state())
        self._tables = {name: np.array(table) for name, table in saved["tables"].items()}


def real_number(name: str, value: Any) -> float:
    if not is_number(value):
        raise ReportError(f"{name} is {shown(value)} (a {type(value).__name__}); it must be a finite number. Nothing was counted.")
    return float(value)
