"""Study files whose learners once had other defaults: their stores go on as they began.

- `delta`.  A learner that takes `delta` or `horizon` and is given neither has a default of its own.  A study in epochs used to tell
  it the horizon instead (delta = 1/N), which is another learner, with other results under another key.
- `growth`.  A learner whose files always name it (Learner.always_saved) had other defaults before it took it (decisions/0010).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sojourn.learn.saving import in_words, meant_parameters
from sojourn.study.entries import LearnerEntry
from sojourn.study.spec import Spec


def as_begun(spec: Spec, begun: Callable[[LearnerEntry, LearnerEntry], bool]) -> tuple[Spec, dict[str, str]]:
    """Return the study with the learners that were begun with earlier defaults as they were, and {label: a sentence} for those.

    `begun(entry, old)` says of an entry whether there are results of it as it was read then.
    """
    said, entries = {}, []
    for entry in spec.learners:
        old = next((old for old in earlier_readings(entry, spec.epochs) if begun(entry, old)), None)
        if old is not None:
            said[entry.label] = _sentence(entry, old)
        entries.append(old or entry)
    return replace(spec, learners=tuple(entries)), said


def earlier_readings(entry: LearnerEntry, epochs: int | None) -> Iterator[LearnerEntry]:
    """Yield the entry as it was read before there were today's defaults, the latest of then first."""
    older = replace(entry, legacy=True)
    if older.key != entry.key:
        yield older
    old = told_the_horizon(entry, epochs)
    if old is not None:
        yield replace(old, legacy=True)


def told_the_horizon(entry: LearnerEntry, epochs: int | None) -> LearnerEntry | None:
    """Return the entry as it was read when a study told the horizon; None if that was no different."""
    either = {"delta", "horizon"}
    if not epochs or not either <= entry.settings or either & set(entry.parameters):
        return None
    return replace(entry, parameters=entry.parameters | {"horizon": epochs})


def _sentence(entry: LearnerEntry, old: LearnerEntry) -> str:
    """Return what is worth saying of an entry that goes on as `old`."""
    meant: dict[str, Any] = meant_parameters(old.kind, old.parameters)
    other = {name: value for name, value in meant.items() if name not in entry.parameters}
    parts = [f"{name} = {in_words(value)}" + " (delta = 1/N)" * (name == "horizon") for name, value in other.items()]
    written = ", ".join(f"{name} = {in_words(value)}" for name, value in other.items())
    return (f"{entry.label!r} goes on as its results were begun: with {' and '.join(parts)}, which a study that does not say "
            f"{' or '.join(other)} meant then. In a new store it has today's defaults (`sojourn learners`); write {written} "
            f'and label = "{entry.label}" to have these there.')
