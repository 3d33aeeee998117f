"""The model: a continuous-time Markov decision process, sparse over its admissible pairs, valid because it exists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ModelError, listed
from sojourn.model.choosing import Policy, chosen_actions
from sojourn.model.events import EventTable, check_events
from sojourn.model.knowledge import Bounds, Knowledge, event_knowledge, told_bounds_pair
from sojourn.model.names import Names, names_of
from sojourn.model.numbers import index_array, rate_bounds_pair, real_array, shown, spread
from sojourn.model.validate import ROW_TOLERANCE, require_name, validate

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from sojourn.model.explore import Choice
    from sojourn.report.look import Figure
    from sojourn.solving.solution import Solution

INDICES = ("pair_start", "pair_action", "row_start", "next_state")
NUMBERS = ("probability", "rate", "reward", "running", "transition_reward")
EXACT_SUM = 1e-12  # rows closer to 1 than this are left as they are, so that saving and loading changes nothing


@dataclass(frozen=True, eq=False, repr=False)
class CTMDP:
    """A continuous-time Markov decision process with finitely many states and actions.

    Pairs (state, action) that are admissible are numbered 0..P-1, by state and then by action; the pairs of state s are
    `pair_start[s]:pair_start[s+1]`, and the successors of pair k are `row_start[k]:row_start[k+1]` in `next_state` and
    `probability` (all positive: the support).  On choosing the pair the reward `reward[k]` is paid at once, then
    `running[k]` per unit of time during an exponential holding time of rate `rate[k]`, then `transition_reward[i]` (if
    any) with the jump i.  Build one with `from_arrays`, `from_pairs`, `from_generators`, `from_mdp`, `explore` or
    `sojourn.load`.

    `states` and `actions` are what the user calls them: texts, whole numbers, tuples, ... (model/names.py); 0, 1, ... where they
    were given no names.  Arrays go by positions; `state(name)` and `action(name)` give them.
    """

    pair_start: np.ndarray
    pair_action: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    rate: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    states: Names
    actions: Names
    transition_reward: np.ndarray | None = None
    rate_bounds: tuple[float, float] | None = None
    name: str = ""
    holding: str = "exponential"
    events: EventTable | None = None

    def __post_init__(self) -> None:
        fixed: dict[str, Any] = {
            "states": names_of("state", self.states), "actions": names_of("action", self.actions),
            "rate_bounds": None if self.rate_bounds is None else rate_bounds_pair(self.rate_bounds),
        }
        for field in (*INDICES, *NUMBERS):
            value = getattr(self, field)
            if field != "transition_reward" or value is not None:
                fixed[field] = _owned(field, value, index_array if field in INDICES else real_array)
        for field, value in fixed.items():
            object.__setattr__(self, field, value)
        validate(self)
        object.__setattr__(self, "probability", _exact_rows(self.probability, self.row_start))
        if self.events is not None:
            check_events(self, self.events)

    # ---- sizes and derived arrays -------------------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def n_actions(self) -> int:
        return len(self.actions)

    @property
    def n_pairs(self) -> int:
        return len(self.pair_action)

    @cached_property
    def pair_state(self) -> np.ndarray:
        """The state of each pair."""
        return _frozen(np.repeat(np.arange(self.n_states), np.diff(self.pair_start)))

    @cached_property
    def expected_reward(self) -> np.ndarray:
        """Lump sum of each pair with the mean of the transition rewards folded in; the running reward is apart."""
        if self.transition_reward is None:
            return self.reward
        paid = np.add.reduceat(self.probability * self.transition_reward, self.row_start[:-1])
        return _frozen(self.reward + paid)

    @cached_property
    def mean_holding_time(self) -> np.ndarray:
        """1 / rate of each pair."""
        return _frozen(1.0 / self.rate)

    @property
    def bounds(self) -> tuple[float, float]:
        """`rate_bounds` if given, else the least and the largest rate of the model itself."""
        return self.rate_bounds or (float(self.rate.min()), float(self.rate.max()))

    @cached_property
    def matrix(self) -> Any:
        """Transition probabilities as a scipy CSR matrix, one row per pair."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.probability, self.next_state, self.row_start), shape=(self.n_pairs, self.n_states))

    # ---- looking things up --------------------------------------------------------------------------------------

    def state(self, state: Any) -> int:
        """Return the position of a state given as the user calls it (of states that are texts, also by its position)."""
        return self.states.position(state)

    def action(self, action: Any) -> int:
        """Return the position of an action given as the user calls it (of actions that are texts, also by its position)."""
        return self.actions.position(action)

    def pair(self, state: Any, action: Any) -> int:
        """Return the number of the pair (state, action), each as the user calls it."""
        return self.pair_at(self.state(state), self.action(action))

    def pair_at(self, s: int, a: int) -> int:
        """Return the number of the pair at the positions s and a."""
        start, end = self.pair_start[s], self.pair_start[s + 1]
        k = start + int(np.searchsorted(self.pair_action[start:end], a))
        if k == end or self.pair_action[k] != a:
            allowed = listed([self.actions.label(b) for b in self.pair_action[start:end]])
            raise ModelError(f"action {self.actions[a]!r} is not admissible in state {self.states[s]!r}; choose of: {allowed}")
        return int(k)

    def policy_pairs(self, policy: Policy) -> np.ndarray:
        """Return the pair that a policy chooses in each state: a list of actions or {state: action} in the user's own words, or an
        array of positions such as `solution.policy`."""
        chosen = chosen_actions(policy, self.states, self.actions)
        wanted = np.arange(self.n_states) * self.n_actions + chosen
        key = self.pair_state * self.n_actions + self.pair_action
        found: np.ndarray = np.minimum(np.searchsorted(key, wanted), self.n_pairs - 1)
        wrong = np.flatnonzero(key[found] != wanted)
        if wrong.size:
            self.pair_at(int(wrong[0]), int(chosen[wrong[0]]))  # says why
        return found

    def table(self, per_pair: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """Return per-pair values as an (S, A) table, `fill` where the pair is not admissible."""
        return spread(per_pair, self.pair_state, self.pair_action, (self.n_states, self.n_actions), fill)

    @cached_property
    def admissible(self) -> np.ndarray:
        """(S, A) table of booleans."""
        return _frozen(self.table(np.ones(self.n_pairs, dtype=bool), fill=False))

    def dense(self) -> dict[str, np.ndarray]:
        """Return `transition` (S, A, S), `rate`, `reward`, `running` (S, A; NaN where not admissible), `admissible`."""
        transition = np.full((self.n_states, self.n_actions, self.n_states), np.nan)
        transition[self.pair_state, self.pair_action] = self.matrix.toarray()
        return {
            "transition": transition,
            "rate": self.table(self.rate),
            "reward": self.table(self.expected_reward),
            "running": self.table(self.running),
            "admissible": self.admissible,
        }

    # ---- other views --------------------------------------------------------------------------------------------

    def knowledge(self, rate_bounds: Bounds | None = None, supports: bool = False, events: bool = False) -> Knowledge:
        """Return what a learner may know: admissible pairs, mean lump sums, running rewards, rate bounds, supports if told.

        `rate_bounds` are the model's own where none are given; "unknown" tells the learner none.

        With `events` it is told the events, their coefficients and payments (one event per pair and successor where none are
        declared), and no number that was worked out from a rate: rewards are those that no event pays, rate bounds only the given.
        """
        if events:
            return event_knowledge(self, rate_bounds)
        lo, hi = told_bounds_pair(rate_bounds) if rate_bounds is not None else self.bounds
        if self.rate.min() < lo or self.rate.max() > hi:
            raise ModelError(
                f"rate_bounds is ({lo!r}, {hi!r}) but the model's rates span [{self.rate.min()!s}, {self.rate.max()!s}]; "
                "every rate must lie within the bounds (assume-rate). Widen them."
            )
        known: dict[str, Any] = {"support_start": self.row_start, "support_state": self.next_state} if supports else {}
        return Knowledge(
            pair_start=self.pair_start, pair_action=self.pair_action, reward=self.expected_reward, running=self.running,
            rate_min=lo, rate_max=hi, states=self.states, actions=self.actions, **known,
        )

    def with_events(self, events: EventTable) -> CTMDP:
        """Return the model with its events declared by a table (`sojourn.event_table`), which must say what the model says."""
        return self.replace(events=events)

    def uniformized(self, rate: float | None = None) -> CTMDP:
        """Return the equivalent discrete-time MDP at uniform rate `rate` (default: rate_max); its gain is gain/rate."""
        from sojourn.model.uniformize import uniformize

        return uniformize(self, rate)

    def replace(self, **changes: Any) -> CTMDP:
        """Return a copy with some fields changed, validated anew; with another name only, the arrays are shared."""
        from dataclasses import replace

        if set(changes) == {"name"}:
            return self.renamed(changes["name"])
        if not {"name", "rate_bounds", "states", "actions"}.issuperset(changes):
            changes.setdefault("events", None)  # those of before may not fit
        return replace(self, **changes)

    def renamed(self, name: str) -> CTMDP:
        """Return the same model under another name: it shares the arrays, and nothing is validated again."""
        from copy import copy

        require_name(name)
        model = copy(self)
        object.__setattr__(model, "name", name)
        return model

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a `.json` or `.npz` file, replacing it atomically."""
        from sojourn.model.files import save

        save(self, path)

    def plot(self, kind: str = "auto", solution: Solution | None = None, policy: Policy | None = None,
             axes: Sequence[str] | None = None, title: str | None = None, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the model under its optimal policy, or under `policy`; write it to `path` if given (needs the extra `plot`).

        `kind` is `graph` (states and jumps), `grid` (heat maps), `curves` (along a line of states), or `auto`; `solution` saves
        solving again; `axes` names the numbers in the states.
        """
        from sojourn.report.models import plot_model

        return plot_model(self, kind, solution, policy, axes, title, path)

    # ---- ways in ------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(cls, transition: ArrayLike, rate: ArrayLike, reward: ArrayLike | None = None,
                    running: ArrayLike | None = None, admissible: ArrayLike | None = None,
                    states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None,
                    rate_bounds: tuple[float, float] | None = None, *, cost: ArrayLike | None = None,
                    running_cost: ArrayLike | None = None, transition_reward: ArrayLike | None = None,
                    normalize_rows: bool = False, name: str = "", holding: str = "exponential") -> CTMDP:
        """Build from dense arrays: transition (S, A, S), rate (S, A), reward (S, A), optional running (S, A).

        `admissible` (S, A) marks the pairs that exist (default: all); elsewhere the entries are ignored.  `cost` and `running_cost`
        are negative rewards; `transition_reward` (S, A, S) is paid with a jump; `normalize_rows` divides every row by its sum;
        `holding="unit"` makes every holding time one unit (all rates 1).
        """
        from sojourn.model.build import from_arrays

        return from_arrays(transition, rate, reward, running, admissible, states, actions, rate_bounds, cost=cost,
                           running_cost=running_cost, transition_reward=transition_reward, normalize_rows=normalize_rows,
                           name=name, holding=holding)

    @classmethod
    def from_pairs(cls, state: ArrayLike, action: ArrayLike, transition: Any, rate: ArrayLike, reward: ArrayLike | None = None,
                   running: ArrayLike | None = None, *, cost: ArrayLike | None = None, running_cost: ArrayLike | None = None,
                   transition_reward: Any = None, states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None,
                   rate_bounds: tuple[float, float] | None = None, normalize_rows: bool = False, name: str = "",
                   holding: str = "exponential", events: EventTable | None = None) -> CTMDP:
        """Build from flat lists over pairs: `state[k]`, `action[k]` (positions), a sparse or dense (P, S) `transition`.

        `events` declares shared rates; its pairs are numbered as the model's, by state and then by action.
        """
        from sojourn.model.build import from_pairs

        return from_pairs(state, action, transition, rate, reward, running, cost=cost, running_cost=running_cost,
                          transition_reward=transition_reward, states=states, actions=actions, rate_bounds=rate_bounds,
                          normalize_rows=normalize_rows, name=name, holding=holding, events=events)

    @classmethod
    def from_generators(cls, generators: Any, reward: ArrayLike | None = None, running: ArrayLike | None = None, *,
                        cost: ArrayLike | None = None, running_cost: ArrayLike | None = None, transition_reward: Any = None,
                        states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None,
                        rate_bounds: tuple[float, float] | None = None, name: str = "") -> CTMDP:
        """Build from one generator matrix (S, S) per action: {action: matrix} or an array (A, S, S).

        A zero row means that the action is not admissible there.  `reward`, `running`, `cost` and `running_cost` are (S, A)
        tables; `transition_reward` has the form of `generators`.
        """
        from sojourn.model.build import from_generators

        return from_generators(generators, reward, running, cost=cost, running_cost=running_cost,
                               transition_reward=transition_reward, states=states, actions=actions, rate_bounds=rate_bounds,
                               name=name)

    @classmethod
    def from_mdp(cls, transition: ArrayLike, reward: ArrayLike | None = None, admissible: ArrayLike | None = None, *,
                 states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None, running: ArrayLike | None = None,
                 rate_bounds: tuple[float, float] | None = None, cost: ArrayLike | None = None,
                 running_cost: ArrayLike | None = None, transition_reward: ArrayLike | None = None,
                 normalize_rows: bool = False, name: str = "") -> CTMDP:
        """Build from a discrete-time MDP: transition (S, A, S), reward (S, A); every holding time is one unit."""
        from sojourn.model.build import from_mdp

        return from_mdp(transition, reward, admissible, states=states, actions=actions, running=running, rate_bounds=rate_bounds,
                        cost=cost, running_cost=running_cost, transition_reward=transition_reward,
                        normalize_rows=normalize_rows, name=name)

    @classmethod
    def explore(cls, start: Hashable, choices: Callable[[Any], Mapping[Any, Choice]], *, max_states: int = 2_000_000,
                label: Callable[[Any], str] | None = None, rate_bounds: tuple[float, float] | None = None,
                name: str = "", progress: bool = False) -> CTMDP:
        """Build breadth-first from `start`: `choices(state)` gives {action: Choice(rates={next_state: intensity}, ...)}.

        States and actions stay what `choices` calls them; `label(state)` gives the text to show a state by (default: `str`).  More
        than `max_states` are refused; `progress` writes a line on stderr from two seconds on.
        """
        from sojourn.model.explore import explore

        return explore(start, choices, max_states=max_states, label=label, rate_bounds=rate_bounds, name=name, progress=progress)

    # ---- words --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        lo, hi = self.bounds
        kind = "rate bounds" if self.rate_bounds else "rates"
        return (f"<CTMDP{name}: {self.n_states} states, {self.n_actions} actions, {self.n_pairs} pairs, "
                f"{len(self.next_state)} transitions, {kind} [{lo:g}, {hi:g}]>")

    def _repr_html_(self) -> str:
        from sojourn.model.words import model_html

        return model_html(self)

    def equals(self, other: CTMDP) -> bool:
        """Return whether two models are the same, number for number and label for label."""
        if not isinstance(other, CTMDP):
            return False
        mine, theirs = vars(self), vars(other)
        for field in self.__dataclass_fields__:
            a, b = mine[field], theirs[field]
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                if a is None or b is None or not np.array_equal(a, b):
                    return False
            elif a != b:
                return False
        return True


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _owned(name: str, value: Any, convert: Callable[[str, Any], np.ndarray]) -> np.ndarray:
    """Return `value` as a read-only array of our own: nobody can change the model afterwards, nor we the caller's array."""
    kind = np.int64 if convert is index_array else np.float64
    if type(value) is np.ndarray and value.dtype == kind and value.base is None and not value.flags.writeable:
        return value
    found = convert(name, value)
    new = convert is real_array or (isinstance(value, np.ndarray) and value.dtype != kind)  # and nobody else's
    return _frozen(found if new else np.array(found))


