"""The arrays of a `.npz` file, read by what is there and never by what it declares; no pickle, and nothing is run.

What is unpacked is counted, and reading stops at the first byte too many: at most SHARE times the size of the file and BESIDES
(an honest model or run shrinks less than 35-fold), or `max_bytes` where somebody asks for more.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Container
from typing import IO

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.numbers import shown

PACKINGS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}  # what numpy writes
OTHER_PACKINGS = {zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA", 9: "deflate64", 93: "zstd", 95: "xz"}
SHARE, BESIDES = 200, 2**26
MAX_MEMBERS = 1000
BLOCK = 2**20
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError,
          OverflowError, IndexError, KeyError, AttributeError, TypeError)
ARRAY_HEADER = re.compile(rb"\{'descr': '([^']{1,20})', 'fortran_order': (False|True), "
                          rb"'shape': \(((?:\d{1,18}, ?){0,9}(?:\d{1,18})?)\), \} *\n")
NUMBERS = re.compile(r"[<|][biuf][1248]")


class Guard:
    """An open `.npz` file: `names` are its arrays, `read(name)` returns one of them.

    `remedy` ends a refusal of how it is packed; `max_bytes` may be unpacked in all.
    """

    def __init__(self, stream: IO[bytes], max_bytes: int | None = None, known: Container[str] | None = None,
                 remedy: str = "Write it again with what made it."):
        self.packed, self.remedy = stream.seek(0, 2), remedy
        self.most = SHARE * self.packed + BESIDES if max_bytes is None else max_bytes
        self.left = self.most
        self._archive = zipfile.ZipFile(stream)
        self._members = self._checked(known)

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def _checked(self, known: Container[str] | None) -> dict[str, zipfile.ZipInfo]:
        """Return the members by array name after checking names and how they are packed."""
        found: dict[str, zipfile.ZipInfo] = {}
        infos = self._archive.infolist()
        if len(infos) > MAX_MEMBERS:
            raise ModelError(f"it holds {len(infos)} arrays; no file of ours has more than {MAX_MEMBERS}.")
        for info in infos:
            name = info.filename.removesuffix(".npy")
            if name in found or (known is not None and name not in known):
                listed = f"; known: {', '.join(known)}" if isinstance(known, dict) else ""
                raise ModelError(f"it holds an array {shown(info.filename)}, unknown or twice{listed}.")
            if info.compress_type not in PACKINGS or info.flag_bits & 0x1:
                kind = "encrypted" if info.flag_bits & 0x1 else OTHER_PACKINGS.get(info.compress_type, "unknown")
                raise ModelError(f"{info.filename} is packed by method {info.compress_type} ({kind}); the arrays are "
                                 f"{' or '.join(PACKINGS.values())}, as numpy writes them. {self.remedy}")
            found[name] = info
        return found

    def read(self, name: str, kind: str | None = None, check: Callable[[int], None] | None = None) -> np.ndarray:
        """Return one array after holding its declared type and shape against the bytes that are there.

        `kind` is the type that a flat array must have; without it, numbers of any type and shape will do.  `check` is told the
        size in bytes beforehand.
        """
        info = self._members[name]
        with self._archive.open(info) as member:
            magic = member.read(10)
            if magic[:8] != b"\x93NUMPY\x01\x00" or len(magic) < 10:
                raise ModelError(f"{name} starts with {magic[:8]!r}; every array must be in numpy's format, version 1.0.")
            length = int.from_bytes(magic[8:10], "little")
            dtype, shape, by_columns = self._declared(name, member.read(length), kind)
            count = math.prod(shape)
            size = count * dtype.itemsize
            if 10 + length + size != info.file_size:
                raise ModelError(f"{name} declares {count} entries and has {info.file_size - 10 - length} bytes; they must agree.")
            if check is not None:
                check(size)
            data = self._take(member, name, size)
            if len(data) != size or member.read(1):
                raise ModelError(f"{name} declares {count} entries and holds {len(data)} bytes; the file is cut short.")
        flat = np.frombuffer(data, dtype=dtype).astype(dtype.newbyteorder("="))
        return flat.reshape(shape, order="F" if by_columns else "C")

    def _declared(self, name: str, text: bytes, kind: str | None) -> tuple[np.dtype, tuple[int, ...], bool]:
        """Return (type, shape, whether columns stand together) of an array's header."""
        match = ARRAY_HEADER.fullmatch(text)
        shape = tuple(int(size) for size in match[3].split(b",") if size.strip()) if match else ()
        said = match[1].decode("latin-1") if match else ""
        if kind is not None and (said != kind or len(shape) != 1):
            raise ModelError(f"{name} declares {shown(text.strip().decode('latin-1'), 120)}; it must be a flat array of type "
                             f"{kind!r}. Objects are never read.")
        if not NUMBERS.fullmatch(said) or len(shape) > 2:
            raise ModelError(f"{name} declares {shown(text.strip().decode('latin-1'), 120)}; it must hold numbers, in two axes at "
                             "most. Objects are never read.")
        return np.dtype(said), shape, bool(match and match[2] == b"True")

    def _take(self, member: IO[bytes], name: str, size: int) -> bytes:
        """Return the next `size` bytes of a member, fewer where it ends before; raise where they would be too many in all."""
        if size > self.left:
            raise ModelError(f"{name}.npy declares {size} bytes in a file of {self.packed}, above the {self.left} that are left of "
                             f"{self.most}. If you trust the file, allow more: `max_bytes={2 * (self.most - self.left + size)}`.")
        found = []
        while size > 0 and (block := member.read(min(size, BLOCK))):
            size -= len(block)
            self.left -= len(block)
            found.append(block)
        return b"".join(found)
