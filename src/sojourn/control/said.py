"""What a plant says, as a row of the journal: checked before anything is changed, or refused with what was expected."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.control.fold import Fold
from sojourn.control.journal import Report
from sojourn.control.said_events import check_names, written_silent
from sojourn.control.values import read, written
from sojourn.errors import ReportError
from sojourn.model.numbers import shown
from sojourn.simulation.session import real_number

LARGEST = 1e150  # holding time or reward: sums of them must remain numbers
KEYS = ("seq", "holding_time", "next_state", "reward", "action", "event", "silent")


def checked_report(fold: Fold, said: Any) -> Report:
    """Return a report given as a dict as a row, or refuse it."""
    if not isinstance(said, Mapping):
        raise ReportError(f"a report is {shown(said)} (a {type(said).__name__}); it must be a dict with the keys "
                          f"{', '.join(KEYS)}. Nothing was counted.")
    odd = [key for key in said if key not in KEYS]
    if odd:
        raise ReportError(f"a report has the key {shown(odd[0])}; its keys may be {', '.join(KEYS)}. Nothing was counted.")
    return checked(fold, **said)


def checked(fold: Fold, seq: Any = None, holding_time: Any = None, next_state: Any = None, reward: Any = None,
             action: Any = None, event: Any = None, silent: Any = None) -> Report:
    """Return a report as a row, or refuse it; a missing action is the one that was advised."""
    if isinstance(seq, (bool, np.bool_)) or not isinstance(seq, (int, np.integer)) or seq < 1:
        raise ReportError(f"seq is {seq!r}; reports are numbered 1, 2, 3, ... Nothing was counted.")
    tau = real_number("holding_time", holding_time)
    if not 0 < tau < LARGEST:
        raise ReportError(f"holding_time is {tau:g}; it must be positive and below {LARGEST:g}. Nothing was counted.")
    paid = None if reward is None else real_number("reward", reward) + 0.0  # the file would hold -0.0 as 0.0
    if paid is not None and abs(paid) > LARGEST:
        raise ReportError(f"reward is {paid:g}; it must be below {LARGEST:g} in size. Nothing was counted.")
    arrived = known_or_safe(fold, next_state, "next_state")
    if action is not None:
        names = fold.setting.knowledge.actions
        action = names[names.position(action, "action", ReportError, "Nothing was counted.")]
    elif fold.setting.shadow:
        raise ReportError("action is None, but this controller only advises (shadow=True) and cannot know what was done in "
                          f"state {fold.state!r}; say which action it was. Nothing was counted.")
    happened, unheard = None if event is None else written(event, "event", ReportError), written_silent(silent)
    check_names(fold.told, event, silent)
    return Report(int(seq), time.time(), None, "" if action is None else written(action, "action"), tau,
                  written(arrived, "next_state", ReportError), paid, happened, "", unheard)


def known_or_safe(fold: Fold, state: Any, name: str) -> Any:
    """Return the model's own name of a state; one that it does not have is refused where there is no safe action for it."""
    states = fold.told.states
    try:
        return states[states.position(state, name, ReportError, "Nothing was counted.")]
    except ReportError as error:
        if fold.setting.safe_action is None or state is None:
            raise ReportError(f"{error} A controller made with a `safe_action` takes unknown states, with an alarm.") from None
        return state


def same_again(row: Report, known: Report) -> Any:
    """Return the stored answer to a report that came before, or say how this one differs from it."""
    for name in ("holding_time", "next_state", "reward", "action", "event", "silent"):
        said, stored = getattr(row, name), getattr(known, name)
        if said != stored and not (name == "action" and said == ""):
            raise ReportError(f"report {row.seq} came before with {name} {stored}, and now with {said}; a number stands for one "
                              "report. "
                              "Ask `status()['next_seq']` for the next number. Nothing was counted.")
    return read(known.answer)
