"""A learner as a study is told of it in Python: a name, "module:Class", a class, an object, or the table of a study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.errors import ParameterError
from sojourn.learn.abilities import is_learner
from sojourn.learn.catalogue import LEARNERS, said_name
from sojourn.learn.learner import Learner


def as_table(said: Any) -> Any:
    """Return the table of a study file that says the same; a study makes a new learner for every replication.

    >>> from sojourn.zoo.catalogue import make
    >>> from sojourn.learn.catalogue import learner
    >>> as_table("mine:Mine"), as_table(learner("ct-ucrl", make("two-state").knowledge(), delta=0.1))
    ({'class': 'mine:Mine'}, {'name': 'ct-ucrl', 'delta': 0.1})
    """
    if isinstance(said, str):
        said = {"name": said}
    if isinstance(said, Mapping):
        name = said.get("name")
        outside = isinstance(name, str) and ":" in name and name not in LEARNERS and "class" not in said
        return {"class": name, **{k: v for k, v in said.items() if k != "name"}} if outside else said
    if isinstance(said, type):
        return _of_class(said)
    if isinstance(said, Learner):
        return {**_of_class(type(said)), **said.given}
    if is_learner(said):
        raise ParameterError(f"the learner is {said!r}, an object that is no child of sojourn.learn.Learner; give its class, "
                             "since a study makes a new one for every replication.")
    return said


def _of_class(kind: type) -> dict[str, str]:
    name = said_name(kind)
    if name in LEARNERS:
        return {"name": name}
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise ParameterError(f"the learner {kind.__qualname__} is defined in {kind.__module__}, where the processes of a study "
                             "cannot import it; put the class into a file of its own.")
    return {"class": name}
