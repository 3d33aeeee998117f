"""The columns of a log, from wherever it comes: texts as numbers of their different values, so that 10^7 rows fit into memory.

CSV files are read by pyarrow where it is installed, ten times as fast; whatever it cannot read is read again here, row by row,
which says what is wrong and where.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from sojourn.control.log_numbers import real_numbers
from sojourn.errors import FileError, require
from sojourn.model.numbers import shown

CHUNK = 65536
MAX_LINE = 10**6  # characters of a line in a CSV file: without an end it would be read into memory as a whole
MAX_COLUMNS = 1000
SILENT = "silent:"  # begins the name of a column


def columns_of(log: Any, renamed: Mapping[str, str], max_bytes: int | None = None) -> dict[str, Any]:
    """Return {our name: values}; values are arrays, or coded already (from a CSV file)."""
    found = _read_columns(log, renamed, max_bytes)
    missing = [name for name in renamed if name not in found]
    if missing:
        raise FileError(f"columns renames {missing[0]!r}, which is not a column of the log; it has {', '.join(found)}.")
    ours = [renamed.get(name, name) for name in found]
    theirs = {name: [one for one, other in zip(found, ours) if other == name] for name in ours if ours.count(name) > 1}
    for name, several in theirs.items():
        raise FileError(f"the log has two columns for {name}: {' and '.join(map(repr, several))}. Drop one, or give it "
                        "another name.")
    return dict(zip(ours, found.values()))


def _read_columns(log: Any, renamed: Mapping[str, str], max_bytes: int | None) -> dict[str, Any]:
    if isinstance(log, (str, PathLike)):
        path = Path(log)
        if not path.is_file():
            what = f"{str(path)!r} is not a regular file" if path.exists() else f"there is no file {str(path)!r}"
            raise FileError(f"{what}; give a .csv or .parquet file.")
        if path.suffix.lower() in (".parquet", ".pq"):
            require("pyarrow", "frame")
            from sojourn.control.log_parquet import read_parquet

            return arrow_columns(read_parquet(path, max_bytes))
        quick = _quick_csv(path, renamed)
        return quick if quick is not None else _csv_columns(path, renamed)
    if isinstance(log, Mapping):
        _refuse_twice([str(name) for name in log])
        return {str(name): _listed(str(name), values) for name, values in log.items()}
    if hasattr(log, "collect_schema") and hasattr(log, "collect"):  # a frame of polars that is not computed yet
        log = log.collect()
    if hasattr(log, "column_names") and hasattr(log, "schema"):  # a table or a batch of pyarrow, whose `columns` are no names
        return _arrow_table(log)
    if hasattr(log, "columns") and hasattr(log, "__getitem__"):
        _refuse_twice([str(name) for name in log.columns])
        return {str(name): _frame_column(log[name]) for name in log.columns}
    raise FileError(f"the log is a {type(log).__name__}; give a path to a .csv or .parquet file, a data frame, or a dict of "
                    "columns.")


def _refuse_twice(names: list[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise FileError(f"the log has {names.count(twice[0])} columns named {twice[0]!r}; name each once.")


def _listed(name: str, values: Any) -> Any:
    """Return a column as a list or an array, None where a masked array has nothing."""
    if isinstance(values, list):
        return values
    if isinstance(values, np.ma.MaskedArray) and values.ndim == 1:
        return values.tolist()
    array = None if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") else np.asarray(values)
    if array is None or array.ndim != 1:
        raise FileError(f"the column {name} is {' '.join(shown(values).split())}; give a list or an array with one value per row.")
    return array


def _frame_column(series: Any) -> Any:
    """Return a column of a data frame as an array; dates of pandas with a time zone in UTC, which others give already."""
    return (series.dt.tz_convert(None) if getattr(series.dtype, "tz", None) is not None else series).to_numpy()


@dataclass(eq=False)
class Coded:
    """A column as numbers of the different values in it, in order of appearance."""

    code: np.ndarray
    values: list[Any]


def coded(values: Iterable[Any], name: str) -> Coded:
    """Return the column `name` with each value replaced by its number."""
    index: dict[Any, int] = {}
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.dtype.kind in "iub":
        different, inverse = np.unique(array, return_inverse=True)
        return Coded(inverse.astype(np.int32), different.tolist())
    listed = array.tolist() if array is not None else values
    try:
        code = np.fromiter((index.setdefault(value, len(index)) for value in listed), dtype=np.int32)
    except TypeError:  # a list, say
        row = next(i for i, value in enumerate(listed, 1) if getattr(value, "__hash__", None) is None or isinstance(value, tuple))
        raise FileError(f"row {row} has a {name} that cannot be a name; give numbers, texts or tuples of these.") from None
    return Coded(code, list(index))


def _arrow_table(table: Any) -> dict[str, Any]:
    """Return the columns of a table of pyarrow, or of one batch of it."""
    import pyarrow

    _refuse_twice(list(table.column_names))
    nested = [field.name for field in table.schema if pyarrow.types.is_nested(field.type)]
    if nested:
        raise FileError(f"the column {nested[0]} holds lists or records; a log has one value per row.")
    return arrow_columns(pyarrow.Table.from_batches([table]) if isinstance(table, pyarrow.RecordBatch) else table)


def arrow_columns(table: Any) -> dict[str, Any]:
    """Return the columns of an Arrow table: texts coded, numbers as arrays, all else as pandas would have it."""
    import pyarrow

    found: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        kind = column.type
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            column = column.dictionary_encode()
        if isinstance(column, pyarrow.ChunkedArray):  # more than one piece holds
            column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pyarrow.DictionaryArray):
            values, code = _texts(column.dictionary, name), column.indices.fill_null(len(column.dictionary))
            values += [None] if column.null_count else []
            places = code.to_numpy(zero_copy_only=False)
            if len(places) and not 0 <= places.min() <= places.max() < len(values):
                raise FileError(f"the column {name} names the value number {places.max()} of {len(values)}: it is damaged.")
            found[name] = Coded(places.astype(np.int32), values)
        elif pyarrow.types.is_timestamp(kind):
            found[name] = column.cast(pyarrow.timestamp(kind.unit)).to_numpy(zero_copy_only=False)  # in UTC
        elif pyarrow.types.is_floating(kind) or (pyarrow.types.is_integer(kind) and not column.null_count):
            found[name] = column.to_numpy(zero_copy_only=False)
        else:
            found[name] = column.to_pandas().to_numpy()
        table = table.drop_columns([name])  # its memory is free now
    return found


def _texts(dictionary: Any, name: str) -> list[Any]:
    """Return the different values of a column."""
    try:
        return list(dictionary.to_pylist())
    except UnicodeDecodeError as error:
        raise FileError(f"the column {name} holds text that is not UTF-8 ({error.reason}); write it as UTF-8.") from None


def _quick_csv(path: Path, renamed: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the columns of a CSV file read by pyarrow, or None where that is not installed or something is wrong."""
    try:
        from pyarrow import ArrowException, dictionary, float64, int32, string
        from pyarrow import csv as arrow
    except ImportError:
        return None
    header = _header(path)
    kinds = {name: float64() if _is_numeric(renamed.get(name.strip(), name.strip())) else dictionary(int32(), string())
             for name in header}
    convert = arrow.ConvertOptions(column_types=kinds, null_values=[""], strings_can_be_null=False)
    try:
        table = arrow.read_csv(path, read_options=arrow.ReadOptions(block_size=1 << 24, use_threads=False),
                               parse_options=arrow.ParseOptions(newlines_in_values=True), convert_options=convert)
    except (ArrowException, OSError):
        return None
    if table.column_names != header:
        return None
    return arrow_columns(table.rename_columns([name.strip() for name in header]))


