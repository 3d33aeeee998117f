"""A session in one file that suffices alone: what was known, who decided, what was counted.  Never pickle: reading runs nothing.

The file is `pack` (model/pack.py) of {format, version, sha256, content}; the content holds the learner's identity (class,
parameters), the knowledge and everything that `session.save()` returns.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from sojourn.errors import FileError, ParameterError, StoreError
from sojourn.learn.abilities import called
from sojourn.learn.catalogue import LEARNERS, is_named, learner_class
from sojourn.learn.catalogue import learner as made_learner
from sojourn.learn.saving import class_name, meant_parameters, saved_parameters
from sojourn.model.files import file_path, reading, regular_file, replacing
from sojourn.model.knowledge_file import knowledge_from, knowledge_tree
from sojourn.model.numbers import shown
from sojourn.model.pack import pack, storable, unpack
from sojourn.simulation.file_check import check_learner, check_session

if TYPE_CHECKING:
    from sojourn.simulation.session import Session

FORMAT, VERSION = "sojourn/session", 1


def write_session(session: Session, path: str | os.PathLike[str]) -> None:
    """Write a session to a file, which is replaced at once or not touched at all."""
    file, learner = file_path(path), session.learner
    given = {name: value for name, value in getattr(learner, "given", {}).items() if storable(value)}
    who = {"called": called(learner), "class": class_name(learner), "parameters": saved_parameters(type(learner), given)}
    try:
        content = pack({"learner": who, "knowledge": knowledge_tree(session.knowledge), "session": session.save()})
        with replacing(file) as stream:
            stream.write(pack({"format": FORMAT, "version": VERSION, "sha256": hashlib.sha256(content).hexdigest(),
                               "content": content}))
    except StoreError as error:
        raise FileError(f"the session cannot be written to {str(file)!r}: {error}") from error
    except OSError as error:
        raise FileError(f"cannot write {str(file)!r}: {error.strerror or error}. Check the folder and its permissions.") from error


def read_session(path: str | os.PathLike[str], learner: Any = None, max_bytes: int | None = None) -> Session:
    """Return the session in a file, which goes on as if never stopped.

    Learners of the catalogue are made anew from the file; of others give the class, its "module:Class" or a new object as `learner`
    (a file never says which code to run).
    """
    from sojourn.simulation.session import Session

    file = file_path(path)
    with reading(file, "a session", FileError if learner is None else ParameterError):  # what is given may be wrong, not the file
        found = _content(file, max_bytes)
        who, knowledge, saved = found["learner"], knowledge_from(found["knowledge"]), found["session"]
        check_learner(who)
        if learner is None:
            learner = _of_catalogue(who, file)
        kind = learner_class(learner) if is_named(learner) else type(learner)
        if (given := f"{kind.__module__}:{kind.__qualname__}") != who["class"]:
            raise FileError(f"{str(file)!r} is the session of a {who['class']}, and the learner given is a {given}; "
                            "give the same one.")
        if is_named(learner):
            learner = made_learner(learner, knowledge, **meant_parameters(kind, who["parameters"]))
        session = Session(learner, knowledge.states[int(saved["state"])], knowledge=knowledge)
        session.restore(saved)
        check_session(session)
    return session


def _content(file: Any, max_bytes: int | None) -> Any:
    data = regular_file(file, "a session", max_bytes)
    try:
        top = unpack(data)
    except (StoreError, RecursionError, OverflowError) as error:
        raise FileError(f"{str(file)!r} is not the file of a session: {error}") from error
    if not isinstance(top, dict) or top.get("format") != FORMAT:
        kind = top.get("format") if isinstance(top, dict) else type(top).__name__
        raise FileError(f"{str(file)!r} holds {shown(kind)}; it must hold {FORMAT!r}, as `session.save(path)` writes it.")
    if top.get("version") != VERSION:
        raise FileError(f"{str(file)!r} has version {shown(top.get('version'))}; this release reads version {VERSION}. "
                        "Upgrade Sojourn.")
    content = top.get("content")
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != top.get("sha256"):
        raise FileError(f"{str(file)!r} is damaged: its content does not have the checksum that it was written with.")
    return unpack(content)


def _of_catalogue(who: dict[str, Any], file: Any) -> str:
    """Return the name under which the catalogue has the learner of a file; others must be given."""
    homes = {name: entry.home for name, entry in LEARNERS.items()}
    name = who["called"] if homes.get(who["called"]) == who["class"] else next((n for n in homes if homes[n] == who["class"]), None)
    if name is None:
        raise FileError(f"{str(file)!r} is the session of a {who['class']}, which is not in the catalogue (`sojourn learners`); "
                        "give it: Session.load(path, learner=...), its class or a new object with the same parameters.")
    return name
