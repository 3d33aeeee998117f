"""What a saved learner says about itself, so that it is taken up only by its like: format, class, parameters, knowledge."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.learn.saved_check import check_saved
from sojourn.model.events import EventTable
from sojourn.model.knowledge import Knowledge
from sojourn.model.names import Names
from sojourn.model.numbers import shown

if TYPE_CHECKING:
    from sojourn.learn.learner import Learner

FORMAT = 2  # 1: without this header, and with the walker's episode inside
PLAIN = (bool, int, float, str, list, tuple, dict)  # what a study file can hold
LONG = 200  # characters of a parameter written out; a longer one is named by its hash


def header(learner: Learner) -> dict[str, Any]:
    """Return the part of a saved state that says whose it is."""
    return {"format": FORMAT, "class": class_name(learner), "parameters": dict(learner.parameters),
            "knowledge": knowledge_hash(learner.knowledge)}


def refuse_others(learner: Learner, state: dict[str, Any]) -> None:
    """Raise if `state` is of another learner, of other parameters, of another model, or of a later format."""
    if not isinstance(state, Mapping):
        raise ParameterError(f"the saved state is {shown(state)}; it must be a dict.")
    found = int(state.get("format", 1))
    if found > FORMAT:
        raise ParameterError(f"the saved state has format {found}; this version reads formats up to {FORMAT}. Use a newer one.")
    if found > 1:  # 1 says nothing about itself
        _refuse_unlike(learner, state)
    if type(learner).__module__.startswith("sojourn."):  # what others keep may take any shape
        check_saved(state, learner.state(), learner.knowledge.n_states, learner.knowledge.n_pairs)


def _refuse_unlike(learner: Learner, state: Mapping[str, Any]) -> None:
    """Raise if `state` says that it is of another learner, of other parameters or of another model."""
    if state["class"] != class_name(learner):
        raise ParameterError(f"the saved state is of a {state['class']}, this learner is a {class_name(learner)}; "
                             "build the same one.")
    if not isinstance(state["parameters"], Mapping):
        raise ParameterError(f"the saved parameters are {shown(state['parameters'])}; they must be a dict.")
    saved = _words_now(type(learner), state["parameters"])
    for name in sorted({*map(str, saved), *learner.parameters} - set(getattr(learner, "retired", ()))):
        there = saved.get(name) or _unsaid(type(learner), name)
        here = learner.parameters.get(name, "not given")
        if there != here:
            raise ParameterError(f"the saved state is of a learner with {name} = {there}, this one has {name} = {here}; "
                                 "build it with the same parameters.")
    if state["knowledge"] != knowledge_hash(learner.knowledge):
        raise ParameterError(f"the saved state is of a learner that knew another model than {learner.knowledge}; "
                             "pairs, rewards, rate bounds, labels and supports must be the same.")


def _unsaid(kind: type, name: str) -> str:
    """Return what a saved state means that does not say a parameter: it is older, and had what is the default."""
    found = _signature(kind).parameters.get(name)
    return "not given" if found is None or found.default is inspect.Parameter.empty else in_words(found.default)


def _words_now(kind: type, saved: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a saved state in words, those of an older one as they are said now."""
    plain = {name: None if text == "None" else text for name, text in saved.items()}
    return {name: in_words(value) for name, value in meant_parameters(kind, plain).items()}


