"""Replications that raised: kept in the store with their error, their seed and how to repeat them, until they succeed."""

from __future__ import annotations

import json
import shlex
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.control.database import checksum, transaction
from sojourn.model.pack import canonical
from sojourn.study.schema import from_store, speaking

if TYPE_CHECKING:
    from sojourn.study.store import Store

MAX_ERROR = 500  # characters of an error's text that are kept
MAX_TRACEBACK = 4000  # and of the end of its traceback
SHOWN_NUMBERS = 8


@dataclass(frozen=True)
class Failure:
    """One replication that raised.  `error` is its kind and text, `place` the line that raised it, `traceback` its last part.

    Its random numbers are those of `SeedSequence(seed, spawn_key=spawn_key)`, the world's those of `world_spawn_key`.
    """

    model: str
    learner: str
    replication: int
    error: str
    place: str
    traceback: str
    epoch: int
    seed: int
    spawn_key: tuple[int, ...]
    world_spawn_key: tuple[int, ...]

    def command(self, store: Any) -> str:
        """Return the command line that runs it again in one process and shows the whole traceback."""
        words = [str(store), str(self.replication), "--model", self.model, "--learner", self.learner]
        return "sojourn study repeat " + shlex.join(words)


def described(error: BaseException) -> dict[str, str]:
    """Return the kind and text of an error, the line that raised it, and the last part of its traceback."""
    try:
        text = str(error)
    except Exception:  # an error of somebody else's, whose own text fails
        text = "(its text cannot be shown)"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    try:
        whole = "".join(traceback.format_exception(error)).rstrip()
    except Exception:
        whole = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    tail = whole if len(whole) <= MAX_TRACEBACK else "..." + whole[-MAX_TRACEBACK:]
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    shown = {"error": said if len(said) <= MAX_ERROR else said[: MAX_ERROR - 3] + "...", "place": place, "traceback": tail}
    return {key: value.encode("utf-8", "backslashreplace").decode() for key, value in shown.items()}  # lone surrogates in sight


def record_failure(store: Store, key: str, model: int, learner: int, replication: int, code: int, said: dict[str, Any]) -> None:
    """Keep why a replication failed, in place of what was kept before; it will begin anew, so its checkpoint goes."""
    row = (key, model, learner, replication, code, canonical(said))
    with speaking(store.path), transaction(store._database):
        if store._database.execute("SELECT 1 FROM results WHERE key = ?", (key,)).fetchone() is None:
            store._database.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum("failures", *row))
            )
        store._database.execute("DELETE FROM checkpoints WHERE key = ?", (key,))


def failure_rows(store: Store) -> list[tuple[Any, ...]]:
    """Return (key, model, learner, replication, code, what was said) of every failure; a store of before has none."""
    if not store._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'failures'"):
        return []
    rows = store._rows(
        "SELECT key, model, learner, replication, code, said, checksum FROM failures ORDER BY model, learner, replication"
    )
    return [(*row[:5], json.loads(row[5])) for row in (store._checked("failures", row) for row in rows)]


@from_store
def failures_in(store: Store) -> list[Failure]:
    """Return the replications that failed and have not succeeded since, models and learners in the order of the study."""
    rows = failure_rows(store)
    if not rows:
        return []
    models, learners = {m.id: m.label for m in store.models()}, {e.id: e.label for e in store.learners()}
    return [failure(models[model], learners[learner], number, said) for _, model, learner, number, _, said in rows]


def failure(model: str, learner: str, replication: int, said: dict[str, Any]) -> Failure:
    """Return the Failure that a worker's account tells of."""
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
    return Failure(model, learner, replication, **given)


def failure_lines(failures: Sequence[Failure], store: Any = None) -> list[str]:
    """Return a line for each learner on a model and error: which replications, what was raised, where; and how to repeat the first.

    >>> one = Failure("m", "l", 3, "ZeroDivisionError: by design", "mine.py:9 in plan", "", 50, 0, (1, 2, 3), (1, 2, 3))
    >>> failure_lines([one, one])
    ['l on m: replications 3, 3 failed with ZeroDivisionError: by design (mine.py:9 in plan)']
    """
    groups: dict[tuple[str, str, str, str], list[Failure]] = {}
    for one in failures:
        groups.setdefault((one.learner, one.model, one.error, one.place), []).append(one)
    lines = []
    for (learner, model, error, place), found in groups.items():
        numbers = ", ".join(str(one.replication) for one in found[:SHOWN_NUMBERS])
        more = f" and {len(found) - SHOWN_NUMBERS} more" if len(found) > SHOWN_NUMBERS else ""
        where = f" ({place})" if place else ""
        said = " ".join(error.split())
        lines.append(f"{learner} on {model}: replication{'s' * (len(found) > 1)} {numbers}{more} failed with {said}{where}")
        if store is not None:
            lines.append(f"  to see it happen: {found[0].command(store)}")
    return lines


def failure_text(failures: Sequence[Failure], store: Any) -> str:
    """Return what a run says at its end about the replications that failed."""
    count = f"{len(failures)} replications" if len(failures) > 1 else "1 replication"
    return "\n".join(
        [
            f"{count} failed; all others that were asked for are in the store {store}.",
            *("  " + line for line in failure_lines(failures, store)),
            f"Running the study again computes only what failed; `sojourn study failures {shlex.quote(str(store))}` shows every "
            "seed and traceback.",
        ]
    )
