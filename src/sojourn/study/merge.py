"""Put stores together: the shards of one study, or what is intact of a damaged store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from sojourn.control.database import checksum
from sojourn.errors import StoreError
from sojourn.learn.saving import settings_in_words
from sojourn.study.adopt import adopt
from sojourn.study.compare import difference
from sojourn.study.entries import LearnerEntry
from sojourn.study.failures import failure_rows, record_failure
from sojourn.study.spec import Spec
from sojourn.study.store import Result, Store, StoredLearner, StoredModel, result_key

BLOCK = 200
GIVE_UP = 20_000  # rows in a row that cannot be read, where the number of rows is unknown


@dataclass
class Merged:
    """What a merge did."""

    copied: int = 0
    known: int = 0
    damaged: int = 0


def merge(out: str | PathLike[str], inputs: Sequence[str | PathLike[str]]) -> Merged:
    """Copy every replication of the stores `inputs` into the store `out`, which is made if need be.

    All must be of one study: same horizon, seed and checkpoints; a label means the same in all.  A replication that is
    there already must be equal: bit for bit in what happened, up to rounding in its regrets (see `study/compare.py`).
    """
    done = Merged()
    with _target(out) as target:
        if target.horizon:
            target.verify()
        for path in inputs:
            if Path(path).resolve() == Path(out).resolve():
                raise StoreError(f"{path} is the store that is written; merge it into another.")
            with Store(path) as source:
                source.verify()
                _copy(source, target, done)
    return done


@contextmanager
def _target(out: str | PathLike[str]) -> Iterator[Store]:
    """Open the store to write to; if it is new and something goes wrong, nothing of it is left."""
    with Store(out, write=True) as target:
        try:
            yield target
        except BaseException:
            target.discard()
            raise


def _copy(source: Store, target: Store, done: Merged) -> None:
    models, learners = _entries(source, target)
    codes = {number: target.add_code(print_, versions) for number, print_, versions in source.codes()}
    for text in source.specs():
        target.add_spec(text)
    for block in _blocks(source.results()):
        new = []
        for result in block:
            old = target._rows("SELECT id FROM results WHERE key = ?", (result.key,))
            if old:
                _must_equal(result, target.result(old[0][0]), source.path, target.path)
                done.known += 1
            else:
                new.append(
                    Result(
                        models[result.model],
                        learners[result.learner],
                        result.replication,
                        result.key,
                        result.payload,
                        result.seconds,
                        codes[result.code],
                    )
                )
        done.copied += target.add_results(new)
    for key, model, learner, replication, code, said in failure_rows(source):
        record_failure(target, key, models[model], learners[learner], replication, codes.get(code, min(codes.values())), said)


def _entries(source: Store, target: Store) -> tuple[dict[int, int], dict[int, int]]:
    """Add the source's study, models and learners to the target; return their numbers there."""
    if target.horizon and target.horizon != source.horizon:
        wrong = next(k for k in {**source.horizon, **target.horizon} if source.horizon.get(k) != target.horizon.get(k))
        raise StoreError(
            f"{source.path} was made with {wrong} = {source.horizon.get(wrong)!r}, {target.path} with "
            f"{target.horizon.get(wrong)!r}; only stores of one study can be merged."
        )
    target.set_study(target.name or source.name, source.horizon, max(source.replications, target.replications))
    models = {
        m.id: _number("model", m, target.models(), source, target) or target.add_model(m.label, m.key, m.source, m.content)
        for m in source.models()
    }
    learners = {
        e.id: _number("learner", e, target.learners(), source, target) or target.add_learner(e.label, e.key, e.source)
        for e in source.learners()
    }
    if any(e.told_events for e in target.learners()):
        there = {m.id: m.key_for(told_events=True) for m in target.models()}
        for m in source.models():
            if m.key_for(told_events=True) != there[models[m.id]]:
                raise StoreError(
                    f"the model {m.label!r} declares other events in {source.path} than in {target.path}, and a learner was told "
                    "of them; only stores of one study can be merged."
                )
    return models, learners


def _number(
    kind: str, entry: StoredModel | StoredLearner, there: Sequence[StoredModel | StoredLearner], source: Store, target: Store
) -> int | None:
    """Return the number of `entry` in the target, None if it is new there; its label must mean the same."""
    for other in there:
        if other.label == entry.label and other.key != entry.key:
            raise StoreError(
                f"the {kind} {entry.label!r} of {source.path} (content {entry.key[:12]}{_with(entry)}) is not that of "
                f"{target.path} ({other.key[:12]}{_with(other)}); only stores of one study can be merged."
            )
        if other.key == entry.key and other.label != entry.label:
            raise StoreError(
                f"the {kind} {entry.label!r} of {source.path} is {other.label!r} in {target.path}; "
                "give it one label in both study files."
            )
    return next((int(other.id) for other in there if other.label == entry.label), None)