def saved_parameters(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of the parameters: those given, and the defaults of those that it always names."""
    return {**given, **{name: _signature(kind).parameters[name].default for name in _always_saved(kind) if name not in given}}


def meant_parameters(kind: type, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that mean now what those of a file meant when it was written.

    >>> from sojourn.learn.ct_kl_ucrl import CTKLUCRL
    >>> meant_parameters(CTKLUCRL, {}), meant_parameters(CTKLUCRL, saved_parameters(CTKLUCRL, {}))
    ({'delta': 0.01, 'growth': 1.0, 'planning': 'uniformised'}, {'growth': 0.1, 'planning': 'real-time'})
    """
    older = any(name not in saved for name in _always_saved(kind))
    found: dict[str, Any] = kind.legacy_parameters(saved) if older else dict(saved)  # type: ignore[attr-defined]
    return found


def _always_saved(kind: type) -> list[str]:
    """Return what the files of a class always name; a child that does not take a parameter does not name it either."""
    return [name for name in getattr(kind, "always_saved", ()) if name in _signature(kind).parameters]


def class_name(learner: object) -> str:
    """Return "module:Class"."""
    return f"{type(learner).__module__}:{type(learner).__qualname__}"


def knowledge_hash(knowledge: Knowledge) -> str:
    """Return a hash of everything a learner was told; fields that are None do not count, so that new ones keep old hashes."""
    digest = hashlib.sha256()
    for part in sorted(fields(knowledge), key=lambda part: part.name):
        value = getattr(knowledge, part.name)
        if value is None:
            continue
        digest.update(part.name.encode())
        if isinstance(value, EventTable):
            digest.update(value.digest().encode())
        elif isinstance(value, Names):
            digest.update("\0".join(value.labels).encode())
        else:
            array = np.ascontiguousarray(value)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()[:32]


@lru_cache(maxsize=256)
def _signature(kind: type) -> inspect.Signature:
    return inspect.signature(kind.__init__)  # type: ignore[misc]


def given_parameters(kind: type, args: tuple[Any, ...], more: dict[str, Any]) -> dict[str, str]:
    """Return the parameters of a constructor call in words, defaults included; knowledge and seed are no parameters."""
    try:
        bound = _signature(kind).bind(None, *args, **more)
    except TypeError:  # a copy, or a call that the constructor will refuse
        return {}
    bound.apply_defaults()
    return {name: in_words(value) for name, value in list(bound.arguments.items())[1:] if name not in ("knowledge", "seed")}


def plain_parameters(kind: type, args: tuple[Any, ...], more: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that were given, arrays as lists, without what only Python can hold (a model, a function)."""
    try:
        given = _signature(kind).bind(None, *args, **more).arguments
    except TypeError:
        return {}
    plain = {name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value for name, value in given.items()}
    return {name: value for name, value in plain.items()
            if name not in ("self", "knowledge", "seed") and isinstance(value, PLAIN)}


def settings_of(learner: Learner) -> dict[str, Any]:
    """Return the parameters in use: as given, else the default, else (where that is None) what the learner made of it."""
    kind: type = type(learner)
    found = {}
    for name, parameter in list(_signature(kind).parameters.items())[1:]:
        value = learner.given.get(name, parameter.default)
        value = getattr(learner, name, None) if value is None else value
        if name not in ("knowledge", "seed", *getattr(learner, "retired", ())) and isinstance(value, PLAIN):
            found[name] = value
    return found


def settings_in_words(settings: dict[str, Any]) -> str:
    """Return the parameters that a learner uses in one line.

    >>> settings_in_words({"delta": 0.01, "stop": "printed"})
    'delta = 0.01, stop = printed'
    """
    return ", ".join(f"{name} = {in_words(value)}" for name, value in settings.items())


def in_words(value: Any) -> str:
    """Return a value as text that is the same for the same value in every process.

    >>> in_words(np.float64(0.5)), in_words([1, 2.0]), in_words({"a": None}), in_words(print)
    ('0.5', '(1, 2.0)', '{a: None}', 'print')
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        text = f"({', '.join(map(in_words, value))})"
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {in_words(part)}" for key, part in value.items()) + "}"
    elif value is None or isinstance(value, (bool, int, float, str)):
        text = str(value)
    else:  # an object: its name, since its repr may hold an address
        text = getattr(value, "__name__", f"a {type(value).__name__}")
    return text if len(text) <= LONG else f"{text[:40]}... (hash {hashlib.sha256(text.encode()).hexdigest()[:16]})"
