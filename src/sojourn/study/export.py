"""A store as a table: one row per model, learner, replication and checkpoint, in a fixed order, equal bytes for equal studies."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from sojourn.errors import FileError, ParameterError, require
from sojourn.model.files import replacing
from sojourn.simulation.regret import COLUMNS as ARRAYS
from sojourn.simulation.regret import REGRETS
from sojourn.study.schema import from_store
from sojourn.study.store import Store

COLUMNS = dict(zip(("epoch", "time", "reward", *REGRETS), ARRAYS, strict=True))  # column of the export: array of the result
HEAD = ("model", "learner", "replication", "checkpoint")
BLOCK = 256  # replications per row group


def blocks(store: Store) -> Iterator[dict[str, list[Any] | np.ndarray]]:
    """Yield the table in pieces of one replication each: {column: values}."""
    models = {m.id: m.label for m in store.models()}
    learners = {entry.id: entry.label for entry in store.learners()}
    for result in store.results():
        data = result.data
        size = len(data["epochs"])
        yield {
            "model": [models[result.model]] * size,
            "learner": [learners[result.learner]] * size,
            "replication": np.full(size, result.replication, dtype=np.int64),
            "checkpoint": np.arange(size, dtype=np.int64),
            **{column: data[array] for column, array in COLUMNS.items()},
        }


@from_store
def export(store: Store, path: str | PathLike[str]) -> tuple[int, int]:
    """Write the finished replications to `path` (.csv or .parquet), whole or not at all; return (finished, missing)."""
    path = Path(path)
    writers = {".csv": _csv, ".parquet": _parquet}
    if path.suffix not in writers:
        raise ParameterError(f"{path.name!r} ends in {path.suffix!r}; an export ends in .csv or .parquet.")
    if not path.parent.is_dir():
        raise FileError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}. Make it first.")
    asked = store.replications * len(store.models()) * len(store.learners())
    try:
        with replacing(path) as file:
            finished = writers[path.suffix](store, file)
    except OSError as error:
        raise FileError(f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was written there.") from error
    return finished, max(0, asked - finished)  # of what was written, even if a run goes on meanwhile


def missing(store: Store) -> int:
    """Return how many replications of those asked for are not there."""
    done = store.counts()
    return sum(max(0, store.replications - done.get((m.id, e.id), 0)) for m in store.models() for e in store.learners())


def _csv(store: Store, file: IO[bytes]) -> int:
    """Numbers are written in the shortest form that reads back to the same bits."""
    file.write((",".join([*HEAD, *COLUMNS]) + "\n").encode())
    finished = 0
    for block in blocks(store):
        lead = ",".join(_quoted(block[name][0]) for name in ("model", "learner"))
        columns = [np.asarray(block[name]).tolist() for name in ("replication", "checkpoint", *COLUMNS)]
        rows = (lead + "," + ",".join(map(repr, row)) + "\n" for row in zip(*columns))
        file.write("".join(rows).encode())
        finished += 1
    return finished


def _quoted(value: Any) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


def _parquet(store: Store, file: IO[bytes]) -> int:
    pyarrow: Any = require("pyarrow", "frame")
    parquet: Any = require("pyarrow.parquet", "frame")
    kinds = {
        "model": pyarrow.string(),
        "learner": pyarrow.string(),
        "replication": pyarrow.int64(),
        "checkpoint": pyarrow.int64(),
        "epoch": pyarrow.int64(),
    }
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in (*HEAD, *COLUMNS)])
    finished, waiting = 0, []
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for block in blocks(store):
            waiting.append(pyarrow.table(block, schema=schema))
            finished += 1
            if len(waiting) == BLOCK:
                writer.write_table(pyarrow.concat_tables(waiting).combine_chunks())
                waiting = []
        if waiting:
            writer.write_table(pyarrow.concat_tables(waiting).combine_chunks())
    return finished


def frame(store: Store, engine: str = "pandas") -> Any:
    """Return the export as a pandas or polars data frame, held in memory."""
    if engine not in ("pandas", "polars"):
        raise ParameterError(f"engine is {engine!r}; it must be 'pandas' or 'polars'.")
    library: Any = require(engine, "frame")
    parts = list(blocks(store))
    names = (*HEAD, *COLUMNS)
    whole: dict[str, Any] = {name: np.concatenate([np.asarray(part[name]) for part in parts]) if parts else [] for name in names}
    for name in ("model", "learner"):
        whole[name] = [str(value) for value in whole[name]]
    return library.DataFrame(whole)
