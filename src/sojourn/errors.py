"""The errors a user can meet.  Each message names the entry, its value, the rule and the remedy."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

from sojourn.hidden_characters import visible

COMPARED = 50  # characters of a name that are compared when a near one is looked for
P = ParamSpec("P")
R = TypeVar("R")


class SojournError(Exception):
    """Base of every error that Sojourn raises on purpose."""


class ModelError(SojournError, ValueError):
    """A model, or a value handed to one, breaks a rule."""


class FileError(SojournError, ValueError):
    """A file cannot be read as what it claims to be."""


class AssumptionError(SojournError, ValueError):
    """A result was asked for whose assumption fails; the message carries the witness."""


class ToleranceError(SojournError, RuntimeError):
    """A certificate wider than asked for; `.best` holds the best answer so far."""

    def __init__(self, message: str, best: object = None):
        super().__init__(message)
        self.best = best


class TooLarge(ToleranceError):
    """An exact computation would need too much time or memory; nothing was computed."""


class ParameterError(SojournError, ValueError):
    """A parameter out of its range, or unknown."""


class ReportError(SojournError, ValueError):
    """A report to a session that cannot be true; nothing was counted."""


class StoreError(SojournError, RuntimeError):
    """A study's store cannot be used as asked."""


class ControlError(SojournError, RuntimeError):
    """A controller's file cannot be used as asked: owned by another process, damaged, full disk."""


class ReplicationError(SojournError, RuntimeError):
    """Replications of a study raised; all others are in the store; `.failures` holds which failed, why, and how to repeat them."""

    def __init__(self, message: str, failures: object = ()):
        super().__init__(message)
        self.failures = failures


class MissingExtraError(SojournError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class SojournWarning(UserWarning):
    """Base of every warning: the answer stands, but read what it assumes."""


class RewardScaleWarning(SojournWarning):
    """Rewards far from order 1, which the stopping rule and the constants of CT-UCRL assume."""


class OutsideWarning(SojournWarning):
    """A learner or a model of another package was left out."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return `no learner named 'ctucrl'; did you mean 'ct-ucrl'? Known: ...`.

    >>> unknown_name("learner", "ctucrl", ["ct-ucrl", "ct-imed"])
    "no learner named 'ctucrl'; did you mean 'ct-ucrl'? Known: ct-imed, ct-ucrl"
    """
    options = sorted(known)
    close = nearest_name(str(name), options)
    guess = f"; did you mean {_cut(close)!r}?" if close else "."
    return visible(f"no {kind} named {_cut(str(name))!r}{guess} Known: {listed(list(map(_cut, options)), 40)}")


def listed(texts: Sequence[str], most: int = 20) -> str:
    """Return the texts in a row; of more than `most` the first ones, and how many there are.

    >>> listed(["slow", "fast"]), listed(["a", "b", "c"], most=2)
    ('slow, fast', 'a, b, ... (3 in all)')
    """
    return ", ".join(texts[:most]) + (f", ... ({len(texts):,} in all)" if len(texts) > most else "")


def nearest_name(name: str, options: list[str]) -> str:
    """Return the option that `name` most likely means, by its initials, its letters or a part of it; empty if there is none.

    >>> [nearest_name(name, ["linear-programming", "policy-iteration"]) for name in ("lp", "polcy-iteration", "policy", "x")]
    ['linear-programming', 'policy-iteration', 'policy-iteration', '']
    """
    near = options if len(options) <= 1000 else [o for o in options if o[:1] == name[:1]][:1000]
    initials = [o for o in near if len(name) > 1 and name.lower() == "".join(re.findall(r"(?:^|[\W_])(\w)", o[:COMPARED])).lower()]
    short = {option[:COMPARED]: option for option in reversed(near)}  # comparing takes the product of the lengths
    close = [short[found] for found in get_close_matches(name[:COMPARED], short, n=1, cutoff=0.5)]
    holding = [o for o in near if len(name) > 2 and name.lower() in o[:COMPARED].lower()]
    return next(iter([*initials, *close, *holding]), "")


def unknown_attribute(module: str, name: str, known: Iterable[str]) -> str:
    """Return `module 'sojourn' has no attribute 'evalute'; did you mean 'evaluate'? Public names: ...`."""
    options = sorted(known)
    close = nearest_name(name, options)
    guess = f"; did you mean {close!r}?" if close else "."
    return f"module {module!r} has no attribute {name!r}{guess} Public names: {', '.join(options)}"


def names_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let the TypeError for a keyword that `function` does not have name the nearest one that it has."""
    code = function.__code__
    known = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name not in ("self", "cls")]

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        try:
            return function(*given, **named)
        except TypeError:
            unknown = [name for name in named if name not in known]
            if not unknown:
                raise
            called = function.__qualname__.removesuffix(".__init__")
            raise TypeError(f"{called}() has {unknown_name('keyword', unknown[0], known)}") from None

    return call


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."


def require(module: str, extra: str) -> object:
    """Import `module`, or raise with the sentence that names the extra to install."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module!r}, which is not installed ({error}); run `pip install 'sojourn[{extra}]'`, or in a clone "
            f"of the repository `pip install '.[{extra}]'`"
        ) from error
