"""Models in files: readable JSON, compact `.npz`, Storm's `.drn`; checked on the way in, replaced atomically on the way out."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from sojourn.errors import FileError, ModelError, SojournError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.drn_model import read_drn
from sojourn.model.drn_output import write_drn
from sojourn.model.json_file import read_json, write_json
from sojourn.model.npz_file import read_npz, write_npz
from sojourn.model.numbers import shown
from sojourn.model.packed import Unpacked
from sojourn.model.scalars import is_whole

Reader = Callable[..., CTMDP]
Writer = Callable[[CTMDP, IO[bytes]], None]

FORMATS: dict[str, tuple[Reader, Writer]] = {  # suffix: how to read it, how to write it
    ".json": (read_json, write_json),
    ".npz": (read_npz, write_npz),
    ".drn": (read_drn, write_drn),
}


def load(path: str | os.PathLike[str], reward: str | None = None, max_bytes: int | None = None) -> CTMDP:
    """Return the model in a `.json`, `.npz`, `.drn` or `.drn.gz` file; FileError names the file, the entry, its value and the rule.

    `reward` names the reward model to read, where a `.drn` file has several.  `max_bytes` is how much may be unpacked, or read of a
    `.json`; without it that is in proportion to the size of the file.

    >>> import sojourn, tempfile
    >>> model = sojourn.CTMDP.from_arrays([[[0, 1]], [[1, 0]]], rate=[[2], [3]], reward=[[1], [0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/swap.json")
    ...     load(f"{folder}/swap.json").equals(model)
    True
    """
    file = file_path(path)
    _check_room(max_bytes)
    if os.path.isdir(file):
        raise FileError(f"{str(file)!r} is a folder; a model is read from a .json, .npz or .drn file.")
    packed = file.name.lower().endswith(".drn.gz")
    read, _ = _format(file.with_suffix("") if packed else file)
    if reward is not None:
        if read is not read_drn:
            raise FileError(f"{str(file)!r} has one kind of reward only; `reward` is for .drn files with several. Leave it out.")
        read = partial(read_drn, reward=reward)
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise FileError(f"{str(file)!r} is not a regular file; a model is read from a .json, .npz or .drn file.")
        with open(file, "rb") as stream:
            if packed:
                return read_drn(Unpacked(stream, max_bytes), reward)
            return read(stream, max_bytes) if read in (read_json, read_npz) else read(stream)
    except OSError as error:
        raise FileError(f"cannot read {str(file)!r}: {error.strerror or error}. Check the path and its permissions.") from error
    except ModelError as error:
        raise FileError(f"{str(file)!r}: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise FileError(f"{str(file)!r} is too deep or too large to be a model ({type(error).__name__}).") from error


def save(model: CTMDP, path: str | os.PathLike[str]) -> None:
    """Write a model to a `.json`, `.npz` or `.drn` file; the file is replaced at once, or not touched at all."""
    file = file_path(path)
    _, write = _format(file)
    try:
        with replacing(file) as stream:
            write(model, stream)
    except OSError as error:
        raise FileError(f"cannot write {str(file)!r}: {error.strerror or error}. Check the folder and its permissions.") from error
    except ModelError as error:
        raise FileError(f"cannot write {str(file)!r}: {error}") from error


def regular_file(path: str | os.PathLike[str], what: str, max_bytes: int | None = None, most: int = 2**32,
                 fixed: bool = False) -> bytes:
    """Return the bytes of a file that is a file (no folder, device or pipe) of at most `max_bytes`, or of `most`.

    `fixed`: nobody can ask for more.
    """
    file = file_path(path)
    _check_room(max_bytes)
    room = most if max_bytes is None else max_bytes
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            kind = "a folder" if os.path.isdir(file) else "not a regular file"
            raise FileError(f"{str(file)!r} is {kind}; {what} is read from a file.")
        with open(file, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            data = stream.read(room + 1) if size <= room else b""
    except OSError as error:
        raise FileError(f"cannot read {str(file)!r}: {error.strerror or error}. Check the path and its permissions.") from error
    if max(size, len(data)) > room:
        remedy = f"{what} never needs as much" if fixed else "if you trust it, allow more: `max_bytes=...`"
        raise FileError(f"{str(file)!r} has more than {room:,} bytes; {remedy}.")
    return data


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], what: str, passing: type[Exception] = FileError) -> Iterator[None]:
    """Turn whatever goes wrong with the content of a file into a FileError that names it; `passing` is left as it is."""
    try:
        yield
    except (FileError, passing):
        raise
    except (SojournError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
            ValueError) as error:
        said = str(error) if isinstance(error, SojournError) else f"a part is missing or is none ({type(error).__name__}: " \
                                                                  f"{shown(str(error), 100)}); it is damaged."
        raise FileError(f"{str(path)!r} is not the file of {what}: {said}") from error


def _check_room(max_bytes: Any) -> None:
    if max_bytes is not None and (not is_whole(max_bytes) or max_bytes < 1):
        raise FileError(f"max_bytes is {shown(max_bytes)}; it must be a whole number of bytes, at least 1, such as 10**9.")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file beside `path`; on success it takes the place of `path` in one step, on failure nothing is left.

    A link is followed, the permissions of an existing file are kept, and the bytes are on disk before the name changes.
    """
    target = Path(os.path.realpath(path))
    mode = None
    if os.path.lexists(target):
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{str(path)!r} exists and is not a regular file; choose another name.")
        mode = stat.S_IMODE(status.st_mode)
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        with open(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(beside, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def file_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` as a Path that some file could have; raise where none could."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise FileError(f"the path is {path!r} (a {type(path).__name__}); give a string or a pathlib.Path.") from None
    if not isinstance(text, str) or "\0" in text or not text:
        raise FileError(f"the path is {text!r}; give a non-empty string without NUL characters.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise FileError(f"the path is {text!r}, which holds half of a character pair (a lone surrogate); no file can have "
                        "that name. Give another.") from None
    return Path(text)


def _format(file: Path) -> tuple[Reader, Writer]:
    suffix = file.suffix.lower()
    if suffix not in FORMATS:
        unpack = " Unpack it first." if suffix in (".gz", ".xz", ".zip", ".bz2") else ""
        raise FileError(f"{str(file)!r} ends in {suffix!r}; the name of a model file must end in {' or '.join(FORMATS)}.{unpack}")
    return FORMATS[suffix]
