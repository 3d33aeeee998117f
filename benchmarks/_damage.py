"""Ways to damage a file at random, for `fuzz_files.py`: bytes, numbers, JSON trees, zip members, lines, cells, rows of a store."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import json
import sqlite3
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

ODD_NUMBERS = [
    "1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1e-320", "0", "-0.0", "-1", "1e308", "9" * 400, "1e-5000", "0.1e1",
    "00", "1_0", "0x10", "1e", str(2**63), str(2**64), "1" * 5000, "0.30000000000000004", "2", "true",
]
ODD_VALUES: list[Any] = [
    None, True, False, "", "x", "é\u2028", "\ud800", "\x00", -1, 0, 2**63, 2**70, 10**400, 1e308, -1e308, 5e-324, float("nan"),
    float("inf"), [], {}, [[]], [1], {"a": 1}, "1", ["a", "a"], [None], {"": 0}, "a" * 3000,
]


def pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def damaged_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, cut, double, move or overwrite a stretch."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        size = max(1, len(found))
        at, length = int(rng.integers(size)), int(rng.geometric(0.05))
        way = int(rng.integers(6))
        if way == 0 and found:
            found[at % len(found)] ^= 1 << int(rng.integers(8))
        elif way == 1:
            del found[at:]
        elif way == 2:
            del found[at : at + length]
        elif way == 3:
            found[at:at] = found[at : at + length]
        elif way == 4:
            found[at : at + length] = rng.bytes(length)
        else:
            other = int(rng.integers(size))
            found[at:at], found[other : other + length] = found[other : other + length], b""
    return bytes(found)


def damaged_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number, or a word, in a text by an odd one."""
    text = data.decode("utf-8", "surrogateescape")
    spots = [i for i, char in enumerate(text) if char.isdigit() and (i == 0 or not text[i - 1].isalnum())]
    for _ in range(int(rng.integers(1, 3))):
        if spots:
            start = end = pick(rng, spots)
            while end < len(text) and (text[end].isalnum() or text[end] in ".+-_"):
                end += 1
            text = text[:start] + pick(rng, ODD_NUMBERS) + text[end:]
            spots = [i for i in spots if i < start]
    return text.encode("utf-8", "surrogateescape")


def damaged_tree(tree: Any, rng: np.random.Generator) -> Any:
    """Return a copy of a JSON tree with one place changed: a value replaced, removed, doubled, exchanged or wrapped many times."""
    tree = copy.deepcopy(tree)
    place, last = [tree], None
    while True:  # walk down at random, remembering the parent
        here = place[-1]
        keys = list(here) if isinstance(here, dict) else list(range(len(here))) if isinstance(here, list) else []
        if not keys or (last is not None and rng.random() < 0.25):
            break
        last = (here, pick(rng, keys))
        place.append(last[0][last[1]])
    if last is None:
        return copy.deepcopy(pick(rng, ODD_VALUES))
    parent, key = last
    way = int(rng.integers(6))
    if way == 0:
        parent[key] = copy.deepcopy(pick(rng, ODD_VALUES))
    elif way == 1:
        del parent[key]
    elif way == 2 and isinstance(parent, dict):
        parent[pick(rng, ["", "state", "extra", "\u0000", str(key) + " "])] = parent.pop(key)
    elif way == 3 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif way == 4 and isinstance(parent, list):
        other = int(rng.integers(len(parent)))
        parent[key], parent[other] = parent[other], parent[key]
    else:
        for _ in range(int(rng.integers(1, 60))):
            parent[key] = [parent[key]] if rng.random() < 0.5 else {"x": parent[key]}
    return tree


def damaged_json(data: bytes, rng: np.random.Generator) -> bytes:
    way = int(rng.integers(5))
    if way == 0:
        return damaged_bytes(data, rng)
    if way == 1:
        return damaged_numbers(data, rng)
    tree = damaged_tree(json.loads(data), rng)
    text = json.dumps(tree, ensure_ascii=bool(rng.random() < 0.7))
    if way == 2:  # a doubled key, or brackets without end
        text = text.replace('"rate"', '"rate": 1, "rate"', 1) if rng.random() < 0.5 else text + "[" * int(rng.integers(1, 100_000))
    return text.encode("utf-8", pick(rng, ["surrogatepass", "backslashreplace"]))


