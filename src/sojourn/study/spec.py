"""A study is data: a TOML file, checked strictly, with every mistake reported at once."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

from sojourn.errors import FileError, ParameterError, SojournError, unknown_name
from sojourn.hidden_characters import has_hidden
from sojourn.learn.catalogue import LEARNERS
from sojourn.model.closeness import Within
from sojourn.model.ctmdp import CTMDP
from sojourn.model.files import file_path, load, regular_file
from sojourn.model.knowledge import UNKNOWN
from sojourn.model.names import decoded
from sojourn.model.numbers import shown
from sojourn.model.pack import storable
from sojourn.model.scalars import is_number, is_whole, positive, whole
from sojourn.simulation.holding import holding_laws
from sojourn.study.entries import LearnerEntry, ModelEntry
from sojourn.study.said import as_table
from sojourn.study.stopping import wish
from sojourn.study.toml import to_toml

STUDY_KEYS = ("name", "epochs", "time", "replications", "seed", "checkpoints", "common_random_numbers", "start", "within")
MAX_BYTES = 10**7  # of a study file
# a.b.c. ... of 100 parts: Python's reader takes the square of their number
DEEP_KEY = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*')[ \t]*){100}""")
LISTED = 30  # problems of a study file that are said
MAX_EPOCHS = 2**53  # above this a count is no longer exact as a float
DEFAULT_CHECKPOINTS = 200
TEXT = "a text that is not empty and holds no control characters or others that nobody sees"


@dataclass(frozen=True, eq=False)
class Spec:
    """A checked study: everything that decides its results.  Exactly one of `epochs` and `time` is given."""

    name: str
    epochs: int | None
    time: float | None
    replications: int
    seed: int
    checkpoints: int | tuple[float, ...]
    common_random_numbers: bool
    start: Any  # a state as the user calls it; None is the first one of each model
    models: tuple[ModelEntry, ...]
    learners: tuple[LearnerEntry, ...]
    text: str = ""
    within: Within | None = None  # how close to the best a policy must be proved to be, for a run to have a time to stop

    @property
    def horizon(self) -> dict[str, Any]:
        """What all replications share: the part of their content key that is neither model nor learner nor number."""
        points: Any = self.checkpoints if isinstance(self.checkpoints, int) else list(self.checkpoints)
        return {
            "epochs": self.epochs,
            "time": self.time,
            "seed": self.seed,
            "checkpoints": points,
            "common_random_numbers": self.common_random_numbers,
            "start": self._start,
            **({} if self.within is None else {"within": self.within.as_table()}),
        }

    @property
    def _start(self) -> Any:
        """The first state as a store has it: 0 is the first one of each model; a state 0 that stands elsewhere is {"state": 0}."""
        if self.start is None:
            return 0
        if type(self.start) is int and self.start == 0 and any(m.model.state(0) != 0 for m in self.models):
            return {"state": 0}
        return _toml_name(self.start)


def read_study(path: str | PathLike[str]) -> Spec:
    """Return the study in a TOML file; files it names are looked up beside it."""
    path = file_path(path)
    if not os.path.lexists(path):
        raise FileError(f"there is no study file {str(path)!r}; give the path of a TOML file.")
    try:
        text = regular_file(path, "a study", most=MAX_BYTES, fixed=True).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        if DEEP_KEY.search(text):
            raise FileError(f"{path} has a key of more than 100 parts; a study needs two.")
        raw = tomllib.loads(text)
    except RecursionError:
        raise FileError(f"{path} nests its brackets too deep; a study needs three levels.") from None
    except FileError:
        raise
    except ValueError as error:  # not TOML, not UTF-8, a number of thousands of digits, a name that no file can have
        raise FileError(f"{path} is not TOML: {error}") from error
    return checked_study(raw, folder=path.parent, text=text, where=str(path))


