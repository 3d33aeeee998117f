"""A run in a file: its checkpoints as a table (.csv, .parquet), or all of it (.npz, which `numpy.load` and `Run.load` open).

In a `.npz` the array `whole` is `pack` (model/pack.py) of what `Run.load` needs beside the others: model, learner, episodes.
Never pickle: reading runs nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import FileError, ModelError, SojournError, require
from sojourn.learn.abilities import abilities_of, called
from sojourn.learn.catalogue import LEARNERS, learner_class
from sojourn.learn.catalogue import learner as made_learner
from sojourn.learn.certificate import Certificate
from sojourn.learn.learner import History
from sojourn.learn.saving import class_name, meant_parameters, saved_parameters
from sojourn.model.ctmdp import CTMDP
from sojourn.model.files import file_path, reading, regular_file, replacing
from sojourn.model.knowledge import Knowledge
from sojourn.model.knowledge_file import knowledge_from, knowledge_tree
from sojourn.model.npz_file import read_npz, write_npz
from sojourn.model.npz_guard import BROKEN, Guard
from sojourn.model.numbers import shown
from sojourn.model.pack import pack, storable, unpack
from sojourn.simulation.episodes import Episodes
from sojourn.simulation.file_check import check_learner, check_run
from sojourn.simulation.regret import COLUMNS, REGRETS

if TYPE_CHECKING:
    from sojourn.simulation.run import Run

FORMAT, VERSION = "sojourn/run", 1
POINT_COLUMNS = ("epoch", "time", "reward", *REGRETS)
NUMBERS = {*POINT_COLUMNS, "visits", "gain", "bias", "whole"}
EPISODE_COLUMNS = ("start_epoch", "epochs", "start_state", "adjusted_regret", "policy_number", "total")


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run in the format that the file's name ends in; the file is replaced at once, or not touched at all."""
    file = file_path(path)
    if file.suffix.lower() not in WRITERS:
        raise FileError(f"{str(file)!r} ends in {file.suffix!r}; a run is written to {', '.join(WRITERS)}.")
    try:
        with replacing(file) as stream:
            WRITERS[file.suffix.lower()](run, stream)
    except OSError as error:
        raise FileError(f"cannot write {str(file)!r}: {error.strerror or error}. Check the folder and its permissions.") from error


def _csv(run: Run, stream: IO[bytes]) -> None:
    """Numbers are written in the shortest form that reads back to the same bits."""
    columns = run.columns()
    stream.write((",".join(columns) + "\n").encode())
    stream.writelines((",".join(map(repr, row)) + "\n").encode() for row in zip(*(column.tolist() for column in columns.values())))


def _parquet(run: Run, stream: IO[bytes]) -> None:
    pyarrow: Any = require("pyarrow", "frame")
    parquet: Any = require("pyarrow.parquet", "frame")
    parquet.write_table(pyarrow.table(run.columns()), stream, compression="zstd")


def _npz(run: Run, stream: IO[bytes]) -> None:
    """Names are written as the texts they are shown by; there are no objects, so that reading needs no pickle."""
    arrays: dict[str, Any] = {**run.columns(), "visits": run.visits, "gain": run.gain, "bias": run.bias}
    arrays |= {"states": list(run.model.states.labels), "actions": list(run.model.actions.labels), "model": run.model.name,
               "learner": called(run.learner), "start": str(run.start), "state": str(run.state)}
    if run.trajectory is not None:
        columns = {part.name: getattr(run.trajectory, part.name) for part in fields(run.trajectory)}
        arrays |= {f"trajectory_{name}": column for name, column in columns.items() if column is not None}
    content = pack(_tree(run))
    arrays["whole"] = np.frombuffer(content + hashlib.sha256(content).digest(), dtype=np.uint8)
    whole: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez_compressed(stream, **whole)


def _tree(run: Run) -> dict[str, Any]:
    """Return what `Run.load` needs beside the plain arrays."""
    model, learner, episodes = BytesIO(), run.learner, run.episodes
    write_npz(run.model, model)
    given = getattr(learner, "given", {})
    kept = abilities_of(learner).saves and all(map(storable, given.values()))  # one that can be made again
    known = getattr(learner, "knowledge", None)
    return {
        "format": FORMAT, "version": VERSION, "model": model.getvalue(), "seed": run.seed if isinstance(run.seed, int) else None,
        "seconds": run.seconds, "decisions_per_second": run.decisions_per_second, "interrupted": run.interrupted,
        "other_law": run.other_law, "certificate": None if run.certificate is None else run.certificate.tree(),
        "start": run.model.state(run.start), "state": run.model.state(run.state),
        "episodes": {name: getattr(episodes, name) for name in EPISODE_COLUMNS}
        | {"policies": {str(i): policy for i, policy in enumerate(episodes.policies)}, "info": dict(episodes.info)},
        "learner": {"called": called(learner), "class": class_name(learner),
                    "parameters": saved_parameters(type(learner), given) if kept else {},
                    "settings": {name: value for name, value in run.settings.items() if storable(value)},
                    "state": learner.state() if kept else None, "knowledge": knowledge_tree(known) if known is not None else None},
    }


