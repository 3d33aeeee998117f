"""A study as its store holds it: models with all their numbers, learners with their parameters, horizon and seed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.errors import ParameterError, StoreError
from sojourn.learn.catalogue import LEARNERS
from sojourn.study.entries import LearnerEntry, ModelEntry
from sojourn.study.schema import from_store
from sojourn.study.spec import Spec
from sojourn.study.stopping import wish
from sojourn.study.store import Store, StoredLearner
from sojourn.study.task import first_state


@from_store
def stored_spec(store: Store, replications: int | None = None) -> Spec:
    """Return the study in a store; running it computes what is missing, under the same keys."""
    horizon = store.horizon
    if not horizon:
        raise StoreError(f"the store {store.path} holds no study yet; `sojourn study run FILE --store {store.path}` fills it.")
    asked = store.replications if replications is None else replications
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise ParameterError(f"replications is {asked!r}; it must be a whole number of at least 1.")
    models = tuple(ModelEntry(m.label, m.source, m.model, m.source.get("holding_times")) for m in store.models())
    points: Any = horizon["checkpoints"]
    return Spec(
        name=store.name, epochs=horizon["epochs"], time=horizon["time"], replications=asked, seed=horizon["seed"],
        checkpoints=points if isinstance(points, int) else tuple(points), common_random_numbers=horizon["common_random_numbers"],
        start=first_state(horizon), models=models, learners=tuple(entry_said(e, store) for e in store.learners()),
        text=(store.specs() or [""])[-1], within=wish(horizon["within"]) if "within" in horizon else None)


def entry_said(stored: StoredLearner, store: Store) -> LearnerEntry:
    """Return the learner that a store speaks of, as it was said."""
    said: dict[str, Any] = dict(stored.source["said"])
    name, home, supports = said.pop("name", ""), said.pop("class", ""), said.pop("supports", False)
    told = said.pop("rate_bounds", None) is None
    found = LearnerEntry(said.pop("label"), name, home, said, supports, store.path.parent if home else None, rates_told=told)
    older = replace(found, legacy=name in LEARNERS.built_in)  # classes of others are not imported to look at a store
    return older if older.legacy and older.key == stored.key else found
