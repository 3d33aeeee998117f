"""The unfinished sojourns of a log, as a learner or a fit is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sojourn.control.log import UNSAID, Log
from sojourn.errors import FileError
from sojourn.learn.unfinished import Unfinished
from sojourn.model.knowledge import Knowledge

CUT = "cut_"  # begins the names under which they are stored


def unfinished(rows: Log, knowledge: Knowledge, which: slice = slice(None)) -> Unfinished:
    """Return those that stand among the complete sojourns in `which`, and behind the last one at the end of the log."""
    begin, end, _ = which.indices(len(rows))
    before = np.searchsorted(rows.row, rows.censored_row)
    here = (before >= begin) & ((before < end) | (end == len(rows)))
    pair = knowledge.pair_table[rows.censored_state[here], rows.censored_action[here]].astype(np.int64)
    if (pair < 0).any():
        i = int(np.flatnonzero(here)[np.argmax(pair < 0)])
        raise FileError(f"row {rows.censored_row[i]} has action {rows.actions[int(rows.censored_action[i])]!r} in state "
                        f"{rows.states[int(rows.censored_state[i])]!r}, where it is not admissible ({int((pair < 0).sum())} "
                        "unfinished sojourns). Drop these rows, or tell a knowledge that has these pairs.")
    return Unfinished(pair, rows.censored_time[here], before[here] - begin, _silent(rows, knowledge, here, pair))


def _silent(rows: Log, knowledge: Knowledge, here: np.ndarray, pair: np.ndarray) -> np.ndarray | None:
    """Return how often each silent event was seen in the sojourns `here`; a column that must say so and is not there is named."""
    table = knowledge.events
    if table is None or not len(table.silent):
        return None
    found = np.zeros((len(pair), len(table.silent)), dtype=np.int64)
    for column, event in enumerate(table.silent.tolist()):
        name = table.names[event]
        times = rows.censored_silent[name][here] if name in rows.censored_silent else np.full(len(pair), UNSAID)
        able = np.isin(pair, table.pair[(table.event == event) & ~table.jumps])
        unsaid, odd = able & (times == UNSAID), ~able & (times > 0)
        for wrong, why in ((unsaid, f"can be seen without leading anywhere, and no cell 'silent:{name}' says how often it was. "
                                    "Say it, 0 included"), (odd, f"always leads somewhere, but its cell 'silent:{name}' is not 0")):
            if wrong.any():
                i = int(np.flatnonzero(here)[np.argmax(wrong)])
                raise FileError(f"row {rows.censored_row[i]} begins an unfinished sojourn in state "
                                f"{rows.states[int(rows.censored_state[i])]!r}, where {name!r} {why} ({int(wrong.sum())} "
                                "unfinished sojourns).")
        found[:, column] = np.maximum(times, 0)
    return found


def stored(cut: Unfinished) -> dict[str, np.ndarray]:
    """Return unfinished sojourns as columns that can stand beside those of `Log.parts`; none where there are none."""
    return {CUT + name: values for name, values in vars(cut).items() if values is not None} if len(cut) else {}


def unstored(parts: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], Unfinished]:
    """Return the columns of complete sojourns, and the unfinished ones that stood beside them."""
    whole = {name: values for name, values in parts.items() if not name.startswith(CUT)}
    found = {name.removeprefix(CUT): np.asarray(values) for name, values in parts.items() if name.startswith(CUT)}
    for name, values in found.items():
        if values.ndim != (2 if name == "silent" else 1) or len(values) != len(found["pair"]) or values.dtype.kind not in "iuf":
            raise FileError(f"the column {CUT}{name} has shape {values.shape}; it must have a number for each unfinished sojourn.")
    nothing = np.zeros(0, dtype=np.int64)
    return whole, Unfinished(**found) if found else Unfinished(nothing, np.zeros(0), nothing)


def knowing(rows: Log, knowledge: Knowledge) -> Log:
    """Return the log without the unfinished sojourns of pairs that `knowledge` does not have."""
    keep = knowledge.pair_table[rows.censored_state, rows.censored_action] >= 0
    if keep.all():
        return rows
    return replace(rows, censored_state=rows.censored_state[keep], censored_action=rows.censored_action[keep],
                   censored_time=rows.censored_time[keep], censored_row=rows.censored_row[keep],
                   censored_reward=None if rows.censored_reward is None else rows.censored_reward[keep],
                   censored_silent={name: times[keep] for name, times in rows.censored_silent.items()})
