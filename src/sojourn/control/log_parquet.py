"""Parquet files as logs: what a file will need is worked out from its own description before any of it is unpacked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.errors import FileError

ROOM = 2**28  # bytes that any file may unpack to
GROWTH = 64  # how many times its own size a larger file may unpack to
CELL = 8  # bytes of a number in memory; texts are kept once each, and 4 bytes per row


def read_parquet(path: Path, max_bytes: int | None = None) -> Any:
    """Return the table in a Parquet file, texts coded; one that needs more than `max_bytes` is refused before it is read.

    Without `max_bytes` the limit is the larger of ROOM and GROWTH times the size of the file.
    """
    from pyarrow import ArrowException, parquet, types

    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            twice = sorted(name for name in names if names.count(name) > 1)
            if twice:
                raise FileError(f"{str(path)!r} has {names.count(twice[0])} columns named {twice[0]!r}; name each once.")
            nested = [field.name for field in file.schema_arrow if types.is_nested(field.type)]
            if nested:
                raise FileError(f"the column {nested[0]} of {str(path)!r} holds lists or records; a log has one value per row.")
            limit = max(ROOM, GROWTH * path.stat().st_size) if max_bytes is None else max_bytes
            needed = _unpacked(file.metadata)
            if needed > limit:
                raise FileError(f"{str(path)!r} says that it has {file.metadata.num_rows:,} rows, which need {needed:,} bytes of "
                                f"memory; a file of {path.stat().st_size:,} bytes may unpack to {limit:,}. If you trust the file, "
                                "raise the limit: max_bytes=BYTES.")
            texts = [field.name for field in file.schema_arrow if types.is_string(field.type) or types.is_large_string(field.type)]
        return parquet.read_table(path, read_dictionary=texts)
    except FileError:
        raise
    except (ArrowException, OSError, ValueError, MemoryError) as error:
        raise FileError(f"{str(path)!r} cannot be read as Parquet: {error}.") from error


def _unpacked(metadata: Any) -> int:
    """Return how many bytes a file says that it will fill.

    Sizes of single columns are not asked for: pyarrow ends the interpreter where the metadata of a column contradict themselves.
    """
    groups = (metadata.row_group(g) for g in range(metadata.num_row_groups))
    return sum(max(group.num_rows * metadata.num_columns * CELL, group.total_byte_size) for group in groups)
