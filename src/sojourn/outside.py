"""What other packages bring: learners and models by entry points, and classes by "module:Class"."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Container
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from sojourn.errors import OutsideWarning, ParameterError

T = TypeVar("T")


def brought(group: str, taken: Container[str], accept: Callable[[str, Any, str], T]) -> dict[str, T]:
    """Return {name: accept(name, object, "module:object")} of the entry points in `group`.

    A name that is taken, or an entry point that cannot be loaded or is not accepted, is left out with a warning in words.
    """
    found: dict[str, T] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        package = point.dist.name if point.dist is not None else "a package"
        where = f"the entry point {point.name!r} = {point.value!r} of {package} (group {group})"
        if point.name in taken or point.name in found:
            owner = "built in" if point.name in taken else "brought by another entry point"
            warnings.warn(f"{where} is left out: the name is {owner}. Its package must choose another.",
                          OutsideWarning, stacklevel=3)
            continue
        try:
            found[point.name] = accept(point.name, point.load(), point.value)
        except Exception as error:  # whatever a stranger's module raises, the others must be found
            warnings.warn(f"{where} is left out: {type(error).__name__}: {error}", OutsideWarning, stacklevel=3)
    return found


def first_line(thing: Any) -> str:
    """Return the first line of a docstring without its full stop."""
    lines = (getattr(thing, "__doc__", None) or "").strip().splitlines()
    return lines[0].strip().removesuffix(".") if lines else ""


def object_at(home: str, folder: Path | None = None) -> Any:
    """Return what "module:name" names; a Python file `module.py` in `folder` comes first.

    >>> object_at("fractions:Fraction")(1, 2)
    Fraction(1, 2)
    """
    module, colon, attribute = home.partition(":")
    if not colon or not module or not attribute:
        raise ParameterError(f'class is {home!r}; it must be "module:Class", a module that can be imported.')
    try:
        found = _module_beside(module, folder) if folder is not None else import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"class is {home!r}, which cannot be imported ({error}); "
                             "is its folder the current one, or that of the study file, or on PYTHONPATH?") from error


_BESIDE: dict[Path, ModuleType] = {}


def _module_beside(name: str, folder: Path) -> ModuleType:
    """Import `name` with `folder` first on the path; two files of one name in two folders are two modules."""
    path = folder.resolve() / f"{name.replace('.', '/')}.py"
    if path in _BESIDE:
        return _BESIDE[path]
    sys.path.insert(0, str(folder.resolve()))
    try:
        known = sys.modules.get(name)
        if path.is_file() and known is not None and Path(getattr(known, "__file__", None) or "").resolve() != path:
            spec = spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            found = module_from_spec(spec)
            spec.loader.exec_module(found)
        else:
            found = import_module(name)
    finally:
        sys.path.remove(str(folder.resolve()))
    if path.is_file():
        _BESIDE[path] = found
    return found
