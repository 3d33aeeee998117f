"""The contract between a learner and whoever walks it: the simulator, a session, a controller.

There are two kinds of learner, and no third:

- one that *plans*: `plan()` returns a Plan (a policy, how many visits each pair may take, a cap on the epochs), which is
  followed until it ends; then the next one is asked for;
- one that *acts*: `act(state)` returns the action to take now, at every epoch anew.

Both are told what happened by `observe(history)`.  Any object with these methods will do.  A child of `Learner` gets more for
nothing: counts, a random stream of its own, saving, a repr; and may declare more (see `Learner`).

Who owns what: the walker has the plan under way, the clock and the world's random stream; the learner has its belief and its own
stream.  So a learner can be given to another walker at any moment, which asks it for a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sojourn.errors import ParameterError, ReportError
from sojourn.kernels.driver import planner
from sojourn.kernels.ledger import LEFT, NO_LIMIT, Desk, empty_plan
from sojourn.learn.counts import NO_SLOTS, Counts, pairs_of
from sojourn.learn.saving import given_parameters, header, in_words, plain_parameters, refuse_others, settings_of
from sojourn.learn.streams import restore_stream, stream, stream_state
from sojourn.model.knowledge import Knowledge

if TYPE_CHECKING:
    from sojourn.learn.unfinished import Unfinished

MAX_CHUNK = 2**20  # epochs in one History
FEW = 100  # epochs that are looked up one by one


@dataclass(frozen=True, eq=False)
class Plan:
    """What a learner will do until it is asked again.

    `policy` is an action index per state, or an (S, A) table of probabilities.  The plan ends on *arriving* at a pair that
    has been visited `quota` times within the plan (alg: CTUCRL, step 6), or after `max_epochs` epochs.  `quota` is per pair
    (P,) or a table (S, A); None means no limit.  `info` holds numbers worth recording, such as `optimistic_gain`: each becomes a
    column of the run's `episodes.info`.
    """

    policy: np.ndarray
    quota: np.ndarray | None = None
    max_epochs: int | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """What happened: one row per epoch, at most MAX_CHUNK rows; states and actions are positions.

    `reward` is all that was paid in the epoch, `lump` the part of it that came at once (the lump sum, with what was paid on the
    jump), `running` the part that ran up during the holding time.  Where the parts are not given, all of it was a lump sum.
    """

    state: np.ndarray
    action: np.ndarray
    holding_time: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    lump: np.ndarray = None  # type: ignore[assignment]  # filled in below
    running: np.ndarray = None  # type: ignore[assignment]

    event: np.ndarray | None = None  # which event ended each sojourn, as numbers of knowledge.events; -1 where nobody said
    silent: np.ndarray | None = None  # (rows, silent events): how often each event that led nowhere was seen in the sojourn

    def __post_init__(self) -> None:
        paid, lump, running = self.reward, self.lump, self.running
        if lump is None:
            lump = paid if running is None else np.asarray(paid) - np.asarray(running)
        if running is None:
            running = np.zeros(len(self.state)) if lump is paid else np.asarray(paid) - np.asarray(lump)
        object.__setattr__(self, "lump", lump)
        object.__setattr__(self, "running", running)

    @classmethod
    def of_parts(cls, state: np.ndarray, action: np.ndarray, holding_time: np.ndarray, next_state: np.ndarray, lump: np.ndarray,
                 running: np.ndarray) -> History:
        """Return the history in which each epoch paid `lump` and `running` together."""
        return cls(state, action, holding_time, next_state, lump + running, lump, running)

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        return f"<History: {len(self):,} epochs, time {self.holding_time.sum():.6g}, reward {self.reward.sum():.6g}>"


class Learner:
    """The base class: write `plan(self) -> Plan` or `act(self, state) -> int`; the rest is given.

    - `self.knowledge` is what it may know, `self.counts` what it has counted (learn/counts.py), `self.rng` its own stream;
    - `observe` counts; in simulations kernels fold what happens into `self.counts` instead, which is the same thing;
    - `state()` and `restore(state)` save the counts, the stream and the attributes named in `memory`.

    What a class can declare:

    - `memory`: names of further attributes, arrays or numbers, that `state()` must carry;
    - `folds = False`: call `observe` with every chunk of epochs instead of folding.  A class that replaces `observe` has it;
    - `compiled_plan`: a compiled function `plan(state, desk, own) -> bool` (kernels/driver.py) that makes the plans; then
      many plans are walked in one compiled call, and `plan()` comes for nothing.  `planner_state()` gives its `state`, a tuple
      of arrays that it may change, `info_names` says what it writes to `desk.info`, and `plans_per_call` how many plans take
      about 0.1 s.  A class that replaces `plan` is asked for every plan;
    - `needs_rate_bounds = False`: the rate bounds in its knowledge may be wrong;
    - `may_lack_rate_bounds = True`: it learns where no rate bounds are told (`knowledge.rates_told`); others are refused there;
    - `exposes = True`: its belief needs jumps and times of the pairs only, so that `expose` may add time without a jump
      (learn/unfinished.py); else such time is joined to complete sojourns before it is told of them;
    - `closes_sets = True`: it plays the best policy of a set that the data leave open, and so tries what keeps that set large: a
      certificate (learn/stopping.py) comes in the end;
    - `needs_events = True`: it is told the model's events (`model.knowledge(events=True)`), and their labels by the simulator.
    """

    memory: ClassVar[tuple[str, ...]] = ()
    folds: bool = True
    compiled_plan: ClassVar[Any] = None
    info_names: tuple[str, ...] = ()
    plans_per_call: int = 1024
    exposes: ClassVar[bool] = False
    needs_rate_bounds: ClassVar[bool] = True
    may_lack_rate_bounds: ClassVar[bool] = False
    needs_events: ClassVar[bool] = False
    closes_sets: ClassVar[bool] = False
    retired: ClassVar[tuple[str, ...]] = ()  # parameters that do nothing any more, and that saved files may name
    always_saved: ClassVar[tuple[str, ...]] = ()  # parameters that files name, given or not: one without them is older
    parameters: dict[str, str]  # as given to the constructor, in words, defaults included
    given: dict[str, Any]  # as given to the constructor, where a study file could hold it

    called: str = ""  # the name it was asked for by, such as "default"

    def __new__(cls, *args: Any, **more: Any) -> Self:
        refuse_untold_rates(cls, args[0] if args else more.get("knowledge"))
        self = super().__new__(cls)
        self.parameters = given_parameters(cls, args, more)
        self.given = plain_parameters(cls, args, more)
        return self

    @classmethod
    def legacy_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that mean now what `given` meant in a file that does not name those in `always_saved`."""
        return dict(given)

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters in use, defaults included, such as {"delta": 0.01, ...}; one that is None says nothing and is left out."""
        return settings_of(self)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "observe" in vars(cls) and "folds" not in vars(cls):
            cls.folds = False
        if "plan" in vars(cls) and "compiled_plan" not in vars(cls):
            cls.compiled_plan = None

    def __init__(self, knowledge: Knowledge, seed: int | np.random.SeedSequence = 0):
        self.knowledge = checked_knowledge(knowledge)
        self.counts = Counts(knowledge)
        self.rng = stream(seed)

    # ---- what happens ----------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Return what to do next; here the plan of `compiled_plan`."""
        kernel = self.compiled() or next((k for kind in type(self).__mro__ if (k := vars(kind).get("compiled_plan")) is not None),
                                         None)
        if kernel is None:
            raise ParameterError(f"{type(self).__name__} has neither plan() nor act(state); a learner needs one of them.")
        known = self.knowledge
        desk = Desk(self.counts.arrays(NO_SLOTS), empty_plan(known.n_states, known.n_pairs),
                    np.zeros(len(self.info_names)))
        if not planner(kernel)(self.planner_state(), desk, self.rng):
            self.explain()
        most = int(desk.plan.epochs[LEFT])
        return Plan(known.pair_action[desk.plan.pair], desk.plan.left, most if most < NO_LIMIT else None,
                    dict(zip(self.info_names, desk.info.tolist(), strict=True)))

    def compiled(self) -> Any:
        """Return the compiled planner in use, or None where plans are made in Python."""
        return type(self).compiled_plan

    def planner_state(self) -> Any:
        """Return what `compiled_plan` gets as its state."""
        return ()

    def explain(self) -> None:
        """Raise with the reason why `compiled_plan` made no plan."""
        raise ParameterError(f"the compiled plan of {type(self).__name__} returned False; it made no plan, and nothing says why.")

    def observe(self, history: History) -> None:
        """Count a chunk of epochs; one that cannot be true, or leads outside a known support, is refused and nothing is counted."""
        check_supports(history, self.knowledge)
        self.counts.observe(history, self.knowledge)

    def expose(self, cut: Unfinished) -> None:
        """Count sojourns whose end was not seen; only where `exposes`."""
        self.counts.expose(cut)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return (S, A) tables of the visits and of the mean holding times so far: fresh copies."""
        table = self.knowledge.table
        return {"visits": table(self.counts.visits, fill=0), "truncated_mean": table(self.counts.truncated_mean)}

    # ---- saving ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything the learner has become, as arrays, numbers and text; `restore` continues as if never stopped."""
        return {**header(self), "counts": self.counts.state(), "rng": stream_state(self.rng), **self.remembered()}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what `state()` described; another learner's, other parameters' or another model's is refused."""
        refuse_others(self, state)
        self.counts.restore(state["counts"])
        restore_stream(self.rng, state["rng"])
        self.recall(state)

    def remembered(self) -> dict[str, Any]:
        """Return what there is to save beside counts and stream: the attributes named in `memory`."""
        return {name: np.array(value) if isinstance(value := getattr(self, name), np.ndarray) else value for name in self.memory}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        for name in self.memory:
            old, new = getattr(self, name), state[name]
            setattr(self, name, np.array(new, dtype=old.dtype) if isinstance(old, np.ndarray) else type(old)(new))

    def __repr__(self) -> str:
        used = {name: in_words(self.settings.get(name)) if text == "None" else text for name, text in self.parameters.items()}
        given = ", ".join(f"{name}={text}" for name, text in used.items() if text != "None")
        counted = f": {self.counts.epoch - 1:,} epochs counted" if self.counts is not None else ""
        return f"<{self.called or type(self).__name__}({given}){counted}>"


