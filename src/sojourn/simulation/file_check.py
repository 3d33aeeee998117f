"""What a run or a session holds, once it is read: every array of the right length, every place one that exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.learn.policies import policy_pairs
from sojourn.model.numbers import shown
from sojourn.simulation.regret import COLUMNS

if TYPE_CHECKING:
    from sojourn.simulation.run import Run
    from sojourn.simulation.session import Session

LARGEST_COUNT = 2**62
MAX_NAME = 1000  # characters of a class


def check_learner(who: Any) -> None:
    """Raise unless a file says in words who its learner was; the parameters become the words of a call."""
    names = [who["called"], who["class"]]
    if not all(isinstance(name, str) and len(name) <= MAX_NAME for name in names):
        raise ModelError(f"its learner is called {shown(names)}; that must be two words.")
    parameters = who["parameters"]
    if not isinstance(parameters, dict) or "seed" in parameters or "knowledge" in parameters:
        raise ModelError(f"its learner has the parameters {shown(parameters)}; they must be a dict of what its class takes.")


def check_session(session: Session) -> None:
    """Raise unless the pending decision, the counts of the clock and the plan of a session can be."""
    known = session.knowledge
    if not 0 <= session.state_index < known.n_states:
        raise ModelError(f"its state is number {session.state_index}; there are {known.n_states} states.")
    start = known.pair_start
    if session._pair is not None and not start[session.state_index] <= session._pair < start[session.state_index + 1]:
        raise ModelError(f"its pending pair is {session._pair}, which is not of state {known.states[session.state_index]!r}.")
    if not (1 <= session.epoch < LARGEST_COUNT and np.isfinite(session.time) and session.time >= 0):
        raise ModelError(f"its clock stands at decision {shown(session.epoch)} and time {session.time}.")
    for name, table in session._tables.items():
        if table.dtype.kind not in "biuf" or table.shape[:2] != known.pair_table.shape:
            raise ModelError(f"its table {name!r} has shape {table.shape}; it must begin with {known.pair_table.shape}.")


def check_run(run: Run) -> None:
    """Raise unless the columns of a run have one length each, and what they point to exists."""
    model, episodes = run.model, run.episodes
    points = _length("epochs", run.epochs)
    for name in COLUMNS:
        _require(name, getattr(run, name), (points,))
    shape = (model.n_states, model.n_actions)
    _require("visits", run.visits, shape, "iu")
    _require("bias", run.bias, (model.n_states,))
    count = _length("episodes.start_epoch", episodes.start_epoch)
    for name in ("start_epoch", "epochs", "start_state", "policy_number"):
        _require(f"episodes.{name}", getattr(episodes, name), (count,), "iu")
    _require("episodes.adjusted_regret", episodes.adjusted_regret, (count,))
    _within("episodes.start_state", episodes.start_state, model.n_states)
    _within("episodes.policy_number", episodes.policy_number, len(episodes.policies))
    if type(episodes.total) is not int or not count <= episodes.total < LARGEST_COUNT:
        raise ModelError(f"it counts {shown(episodes.total)} episodes and holds {count}.")
    known = model.knowledge()
    for policy in episodes.policies:
        policy_pairs(policy, known)
    for name, column in episodes.info.items():
        _require(f"episodes.info[{name!r}]", column, (count,))
    _check_trajectory(run, shape, known.pair_table)
    for name in ("seconds", "decisions_per_second"):
        if not getattr(run, name) >= 0 and not np.isnan(getattr(run, name)):
            raise ModelError(f"its {name} are {getattr(run, name)}.")
    if not isinstance(run.seed, (int, type(None))):
        raise ModelError(f"its seed is {shown(run.seed)}; it must be a whole number or none.")


def _check_trajectory(run: Run, shape: tuple[int, int], table: np.ndarray) -> None:
    walked = run.trajectory
    if walked is None:
        return
    rows = _length("trajectory.state", walked.state)
    for name, limit in (("state", shape[0]), ("action", shape[1]), ("next_state", shape[0])):
        _require(f"trajectory.{name}", getattr(walked, name), (rows,), "iu")
        _within(f"trajectory.{name}", getattr(walked, name), limit)
    for name in ("holding_time", "reward", "lump", "running"):
        _require(f"trajectory.{name}", getattr(walked, name), (rows,))
    for name, axes in (("event", 1), ("silent", 2)):
        column = getattr(walked, name)
        if column is not None:
            _require(f"trajectory.{name}", column, (rows, *column.shape[1:axes]), "iu")
    if rows and (table[walked.state, walked.action] < 0).any():
        raise ModelError("its trajectory takes an action where it is not admissible.")


def _length(name: str, array: Any) -> int:
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise ModelError(f"its {name} is {shown(array)}; it must be a flat array.")
    return len(array)


def _require(name: str, array: Any, shape: tuple[int, ...], kinds: str = "iuf") -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.shape != shape:
        what = f"of type {array.dtype} and shape {array.shape}" if isinstance(array, np.ndarray) else shown(array)
        raise ModelError(f"its {name} is {what}; it must have shape {shape} and hold {'whole ' * ('f' not in kinds)}numbers.")


def _within(name: str, array: np.ndarray, limit: int) -> None:
    if array.size and not 0 <= array.min() <= array.max() < limit:
        raise ModelError(f"its {name} runs from {array.min()} to {array.max()}; it must be from 0 to {limit - 1}.")
