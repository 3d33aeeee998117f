"""The engine: a learner walks a model, resumably, in kernel calls of at most about 0.2 s.

A walk is one ledger (kernels/ledger.py) and one driver (kernels/driver.py), which follows plan after plan until the call is over
or a plan must be made in Python.  What differs between learners:

- one that plans: `plan()` is asked for the next plan, or its `compiled_plan` inside the driver;
- one that acts: every epoch is a plan of one epoch, with the action it chose; or its `compiled_act` is called inside a driver of
  its own (kernels/acting.py);
- kernels fold what happens into its `counts`; where it has none, it is told by `observe`, in chunks of at most 2^16 epochs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.acting import acting
from sojourn.kernels.driver import boxed, driver, in_python
from sojourn.kernels.fast_walk import walk_fast
from sojourn.kernels.ledger import BEGUN, DONE, ENTRY, LAST, NO_LIMIT, PAID, PAIR, STATE, TIME, Ledger, empty_begun, empty_ledger
from sojourn.kernels.walk import walk_plan
from sojourn.learn.abilities import abilities_of, is_learner
from sojourn.learn.certificate import Certificate
from sojourn.learn.fixed import Fixed
from sojourn.learn.learner import MAX_CHUNK, History, Plan
from sojourn.learn.streams import Seed, restore_stream, stream, stream_state
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.episode import Episode, chosen_pair, next_episode
from sojourn.simulation.episodes import EpisodeLog
from sojourn.simulation.fitting import fitting_knowledge
from sojourn.simulation.folding import Folding
from sojourn.simulation.holding import HoldingTimes, other_law
from sojourn.simulation.labels import labels_for
from sojourn.simulation.regret import Moment, yardstick
from sojourn.simulation.seeds import Stream, world_stream
from sojourn.simulation.world import is_plain, world_of
from sojourn.solving.solution import Solution

BLOCK = MAX_CHUNK  # sums restart at multiples of this many epochs, so that rounding does not grow with the run
TRACED = 2**16  # epochs in one call where every one of them is told or recorded
MOST_NOTES = 4_000_000  # numbers noted about the plans that one call begins


class Walk:
    """A learner (or a policy) walking a model; `advance` it, look at it, save it with `state()`, go on.

    `start` is a state as the user calls it (default: the model's first).  `epoch` counts the decisions taken, `position` is the
    position of the state it stands in, `time` the sum of all holding times, `visits`
    (P,) the decisions per pair, `episode` the plan under way, `log` the episodes.  The same seed gives the same walk however it
    is cut into pieces.
    """

    def __init__(self, model: CTMDP, learner: Any, *, start: Any = None, seed: Seed = 0, holding_times: HoldingTimes = None,
                 knowledge: Knowledge | None = None, solution: Solution | None = None, record: bool = False):
        require_model(model)
        self.model = model
        self.world = world_of(model, holding_times)
        self.other_law = other_law(model, holding_times)
        self.stream = Stream(world_stream(seed))
        self.learner: Any = learner if is_learner(learner) else _policy(model, learner, seed)
        self.can = abilities_of(self.learner)
        self.knowledge = fitting_knowledge(model, self.learner, knowledge)
        self.start = 0 if start is None else model.state(start)
        self.epoch = 0
        self.base = np.zeros(2)  # time and paid at the last multiple of BLOCK; the ledger's clock counts from there
        self.episode: Episode | None = None
        self.yardstick = yardstick(model, solution)
        self.log = EpisodeLog(model.states, model.actions, self.yardstick.shortfall)
        self.certificate: Certificate | None = None  # that of the last look (looks.py), where somebody asks for one
        self.record = record
        self.recorded: list[History] = []
        self._listening = self.can.observes and not self.can.folds
        self._tracing = record or self._listening
        self._own = stream(0)  # for randomized plans of a learner that has no stream
        self._folding = Folding(self.knowledge, len(self.world.next_state))
        self._plain_world = is_plain(self.world)
        self.ledger = self._new_ledger()
        self._labels = labels_for(model, self.knowledge, seed) if self._tracing else None
        self._boxed: tuple[Any, Any] = (None, None)  # a ledger, and the same one as drivers take it

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along: all but the box, which is over this walk's arrays."""
        return {**vars(self), "_boxed": (None, None)}

    def _new_ledger(self) -> Ledger:
        known, compiled = self.knowledge, self.can.compiled_plan is not None
        plans = min(self.learner.plans_per_call, max(1, MOST_NOTES // (known.n_states + known.n_pairs))) if compiled else 1
        begun = empty_begun(plans, known.n_states, known.n_pairs, len(self.learner.info_names) if compiled else 0)
        counts = self._folding.into(self.learner.counts if self.can.folds else None)
        ledger = empty_ledger(self.world, counts, begun, (1 if self._asks else TRACED) if self._tracing else 0)
        ledger.at[STATE] = self.start
        return ledger._replace(words=self.stream.words)

    @property
    def _asks(self) -> bool:
        """Whether the learner is asked for every action, in Python."""
        return self.can.acts and self.can.compiled_act is None

    # ---- where it stands ----------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        return int(self.ledger.at[STATE])

    @property
    def visits(self) -> np.ndarray:
        return self.ledger.visits

    @property
    def time(self) -> float:
        """The sum of all holding times so far, S_{N+1}."""
        return float(self.base[0] + self.ledger.clock[TIME])

    def moment(self) -> Moment:
        """Return what the regrets need to know of here and now."""
        clock, pair, entry = self.ledger.clock, self.ledger.at[PAIR], self.ledger.at[ENTRY]
        running = float(self.world.running[pair]) if pair >= 0 else 0.0
        jump = float(self.world.transition_reward[entry]) if entry >= 0 else 0.0
        return Moment(self.epoch, self.time, float(self.base[1] + clock[PAID]), float(clock[LAST]),
                      running * float(clock[LAST]) + jump, running, jump, self.visits)

    # ---- walking ------------------------------------------------------------------------------------------------

    def advance(self, until_epoch: int | None = None, until_time: float | None = None) -> None:
        """Walk until `until_epoch` decisions were taken in all, or until the sojourn under way has passed `until_time`."""
        while self.step(until_epoch, until_time):
            pass

    def step(self, until_epoch: int | None = None, until_time: float | None = None) -> bool:
        """Walk one kernel call, at most about 0.2 s; return whether there is more to do."""
        if until_epoch is None and until_time is None:
            raise ParameterError("until_epoch and until_time are both None; say how far to walk.")
        room = min(MAX_CHUNK, BLOCK - self.epoch % BLOCK, len(self.ledger.trace.state) or MAX_CHUNK)
        if until_epoch is not None:
            room = min(room, until_epoch - self.epoch)
        limit = np.inf if until_time is None else float(until_time - self.base[0])
        if room <= 0 or self.ledger.clock[TIME] > limit:
            return False
        if self._asks:
            room = self._choose()
        must_plan = self._call(room, limit)
        self._take_in()
        if must_plan:
            self._begin()
        if self.epoch % BLOCK == 0:
            self.base += self.ledger.clock[:2]
            self.ledger.clock[:2] = 0.0
        return True

    def _call(self, room: int, limit: float) -> bool:
        """Let the driver walk; return whether the next plan must be made in Python."""
        counts = self._folding.into(self.learner.counts if self.can.folds else None)
        if counts is not self.ledger.counts:
            self.ledger = self.ledger._replace(counts=counts)
        randomized = len(self.ledger.plan.cumulative) > 0
        acts = self.can.compiled_act
        fast = self._plain_world and not (randomized or self._tracing or acts)
        compiled = (self.can.compiled_plan is not None and not randomized) or acts is not None
        if self._boxed[0] is not self.ledger:
            self._boxed = self.ledger, boxed(self.ledger)
        walk = acting(*acts) if acts else driver(self.can.compiled_plan if compiled else in_python,
                                                 walk_fast if fast else walk_plan)
        if fast:
            self.stream.as_words()
        rng = None if fast else self.stream.as_generator()
        own = self._learner_stream(randomized) if compiled or not fast else None  # each takes numba 10 us to recognize
        must_plan = walk(self.learner.planner_state() if compiled else (), self._boxed[1], rng, own, room, limit)
        self._folding.folded()
        return bool(must_plan)

    def _take_in(self) -> None:
        """Take note of what a call has done: plans begun, epochs, observations."""
        at = self.ledger.at
        begun, epochs = int(at[BEGUN]), int(at[DONE])
        if begun:
            rows, names = self.ledger.begun, self.learner.info_names
            self._check_compiled(rows.pair[:begun], epochs)
            policies = self.knowledge.pair_action[rows.pair[:begun]]
            self.log.begin_many(rows, begun, policies, names, self.epoch)
            plan = Plan(policies[-1], info=dict(zip(names, rows.info[begun - 1].tolist(), strict=True)))
            index = (self.episode.index if self.episode else 0) + begun
            self.episode = Episode.compiled(plan, index, self.epoch + int(rows.epoch[begun - 1]) + 1, self.ledger.plan)
        self.epoch += epochs
        if epochs and self._tracing:
            history = self._labelled(History.of_parts(*(column[:epochs].copy() for column in self.ledger.trace)))
            if self._listening:
                self.learner.observe(history)
            if self.record:
                self.recorded.append(history)

    def _labelled(self, history: History) -> History:
        """Return what happened with the labels of its events, where the learner was told of events."""
        if self._labels is None:
            return history
        pairs = self.knowledge.pair_table[history.state, history.action].astype(np.int64)
        event, silent = self._labels.draw(pairs, history.holding_time, history.next_state)
        return replace(history, event=event, silent=silent)

    def _check_compiled(self, pairs: np.ndarray, epochs: int) -> None:
        """Raise where a compiled planner has written what is no plan, which Python would have refused."""
        name, start = type(self.learner).__name__, self.knowledge.pair_start
        if len(pairs) > epochs:
            raise ParameterError(f"{name} made {len(pairs)} plans for {epochs} epochs; a compiled plan must leave every pair "
                                 "at least 1 visit, and itself at least 1 epoch.")
        wrong = np.argwhere((pairs < start[:-1]) | (pairs >= start[1:]))
        if wrong.size:
            plan, s = map(int, wrong[0])
            raise ParameterError(f"{name} chose pair {pairs[plan, s]} in state {self.knowledge.states[s]!r}; a compiled plan must "
                                 f"choose one of its pairs, {start[s]} to {start[s + 1] - 1}.")

    def _begin(self) -> None:
        """Ask the learner for a plan and lay it into the ledger."""
        self.episode = next_episode(self.learner, self.knowledge, self.episode, self.epoch + 1, self.ledger.plan)
        if self.episode.under_way is not self.ledger.plan:
            self.ledger = self.ledger._replace(plan=self.episode.under_way)
        self.log.begin(self.episode.plan, self.epoch, self.position, self.visits)

    def _choose(self) -> int:
        """Lay the action of a learner that acts into the ledger, as a plan of one epoch; return that one."""
        plan = self.ledger.plan
        plan.pair[self.position] = pair = chosen_pair(self.learner, self.position, self.knowledge)
        plan.left[pair], plan.epochs[:] = NO_LIMIT, (0, 1)
        return 1

    def _learner_stream(self, needed: bool) -> np.random.Generator:
        rng = getattr(self.learner, "rng", None)
        if isinstance(rng, np.random.Generator):
            return rng
        if rng is not None and needed:
            raise ParameterError(f"the learner's rng is {rng!r}; a randomized plan draws from it, so it must be "
                                 "a numpy Generator such as np.random.default_rng(seed), or be left out.")
        return self._own

    # ---- stopping and going on ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything (arrays, scalars, nested dicts; no pickle) from which `restore` goes on as if never stopped.

        A recorded trajectory is not part of it.
        """
        if not self.can.saves:
            kind = type(self.learner).__name__
            raise ParameterError(f"{kind} has no state(); give it state() and restore(state) to save its walk.")
        ledger = self.ledger
        return {
            "epoch": self.epoch, "position": self.position, "base": self.base.copy(), "clock": ledger.clock.copy(),
            "visits": ledger.visits.copy(), "last": ledger.at[[PAIR, ENTRY]], "rng": self.stream.state(),
            "own": stream_state(self._own), "learner": self.learner.state(),
            "episode": self.episode.state() if self.episode else {}, "log": self.log.state(),
            **({"labels": self._labels.state()} if self._labels is not None else {}),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Become the walk that `state()` described; model, learner parameters and holding times must be the same."""
        self.learner.restore(state["learner"])
        self.epoch, self.base = int(state["epoch"]), np.array(state["base"], dtype=float)
        ledger = self.ledger
        ledger.clock[:], ledger.visits[:] = state["clock"], state["visits"]
        ledger.at[[STATE, PAIR, ENTRY]] = (int(state["position"]), *(int(x) for x in state["last"]))
        self.stream.restore(state["rng"])
        if "own" in state:
            restore_stream(self._own, state["own"])
        ledger.plan.epochs[:] = 0
        self.episode = Episode.restored(state["episode"], self.knowledge, ledger.plan) if state["episode"] else None
        if self.episode:
            self.ledger = ledger._replace(plan=self.episode.under_way)
        self.log.restore(state["log"])
        if self._labels is not None:
            self._labels.restore(state["labels"])
        self._folding.forget()


def _policy(model: CTMDP, policy: Any, seed: Seed) -> Fixed:
    if policy is None:
        raise ParameterError("the policy is None; give a policy, or a learner with plan() or act().")
    made = Fixed(model.knowledge(), policy, seed)
    made.called = "a fixed policy"
    return made
