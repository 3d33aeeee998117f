"""A run in a file: its checkpoints as a table (.csv, .parquet), or all its arrays (.npz, which `numpy.load` opens)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import FileError, require
from sojourn.learn.abilities import called
from sojourn.model.files import file_path, replacing

if TYPE_CHECKING:
    from sojourn.simulation.run import Run


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
    whole: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez_compressed(stream, **whole)


WRITERS: dict[str, Callable[[Run, IO[bytes]], None]] = {".csv": _csv, ".parquet": _parquet, ".npz": _npz}
