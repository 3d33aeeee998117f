"""What a plant says, as a row of the journal: checked before anything is changed, or refused with what was expected."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sojourn.control.fold import Fold
from sojourn.control.journal import Report
from sojourn.control.said_events import check_names, written_silent
from sojourn.control.values import read, written
from sojourn.errors import ReportError
from sojourn.hidden_characters import has_hidden
from sojourn.model.numbers import shown
from sojourn.simulation.session import real_number

LARGEST = 1e150  # holding time or reward: sums of them must remain numbers
BEYOND = 1e30  # times longer, or shorter, than any mean that the rate bounds allow: no holding time is, but with chance 1e-30
MAX_DEPTH = 50  # of tuples in tuples
LONGEST = 2**16  # characters of a state, an action or an event as the file holds it
KEYS = ("seq", "holding_time", "next_state", "reward", "action", "event", "silent")


def checked_reports(reports: Any) -> Iterable[Any]:
    """Return several reports as they were given, or refuse what is not several."""
    if isinstance(reports, (str, bytes, Mapping)) or not isinstance(reports, Iterable):
        raise ReportError(f"reports is {shown(reports)} (a {type(reports).__name__}); it must be a list of dicts with the keys "
                          f"{', '.join(KEYS)}. Nothing was counted.")
    return reports


def checked_report(fold: Fold, said: Any) -> Report:
    """Return a report given as a dict as a row, or refuse it."""
    if not isinstance(said, Mapping):
        raise ReportError(f"a report is {shown(said)} (a {type(said).__name__}); it must be a dict with the keys "
                          f"{', '.join(KEYS)}. Nothing was counted.")
    odd = [key for key in said if key not in KEYS]
    if odd:
        raise ReportError(f"a report has the key {shown(odd[0])}; its keys may be {', '.join(KEYS)}. Nothing was counted.")
    for name in ("next_state", "action", "event"):
        refuse_deep(said.get(name), name)
    return checked(fold, **said)


def checked(fold: Fold, seq: Any = None, holding_time: Any = None, next_state: Any = None, reward: Any = None,
             action: Any = None, event: Any = None, silent: Any = None) -> Report:
    """Return a report as a row, or refuse it; a missing action is the one that was advised."""
    if isinstance(seq, (bool, np.bool_)) or not isinstance(seq, (int, np.integer)) or not 1 <= seq < 2**63:
        raise ReportError(f"seq is {shown(seq)}; reports are numbered 1, 2, 3, ... Nothing was counted.")
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
    refuse_hidden(event, "event")
    happened, unheard = None if event is None else short(event, "event"), written_silent(silent)
    for name in silent or ():
        refuse_hidden(name, "an event in silent")
    if len(unheard or "") > LONGEST:
        raise ReportError(f"silent has {len(unheard or ''):,} characters; it may have {LONGEST:,}. Nothing was counted.")
    check_names(fold.told, event, silent)
    return Report(int(seq), time.time(), None, "" if action is None else written(action, "action"), tau,
                  short(arrived, "next_state"), paid, happened, "", unheard)


def short(value: Any, name: str) -> str:
    """Return a state or an event as JSON, or refuse one that would fill the file."""
    text = written(value, name, ReportError)
    if len(text) > LONGEST:
        raise ReportError(f"{name} has {len(text):,} characters; it may have {LONGEST:,}. Nothing was counted.")
    return text


def refuse_deep(value: Any, name: str) -> None:
    """Refuse tuples and lists that are nested so deep that nothing could compare or write them."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [part for outer in level if isinstance(outer, (tuple, list)) for part in outer]
        if not level:
            return
    raise ReportError(f"{name} is nested more than {MAX_DEPTH} deep; a state is a number, a string, or a tuple of these. "
                      "Nothing was counted.")


def refuse_impossible(fold: Fold, holding_time: float) -> None:
    """Refuse a new holding time that no rate within the bounds has, by BEYOND."""
    low, high = fold.told.rate_min, fold.told.rate_max
    if not fold.told.rates_told:
        return
    if not 1 / BEYOND / high < holding_time < BEYOND / low:
        raise ReportError(f"holding_time is {holding_time:g}; with rates from {low:g} to {high:g}, as was told, it lies between "
                          f"{1 / BEYOND / high:g} and {BEYOND / low:g}. Check the unit in which times are reported. "
                          "Nothing was counted.")


def known_or_safe(fold: Fold, state: Any, name: str) -> Any:
    """Return the model's own name of a state; one that it does not have is refused where there is no safe action for it."""
    states = fold.told.states
    if state not in states:
        refuse_hidden(state, name)
    try:
        return states[states.position(state, name, ReportError, "Nothing was counted.")]
    except ReportError as error:
        if fold.setting.safe_action is None or state is None:
            raise ReportError(f"{error} A controller made with a `safe_action` takes unknown states, with an alarm.") from None
        return state


def refuse_hidden(value: Any, name: str) -> None:
    """Raise where a text that nobody knows yet holds characters that nobody sees: it would be kept and shown for ever."""
    for part in value if isinstance(value, tuple) else ():
        refuse_hidden(part, name)
    if isinstance(value, str) and has_hidden(value):
        raise ReportError(f"{name} is {shown(value)}; a text holds no control characters and no others that nobody sees. Nothing "
                          "was counted.")


def same_again(row: Report, known: Report) -> Any:
    """Return the stored answer to a report that came before, or say how this one differs from it."""
    for name in ("holding_time", "next_state", "reward", "action", "event", "silent"):
        said, stored = getattr(row, name), getattr(known, name)
        if said != stored and not (name == "action" and said == ""):
            raise ReportError(f"report {row.seq} came before with {name} {stored}, and now with {said}; a number stands for one "
                              "report. "
                              "Ask `status()['next_seq']` for the next number. Nothing was counted.")
    return read(known.answer)
