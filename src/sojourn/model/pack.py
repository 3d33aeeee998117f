"""Nested dicts of arrays and scalars as bytes, and back, bit for bit.  No pickle: what is read cannot run anything.

Layout: b"SJP1", the length of the header (4 bytes, big end first), the header (JSON: the tree, arrays as their type, shape
and place), the arrays' bytes one after another.  Equal trees give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

import numpy as np

from sojourn.errors import StoreError
from sojourn.model.numbers import shown

MAGIC = b"SJP1"
KINDS = "biuf"  # booleans, integers, reals: nothing that could hold an object
PLAIN = re.compile(r"[<|>]?[biuf]\d{1,2}")
MAX_AXES = 8


def storable(value: Any) -> bool:
    """Return whether a parameter can be part of a content key: dates, NaN and objects cannot."""
    try:
        canonical(value)
        return True
    except (TypeError, ValueError, RecursionError):
        return False


def pack(tree: Any) -> bytes:
    """Return `tree` (dicts with string keys, lists, arrays, numbers, strings, None) as bytes.

    >>> unpack(pack({"visits": np.array([1, 2]), "share": 0.1}))
    {'visits': array([1, 2]), 'share': 0.1}
    """
    arrays: list[bytes] = []
    header = json.dumps(_encode(tree, arrays, ""), separators=(",", ":"), allow_nan=False).encode()
    return b"".join([MAGIC, len(header).to_bytes(4, "big"), header, *arrays])


def unpack(data: bytes) -> Any:
    """Return the tree that `pack` wrote."""
    if data[:4] != MAGIC:
        raise StoreError(f"these bytes begin with {data[:4]!r}, not with {MAGIC!r}; they were not written by this program.")
    length = int.from_bytes(data[4:8], "big")
    try:
        return _decode(json.loads(data[8 : 8 + length]), memoryview(data)[8 + length :], [0])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise StoreError(f"packed bytes cannot be read back ({shown(str(error), 100)}); they are damaged.") from error


def canonical(value: Any) -> str:
    """Return `value` as the one JSON text for it: keys sorted, no spaces, numbers in shortest exact form.

    >>> canonical({"b": 1.0, "a": [True, "x"]})
    '{"a":[true,"x"],"b":1.0}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def digest(*parts: str | bytes) -> str:
    """Return the sha256 of the parts, each preceded by its length, so that no two lists of parts collide."""
    total = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        total.update(len(raw).to_bytes(8, "big"))
        total.update(raw)
    return total.hexdigest()


def _encode(value: Any, arrays: list[bytes], where: str) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise StoreError(f"{where or 'the value'} is an array of type {value.dtype}; only booleans and numbers can be stored.")
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        arrays.append(little.tobytes())
        return {"$array": little.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays, where)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        wrong = [key for key in value if not isinstance(key, str) or key.startswith("$")]
        if wrong:
            raise StoreError(f"{where or 'the value'} has the key {wrong[0]!r}; keys must be strings that do not begin with '$'.")
        return {key: _encode(item, arrays, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, (bytes, bytearray)):
        arrays.append(bytes(value))
        return {"$bytes": len(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise StoreError(
        f"{where or 'the value'} is a {type(value).__name__}; state() may hold arrays, numbers, strings, lists and dicts."
    )


def _decode(node: Any, data: memoryview, place: list[int]) -> Any:
    if isinstance(node, list):
        return [_decode(item, data, place) for item in node]
    if not isinstance(node, dict):
        return node
    if "$array" in node:
        if not (isinstance(node["$array"], str) and PLAIN.fullmatch(node["$array"])):
            raise ValueError(f"array type {node['$array']!r}")
        kind, shape = np.dtype(node["$array"]), tuple(node["shape"])
        if len(shape) > MAX_AXES or not all(type(size) is int and 0 <= size < 2**48 for size in shape):
            raise ValueError(f"array shape {shown(shape)}")
        raw = _take(data, place, kind.itemsize * math.prod(shape))
        return np.frombuffer(raw, dtype=kind).reshape(shape).astype(kind.newbyteorder("="))
    if "$float" in node:
        return float(node["$float"])
    if "$bytes" in node:
        return bytes(_take(data, place, int(node["$bytes"])))
    return {key: _decode(item, data, place) for key, item in node.items()}


def _take(data: memoryview, place: list[int], size: int) -> memoryview:
    start, place[0] = place[0], place[0] + size
    if size < 0 or place[0] > len(data):
        raise ValueError(f"{place[0]} bytes needed, {len(data)} there")
    return data[start : place[0]]
