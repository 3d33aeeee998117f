"""Damage that no checksum notices: trees inside packed files, rows of stores and controllers, sealed again afterwards.

A file that somebody made on purpose has the right checksums; what reads it must hold without them.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import lzma
import sqlite3
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from _damage import ODD_VALUES, array, damaged_bytes, damaged_tree, members_of, pick, zipped

from sojourn.control.database import checksum
from sojourn.control.journal import NOTES, REPORTS, Note, Report, first_link, linked
from sojourn.errors import SojournError
from sojourn.model.pack import MAGIC, pack, unpack

SIZES = [0, 1, 2, 3, 7, 1000, 2**31, 2**40, 2**62, 2**70, -1, 1.5, "3", None]


def damaged_array(found: np.ndarray, rng: np.random.Generator) -> Any:
    """Return an array with another value, type, shape or size."""
    way = int(rng.integers(6))
    if way == 0 and found.size:
        changed = found.copy().ravel()
        odd: list[Any] = [0, 1, 2, -1, -2, 3, 10, 2**31, 2**62]
        odd = odd if found.dtype.kind in "iu" else [0.0, -1.0, np.nan, np.inf, 1e308, 5e-324, -0.0]
        with np.errstate(all="ignore"):
            changed[int(rng.integers(changed.size))] = np.asarray(pick(rng, odd)).astype(found.dtype)
        return changed.reshape(found.shape)
    if way == 1:
        return found.astype(pick(rng, ["<f8", "<i8", "|u1", "<f4", "|b1", "<u8"]), casting="unsafe")
    if way == 2:
        return found.ravel()[: int(rng.integers(0, max(1, found.size)))]
    if way == 3:
        return np.concatenate([found.ravel(), found.ravel()])
    if way == 4:
        return found.reshape(*found.shape, 1)
    return np.zeros(int(pick(rng, [0, 1, 5, 100_000])), dtype=found.dtype)


def damaged_nodes(tree: Any, rng: np.random.Generator) -> Any:
    """Return a copy of a tree of arrays and scalars with one or two places changed."""
    tree = copy.deepcopy(tree)
    for _ in range(int(rng.integers(1, 3))):
        here, parent, key = tree, None, None
        while isinstance(here, (dict, list)) and len(here) and (parent is None or rng.random() > 0.1):
            parent, key = here, pick(rng, sorted(here, key=str) if isinstance(here, dict) else list(range(len(here))))
            here = parent[key]
        if parent is None:
            continue
        way = int(rng.integers(10))
        if isinstance(here, bytes):
            parent[key] = inner_damage(here, rng)
        elif isinstance(here, np.ndarray) and way < 8:
            parent[key] = damaged_array(here, rng)
        elif way < 5:
            parent[key] = copy.deepcopy(pick(rng, [*ODD_VALUES, 1, 2, 3, 0.5, -2, 1e9, "A", [0, 1], {"names": 2**40}, np.zeros(3),
                                                   np.zeros(0)]))
        elif way < 7:
            del parent[key]
        elif way == 7 and isinstance(parent, dict):
            parent[pick(rng, ["", "x", f"{key} "])] = parent.pop(key)
        elif way == 8:
            other = pick(rng, sorted(parent, key=str) if isinstance(parent, dict) else list(range(len(parent))))
            parent[key], parent[other] = parent[other], parent[key]
        else:
            for _ in range(int(rng.integers(1, 40))):
                parent[key] = [parent[key]] if rng.random() < 0.5 else {"x": parent[key]}
    return tree


def inner_damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Return packed bytes (a model's, a session's) that were damaged inside, sealed again."""
    with contextlib.suppress(SojournError, ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):  # damaged before
        if data[:2] == b"PK":
            return damaged_numbers_npz(data, rng)
        if data[:4] == MAGIC:
            return damaged_pack(data, rng)
    return damaged_bytes(data, rng)


