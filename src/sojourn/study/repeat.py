"""Run one replication of a store again, from its seed, in this process: to see with one's own eyes why it failed."""

from __future__ import annotations

from sojourn.errors import ParameterError, StoreError, unknown_name
from sojourn.model.scalars import whole
from sojourn.study.entries import LearnerEntry
from sojourn.study.reopen import entry_said
from sojourn.study.store import Store, StoredLearner
from sojourn.study.task import Replication


def repeated(store: Store, model: str, learner: str, replication: int) -> Replication:
    """Return replication number `replication` of `learner` on `model` (labels), walked to its end; its error, if any, comes out.

    Model, horizon and seed are the store's own, so nothing but the store (and a learner's class of one's own) is needed.
    """
    models, learners = {m.label: m for m in store.models()}, {e.label: e for e in store.learners()}
    for kind, label, known in (("model", model, models), ("learner", learner, learners)):
        if label not in known:
            raise ParameterError(f"the store {store.path} has {unknown_name(kind, label, known)}")
    replication = whole("replication", replication, 0, store.replications - 1)
    there = models[model]
    again = Replication(
        there.model,
        entry_of(learners[learner], store),
        replication,
        store.horizon,
        there.key,
        there.source.get("holding_times"),
    )
    while not again.done:
        again.step()
    return again


def entry_of(stored: StoredLearner, store: Store) -> LearnerEntry:
    """Return the learner that a store speaks of; a class of the user's own must be the one that ran."""
    entry = entry_said(stored, store)
    if entry.key != stored.key:
        raise StoreError(
            f"the learner {stored.label!r} is not what it was when {store.path} was written (content {stored.key[:12]} there, "
            f"{entry.key[:12]} now), so it would draw other random numbers. Put its file back as it was to repeat the failure."
        )
    return entry
