"""Bring a study and a store together: new entries are added, and a change of what produced a result is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import StoreError
from sojourn.hidden_characters import visible
from sojourn.model.numbers import shown
from sojourn.study.code import fingerprint, versions
from sojourn.study.compare import difference
from sojourn.study.earlier import as_begun
from sojourn.study.entries import LearnerEntry, ModelEntry
from sojourn.study.spec import Spec
from sojourn.study.store import Store, result_key

PROBE_EPOCHS = 20_000


@dataclass(frozen=True, eq=False)
class Cell:
    """One learner on one model, with their numbers in the store."""

    model: ModelEntry
    learner: LearnerEntry
    model_id: int
    learner_id: int
    horizon: dict[str, Any]
    told_events: bool = False  # whether the model's events are in the keys of its results

    def key(self, replication: int) -> str:
        return result_key(self.model.key_for(self.told_events), self.learner.key, replication, self.horizon)

    @property
    def label(self) -> str:
        return visible(f"{self.learner.label} on {self.model.label}")


def adopt(
    store: Store, spec: Spec, say: Callable[[str], None] | None = None, begun: Callable[[LearnerEntry], bool] | None = None
) -> tuple[list[Cell], int]:
    """Write the study into the store, or check that it belongs there; return its cells and the number of this program.

    `say` is told what is worth a sentence; `begun` says of a learner with earlier defaults whether the results to come are of it
    (see `study/earlier.py`; those in the store are looked at in any case).
    """
    old = store.horizon
    if old:
        store.verify()
        _same_horizon(store, old, spec.horizon)
    rows = {e.label: e for e in store.learners()}
    given = {e.label: e.source for e in spec.learners}

    def is_begun(entry: LearnerEntry, old: LearnerEntry) -> bool:
        row = rows.get(entry.label)
        there = row is not None and row.key == old.key and ("uses" not in row.source or row.source["said"] == entry.source)
        return there or (begun is not None and begun(old))  # without "uses": written when a study told the horizon

    spec, said = as_begun(spec, is_begun)
    if say is not None:
        for sentence in said.values():
            say(sentence)
    _no_other(store, "model", {m.label: m.key for m in store.models()}, {m.label: m.key for m in spec.models})
    _no_other(store, "learner", {e.label: e.key for e in store.learners()}, {e.label: e.key for e in spec.learners})
    told = {e.label: e.told_events for e in spec.learners} | {e.label: e.told_events for e in store.learners()}
    if any(told.values()):
        _same_events(store, spec)
    zoo = {m.label: str(m.source.get("zoo", "")) for m in spec.models}
    _not_edited("model", store, {m.label: str(m.source.get("zoo", "")) for m in store.models()}, zoo)
    names = {e.label: e.name or e.home for e in spec.learners}
    _not_edited("learner", store, {e.label: e.source["name"] for e in store.learners()}, names)
    models, learners = {m.label: m.id for m in store.models()}, {e.label: e.id for e in store.learners()}
    if fingerprint() not in {print_ for _, print_, _ in store.codes()}:
        _probe(store, _cells(spec, models, learners, told))  # before anything is written: what is refused leaves no trace
    store.set_study(spec.name, spec.horizon, max(spec.replications, store.replications))
    models |= {m.label: store.add_model(m.label, m.key, m.source, m.packed) for m in spec.models if m.label not in models}
    worlds = [m.model for m in spec.models]
    learners |= {
        e.label: store.add_learner(e.label, e.key, _said(e) | ({"uses": e.uses(worlds)} if e.source == given[e.label] else {}))
        for e in spec.learners
        if e.label not in learners
    }
    store.add_spec(spec.text)
    return _cells(spec, models, learners, told), store.add_code(fingerprint(), versions())


def _cells(spec: Spec, models: dict[str, int], learners: dict[str, int], told: dict[str, bool]) -> list[Cell]:
    """Return every learner on every model that has a number in the store, models first."""
    pairs = [(m, e) for m in spec.models for e in spec.learners if m.label in models and e.label in learners]
    return [Cell(m, e, models[m.label], learners[e.label], spec.horizon, told[e.label]) for m, e in pairs]


def _said(entry: LearnerEntry) -> dict[str, Any]:
    said = {"said": entry.source, "knows": entry.knows, "proved": entry.proved, "name": entry.name or entry.home}
    shown = entry.entry.shown_the_model and not entry.entry.built_in  # of ours the catalogue says it
    return said | ({"events": True} if entry.told_events else {}) | ({"shown_the_model": True} if shown else {})


def _same_horizon(store: Store, old: dict[str, Any], new: dict[str, Any]) -> None:
    for key in {**new, **old}:
        if old.get(key) != new.get(key):
            raise StoreError(
                f"the store {store.path} was made with {key} = {shown(old.get(key))}, and the study now says "
                f"{key} = {shown(new.get(key))}; results under the two cannot be mixed. Run it into another --store, "
                f"or set {key} back."
            )


def _no_other(store: Store, kind: str, stored: dict[str, str], given: dict[str, str]) -> None:
    """Refuse a label that means something else now, or a content that is there under another label."""
    for label, key in given.items():
        if stored.get(label, key) != key:
            raise StoreError(
                f"the {kind} {label!r} is not what it was when {store.path} was written (content {stored[label][:12]} there, "
                f"{key[:12]} now); its old results cannot go on. Give the new one another label, or run into another --store."
            )
        other = [name for name, there in stored.items() if there == key and name != label]
        if other:
            raise StoreError(f"the {kind} {label!r} is in {store.path} already, under the label {other[0]!r}; use that label.")


def _same_events(store: Store, spec: Spec) -> None:
    """Refuse a model whose declared events are not those in the store: learners of events would go on from other results."""
    there = {m.label: m.key_for(told_events=True) for m in store.models()}
    for entry in spec.models:
        if there.get(entry.label, entry.key_for(told_events=True)) != entry.key_for(told_events=True):
            raise StoreError(
                f"the model {entry.label!r} declares other events than when {store.path} was written, and a learner of the study "
                "is told of them; its old results cannot go on. Run into another --store, or leave out the learners of events."
            )


def _not_edited(kind: str, store: Store, stored: dict[str, str], given: dict[str, str]) -> None:
    """Refuse an entry whose parameters were edited: the old one is gone from the study and stands there with other values.

    Labels made from the parameters would let that pass as a new entry; one with a label of its own is new on purpose.
    `stored` and `given` are {label: name of the learner, or of the model in the zoo}.
    """
    gone = {name: label for label, name in stored.items() if label not in given and _automatic(label, name)}
    for label, name in given.items():
        if label not in stored and name in gone and _automatic(label, name):
            raise StoreError(
                f"the {kind} {gone[name]!r} of the store {store.path} is {label!r} in the study now; results of a changed {kind} "
                "cannot go on from the old ones. List both to have both, give the new one a label of its own, "
                "or run into another --store."
            )


def _automatic(label: str, name: str) -> bool:
    """Return whether the label is made of the name and the parameters."""
    return bool(name) and (label == name or label.startswith((f"{name} (", f"{name}:")))


def _probe(store: Store, cells: list[Cell]) -> None:
    """The program has changed since the store was written: recompute the beginning of one replication of every cell.

    Where a number differs (a regret by more than rounding), the change changed results, and going on would mix the two.
    """
    from sojourn.study.task import Replication

    for cell in cells:
        stored = next(store.results(cell.model_id, cell.learner_id), None)
        if stored is None:
            continue
        old = stored.data
        until = int(old["epochs"][np.searchsorted(old["epochs"], PROBE_EPOCHS).clip(max=len(old["epochs"]) - 1)])
        try:
            again = Replication(
                cell.model.model, cell.learner, stored.replication, cell.horizon, cell.model.key, cell.model.holding_times
            )
            again.advance(until)
        except Exception as error:
            raise StoreError(
                f"the program has changed since {store.path} was written: {cell.label}, replication {stored.replication}, was "
                f"finished there and now fails with {type(error).__name__}: {error}. Mend the cause, run into another --store, "
                "or go on with the program that wrote it."
            ) from error
        columns = again.columns()
        wrong = difference(columns, old)
        if wrong is not None:
            name, where = wrong
            raise StoreError(
                f"the program has changed since {store.path} was written, and with it the results: {cell.label}, replication "
                f"{stored.replication}, has {name} = {float(columns[name][where])!r} at epoch {int(old['epochs'][where])} now, "
                f"{float(old[name][where])!r} "
                "there. Old and new cannot be mixed: run into another --store, or go on with the program that wrote it."
            )