def _exact_rows(probability: np.ndarray, row_start: np.ndarray) -> np.ndarray:
    """Return the probabilities with every row that is off 1 by rounding (up to 1e-9) divided by its sum."""
    total = np.add.reduceat(probability, row_start[:-1])
    off = np.abs(total - 1)
    fix = (off > EXACT_SUM) & (off <= 2 * ROW_TOLERANCE)
    if not fix.any():
        return probability
    return _frozen(probability / np.repeat(np.where(fix, total, 1.0), np.diff(row_start)))


def require_model(value: Any) -> None:
    """Raise where something else than a model is handed over, with the ways to one."""
    if not isinstance(value, CTMDP):
        raise ModelError(f"the model is {shown(value)} (a {type(value).__name__}); it must be a CTMDP. Build one with "
                         "`sojourn.make(name)`, `sojourn.load(path)` or `CTMDP.from_arrays`.")


def rebuilt(model: CTMDP, fields: Mapping[str, Any]) -> CTMDP:
    """Return a model with some fields changed to what is known to be good: nothing is validated; its events are left out."""
    made = object.__new__(CTMDP)
    for field in model.__dataclass_fields__:
        value = fields.get(field, getattr(model, field)) if field != "events" else None
        object.__setattr__(made, field, _frozen(value) if isinstance(value, np.ndarray) else value)
    return made
