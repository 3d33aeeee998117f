"""The compact file: the model's own arrays in a zip, and one JSON header.

Never pickle; a declared size is never believed: what is unpacked is counted, and reading stops at the first byte too many.
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
from sojourn.model.event_file import COLUMNS, WHOLE, events_of_columns
from sojourn.model.json_file import FORMAT, VERSION, header, label_keys, parse, read_names
from sojourn.model.names import Names, encoded
from sojourn.model.numbers import shown

TYPES = {
    "header": "|u1", "pair_start": "<i8", "pair_action": "<i8", "row_start": "<i8", "next_state": "<i8",
    "probability": "<f8", "rate": "<f8", "reward": "<f8", "running": "<f8", "transition_reward": "<f8",
}
EVENTS = {f"event_{name}": "<i8" if name in WHOLE else "<f8" for name in COLUMNS}  # with `event_names` in the header
TYPES |= EVENTS
OPTIONAL = {"transition_reward", *EVENTS}
HEADER_KEYS = {"format", "version", "name", "holding", "rate_bounds", "states", "actions"}
LABEL_KEYS = {"state_labels", "action_labels"}
PACKINGS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}  # what numpy writes
OTHER_PACKINGS = {zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA", 9: "deflate64", 93: "zstd", 95: "xz"}
MAX_BYTES = 2**35
MAX_RATIO = 1000  # unpacked to packed size: a whole model never shrinks that much, a zip bomb does
MAX_HEADER_RATIO = 100  # of the labels, which take much more memory once they are parsed
BLOCK = 2**20
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
ARRAY_HEADER = re.compile(rb"\{'descr': '([^']{1,20})', 'fortran_order': False, 'shape': \((\d{1,18}),\), \} *\n")


def write_npz(model: CTMDP, stream: IO[bytes]) -> None:
    """Write the arrays of a model and its labels; the same model gives the same bytes."""
    top: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": model.name, "holding": model.holding,
                           "rate_bounds": model.rate_bounds}
    for key, names in (("states", model.states), ("actions", model.actions)):
        counted = isinstance(names.values, range) and names.labelled is None and len(names) <= model.n_pairs
        top[key] = len(names) if counted else encoded(names)
    top |= label_keys(model)
    if model.events is not None:
        top["event_names"] = list(model.events.names)
    arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(top).encode(), dtype=np.uint8)}
    arrays |= {name: getattr(model, name) for name in TYPES if name != "header" and name not in EVENTS}
    if model.events is not None:
        arrays |= {name: getattr(model.events, name.removeprefix("event_")) for name in EVENTS}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            if array is not None:
                entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(entry, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array.astype(TYPES[name]), version=(1, 0), allow_pickle=False)


def read_npz(stream: IO[bytes]) -> CTMDP:
    """Return the model in an open `.npz` file; ModelError names the array, its value and the rule."""
    try:
        packed = stream.seek(0, 2)
        room = _Room(min(MAX_BYTES, MAX_RATIO * max(packed, 2**16)), packed)
        with zipfile.ZipFile(stream) as archive:
            members = _members(archive)
            arrays: dict[str, Any] = {name: _array(archive, name, info, room) for name, info in members.items()}
    except BROKEN as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"it is not a whole .npz file ({shown(str(error), 100)}). Is the file complete?") from None
    top = header(parse(arrays.pop("header").tobytes()))
    columns = {name: arrays.pop(f"event_{name}") for name in COLUMNS if f"event_{name}" in arrays}
    names = top.pop("event_names", None)
    if names is not None or columns:
        arrays["events"] = events_of_columns({"names": names, **columns}, np.arange(len(arrays["pair_action"])))
    if top.keys() - LABEL_KEYS != HEADER_KEYS:
        raise ModelError(f"header has the keys {shown(sorted(top))}; it must have {sorted(HEADER_KEYS)}.")
    arrays["states"] = _names("state", top, len(arrays["pair_action"]))
    arrays["actions"] = _names("action", top, len(arrays["pair_action"]))
    return CTMDP(**arrays, name=top["name"], holding=top["holding"], rate_bounds=top["rate_bounds"])


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by array name after checking names and how they are packed."""
    found: dict[str, zipfile.ZipInfo] = {}
    if "whole.npy" in archive.namelist():
        raise ModelError(f"it has the arrays {shown(archive.namelist())}: it holds a run, not a model; read "
                         "it with `sojourn.Run.load`.")
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name not in TYPES or name in found:
            raise ModelError(f"it holds an array {shown(info.filename)}, unknown or twice; known: {', '.join(TYPES)}.")
        if info.compress_type not in PACKINGS or info.flag_bits & 0x1:
            kind = "encrypted" if info.flag_bits & 0x1 else OTHER_PACKINGS.get(info.compress_type, "unknown")
            raise ModelError(f"{info.filename} is packed by method {info.compress_type} ({kind}); the arrays of a model are "
                             f"{' or '.join(PACKINGS.values())}, as numpy writes them. Save the model again with `model.save`.")
        found[name] = info
    for name in TYPES:
        if name not in found and name not in OPTIONAL:
            raise ModelError(f"it holds the arrays {shown(sorted(found))} and lacks {name!r}; save the model again.")
    return found


class _Room:
    """How many bytes may still be unpacked of a file of `packed` bytes."""

    def __init__(self, most: int, packed: int):
        self.left, self.packed = most, packed

    def read(self, member: IO[bytes], name: str, size: int) -> bytes:
        """Return the next `size` bytes of a member, fewer where it ends before; raise where they would be too many in all."""
        if name == "header" and size > MAX_HEADER_RATIO * max(self.packed, 2**14):
            raise ModelError(f"header.npy declares {size} bytes in a file of {self.packed}; labels shrink less than "
                             f"{MAX_HEADER_RATIO}-fold. Save the model again with `model.save`.")
        if size > self.left:
            raise ModelError(f"{name}.npy declares {size} bytes in a file of {self.packed}, above the {self.left} that are left; a "
                             f"model has at most {MAX_BYTES} bytes and shrinks less than {MAX_RATIO}-fold. Save it again as .json.")
        found = []
        while size > 0 and (block := member.read(min(size, BLOCK))):
            size -= len(block)
            self.left -= len(block)
            found.append(block)
        return b"".join(found)


def _array(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo, room: _Room) -> np.ndarray:
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
        data = room.read(member, name, size * kind.itemsize)
        if len(data) != size * kind.itemsize or member.read(1):
            raise ModelError(f"{name} declares {size} entries and holds {len(data)} bytes; the file is cut short.")
        return np.frombuffer(data, dtype=kind).astype(kind.newbyteorder("="))


def _names(kind: str, top: dict[str, Any], pairs: int) -> Names:
    """Return the names; a count n (no larger than the number of pairs) stands for 0, ..., n-1, in version 1 for these as texts."""
    key = f"{kind}s"
    value = top[key]
    if type(value) is int and 0 < value <= pairs:
        return Names(kind, tuple(map(str, range(value))) if top["version"] == 1 else range(value))
    if not isinstance(value, list):
        raise ModelError(f"header: {key} is {shown(value)}; it must be a list of names, or a count of 1 to {pairs}.")
    return read_names(kind, top, value)