def checked_study(raw: Mapping[str, Any], folder: Path | None = None, text: str = "", where: str = "the study") -> Spec:
    """Return the study that `raw` (the parsed TOML, or the same in Python) describes, or raise with every problem found.

    >>> checked_study({"study": {"name": "x", "epoch": 10}, "models": [{"zoo": "two-state"}], "learners": [{"name": "ctucrl"}]})
    Traceback (most recent call last):
    sojourn.errors.ParameterError: the study has 3 problems:
      [study] has no key 'epoch'; did you mean 'epochs'?
      [study] gives neither epochs nor time; give one, e.g. epochs = 100_000.
      [[learners]] 1: no learner named 'ctucrl'; did you mean 'ct-ucrl'?...
    """
    problems: list[str] = []
    for key in raw:
        if key not in ("study", "models", "learners"):
            problems.append("the top level has no table " + _guess(key, ("study", "models", "learners")))
    given = _head(raw.get("study"), problems)
    models = _unique(
        "models", [_model(entry, i + 1, folder, problems) for i, entry in enumerate(_tables(raw, "models", problems))], problems
    )
    learners = _unique(
        "learners",
        [_learner(entry, i + 1, folder, problems) for i, entry in enumerate(_tables(raw, "learners", problems))],
        problems,
    )
    problems += _trial(models, learners, given["start"])
    if problems:
        count = f"{len(problems)} problems" if len(problems) > 1 else "a problem"
        more = [f"... and {len(problems) - LISTED:,} more"] if len(problems) > LISTED else []
        raise ParameterError(f"{where} has {count}:\n  " + "\n  ".join(problems[:LISTED] + more))
    spec = Spec(**given, models=models, learners=learners, text=text)
    return spec if text else _with_text(spec)


def _guess(key: str, known: Sequence[str]) -> str:
    words = unknown_name("key", key, known)
    return (
        repr(key)
        + words.removeprefix(f"no key named {key!r}").split(" Known:")[0].rstrip(".")
        + ("" if "?" in words else f"; known: {', '.join(known)}")
    )


# ---- [study] ----------------------------------------------------------------------------------------------------


def _head(table: Any, problems: list[str]) -> dict[str, Any]:
    """Return the checked values of [study], defaults filled in."""
    if not isinstance(table, Mapping):
        problems.append("there is no [study] table; it needs at least name, epochs (or time) and replications.")
        table = {}
    for key in table:
        if key not in STUDY_KEYS:
            problems.append("[study] has no key " + _guess(key, STUDY_KEYS))
    out: dict[str, Any] = {"start": decoded(table.get("start")), "name": table.get("name", "")}
    if not _is_text(out["name"]):
        problems.append(f"[study] name is {out['name']!r}; it must be {TEXT}.")
    out["epochs"] = _whole(table, "epochs", None, 1, MAX_EPOCHS, problems)
    out["time"] = _positive(table, "time", problems)
    if "epochs" not in table and "time" not in table and table:
        problems.append("[study] gives neither epochs nor time; give one, e.g. epochs = 100_000.")
    if "epochs" in table and "time" in table:
        problems.append(f"[study] gives both epochs = {table['epochs']!r} and time = {table['time']!r}; give one of them.")
    out["replications"] = _whole(table, "replications", 20, 1, 10**9, problems)
    out["seed"] = _whole(table, "seed", 0, 0, 2**128 - 1, problems)
    out["common_random_numbers"] = table.get("common_random_numbers", False)
    if not isinstance(out["common_random_numbers"], bool):
        problems.append(f"[study] common_random_numbers is {out['common_random_numbers']!r}; it must be true or false.")
    if isinstance(out["start"], bool) or not isinstance(out["start"], (int, str, tuple, type(None))):
        problems.append(f"[study] start is {out['start']!r}; it must be a state: a text, a whole number, or a list for a tuple.")
        out["start"] = None
    out["within"] = _within(table.get("within"), problems)
    out["checkpoints"] = _checkpoints(table.get("checkpoints", DEFAULT_CHECKPOINTS), out["epochs"], out["time"], problems)
    return out


def _whole(table: Mapping[str, Any], key: str, default: int | None, low: int, high: int, problems: list[str]) -> int | None:
    value = table.get(key, default)
    if value is None and key not in table:
        return None
    try:
        return whole(f"[study] {key}", value, low, high)
    except ParameterError as error:
        problems.append(str(error))
        return default


def _within(value: Any, problems: list[str]) -> Within | None:
    """Return what `within` asks for, if it is there."""
    if value is None:
        return None
    try:
        return wish(value)
    except ParameterError as error:
        problems.append(f"[study] within: {error}")
        return None