def _header(path: Path) -> list[str]:
    """Return the names of the columns as they stand in the first line, each once."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            header = next(csv.reader(_lines(stream, path)), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{str(path)!r} cannot be read as CSV: {error}.") from error
    names = [name.strip() for name in header]
    if len(names) > MAX_COLUMNS:
        raise FileError(f"{str(path)!r} has {len(names):,} columns; a log may have {MAX_COLUMNS:,}. Keep those that it needs.")
    if not any(names):
        raise FileError(f"{str(path)!r} has an empty first line; the first line must name the columns.")
    if len(set(names)) < len(names):
        begin = shown(", ".join(names), 200)
        raise FileError(f"{str(path)!r} begins with {begin}; the first line must name the columns, each once.")
    return header


def _lines(stream: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of a CSV file, none longer than MAX_LINE."""
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise FileError(f"{str(path)!r} has a line of more than {MAX_LINE:,} characters; it is no log as a CSV file.")
        yield line


def _csv_columns(path: Path, renamed: Mapping[str, str]) -> dict[str, Any]:
    """Read a CSV file in pieces: numbers as floats, everything else coded, so that 10^7 rows fit into memory."""
    header = [name.strip() for name in _header(path)]
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(_lines(stream, path))
            next(reader)
            parts: dict[str, list[np.ndarray]] = {name: [] for name in header}
            index: dict[str, dict[Any, int]] = {name: {} for name in header if not _is_numeric(renamed.get(name, name))}
            chunk: list[list[str]] = []
            done = 0

            def flush() -> None:
                nonlocal done
                wrong = next((i for i, row in enumerate(chunk) if len(row) != len(header)), None)
                if wrong is not None:
                    raise FileError(f"row {done + wrong + 1} of {str(path)!r} has {len(chunk[wrong])} cells, the header has "
                                    f"{len(header)}.")
                for name, column in zip(header, zip(*chunk)):
                    if name in index:
                        own = index[name]
                        codes = (own.setdefault(x, len(own)) for x in column)
                        parts[name].append(np.fromiter(codes, dtype=np.int32, count=len(column)))
                    else:
                        parts[name].append(_floats(name, column, done))
                done += len(chunk)
                chunk.clear()

            for row in reader:
                if row:
                    chunk.append(row)
                    if len(chunk) == CHUNK:
                        flush()
            if chunk:
                flush()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{str(path)!r} cannot be read as CSV: {error}.") from error
    empty = np.zeros(0)
    whole = {name: np.concatenate(pieces) if pieces else empty for name, pieces in parts.items()}
    return {name: Coded(values, list(index[name])) if name in index else values for name, values in whole.items()}


def _is_numeric(name: str) -> bool:
    return name in ("holding_time", "time", "reward") or name.startswith(SILENT)


def _floats(name: str, column: tuple[str, ...], before: int) -> np.ndarray:
    """Return texts as numbers; an empty cell is NaN."""
    joined = "".join(column)
    if joined.isascii() and "_" not in joined:  # all that NumPy takes for a number then is one, or "nan" or "inf"
        try:
            return np.array([x or "nan" for x in column] if "" in column else column, dtype=np.float64)
        except ValueError:
            pass
    return real_numbers(name, column, lambda i: before + i + 1)
