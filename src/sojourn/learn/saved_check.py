"""What a file says that a learner has become, held against a new learner of the same kind before it is believed.

Compiled code follows indices without looking, so every array must have its type and shape, and every place must exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.numbers import shown

ROWS = {"next_state", "probability", "planned_next", "planned_count", "slot_state", "slot_next", "slot_count"}  # as long as data
PAIRS = {"policy_pair", "sampled_pair", "greedy_pair", "pair"}  # a pair per state
MAX_SCALAR = 2**62


def check_saved(saved: Any, new: Mapping[str, Any], n_states: int, n_pairs: int, where: str = "state") -> None:
    """Raise unless what is in `saved` looks like `new`, the state of a learner that has seen nothing; older states lack parts."""
    if not isinstance(saved, Mapping):
        raise _wrong(where, saved, "a dict")
    for name, mine in new.items():
        if name not in saved:
            continue
        theirs, at = saved[name], f"{where}[{name!r}]"
        if isinstance(mine, Mapping):
            check_saved(theirs, mine, n_states, n_pairs, at)
        elif isinstance(mine, np.ndarray):
            _check_array(theirs, mine, name, at, n_states, n_pairs)
        elif isinstance(mine, (bool, int, float, np.generic)) and (
                not isinstance(theirs, (bool, int, float)) or (isinstance(theirs, int) and abs(theirs) > MAX_SCALAR)):
            raise _wrong(at, theirs, "a number")
        elif isinstance(mine, str) and not isinstance(theirs, str):
            raise _wrong(at, theirs, "a text")


def check_counts(found: Mapping[str, np.ndarray], n_states: int, n_pairs: int, unfinished: np.ndarray | None = None) -> None:
    """Raise unless these are counts of so many pairs (learn/counts.py): lists of slots that end, numbers that can be."""
    for name in ("visits", "holding_sum", "reward_sum", "head"):
        if found[name].shape != (n_pairs,):
            raise _wrong(f"counts[{name!r}]", found[name], f"an array of {n_pairs} numbers")
    if found["used"].shape != (1,):
        raise _wrong("counts['used']", found["used"], "an array of one number")
    used = int(found["used"][0])
    for name in ("slot_state", "slot_next", "slot_count"):
        if found[name].ndim != 1 or not 0 <= used <= len(found[name]) == len(found["slot_state"]):
            raise _wrong(f"counts[{name!r}]", found[name], f"an array of {used} numbers, as long as slot_state")
    states, after, head = found["slot_state"][:used], found["slot_next"][:used], found["head"]
    links = np.concatenate([head, after])
    links = links[links != -1]
    if (len(links) and not 0 <= links.min() <= links.max() < used) or len(np.unique(links)) < len(links):
        raise _wrong("counts['slot_next']", after, "lists of slots, each slot in one of them")
    if used and not 0 <= states.min() <= states.max() < n_states:
        raise _wrong("counts['slot_state']", states, f"positions of {n_states} states")
    for name in ("visits", "holding_sum", "slot_count"):
        values = found[name]
        most = MAX_SCALAR if values.dtype.kind in "iu" else np.inf
        if values.size and not (np.isfinite(values).all() and values.min() >= 0 and values.max() < most):
            raise _wrong(f"counts[{name!r}]", values, "finite numbers of at least 0")
    waiting = np.zeros(n_pairs) if unfinished is None else unfinished
    if waiting.shape != (n_pairs,) or not np.isfinite(waiting).all() or (waiting < 0).any():
        raise _wrong("counts['unfinished']", waiting, f"an array of {n_pairs} times")
    if not np.isfinite(found["reward_sum"]).all():
        raise _wrong("counts['reward_sum']", found["reward_sum"], "finite numbers")


def _check_array(theirs: Any, mine: np.ndarray, name: str, at: str, n_states: int, n_pairs: int) -> None:
    array = np.asarray(theirs)
    if array.dtype.kind not in "biuf" or (mine.dtype.kind in "iub" and array.dtype.kind == "f") or array.ndim != mine.ndim:
        raise _wrong(at, theirs, f"an array of {mine.dtype} with {mine.ndim} axes")
    free = name in ROWS or (mine.size == 0 and array.shape in ((0,), (n_states,), (n_pairs,)))
    if array.shape != mine.shape and not free:
        raise _wrong(at, theirs, f"an array of shape {mine.shape}")
    if name in PAIRS and array.size and not 0 <= array.min() <= array.max() < n_pairs:
        raise _wrong(at, theirs, f"pairs from 0 to {n_pairs - 1}")


def _wrong(where: str, value: Any, rule: str) -> ParameterError:
    kind = f"of shape {value.shape}, {shown(value.tolist())}" if isinstance(value, np.ndarray) else shown(value)
    return ParameterError(f"the saved {where} is {kind}; it must be {rule}. It is damaged, or of another learner.")