def _positive(table: Mapping[str, Any], key: str, problems: list[str]) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    try:
        return positive(f"[study] {key}", value)
    except ParameterError as error:
        problems.append(str(error))
        return None


def _checkpoints(value: Any, epochs: int | None, time: float | None, problems: list[str]) -> int | tuple[float, ...]:
    """Return a count of checkpoints, or the increasing list of them: whole epochs, or times."""
    if isinstance(value, (list, tuple)):
        end = epochs or time or float("inf")
        good = value and all(map(is_number, value))
        if not good or not all(a < b for a, b in pairwise(value)) or not value[0] > 0 or not value[-1] <= min(end, 1e300):
            problems.append(
                f"[study] checkpoints is {shown(value)}; a list must hold increasing positive numbers up to the horizon."
            )
            return DEFAULT_CHECKPOINTS
        broken = [x for x in value if epochs and x != int(x)]
        if broken:
            problems.append(f"[study] checkpoints holds {broken[0]!r}; of a study in epochs they must be whole numbers.")
            return DEFAULT_CHECKPOINTS
        return tuple(value)
    if not is_whole(value) or not 2 <= value <= 100_000:
        problems.append(f"[study] checkpoints is {value!r}; it must be a count from 2 to 100,000, or a list of epochs.")
        return DEFAULT_CHECKPOINTS
    return int(value)


# ---- [[models]] and [[learners]] --------------------------------------------------------------------------------


def _tables(raw: Mapping[str, Any], key: str, problems: list[str]) -> list[Mapping[str, Any]]:
    entries = raw.get(key, [])
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        problems.append(f"there is no [[{key}]] table; a study needs at least one.")
        return []
    return list(entries)


def _model(entry: Any, number: int, folder: Path | None, problems: list[str]) -> ModelEntry | None:
    """Return the model built from `zoo = ...` with parameters, `file = ...`, or a CTMDP handed over in Python."""
    where = f"[[models]] {number}"
    if isinstance(entry, CTMDP):
        entry = {"model": entry}
    elif isinstance(entry, str):
        entry = {"zoo": entry}
    if not isinstance(entry, Mapping):
        problems.append(f"{where} is {shown(entry)}; it must be a table with zoo or file, or a CTMDP.")
        return None
    ways = [key for key in ("zoo", "file", "model") if key in entry]
    if len(ways) != 1:
        problems.append(f'{where} gives {" and ".join(ways) or "neither zoo nor file"}; give exactly one, e.g. zoo = "two-state".')
        return None
    parameters = {k: v for k, v in entry.items() if k not in ("zoo", "file", "model", "label", "rate_bounds", "holding_times")}
    if parameters and ways[0] != "zoo":
        problems.append(f"{where}: {ways[0]} takes no parameters; remove {', '.join(map(repr, parameters))}.")
        return None
    try:
        model = _built(ways[0], entry[ways[0]], parameters, folder)
        if "rate_bounds" in entry:
            model = model.replace(rate_bounds=entry["rate_bounds"])
        if not isinstance(entry.get("holding_times", ""), str):
            raise ParameterError(
                f'holding_times is {entry["holding_times"]!r}; it must be a law in words, such as "erlang:stages=3".'
            )
        holding_laws(model, entry.get("holding_times"))
    except (SojournError, OSError, TypeError, ValueError) as error:
        problems.append(f"{where}: {error}")
        return None
    label = entry.get("label", Path(entry["file"]).stem if ways[0] == "file" else model.name or f"model {number}")
    if not _is_text(label):
        problems.append(f"{where}: label is {label!r}; it must be {TEXT}.")
        return None
    return ModelEntry(label, {k: v for k, v in entry.items() if k != "model"} | {"label": label}, model, entry.get("holding_times"))


def _built(way: str, value: Any, parameters: dict[str, Any], folder: Path | None) -> CTMDP:
    from sojourn.zoo.catalogue import make

    if way == "model":
        if not isinstance(value, CTMDP):
            raise ParameterError(f"model is a {type(value).__name__}; it must be a CTMDP.")
        return value
    if not isinstance(value, str):
        raise ParameterError(f"{way} is {value!r}; it must be a text.")
    return make(value, **parameters) if way == "zoo" else load((folder or Path()) / value)


