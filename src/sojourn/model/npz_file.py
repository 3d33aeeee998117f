"""The compact file: the model's own arrays in a zip, and one JSON header.

Never pickle; nothing is read before its declared size is checked.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.json_file import FORMAT, VERSION, header, parse
from sojourn.model.numbers import shown
from sojourn.model.validate import range_labels

TYPES = {
    "header": "|u1", "pair_start": "<i8", "pair_action": "<i8", "row_start": "<i8", "next_state": "<i8",
    "probability": "<f8", "rate": "<f8", "reward": "<f8", "running": "<f8", "transition_reward": "<f8",
}
OPTIONAL = {"transition_reward"}
HEADER_KEYS = {"format", "version", "name", "holding", "rate_bounds", "states", "actions"}
MAX_BYTES = 2**35
MAX_RATIO = 1000  # unpacked to packed size: a whole model never shrinks that much, a zip bomb does
ARRAY_HEADER = re.compile(rb"\{'descr': '([^']{1,20})', 'fortran_order': False, 'shape': \((\d{1,18}),\), \} *\n")


def write_npz(model: CTMDP, stream: IO[bytes]) -> None:
    """Write the arrays of a model and its labels; the same model gives the same bytes."""
    top: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": model.name, "holding": model.holding,
                           "rate_bounds": model.rate_bounds}
    for key, labels in (("states", model.states), ("actions", model.actions)):
        plain = len(labels) <= model.n_pairs and labels == range_labels(len(labels))
        top[key] = len(labels) if plain else labels
    arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(top).encode(), dtype=np.uint8)}
    arrays |= {name: getattr(model, name) for name in TYPES if name != "header"}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        for name, array in arrays.items():
            if array is not None:
                entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(entry, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array.astype(TYPES[name]), version=(1, 0), allow_pickle=False)


def read_npz(stream: IO[bytes]) -> CTMDP:
    """Return the model in an open `.npz` file; ModelError names the array, its value and the rule."""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = _members(archive)
            arrays: dict[str, Any] = {name: _array(archive, name, info) for name, info in members.items()}
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"it is not a whole .npz file ({shown(str(error), 100)}). Is the file complete?") from None
    top = header(parse(arrays.pop("header").tobytes()))
    if top.keys() != HEADER_KEYS:
        raise ModelError(f"header has the keys {shown(sorted(top))}; it must have {sorted(HEADER_KEYS)}.")
    arrays["states"] = _labels("states", top["states"], len(arrays["pair_action"]))
    arrays["actions"] = _labels("actions", top["actions"], len(arrays["pair_action"]))
    return CTMDP(**arrays, name=top["name"], holding=top["holding"], rate_bounds=top["rate_bounds"])


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by array name after checking names and declared sizes."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name not in TYPES or name in found:
            raise ModelError(f"it holds an array {shown(info.filename)}, unknown or twice; known: {', '.join(TYPES)}.")
        found[name] = info
    for name in TYPES:
        if name not in found and name not in OPTIONAL:
            raise ModelError(f"it holds the arrays {shown(sorted(found))} and lacks {name!r}; save the model again.")
    unpacked, packed = (sum(getattr(i, size) for i in found.values()) for size in ("file_size", "compress_size"))
    if unpacked > MAX_BYTES or unpacked > MAX_RATIO * max(packed, 2**16):
        raise ModelError(f"it declares {unpacked} bytes in {packed} packed ones; a model has at most {MAX_BYTES} and shrinks "
                         f"less than {MAX_RATIO}-fold.")
    return found


def _array(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> np.ndarray:
    """Return one array after holding its declared type and shape against the bytes that are there."""
    with archive.open(info) as member:
        magic = member.read(10)
        if magic[:8] != b"\x93NUMPY\x01\x00" or len(magic) < 10:
            raise ModelError(f"{name} starts with {magic[:8]!r}; every array must be in numpy's format, version 1.0.")
        length = int.from_bytes(magic[8:10], "little")
        text = member.read(length)
        match = ARRAY_HEADER.fullmatch(text)
        if not match or match[1].decode("latin-1") != TYPES[name]:
            raise ModelError(f"{name} declares {shown(text.strip().decode('latin-1'), 120)}; it must be a flat array of type "
                             f"{TYPES[name]!r}. Objects are never read.")
        kind, size = np.dtype(TYPES[name]), int(match[2])
        if 10 + length + size * kind.itemsize != info.file_size:
            raise ModelError(f"{name} declares {size} entries and has {info.file_size - 10 - length} bytes; they must agree.")
        data = member.read()
        if len(data) != size * kind.itemsize:
            raise ModelError(f"{name} declares {size} entries and holds {len(data)} bytes; the file is cut short.")
        return np.frombuffer(data, dtype=kind).astype(kind.newbyteorder("="))


def _labels(key: str, value: Any, pairs: int) -> Any:
    """Return the labels, a list; a count n (no larger than the number of pairs) stands for "0", ..., "n-1"."""
    if type(value) is int and 0 < value <= pairs:
        return range_labels(value)
    if not isinstance(value, list):
        raise ModelError(f"header: {key} is {shown(value)}; it must be a list of labels, or a count of 1 to {pairs}.")
    return value
