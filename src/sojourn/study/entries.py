"""The models and learners of a study: built, checked, and keyed by their content."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError, unknown_name
from sojourn.hidden_characters import visible
from sojourn.learn.catalogue import LEARNERS, Entry, entry_from, learner_class, learner_for, needed_knowledge
from sojourn.learn.learner import cannot_do_without
from sojourn.learn.saving import meant_parameters, saved_parameters
from sojourn.learn.streams import Seed
from sojourn.model.ctmdp import CTMDP
from sojourn.model.events import EventTable
from sojourn.model.knowledge import UNKNOWN
from sojourn.model.names import Names, decoded, encoded
from sojourn.model.pack import canonical, digest, pack, storable, unpack
from sojourn.model.scalars import is_number

ARRAYS = ("pair_start", "pair_action", "row_start", "next_state", "probability", "rate", "reward", "running", "transition_reward")


@dataclass(frozen=True, eq=False)
class ModelEntry:
    """One model of a study: the name it has in tables, where it came from, and the model itself."""

    label: str
    source: dict[str, Any]  # what the study file said
    model: CTMDP
    holding_times: str | None = None  # the law of the holding times in the simulation, where it is not the model's own

    @cached_property
    def packed(self) -> bytes:
        """The model's content as bytes, its events included; the name is not part of it."""
        return packed_model(self.model)

    @cached_property
    def key(self) -> str:
        """What decides its results: the numbers, and what states and actions read as; declaring events changes no key."""
        return digest(packed_model(self.model, labels_only=True), self.holding_times or "")

    def key_for(self, told_events: bool) -> str:
        """What decides the results of a learner: the declared events too, if it is told of them."""
        return key_with_events(self.key, self.model, told_events)


@dataclass(frozen=True, eq=False)
class LearnerEntry:
    """One learner of a study: `name` in the catalogue or `home` = "module:Class", parameters, and what it is told."""

    label: str
    name: str
    home: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    supports: bool = False
    folder: Path | None = None  # of the study file, where a file `module.py` is found
    legacy: bool = False  # what it says means what it meant before its class had the parameters that files always name
    rates_told: bool = True  # False: rate_bounds = "unknown"

    @cached_property
    def key(self) -> str:
        """What decides its behaviour: name, parameters, what it is told, and for a class that is not ours its source."""
        parts = {"name": self.name, "home": self.home, "parameters": self.keyed_parameters(), "supports": self.supports}
        parts |= {} if self.rates_told else {"rate_bounds": UNKNOWN}
        ours = not self.home and LEARNERS[self.name].built_in
        return digest(canonical(parts), "" if ours else source_digest(self.kind))

    def keyed_parameters(self) -> dict[str, Any]:
        """Return the parameters as they are in the key: with those that files always name, unless an older key means the same."""
        if self.legacy:
            return self.parameters
        told = saved_parameters(self.kind, self.parameters)
        older = {name: value for name, value in told.items() if name not in getattr(self.kind, "always_saved", ())}
        return older if meant_parameters(self.kind, older) == told else told

    @property
    def source(self) -> dict[str, Any]:
        """What a study file would say."""
        said: dict[str, Any] = {"class": self.home} if self.home else {"name": self.name}
        said |= {"label": self.label} | self.parameters
        return said | ({"supports": True} if self.supports else {}) | ({} if self.rates_told else {"rate_bounds": UNKNOWN})

    @property
    def entry(self) -> Entry:
        """Its line in the catalogue, or what its class says of itself."""
        return entry_from(self.home, self.kind, self.home) if self.home else LEARNERS[self.name]

    @property
    def knows(self) -> str:
        """What the learner knew before it started, in words for the tables."""
        told = self.entry.knows
        if not self.rates_told:
            told = f"{told.replace('rate bounds and supports', 'supports')}; no rate bounds told"
        return told + (", supports" if self.supports and "support" not in told else "")

    @property
    def proved(self) -> str:
        """What is proved of it, in words for the tables; nothing where its sets are scaled down."""
        scale = self.parameters.get("radius_scale", 1)
        if self.entry.upper_bound and is_number(scale) and scale < 1:
            return f"nothing with radius_scale = {scale:g}"
        return self.entry.proved if self.rates_told else self.entry.proved_untold or self.entry.proved

    @property
    def kind(self) -> type:
        """The learner's class."""
        return learner_class(self.home or self.name, self.folder)

    @property
    def told_events(self) -> bool:
        """Whether it is told the events of the model."""
        return bool(getattr(self.kind, "needs_events", False))

    @property
    def settings(self) -> set[str]:
        """The names of the parameters that its constructor takes."""
        return set(inspect.signature(self.kind).parameters) - {"knowledge", "seed", "self", "model"}

    def make(self, model: CTMDP, seed: Seed) -> Any:
        """Return a new learner for `model`, its randomness addressed by `seed`."""
        knowledge = needed_knowledge(model, self.kind, None if self.rates_told else UNKNOWN, self.supports)
        which = self.home or self.name
        given = meant_parameters(self.kind, self.parameters) if self.legacy else self.parameters
        return learner_for(model, which, knowledge=knowledge, seed=seed, parameters=given, folder=self.folder)

    def uses(self, models: Sequence[CTMDP]) -> dict[str, Any]:
        """Return the values of its parameters, defaults included; those that differ from model to model are left out."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the study was read
            first, *others = [getattr(self.make(model, 0), "settings", {}) for model in models]
        return {k: v for k, v in first.items() if storable(v) and all(other.get(k) == v for other in others)}

    def problems(self) -> list[str]:
        """Return what is wrong with the parameters' names, each with the nearest right name."""
        try:
            signature = inspect.signature(self.kind).parameters
        except (SojournError, ImportError, AttributeError) as error:
            return [str(error)]
        if not self.rates_told and cannot_do_without(self.kind):
            return [f"{self.name or self.home!r} needs rate bounds; remove rate_bounds = \"{UNKNOWN}\", or take the default, "
                    "ct-kl-ucrl, ct-psrl or ct-joint-ucrl, which learn without."]
        if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
            return []
        allowed = sorted(self.settings)
        return [
            unknown_name(f"parameter of {self.name or self.home}", p, [*allowed, "label", "supports", "rate_bounds"])
            for p in self.parameters
            if p not in allowed
        ]