def _learner(entry: Any, number: int, folder: Path | None, problems: list[str]) -> LearnerEntry | None:
    where = f"[[learners]] {number}"
    try:
        entry = as_table(entry)
    except ParameterError as error:
        problems.append(f"{where}: {error}")
        return None
    if not isinstance(entry, Mapping) or ("name" in entry) == ("class" in entry):
        problems.append(
            f'{where} is {shown(entry)}; it must be a table with name (see `sojourn learners`) or class = "module:Class".'
        )
        return None
    name, home = entry.get("name", ""), entry.get("class", "")
    if not home and (not isinstance(name, str) or name not in LEARNERS):
        problems.append(f"{where}: {unknown_name('learner', name, LEARNERS)}")
        return None
    parameters = {
        k: list(v) if isinstance(v, tuple) else v
        for k, v in entry.items()
        if k not in ("name", "class", "label", "supports", "rate_bounds")
    }
    label = entry.get("label") or _default_label(name or str(home).partition(":")[2], parameters)
    supports = entry.get("supports", False)
    if not _is_text(label) or not isinstance(supports, bool):
        problems.append(f"{where}: label is {label!r} and supports is {supports!r}; they must be {TEXT}, and true or false.")
        return None
    if entry.get("rate_bounds", UNKNOWN) != UNKNOWN:
        problems.append(f'{where}: rate_bounds is {shown(entry["rate_bounds"])}; a learner is told those of the model, or none: '
                        '"unknown". Bounds are given to the model.')
        return None
    found = LearnerEntry(label, name, home, parameters, supports, folder if home else None,
                         rates_told="rate_bounds" not in entry)
    wrong = [
        f"{key} is {shown(value)}; a parameter must be a finite number, a text, true, false, or a list or table of these."
        for key, value in parameters.items()
        if not storable(value)
    ] or found.problems()
    problems += [f"{where}: {problem}" for problem in wrong]
    return None if wrong else found


def _is_text(value: Any) -> bool:
    """Return whether a name can be written and read: a text that is not empty and hides nothing."""
    return isinstance(value, str) and bool(value.strip()) and not has_hidden(value)


def _default_label(name: str, parameters: dict[str, Any]) -> str:
    return name + (f" ({', '.join(f'{k}={v}' for k, v in parameters.items())})" if parameters else "")


def _unique(kind: str, found: list[Any], problems: list[str]) -> tuple[Any, ...]:
    entries = [entry for entry in found if entry is not None]
    for what, values in (("label", [e.label for e in entries]), ("content", [e.key for e in entries])):
        for value, times in Counter(values).items():
            if times > 1:
                names = [e.label for e in entries if getattr(e, "label" if what == "label" else "key") == value]
                problems.append(
                    f"[[{kind}]] {', '.join(map(repr, names))}: {times} entries have the same {what}; "
                    + ("give each its own label." if what == "label" else "they would give the same results. Remove one.")
                )
    return tuple(entries)


def _trial(models: Sequence[ModelEntry], learners: Sequence[LearnerEntry], start: Any) -> list[str]:
    """Make every learner once on every model, so that a bad value is reported before anything runs."""
    found: list[str] = []
    if not models:  # none could be built; the learners' values are tried all the same, on some model
        models, start = [ModelEntry("two-state", {}, _built("zoo", "two-state", {}, None))], None
    for model in models:
        try:
            if start is not None:
                model.model.state(start)
        except SojournError as error:
            found.append(f"[study] start on {model.label!r}: {error}")
        for learner in learners:
            try:
                learner.make(model.model, seed=0)
            except (SojournError, TypeError, ValueError) as error:
                found.append(f"[[learners]] {learner.label!r} on {model.label!r}: {error}")
    return list(dict.fromkeys(found))


def _with_text(spec: Spec) -> Spec:
    shared = {k: v for k, v in {**spec.horizon, "start": _toml_name(spec.start)}.items() if v is not None}
    head = {"name": spec.name} | shared | {"replications": spec.replications}
    models = [
        m.source if "zoo" in m.source or "file" in m.source else {"file": f"{m.label}.json", "label": m.label} for m in spec.models
    ]
    return replace(spec, text=to_toml({"study": head, "models": models, "learners": [e.source for e in spec.learners]}))


def _toml_name(start: Any) -> Any:
    return list(start) if isinstance(start, tuple) else start