def checked_knowledge(knowledge: Any) -> Knowledge:
    """Return `knowledge`, or say what it must be."""
    if not isinstance(knowledge, Knowledge):
        raise ParameterError(f"knowledge is {knowledge!r}; it must be a Knowledge, as from model.knowledge(rate_bounds=(lo, hi)), "
                             "or without a model from Knowledge.from_choices({state: [actions]}, rate_bounds=(lo, hi)).")
    return knowledge


def refuse_untold_rates(kind: type[Learner], knowledge: Any) -> None:
    """Raise if no rate bounds are told and a learner of this class cannot do without."""
    told = not isinstance(knowledge, Knowledge) or knowledge.rates_told
    if not told and cannot_do_without(kind):
        from sojourn.learn.catalogue import said_name

        raise ParameterError(f"{said_name(kind)!r} needs rate bounds, and none are told. Tell rate_bounds=(lo, hi), or take the "
                             "default, ct-kl-ucrl, ct-psrl or ct-joint-ucrl, which learn without.")


def cannot_do_without(kind: type) -> bool:
    """Return whether a learner of this class must be told rate bounds."""
    return issubclass(kind, Learner) and kind.needs_rate_bounds and not kind.may_lack_rate_bounds


def check_supports(history: History, knowledge: Knowledge) -> None:
    """Raise if an epoch led outside the known support of its pair."""
    start, states = knowledge.support_start, knowledge.support_state
    if start is None or states is None:
        return
    pairs, arrived = pairs_of(history, knowledge), np.asarray(history.next_state, dtype=np.int64)
    if len(pairs) < FEW:
        fine = np.array([after in states[start[pair]:start[pair + 1]] for pair, after in zip(pairs, arrived)], dtype=bool)
    else:
        place = np.repeat(np.arange(knowledge.n_pairs), np.diff(start)) * knowledge.n_states + states
        fine = np.isin(pairs * knowledge.n_states + arrived, place)
    if not fine.all():
        row = int(np.argmin(fine))
        raise ReportError(f"next_state is {knowledge.states[arrived[row]]!r}, outside the known support of pair {pairs[row]}; "
                          "report a state it can lead to, or build the learner without supports. Nothing was counted.")
