"""The store of a study: one SQLite file, one writer, every row with a checksum, append-only per replication."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sojourn.control.database import checksum, close_writing, transaction
from sojourn.errors import StoreError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.files import file_path
from sojourn.model.numbers import shown
from sojourn.model.pack import canonical, digest, unpack
from sojourn.study.entries import key_with_events, unpacked_model
from sojourn.study.failures import failure_rows
from sojourn.study.lock import Lock
from sojourn.study.schema import CELLS, RESULTS, connect, damaged, from_store, prepare, speaking


@dataclass(frozen=True)
class StoredModel:
    """A model as the store holds it; `model` builds it again, without the zoo or the file that it came from."""

    id: int
    label: str
    key: str
    source: dict[str, Any]
    content: bytes

    @property
    def model(self) -> CTMDP:
        return unpacked_model(self.content, name=self.label)

    def key_for(self, told_events: bool) -> str:
        """What decides the results of a learner: the declared events too, if it is told of them."""
        return key_with_events(self.key, self.model, True) if told_events else self.key


@dataclass(frozen=True)
class StoredLearner:
    """A learner as the store holds it: what the study file said, what it knew, what is proved."""

    id: int
    label: str
    key: str
    source: dict[str, Any]

    @property
    def told_events(self) -> bool:
        """Whether it was told the events of the models, so that they are in the keys of its results."""
        return bool(self.source.get("events", False))

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters it uses, defaults included; from a store that does not say, those that the study file gave."""
        given = {k: v for k, v in self.source["said"].items() if k not in ("name", "label", "class")}
        return {**self.source.get("uses", {}), **given}


@dataclass(frozen=True)
class Result:
    """One finished replication, on its way into the store or out of it; `payload` is packed."""

    model: int
    learner: int
    replication: int
    key: str
    payload: bytes
    seconds: float = 0.0
    code: int = 0  # the number of the program that computed it

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = unpack(self.payload)
        return found


def result_key(model_key: str, learner_key: str, replication: int, horizon: dict[str, Any]) -> str:
    """Return the content key of a replication: a hash of everything that produced it."""
    return digest(
        canonical({"results": RESULTS, "model": model_key, "learner": learner_key, "replication": replication, "horizon": horizon})
    )