def damaged_pack(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage what `pack` wrote: its bytes, its header, or a place in its tree."""
    way = int(rng.integers(10))
    if way == 0:
        return damaged_bytes(data, rng)
    if way == 1:  # the header as JSON: sizes that lie, types that are none
        length = int.from_bytes(data[4:8], "big")
        header = damaged_tree(json.loads(data[8 : 8 + length]), rng)
        text = json.dumps(header)
        if rng.random() < 0.5:
            text = text.replace('"shape": [', f'"shape": [{json.dumps(pick(rng, SIZES))}, ', 1)
        if rng.random() < 0.3:
            types = ["O", "|O", "V8", "<M8[s]", "<U4", "f8,f8", "(2,)f8", "<f16", "<i3", ",", "int"]
            text = text.replace("<f8", str(pick(rng, types)), 1)
        if rng.random() < 0.05:
            text = text.replace("[", "[" * int(rng.integers(2, 100_000)), 1)
        raw = text.encode()
        return MAGIC + len(raw).to_bytes(4, "big") + raw + data[8 + length :]
    try:
        return pack(damaged_nodes(unpack(data), rng))
    except (SojournError, ValueError, TypeError, RecursionError, OverflowError, lzma.LZMAError):  # it cannot be packed
        return damaged_bytes(data, rng)


def damaged_session(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage a session; mostly inside, under the right checksum."""
    if rng.random() < 0.1:
        return damaged_pack(data, rng)
    top = unpack(data)
    content = damaged_pack(top["content"], rng)
    return pack({**top, "content": content, "sha256": hashlib.sha256(content).hexdigest()})


def damaged_run(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage a run: how it is zipped, its arrays, or what its learner and its episodes are, under the right checksum."""
    way = int(rng.integers(8))
    if way == 0:
        return damaged_bytes(data, rng)
    if way < 3:
        return damaged_numbers_npz(data, rng)
    members = dict(members_of(data))
    whole = np.load(io.BytesIO(members["whole.npy"]), allow_pickle=False).tobytes()[:-32]
    content = damaged_pack(whole, rng)
    members["whole.npy"] = array(np.frombuffer(content + hashlib.sha256(content).digest(), dtype="|u1"), "|u1")
    return zipped(list(members.items()), zipfile.ZIP_DEFLATED)


def damaged_numbers_npz(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage the arrays of a `.npz` file: values, types, shapes, headers, names, packings, sizes that lie, bombs."""
    members = dict(members_of(data))
    name = pick(rng, sorted(members))
    method = pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED] * 8 + [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    way = int(rng.integers(9))
    if way < 4:
        with contextlib.suppress(ValueError, TypeError):
            found = np.load(io.BytesIO(members[name]), allow_pickle=False)
            changed = damaged_array(np.asarray(found), rng) if found.dtype.kind in "biuf" else found
            members[name] = array(changed, changed.dtype.str)
    elif way == 4:
        members[name] = damaged_bytes(members[name], rng)
    elif way == 5:  # a shape that lies
        shape = pick(rng, ["(1099511627776,)", "()", "(0, 4611686018427387904)", "(-1,)", "(3, 3, 3)", "(1.5,)", f"({'9' * 400},)"])
        kind, order = pick(rng, ["<f8", "|u1", "|O", "<U9"]), pick(rng, ["True", "False", "1"])
        text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
        raw = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
        members[name] = b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw + members[name][128:]
    elif way == 6:
        other = pick(rng, sorted(members))
        members[name], members[other] = members[other], members[name]
    elif way == 7:
        kept = [(pick(rng, ["x.npy", "whole", "../a.npy", name]) if each == name else each, v) for each, v in members.items()
                if each != name or rng.random() < 0.6]
        return zipped(kept, method)
    elif rng.random() < 0.05:  # a bomb: some hundred kilobytes that would become a hundred megabytes
        members[name] = array(np.zeros(12_000_000), "<f8")
    packed = zipped(list(members.items()), method)
    return damaged_bytes(packed, rng) if rng.random() < 0.15 else packed


# ---- rows of databases ------------------------------------------------------------------------------------------------

ODD_CELLS: list[Any] = [None, "", "x", -1, 0, 1, 2**62, 1.5, float("inf"), b"", b"\xff\xfe", "{}", "[]", "null", "1e400",
                        "9" * 5000, "[" * 3000, '{"a": 1}', '"A"', "\x1b[31mred", "a\u202eb"]


def damaged_cell(value: Any, rng: np.random.Generator) -> Any:
    """Return another value for a cell: of its own kind mostly."""
    if isinstance(value, bytes) and rng.random() < 0.8:
        return inner_damage(value, rng)
    if isinstance(value, str) and value[:1] in ("{", "[") and rng.random() < 0.8:
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(damaged_tree(json.loads(value), rng))
    if isinstance(value, (int, float)) and rng.random() < 0.5:
        return pick(rng, [0, 1, 2, -1, 2**62, 1.5, value + 1])
    return pick(rng, ODD_CELLS)


def sealed_store(data: bytes, rng: np.random.Generator, folder: Path) -> bytes:
    """Change one cell of a store's row, and give the row its checksum again."""
    path = folder / "edited.sqlite"
    path.write_bytes(data)
    unwritable = contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database, unwritable:
        table = pick(rng, ["meta", "specs", "models", "learners", "codes", "results", "results", "models", "failures"])
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        rows = database.execute(f"SELECT * FROM {table}").fetchall()
        if rows:
            row = list(pick(rng, rows))
            key, at = row[0], int(rng.integers(len(columns) - 1))
            row[at] = damaged_cell(row[at], rng)
            row[-1] = checksum(table, *row[:-1])
            cells = ", ".join(f"{name} = ?" for name in columns)
            database.execute(f"UPDATE {table} SET {cells} WHERE {columns[0]} = ?", (*row, key))
    return path.read_bytes()


def sealed_controller(data: bytes, rng: np.random.Generator, folder: Path) -> bytes:
    """Change what a controller's file holds (setting, reports, notes, snapshots), and seal its chain and checksums again."""
    path = folder / "edited.control"
    path.write_bytes(data)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database, contextlib.suppress(
            sqlite3.Error, OverflowError, UnicodeEncodeError, TypeError, ValueError):
        table = pick(rng, ["meta", "meta", "reports", "notes", "snapshots", "snapshots"])
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        rows = database.execute(f"SELECT * FROM {table}").fetchall()
        if rows:
            row = pick(rng, rows)
            at = 4 if table == "snapshots" else 1 if table == "meta" else int(rng.integers(1, len(columns)))
            value = damaged_cell(row[at], rng)
            database.execute(f"UPDATE {table} SET {columns[at]} = ? WHERE {columns[0]} = ?", (value, row[0]))
        seal(database)
    return path.read_bytes()


def seal(database: sqlite3.Connection) -> None:
    """Write the chain, the closing note and every checksum anew."""
    def one(query: str) -> Any:
        return database.execute(query).fetchone()

    setting = one("SELECT value FROM meta WHERE key = 'setting'")[0]
    chain, heads = first_link(setting), {(0, 0): first_link(setting)}
    notes = [Note(*row[:-1]) for row in database.execute(f"{NOTES} ORDER BY number")]
    reports = [Report(*row[:-1]) for row in database.execute(f"{REPORTS} ORDER BY seq")]
    for entry in sorted([*notes, *reports], key=lambda e: (e.after_seq, 1, e.number) if isinstance(e, Note) else (e.seq, 0, 0)):
        chain = linked(chain, entry)
        table, key = ("notes", "number") if isinstance(entry, Note) else ("reports", "seq")
        database.execute(f"UPDATE {table} SET chain = ? WHERE {key} = ?", (chain, entry[0]))
        last = list(heads)[-1]
        heads[(last[0], entry[0]) if isinstance(entry, Note) else (entry[0], last[1])] = chain
    (seq, note), end = list(heads.items())[-1]
    closed = one("SELECT value FROM meta WHERE key = 'closed'")
    if closed is not None and str(closed[0]).startswith('{"seq"'):
        text = json.dumps({"seq": seq, "note": note, "chain": end.hex()})
        database.execute("UPDATE meta SET value = ? WHERE key = 'closed'", (text,))
    for key, value in database.execute("SELECT key, value FROM meta").fetchall():
        database.execute("UPDATE meta SET checksum = ? WHERE key = ?", (checksum(key, value), key))
    for number, seq, note, payload in database.execute("SELECT number, seq, note, payload FROM snapshots").fetchall():
        mark = heads.get((seq, note), b"")
        row = (mark, checksum(seq, note, mark, payload), number)
        database.execute("UPDATE snapshots SET chain = ?, checksum = ? WHERE number = ?", row)