@functools.cache
def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def zipped(members: list[tuple[str, bytes]], method: int) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")  # a doubled name
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def array(values: Any, kind: str) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(values, dtype=kind), version=(1, 0), allow_pickle=kind == "O")
    return out.getvalue()


def damaged_npz(data: bytes, rng: np.random.Generator) -> bytes:
    way = int(rng.integers(8))
    if way == 0:
        return damaged_bytes(data, rng)
    members = dict(members_of(data))
    name = pick(rng, sorted(members))
    method = pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED] * 8 + [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    if way == 1:  # inside one array: its header or its numbers
        members[name] = damaged_bytes(members[name], rng)
    elif way == 2:  # two members exchanged
        other = pick(rng, sorted(members))
        members[name], members[other] = members[other], members[name]
    elif way == 3:  # one renamed, removed or doubled
        renamed = pick(rng, ["x.npy", "header", "../rate.npy", "rate.npy", " ", "é.npy"])
        kept = [(renamed if each == name and rng.random() < 0.7 else each, value) for each, value in members.items()]
        return zipped(kept + ([(name, members[name])] if rng.random() < 0.3 else []), method)
    elif way == 4:  # an array of another type, shape or size
        size = int(pick(rng, [0, 1, 3, 1000] * 5 + [2_000_000]))
        members[name] = array(
            np.zeros(size) if rng.random() < 0.7 else np.ones((2, 2)), pick(rng, ["<f8", "<i8", "|u1", ">f8", "<f4", "O", "<c16"])
        )
    elif way == 5:  # odd numbers in the right type
        kind = members[name][10:].split(b"'descr': '")[1].split(b"'")[0].decode()
        values = np.frombuffer(members[name], dtype=kind, offset=10 + int.from_bytes(members[name][8:10], "little")).copy()
        if values.size and kind != "|u1":
            values[int(rng.integers(values.size))] = pick(
                rng, [0, -1, 1, 2**40, 3] if kind == "<i8" else [0, -1, np.nan, np.inf, 1e308, 5e-324, 1]
            )
        members[name] = array(values, kind)
    elif way == 6:  # the labels
        members["header.npy"] = array(np.frombuffer(damaged_json(members["header.npy"][128:], rng), dtype="|u1"), "|u1")
    else:  # sizes that lie
        lying = bytearray(zipped(list(members.items()), method))
        for _ in range(3):
            at = lying.rfind(b"PK\x01\x02", 0, int(rng.integers(len(lying))) + 1)
            lying[at + 24 : at + 28] = int(rng.integers(2**32)).to_bytes(4, "little") if at >= 0 else lying[at + 24 : at + 28]
        return bytes(lying)
    packed = zipped(list(members.items()), method)
    return damaged_bytes(packed, rng) if rng.random() < 0.3 else packed  # what unpacks it is damaged too


def damaged_toml(data: bytes, rng: np.random.Generator) -> bytes:
    way = int(rng.integers(5))
    if way == 0:
        return damaged_bytes(data, rng)
    if way == 1:
        return damaged_numbers(data, rng)
    lines = data.decode().splitlines()
    for _ in range(int(rng.integers(1, 3))):
        i = int(rng.integers(len(lines)))
        if way == 2:
            lines[i:i] = [pick(rng, lines)]
        elif way == 3:
            del lines[i]
        elif " = " in lines[i]:
            odd = [
                '""', "[]", "[[]]", "{}", "nan", "-inf", "1979-05-27", "07:32:00", "true", "-1", "1e400", "9" * 5000,
                '"\\u0000"', '"x"', "[1, 'a']", "{a = 1}", "0.5", "'''\n'''", "[" * 5000, "[" * 200 + "]" * 200, "1e18",
                "[1e300]", "[0.5, 1.5]", '"two-state"',
            ]
            lines[i] = lines[i].split(" = ")[0] + " = " + pick(rng, odd)
    return "\n".join(lines).encode()


def damaged_store(data: bytes, rng: np.random.Generator, folder: Path) -> bytes:
    if rng.random() < 0.5:
        return damaged_bytes(data, rng)
    path = folder / "edited.sqlite"
    path.write_bytes(data)
    database = sqlite3.connect(path, isolation_level=None)
    with contextlib.closing(database), contextlib.suppress(sqlite3.Error):
        table = pick(rng, ["meta", "specs", "models", "learners", "codes", "results", "checkpoints", "failures"])
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        odd = pick(
            rng, [None, "", "x", -1, 0, 2**62, 1.5, b"", b"\xff\xfe", "{}", "[]", "null", "1e400", "\u2028", "9" * 5000, "[" * 3000]
        )
        way = int(rng.integers(4))
        if way == 0:
            database.execute(f"DROP TABLE {table}")
        elif way == 1:
            database.execute(f"DELETE FROM {table}")
        else:
            database.execute(f"UPDATE {table} SET {pick(rng, columns)} = ?", (odd,))
    return path.read_bytes()


ODD_CELLS = ["", " ", "nan", "inf", "-1", "0", "1e400", "1e-320", "1_5", "\x00", "\x1b[31m", "a\u202eb", "a\u200b", '"', '""',
             "x" * 3000, "9" * 400, "up", "down", "1", "2024-03-31T02:30:00", "None", "true", "\ud83d", "=1+1"]


def damaged_csv(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage cells, rows, the header, the separators, the encoding."""
    way = int(rng.integers(8))
    if way == 0:
        return damaged_bytes(data, rng)
    if way == 1:
        return damaged_numbers(data, rng)
    rows = [line.split(",") for line in data.decode().splitlines()]
    for _ in range(int(rng.integers(1, 4))):
        row = pick(rng, rows[1:] or rows)
        at = int(rng.integers(len(row))) if row else 0
        if way < 5 and row:
            row[at] = pick(rng, ODD_CELLS)
        elif way == 5 and rows[0]:
            names = ["state", "action", "time", "holding_time", "next_state", "reward", "event", "silent:x", "trajectory"]
            rows[0][int(rng.integers(len(rows[0])))] = pick(rng, names)
        elif way == 6:
            rows[int(rng.integers(len(rows)))] = [] if rng.random() < 0.3 else row[: at or 1] if rng.random() < 0.5 else [*row, "1"]
        else:
            other = int(rng.integers(len(rows)))
            rows[other], rows[-1] = rows[-1], rows[other]
    text = pick(rng, ["\n"] * 6 + ["\r\n", "\r", "\n\n"]).join(",".join(row) for row in rows)
    return text.encode(pick(rng, ["utf-8"] * 9 + ["utf-16", "utf-8-sig"]), "surrogatepass")


def damaged_parquet(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage bytes, or write the table again with columns of other types, lengths and packings."""
    import pyarrow
    import pyarrow.parquet

    if rng.random() < 0.5:
        return damaged_bytes(data, rng)
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    name = pick(rng, table.column_names)
    values: list[Any] = table.column(name).to_pylist()
    odd = [None, float("nan"), -1, 0, 2**62, "x", "\x1b[31m", b"\xff", [1], {"a": 1}, True, "9" * 400]
    new = pick(rng, [lambda: [pick(rng, odd)] * len(values), lambda: [None] * len(values), lambda: [[v] for v in values],
                     lambda: [str(v) for v in values], lambda: [{"a": v} for v in values], lambda: list(range(len(values))),
                     lambda: [*values[:-1], pick(rng, [None, values[0]])]])()
    try:
        at = table.column_names.index(name)
        if rng.random() < 0.2:
            table = table.drop_columns([name])
        elif rng.random() < 0.1:
            table = table.append_column(name, table.column(name))
        else:
            table = table.set_column(at, pick(rng, [name] * 5 + ["silent:", "", "time"]), pyarrow.array(new))
        out = io.BytesIO()
        pyarrow.parquet.write_table(table, out, compression=pick(rng, ["snappy", "zstd", "gzip", "none"]))
        return out.getvalue()
    except (pyarrow.ArrowException, TypeError, ValueError):
        return damaged_bytes(data, rng)


def damaged_policy(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage a policy as JSON, or as the words of a parameter."""
    if data[:1] in (b"[", b"{"):
        return damaged_json(data, rng)
    return damaged_bytes(data, rng) if rng.random() < 0.5 else damaged_numbers(data, rng)