def read_run(path: str | os.PathLike[str], max_bytes: int | None = None) -> Run:
    """Return the run that `run.save("....npz")` wrote; at most `max_bytes` are unpacked (model/npz_guard.py)."""
    file = file_path(path)
    if file.suffix.lower() in (".csv", ".parquet"):
        raise FileError(f"{str(file)!r} holds the checkpoints only; read it as a table, or save the run as .npz to have all of it.")
    data = regular_file(file, "a run", max_bytes)
    with reading(file, "a run"):
        arrays = _arrays(BytesIO(data), file, max_bytes)
        content = arrays.pop("whole").tobytes()
        content, checksum = content[:-32], content[-32:]
        if hashlib.sha256(content).digest() != checksum:
            raise FileError(f"{str(file)!r} is damaged: its content does not have the checksum that it was written with.")
        tree = unpack(content)
        kind, version = (tree.get("format"), tree.get("version")) if isinstance(tree, dict) else (type(tree).__name__, None)
        if kind != FORMAT or version != VERSION:
            raise FileError(f"{str(file)!r} holds {shown(kind)} of version {shown(version)}; this release reads {FORMAT!r} of "
                            f"version {VERSION}. Upgrade Sojourn.")
        return _made(arrays, tree, max_bytes)


def _arrays(stream: IO[bytes], file: Any, max_bytes: int | None) -> dict[str, np.ndarray]:
    """Return the arrays that a run is made of; texts and what others may have added are left alone."""
    try:
        guard = Guard(stream, max_bytes, remedy="Save the run again with `run.save`.")
        if "whole" not in guard.names:
            raise FileError(f"{str(file)!r} does not hold all of a run; it is another file, or was written when only numbers were.")
        return {name: guard.read(name) for name in guard.names if name in NUMBERS or name.startswith("trajectory_")}
    except BROKEN as error:
        if isinstance(error, SojournError):
            raise
        raise FileError(f"{str(file)!r} is not a whole .npz file ({shown(str(error), 100)}). Is the file complete?") from error


def _made(arrays: dict[str, Any], tree: dict[str, Any], max_bytes: int | None) -> Run:
    from sojourn.simulation.run import Run

    model, columns = read_npz(BytesIO(tree["model"]), max_bytes, stored=True), dict(tree["episodes"])
    told = {name.removeprefix("trajectory_"): column for name, column in arrays.items() if name.startswith("trajectory_")}
    policies = tuple(columns.pop("policies").values())
    run = Run(
        **{column: arrays[name] for name, column in zip(POINT_COLUMNS, COLUMNS, strict=True)},
        visits=arrays["visits"], gain=float(arrays["gain"]), bias=arrays["bias"],
        episodes=Episodes(**columns, policies=policies, states=model.states, actions=model.actions),
        start=_state(model, tree["start"]), state=_state(model, tree["state"]), seconds=float(tree["seconds"]),
        decisions_per_second=float(tree["decisions_per_second"]), model=model, learner=_learner(tree["learner"]), seed=tree["seed"],
        interrupted=bool(tree["interrupted"]), trajectory=History(**told) if told else None,
        other_law=str(tree.get("other_law", "")),  # files of before do not say
        certificate=_certificate(tree.get("certificate"), tree["learner"]["knowledge"]))
    check_run(run)
    return run


def _state(model: CTMDP, place: Any) -> Any:
    """Return the name of the state at a place of the file."""
    if type(place) is not int or not 0 <= place < model.n_states:
        raise ModelError(f"its states include number {shown(place)}; there are {model.n_states} states.")
    return model.states[place]


def _certificate(tree: dict[str, Any] | None, knowledge: Any) -> Certificate | None:
    """Return the certificate of a run; files of before have none."""
    return None if tree is None else Certificate.from_tree(tree, knowledge_from(knowledge))


def _learner(who: dict[str, Any]) -> Any:
    """Return the learner as it was at the end, if it is one of ours; else what is remembered of it.

    Reading a run imports nothing: learners that other packages bring are not asked for.
    """
    check_learner(who)
    knowledge = knowledge_from(who["knowledge"]) if who["knowledge"] is not None else None
    names = [name for name, entry in LEARNERS.built_in.items() if entry.home == who["class"]]
    if knowledge is None or who["state"] is None or not names:
        return PastLearner(str(who["called"]), dict(who["settings"]), knowledge)
    name = who["called"] if who["called"] in names else names[0]
    made = made_learner(name, knowledge, **meant_parameters(learner_class(name), who["parameters"]))
    made.restore(who["state"])
    made.called = str(who["called"])
    return made


@dataclass(frozen=True)
class PastLearner:
    """What a file remembers of a learner that it cannot bring back: its name, its parameters, what it knew."""

    called: str
    settings: dict[str, Any]
    knowledge: Knowledge | None


WRITERS: dict[str, Callable[[Run, IO[bytes]], None]] = {".csv": _csv, ".parquet": _parquet, ".npz": _npz}
