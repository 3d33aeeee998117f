"""The engine: a learner walks a model, resumably, in kernel calls of bounded length.

Learners come in three kinds (see `sojourn.learn.learner`):

- *compiled*: `plan()` and `counts`; every observation is folded into the counts inside the kernel; and, if its plans are many
  and short, its own compiled

      walk_plans(ground, rng, state, max_epochs, max_time) -> Walked

  over several of them, used where nothing is recorded.  It must be what asking `plan()` each time would have been, bit for
  bit: it goes on with the learner's episode (None, or one that is over: a new one first) and begins another one whenever a
  plan is over, until the epochs or the time are used up, or about 0.1 s of planning.  `ground` (simulation/shapes.py) has the
  world, the visits, the clock and the counts, all of which it adds to as `walk_plan` (kernels/walk.py) does.  It leaves the
  learner, its episode included, as it then stands, and returns where it is and what it has begun (learn/learner.py);
- *plain*: `plan()` and `observe(history)`; chunks of at most 2^20 epochs, several per episode;
- *per epoch*: `act(state) -> action index` and `observe(history)` with one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.alias import jump
from sojourn.kernels.fast_walk import packed_cells, walk_fast
from sojourn.kernels.walk import holding_time, walk_plan
from sojourn.learn.counts import counts_of
from sojourn.learn.learner import MAX_CHUNK, Episode, History, begin_episode, episode_of, keep_episode, walks_plans
from sojourn.learn.streams import stream
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.episodes import EpisodeLog
from sojourn.simulation.folding import Folding
from sojourn.simulation.policy import FixedPolicy, fitting_knowledge
from sojourn.simulation.regret import Moment, yardstick
from sojourn.simulation.seeds import Stream, world_stream
from sojourn.simulation.shapes import Course, Ground, trace_of
from sojourn.simulation.world import World, is_plain, world_of
from sojourn.solving.solution import Solution

BLOCK = MAX_CHUNK  # sums restart at multiples of this many epochs, so that rounding does not grow with the run
PLAIN_CHUNK = 2**16  # rows of one History given to a plain learner


class Walk:
    """A learner (or a policy) walking a model; `advance` it, look at it, save it with `state()`, go on.

    `epoch` counts the decisions taken, `position` is the state it stands in, `time` the sum of all holding times, `visits`
    (P,) the decisions per pair, `log` the episodes.  The same seed gives the same walk however it is cut into pieces.
    """

    def __init__(self, model: CTMDP, learner: Any, *, start: int | str = 0, seed: Any = 0, holding_times: Any = None,
                 knowledge: Knowledge | None = None, solution: Solution | None = None, record: bool = False):
        self.model = model
        self.world: World = world_of(model, holding_times)
        self.stream = Stream(world_stream(seed))
        self.learner: Any = learner if is_learner(learner) else FixedPolicy(model, learner, seed)
        self.knowledge = fitting_knowledge(model, self.learner, knowledge)
        self.start = self.position = model.state(start)
        self.epoch = 0
        self.base = np.zeros(2)  # time and paid at the last multiple of BLOCK
        self.clock = np.zeros(3)  # time and paid since then, last holding time
        self.visits = np.zeros(model.n_pairs, dtype=np.int64)
        self.last_pair = self.last_entry = -1
        self.yardstick = yardstick(model, solution)
        self.log = EpisodeLog(model.n_actions, self.yardstick.shortfall)
        self.record = record
        self.recorded: list[History] = []
        self._folding = Folding(self.knowledge, len(self.world.next_state))
        self._trace = trace_of(0)
        self._plain_world = is_plain(self.world)
        self._records = np.zeros(8 * model.n_states, dtype=np.int64)
        self._cells = packed_cells(self.world.next_state, self.world.cut, self.world.own, self.world.other)

    # ---- where it stands ----------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """The sum of all holding times so far, S_{N+1}."""
        return float(self.base[0] + self.clock[0])

    def moment(self) -> Moment:
        """Return what the regrets need to know of here and now."""
        k, e = self.last_pair, self.last_entry
        running = float(self.world.running[k]) if k >= 0 else 0.0
        jump = float(self.world.transition_reward[e]) if e >= 0 else 0.0
        return Moment(self.epoch, self.time, float(self.base[1] + self.clock[1]), float(self.clock[2]),
                      running * float(self.clock[2]) + jump, running, jump, self.visits)

    # ---- walking ------------------------------------------------------------------------------------------------

    def advance(self, until_epoch: int | None = None, until_time: float | None = None) -> None:
        """Walk until `until_epoch` decisions were taken in all, or until the sojourn under way has passed `until_time`."""
        while self.step(until_epoch, until_time):
            pass

    def step(self, until_epoch: int | None = None, until_time: float | None = None) -> bool:
        """Walk one kernel call, at most about 0.2 s; return whether there is more to do."""
        if until_epoch is None and until_time is None:
            raise ParameterError("until_epoch and until_time are both None; say how far to walk.")
        room = min(MAX_CHUNK, BLOCK - self.epoch % BLOCK)
        if until_epoch is not None:
            room = min(room, until_epoch - self.epoch)
        limit = np.inf if until_time is None else float(until_time - self.base[0])
        if room <= 0 or self.clock[0] > limit:
            return False
        if hasattr(self.learner, "act"):
            self._act_once()
        elif walks_plans(self.learner) and not self.record:
            self._step_by_plans(room, limit)
        else:
            self._step_by_plan(room, limit)
        if self.epoch % BLOCK == 0:
            self.base += self.clock[:2]
            self.clock[:2] = 0.0
        return True

    def _step_by_plan(self, room: int, limit: float) -> None:
        learner = self.learner
        episode = episode_of(learner)
        if episode is None or episode.epochs_left <= 0:
            episode = self._begin()
        elif self.log.total == 0:  # a learner that comes in the middle of an episode
            self.log.begin(episode, self.epoch, self.position, self.visits)
        counts = counts_of(learner)
        listening = counts is None and hasattr(learner, "observe")
        if listening or self.record:
            room = min(room, PLAIN_CHUNK)
            if not len(self._trace.state):
                self._trace = trace_of(PLAIN_CHUNK)
        room = min(room, episode.epochs_left)
        fold = self._folding.into(counts)
        if self._plain_world and episode.cumulative is None and not (listening or self.record):
            self.position, epochs, ended, pair, entry = walk_fast(
                self.world, self.position, self.stream.words, episode.policy_pair, episode.left, self.visits, fold, room, limit,
                self.clock, self._records, self._cells)
        else:
            before = fold.visits.copy()
            self.position, epochs, ended, pair, entry = walk_plan(
                self.world, self.position, self.stream.generator, self._course(episode), episode.left, fold, room, limit,
                self.clock, self._trace)
            self.visits += fold.visits - before
        self._folding.folded()
        episode.epochs += epochs
        episode.epochs_left -= epochs
        if counts is not None:
            counts.epoch += epochs
        self._done(epochs, pair, entry)
        if epochs and (listening or self.record):
            self._tell(epochs, listening)
        if ended:
            self._begin()

    def _step_by_plans(self, room: int, limit: float) -> None:
        learner, counts, episode = self.learner, counts_of(self.learner), episode_of(self.learner)
        if self.log.total == 0 and episode is not None and episode.epochs_left > 0:
            self.log.begin(episode, self.epoch, self.position, self.visits)
        rng, words = self.stream.either(raw=self._plain_world)
        ground = Ground(self.world, words, self._folding.into(counts), self.visits, self.clock, self._trace, self._records,
                        self._cells)
        walked = learner.walk_plans(ground, rng, self.position, room, limit)
        self._folding.folded()
        if counts is not None:
            counts.epoch += walked.epochs
        self.log.begin_many(walked.begun, self.epoch)
        self.position = walked.state
        self._done(walked.epochs, walked.pair, walked.entry)
        if walked.stuck:
            self._begin()

    def _begin(self) -> Episode:
        episode = begin_episode(self.learner, self.knowledge)
        self.log.begin(episode, self.epoch, self.position, self.visits)
        return episode

    def _course(self, episode: Episode) -> Course:
        if episode.cumulative is None:
            return Course(episode.policy_pair, np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64), self.stream.generator)
        if not hasattr(self.learner, "rng"):
            self.learner.rng = stream(0)
        if not isinstance(self.learner.rng, np.random.Generator):
            raise ParameterError(f"the learner's rng is {self.learner.rng!r}; a randomized plan draws from it, so it must be "
                                 "a numpy Generator such as np.random.default_rng(seed), or be left out.")
        return Course(episode.policy_pair, episode.cumulative, self.knowledge.pair_table.astype(np.int64), self.learner.rng)

    def _act_once(self) -> None:
        world = self.world
        pair = self.model.pair(self.position, int(self.learner.act(self.position)))
        tau = float(holding_time(self.stream.generator, world.law[pair], world.mean[pair], world.first[pair], world.second[pair]))
        entry = int(jump(self.stream.generator, world.row_start, world.cut, world.own, world.other, pair))
        row = (self.position, world.pair_action[pair], tau, world.next_state[entry],
               world.reward[pair] + world.transition_reward[entry])
        self.visits[pair] += 1
        self.clock[:] = (self.clock[0] + tau, self.clock[1] + (world.running[pair] * tau + world.transition_reward[entry]), tau)
        self.position = int(world.next_state[entry])
        history = History(*(np.array([value]) for value in row))
        self.learner.observe(history)
        if self.record:
            self.recorded.append(history)
        self._done(1, pair, entry)

    def _done(self, epochs: int, pair: int, entry: int) -> None:
        self.epoch += epochs
        if epochs:
            self.last_pair, self.last_entry = int(pair), int(entry)

    def _tell(self, epochs: int, listening: bool) -> None:
        history = History(*(column[:epochs].copy() for column in self._trace))
        if listening:
            self.learner.observe(history)
        if self.record:
            self.recorded.append(history)

    # ---- stopping and going on ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything (arrays, scalars, nested dicts; no pickle) from which `restore` goes on as if never stopped.

        A recorded trajectory is not part of it.
        """
        if not hasattr(self.learner, "state"):
            kind = type(self.learner).__name__
            raise ParameterError(f"{kind} has no state(); give it state() and restore(state) to save its walk.")
        episode = episode_of(self.learner)
        return {
            "epoch": self.epoch, "position": int(self.position), "base": self.base.copy(), "clock": self.clock.copy(),
            "visits": self.visits.copy(), "last": np.array([self.last_pair, self.last_entry]), "rng": self.stream.state(),
            "learner": self.learner.state(), "episode": episode.state() if episode else {}, "log": self.log.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Become the walk that `state()` described; model, learner parameters and holding times must be the same."""
        self.epoch, self.position = int(state["epoch"]), int(state["position"])
        self.base, self.clock = np.array(state["base"], dtype=float), np.array(state["clock"], dtype=float)
        self.visits = np.array(state["visits"], dtype=np.int64)
        self.last_pair, self.last_entry = (int(x) for x in state["last"])
        self.stream.restore(state["rng"])
        self.learner.restore(state["learner"])
        if not hasattr(self.learner, "act"):
            keep_episode(self.learner, Episode.restored(state["episode"], self.knowledge) if state["episode"] else None)
        self.log.restore(state["log"])
        self._folding.forget()


def is_learner(value: Any) -> bool:
    """Return whether `value` plans or acts; everything else is taken for a policy."""
    return hasattr(value, "plan") or hasattr(value, "act")