def _with(entry: StoredModel | StoredLearner) -> str:
    """Return the parameters of a learner, to tell two of one label apart."""
    return f", {settings_in_words(entry.settings)}" if isinstance(entry, StoredLearner) else ""


def _must_equal(new: Result, old: Result, source: Path, target: Path) -> None:
    if new.payload == old.payload:
        return
    mine, theirs = new.data, old.data
    wrong = difference(mine, theirs) or difference(theirs, mine)
    if wrong is not None:
        name, where = wrong
        raise StoreError(
            f"replication {new.replication} is in {source} and in {target} with different numbers ({name}, checkpoint {where}), "
            "although the same model, "
            "learner and seed produced it: the programs differ. Nothing of it was copied; compute one of them again."
        )


def _blocks(results: Iterator[Result]) -> Iterator[list[Result]]:
    block: list[Result] = []
    for result in results:
        block.append(result)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


# ---- what is left of a damaged store ----------------------------------------------------------------------------


def salvage(out: str | PathLike[str], damaged: str | PathLike[str], spec: Spec) -> Merged:
    """Copy every intact replication of a damaged store into `out`, told by `spec` which ones there may be.

    A row counts as intact if its checksum is right and its content key is one that the study expects, so neither the
    damaged store's own tables of models and learners nor its indexes are trusted.
    """
    done = Merged()
    there = {row[1] for row in intact_rows(Path(damaged), Merged())}
    with _target(out) as target:
        cells, code = adopt(target, spec, begun=lambda entry: _has_any(there, spec, entry))
        expected = {
            c.key(r): (c.model_id, c.learner_id, r)
            for c in cells
            for r in range(spec.replications)
        }
        block = []
        for row in intact_rows(Path(damaged), done):
            place = expected.get(row[1])
            if place is None:
                continue
            block.append(Result(*place, row[1], row[7], row[6]))
            if len(block) == BLOCK:
                done.copied += target.add_results(block, code)
                block = []
        done.copied += target.add_results(block, code)
    return done


def _has_any(keys: set[str], spec: Spec, learner: LearnerEntry) -> bool:
    """Return whether some replication of `learner` is among the content keys."""
    numbers = range(spec.replications)
    models = [model.key_for(learner.told_events) for model in spec.models]
    return any(result_key(model, learner.key, r, spec.horizon) in keys for model in models for r in numbers)


def intact_rows(path: Path, done: Merged) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of table results that can be read and match their checksum; count the others."""
    if not path.exists():
        raise StoreError(f"there is no store {path}.")
    found, damaged = 0, done.damaged
    for row in _rows_of(path, done):
        found += 1
        yield row
    if not found and path.stat().st_size:  # perhaps only the list of tables is damaged, which is the same in every store
        done.damaged = damaged
        with TemporaryDirectory() as folder:
            yield from _rows_of(_with_new_head(path, Path(folder)), done)


def _with_new_head(path: Path, folder: Path) -> Path:
    """Return a copy of the file with the first page (header and list of tables) of a new store, whose tables begin where its do."""
    new, copy = folder / "new.sqlite", folder / "copy.sqlite"
    Store(new, write=True).close()
    size = int.from_bytes(new.read_bytes()[16:18], "big")  # of a page
    head = bytearray(new.read_bytes()[:size])
    copyfile(path, copy)
    head[28:32] = (-(-copy.stat().st_size // size)).to_bytes(4, "big")  # the number of pages
    with open(copy, "r+b") as file:
        file.write(head)
    return copy


def _rows_of(path: Path, done: Merged) -> Iterator[tuple[Any, ...]]:
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        database.execute("PRAGMA writable_schema = ON")  # reads a file that is shorter than its header says
        last = _last_row(database)
        number, misses = 0, 0
        while number < last and misses < GIVE_UP:
            number += 1
            try:
                row = database.execute(
                    "SELECT id, key, model, learner, replication, code, seconds, payload, checksum FROM results "
                    "NOT INDEXED WHERE id = ?",
                    (number,),
                ).fetchone()
                whole = row is not None and checksum("results", *row[:-1]) == row[-1]
            except (sqlite3.Error, UnicodeDecodeError):
                whole = False
            misses = 0 if whole else misses + 1
            if whole:
                yield row[:-1]
            else:
                done.damaged += 1
    finally:
        database.close()


def _last_row(database: sqlite3.Connection) -> int:
    """Return the number of the last row, or a number beyond it where it cannot be found."""
    try:
        return int(database.execute("SELECT max(id) FROM results NOT INDEXED").fetchone()[0] or 0)
    except (sqlite3.Error, UnicodeDecodeError):
        pass
    try:
        return int(database.execute("SELECT value FROM meta WHERE key = 'count'").fetchone()[0])
    except (sqlite3.Error, TypeError, ValueError):  # UnicodeDecodeError is a ValueError
        return GIVE_UP
