"""Study files without `delta`, as they were read before delta had one default everywhere: their stores go on as they began.

A learner that takes `delta` or `horizon` and is given neither plays with delta = 0.01.  A study in epochs used to tell it the
horizon instead (delta = 1/N), which is another learner, with other results under another key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sojourn.study.entries import LearnerEntry
from sojourn.study.spec import Spec


def as_begun(spec: Spec, begun: Callable[[LearnerEntry], bool]) -> tuple[Spec, dict[str, str]]:
    """Return the study with the learners that were `begun` with the horizon as they were, and {label: a sentence} for those."""
    said, entries = {}, []
    for entry in spec.learners:
        old = told_the_horizon(entry, spec.epochs)
        if old is not None and begun(old):
            said[entry.label] = (
                f"{entry.label!r} goes on as its results were begun: with horizon = {spec.epochs} (delta = 1/N), which a study "
                f"without delta meant then. In a new store it means delta = 0.01; write horizon = {spec.epochs} and "
                f'label = "{entry.label}" to have 1/N everywhere.'
            )
            entry = old
        entries.append(entry)
    return replace(spec, learners=tuple(entries)), said


def told_the_horizon(entry: LearnerEntry, epochs: int | None) -> LearnerEntry | None:
    """Return the entry as it was read then; None if that was no different."""
    either = {"delta", "horizon"}
    if not epochs or not either <= entry.settings or either & set(entry.parameters):
        return None
    return replace(entry, parameters=entry.parameters | {"horizon": epochs})