class Store:
    """The store at `path`.  Opened for writing it is locked; reading needs no lock and may go on meanwhile."""

    def __init__(self, path: str | PathLike[str], write: bool = False, wait: float = 0.0):
        self.path = file_path(path)
        if self.path.suffix.lower() == ".toml":
            usual = self.path.with_suffix(".sqlite")
            raise StoreError(f"{self.path} is a study file; its results are in a store, {usual} unless --store said otherwise. "
                             "Give that.")
        self.write = write
        self._lock = Lock(self.path, wait) if write else None
        self.new = write and not os.path.lexists(self.path)  # made by this opening
        try:
            self._database = connect(self.path, write)
            prepare(self._database, self.path, write)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Fold the log into the one file, and give the lock back."""
        database = getattr(self, "_database", None)
        if database is not None:
            close_writing(database) if self.write else database.close()
        if self._lock is not None:
            self._lock.release()

    def discard(self) -> None:
        """Remove a store that this opening made, and close it: something went wrong before it held anything."""
        if self.new and self._lock is not None:
            self._database.close()
            for suffix in ("", "-wal", "-shm", "-journal", ".lock"):
                Path(f"{self._lock.store}{suffix}").unlink(missing_ok=True)
            self._lock.release()

    # ---- reading ------------------------------------------------------------------------------------------------

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with speaking(self.path):
            return self._database.execute(query, values).fetchall()

    def _checked(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the row without its checksum, which must be right; SQLite alone would let any cell hold any type."""
        wrong = "does not match its checksum" if checksum(table, *row[:-1]) != row[-1] else ""
        for value, kind in zip(row, CELLS[table], strict=False):
            if type(value) is not kind:
                wrong = wrong or f"holds {shown(value)}, where the type must be {kind.__name__}"
        if wrong:
            raise StoreError(f"the store {self.path}: " + damaged(f"row {shown(row[0])} of table {table!r} {wrong}"))
        return row[:-1]

    def meta(self, key: str, default: Any = None) -> Any:
        """Return a value of the study as a whole: name, horizon, replications, count."""
        rows = self._rows("SELECT key, value, checksum FROM meta WHERE key = ?", (key,))
        return json.loads(self._checked("meta", rows[0])[1]) if rows else default

    @property
    def name(self) -> str:
        return str(self.meta("name", ""))

    @property
    def horizon(self) -> dict[str, Any]:
        return dict(self.meta("horizon", {}))

    @property
    def replications(self) -> int:
        """The number of replications asked for, of each learner on each model."""
        return int(self.meta("replications", 0))

    def models(self) -> list[StoredModel]:
        """Return the models in the order in which they were added."""
        rows = self._rows("SELECT id, label, key, source, content, checksum FROM models ORDER BY id")
        return [
            StoredModel(row[0], row[1], row[2], json.loads(row[3]), row[4])
            for row in (self._checked("models", row) for row in rows)
        ]

    def learners(self) -> list[StoredLearner]:
        """Return the learners in the order in which they were added."""
        rows = self._rows("SELECT id, label, key, source, checksum FROM learners ORDER BY id")
        return [
            StoredLearner(row[0], row[1], row[2], json.loads(row[3])) for row in (self._checked("learners", row) for row in rows)
        ]

    def specs(self) -> list[str]:
        """Return the texts of the study files that were run into this store, oldest first."""
        return [self._checked("specs", row)[1] for row in self._rows("SELECT id, text, checksum FROM specs ORDER BY id")]

    def codes(self) -> list[tuple[int, str, dict[str, str]]]:
        """Return (id, fingerprint, versions) of every program that wrote results."""
        rows = self._rows("SELECT id, fingerprint, versions, checksum FROM codes ORDER BY id")
        return [(row[0], row[1], json.loads(row[2])) for row in (self._checked("codes", row) for row in rows)]

    def finished(self, model: int, learner: int) -> set[int]:
        """Return the numbers of the finished replications."""
        rows = self._rows("SELECT replication FROM results WHERE model = ? AND learner = ?", (model, learner))
        return {row[0] for row in rows}

    def counts(self) -> dict[tuple[int, int], int]:
        """Return how many replications are finished, by (model, learner)."""
        rows = self._rows("SELECT model, learner, count(*) FROM results GROUP BY model, learner")
        return {(row[0], row[1]): row[2] for row in rows}

    def results(self, model: int | None = None, learner: int | None = None) -> Iterator[Result]:
        """Yield finished replications, each verified, by model label, learner label and number; one in memory at a time."""
        learners, horizon = {entry.id: entry for entry in self.learners()}, self.horizon
        told = {entry.told_events for entry in learners.values()}
        keys = {(m.id, events): m.key_for(events) for m in self.models() for events in told}
        order = (
            "SELECT r.id FROM results r JOIN models m ON m.id = r.model JOIN learners l ON l.id = r.learner "
            "WHERE (?1 IS NULL OR r.model = ?1) AND (?2 IS NULL OR r.learner = ?2) ORDER BY m.label, l.label, r.replication"
        )
        for (number,) in self._rows(order, (model, learner)):
            result = self.result(number)
            by = learners[result.learner]
            if result_key(keys[result.model, by.told_events], by.key, result.replication, horizon) != result.key:
                raise StoreError(f"the store {self.path}: " + damaged(f"replication {number} does not match its content key"))
            yield result

    def result(self, number: int) -> Result:
        """Return one finished replication by its row number."""
        rows = self._rows(
            "SELECT id, key, model, learner, replication, code, seconds, payload, checksum FROM results WHERE id = ?", (number,)
        )
        if not rows:
            raise StoreError(f"the store {self.path}: " + damaged(f"replication row {number} is not there"))
        _, key, model, learner, replication, code, seconds, payload = self._checked("results", rows[0])
        return Result(model, learner, replication, key, payload, seconds, code)

    @from_store
    def verify(self) -> int:
        """Return the number of finished replications, after checking every page, row and count; raise where one is wrong."""
        said = [row[0] for row in self._rows("PRAGMA integrity_check(3)")]
        if said != ["ok"]:
            raise StoreError(f"the store {self.path}: " + damaged("; ".join(said)))
        self.specs(), self.codes(), failure_rows(self)
        found = sum(1 for _ in self.results())
        count, last = self.meta("count", 0), self._rows("SELECT count(*), coalesce(max(id), 0) FROM results")[0]
        if not found == count == last[0] == last[1]:
            raise StoreError(f"the store {self.path}: " + damaged(f"{found} replications are readable, {count} were acknowledged"))
        return found

    @from_store
    def content_hash(self) -> str:
        """Return one hash over all finished replications in their fixed order: equal stores of equal studies agree."""
        total = hashlib.sha256()
        for result in self.results():
            total.update(f"{result.key} {hashlib.sha256(result.payload).hexdigest()}\n".encode())
        return total.hexdigest()

    # ---- writing ------------------------------------------------------------------------------------------------

    def _insert(self, table: str, *values: Any) -> int:
        """Append a row with the next number and its checksum; return the number."""
        number = int(self._database.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0])
        marks = ", ".join("?" * (len(values) + 2))
        self._database.execute(f"INSERT INTO {table} VALUES ({marks})", (number, *values, checksum(table, number, *values)))
        return number

    def _set_meta(self, key: str, value: Any) -> None:
        text = canonical(value)
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, text, checksum("meta", key, text)))

    def set_study(self, name: str, horizon: dict[str, Any], replications: int) -> None:
        """Write the study's name, what all its replications share, and how many there shall be."""
        with speaking(self.path), transaction(self._database):
            for key, value in (("name", name), ("horizon", horizon), ("replications", replications)):
                if self.meta(key) != value:
                    self._set_meta(key, value)

    def add_spec(self, text: str) -> None:
        """Keep the text of a study file, if it is not the last one kept."""
        if self.specs()[-1:] != [text]:
            with speaking(self.path), transaction(self._database):
                self._insert("specs", text)

    def add_model(self, label: str, key: str, source: dict[str, Any], content: bytes) -> int:
        with speaking(self.path), transaction(self._database):
            return self._insert("models", label, key, canonical(source), content)

    def add_learner(self, label: str, key: str, source: dict[str, Any]) -> int:
        with speaking(self.path), transaction(self._database):
            return self._insert("learners", label, key, canonical(source))

    def add_code(self, fingerprint: str, versions: dict[str, str]) -> int:
        """Return the number of the program with this fingerprint, new or known."""
        known = [number for number, print_, _ in self.codes() if print_ == fingerprint]
        if known:
            return known[0]
        with speaking(self.path), transaction(self._database):
            return self._insert("codes", fingerprint, canonical(versions))

    def add_results(self, results: Iterable[Result], code: int | None = None) -> int:
        """Append finished replications, all or none; one that is there already is left as it is.  Returns how many were new.

        `code` is the number of the program that computed them; None takes each result's own.
        """
        new = 0
        with speaking(self.path), transaction(self._database):
            for r in results:
                if self._database.execute("SELECT 1 FROM results WHERE key = ?", (r.key,)).fetchone() is None:
                    by = r.code if code is None else code
                    self._insert("results", r.key, r.model, r.learner, r.replication, by, float(r.seconds), r.payload)
                    new += 1
                for table in ("checkpoints", "failures"):
                    self._database.execute(f"DELETE FROM {table} WHERE key = ?", (r.key,))
            if new:
                self._set_meta("count", self.meta("count", 0) + new)
        return new

    def set_checkpoint(self, key: str, epoch: int, code: int, payload: bytes) -> None:
        """Keep how far a replication has come, in place of what was kept before."""
        row = (key, epoch, code, payload)
        with speaking(self.path), transaction(self._database):
            self._database.execute(
                "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)", (*row, checksum("checkpoints", *row))
            )

    def checkpoint(self, key: str, code: int) -> tuple[int, bytes] | None:
        """Return (epoch, packed state) of a replication that was interrupted, if the same program wrote it intact."""
        rows = self._rows("SELECT key, epoch, code, payload, checksum FROM checkpoints WHERE key = ?", (key,))
        if not rows or rows[0][2] != code or checksum("checkpoints", *rows[0][:-1]) != rows[0][-1]:
            return None
        return rows[0][1], rows[0][3]