def key_with_events(key: str, model: CTMDP, told_events: bool) -> str:
    """Return the key of a model together with its declared events, where a learner is told of them and there are any."""
    return digest(key, model.events.digest()) if told_events and model.events is not None else key


def source_digest(kind: type) -> str:
    """Return the hash of the file that defines a learner of the user's own, so that a change of it is noticed."""
    try:
        return hashlib.sha256(Path(inspect.getsourcefile(kind) or "").read_bytes()).hexdigest()
    except (TypeError, OSError):
        return ""


def packed_model(model: CTMDP, labels_only: bool = False) -> bytes:
    """Return the model's content as bytes; with `labels_only`, states and actions as the texts they read as."""
    tree: dict[str, Any] = {name: getattr(model, name) for name in ARRAYS}
    bounds = list(model.rate_bounds) if model.rate_bounds else None
    tree |= {"states": list(model.states.labels), "actions": list(model.actions.labels), "rate_bounds": bounds,
             "holding": model.holding}
    if not labels_only:
        tree |= {key: encoded(names) for key, names in (("state_names", model.states), ("action_names", model.actions))
                 if names.labelled is not None or not names.all_text}
        if model.events is not None:
            tree["events"] = model.events.as_tree()
    return pack(tree)


def unpacked_model(data: bytes, name: str = "") -> CTMDP:
    """Return the model that `packed_model` wrote.

    >>> from sojourn.zoo.catalogue import make
    >>> model = make("two-state")
    >>> unpacked_model(packed_model(model), name=model.name).equals(model)
    True
    """
    tree: dict[str, Any] = unpack(data)
    for kind in ("state", "action"):
        labels, names = tree.pop(f"{kind}s"), tree.pop(f"{kind}_names", None)
        tree[f"{kind}s"] = Names(kind, labels, stored=True) if names is None else _named(kind, list(map(decoded, names)), labels)
    if "events" in tree:
        tree["events"] = EventTable.from_tree(tree["events"])
    tree["rate_bounds"] = None if tree["rate_bounds"] is None else tuple(tree["rate_bounds"])
    return CTMDP(name=visible(name), **tree)


def _named(kind: str, names: list[Any], labels: list[str]) -> Names:
    return Names(kind, names, None if list(map(str, names)) == labels else labels, stored=True)
