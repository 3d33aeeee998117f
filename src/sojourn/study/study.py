"""`Study`: models x learners x replications as one object; run it, look at it, publish it."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.errors import ReplicationError, SojournWarning, names_keywords
from sojourn.model.closeness import Within
from sojourn.simulation.progress import in_notebook
from sojourn.study.export import export, frame, missing
from sojourn.study.failures import Failure, failure_text, failures_in
from sojourn.study.progress import display
from sojourn.study.repeat import repeated
from sojourn.study.run import SLICE_SECONDS, Tally, Watcher, run_study
from sojourn.study.schema import from_store
from sojourn.study.spec import Spec, checked_study, read_study
from sojourn.study.store import Store
from sojourn.study.summary import Summary, summarize
from sojourn.study.task import Replication

if TYPE_CHECKING:
    from sojourn.learn.learner import Learner
    from sojourn.model.ctmdp import CTMDP
    from sojourn.report.look import Figure


class Study:
    """A replicated experiment: every learner on every model, `replications` times, results kept in one file.

    Models are zoo names (`admission:servers=3`), CTMDPs, or the tables of a study file.  Learners are names, "module:Class",
    classes, objects (made anew with the same parameters for every replication), or tables such as {"name": "ct-ucrl",
    "delta": 0.01}.  `store` is the file of results (default: the study's name with `.sqlite`).

    With `within`, such as "5%" or `sojourn.within("5%", delta=0.01)`, every run also notes when it could have stopped, because a
    policy was proved to be so close to the best; it goes on to its horizon all the same.  `summary().stopping` has the figures.

    >>> study = Study("tiny", models=["two-state"], learners=["ct-ucrl"], epochs=100, replications=2, store=tmp / "tiny.sqlite")
    >>> study.run(workers=1).summary().rows[0].replications
    2
    """

    @names_keywords
    def __init__(
        self,
        name: str,
        *,
        models: Sequence[str | dict[str, Any] | CTMDP],
        learners: Sequence[str | type | Learner | dict[str, Any]],
        epochs: int | None = None,
        time: float | None = None,
        replications: int = 20,
        seed: int = 0,
        checkpoints: int | Sequence[float] = 200,
        common_random_numbers: bool = False,
        start: Any = None,
        within: float | str | Within | None = None,
        store: str | PathLike[str] | None = None,
    ):
        head = {
            "name": name,
            "epochs": epochs,
            "time": time,
            "replications": replications,
            "seed": seed,
            "checkpoints": checkpoints,
            "common_random_numbers": common_random_numbers,
            "start": start,
            "within": within,
        }
        given = {key: value for key, value in head.items() if value is not None}
        self.spec: Spec = checked_study({"study": given, "models": list(models), "learners": list(learners)})
        self.store_path = Path(store) if store is not None else default_store(self.spec)

    tally: Tally = Tally()
    interrupted: bool = False  # whether Ctrl-C ended the last run

    @classmethod
    def from_toml(cls, path: str | PathLike[str], store: str | PathLike[str] | None = None) -> Study:
        """Return the study in a TOML file; its store is beside the file unless given."""
        study = cls.__new__(cls)
        study.spec = read_study(path)
        study.store_path = Path(store) if store is not None else Path(path).with_suffix(".sqlite")
        return study

    @classmethod
    def open(cls, store: str | PathLike[str], replications: int | None = None) -> Study:
        """Return the study that a store holds, without the file or the script that it was made by: to look at it, or to go on.

        `replications` asks for another number of them.  To go on, a learner's class of one's own must still be there (beside the
        store, or as a module).
        """
        from sojourn.study.reopen import stored_spec

        study = cls.__new__(cls)
        study.store_path = Path(store)
        with Store(study.store_path) as opened:
            study.spec = stored_spec(opened, replications)
        return study

    def run(
        self,
        workers: int | None = None,
        executor: Executor | Callable[[], Executor] | None = None,
        *,
        progress: bool | Watcher | None = None,
        replications: range | None = None,
        wait: float = 0.0,
        slice_seconds: float = SLICE_SECONDS,
    ) -> Study:
        """Compute what the store lacks, on all cores unless told otherwise, and return the study.

        `executor`: any concurrent.futures.Executor, such as a Dask client's `get_executor()`, or a function that makes one
        (it is then made anew if it breaks).  `workers=1` runs in this process.  `replications` takes a part, for a shard.
        `progress` shows how far it is; left out, it does so in a notebook only.

        Ctrl-C ends it early, with `study.interrupted` and a warning that says what is left; running again goes on.

        A replication that raises does not stop the others.  When all are done, ReplicationError says which failed, why, and how
        to repeat them; running again computes only those.
        """
        shown = in_notebook() if progress is None else progress
        watcher = display() if shown is True else shown or None
        self.interrupted = False
        with Store(self.store_path, write=True, wait=wait) as store:
            try:
                self.tally = run_study(self.spec, store, executor, workers, watcher, replications, slice_seconds)
            except KeyboardInterrupt:
                self.interrupted = True
        if self.interrupted:
            warnings.warn(self.left_words(), SojournWarning, stacklevel=2)
            return self
        if self.tally.failures:
            raise ReplicationError(failure_text(self.tally.failures, self.store_path), self.tally.failures)
        return self

    def left_words(self) -> str:
        """Return what is in the store and how to go on, as a sentence."""
        found = self.status()
        asked = found["finished"] + found["missing"]
        return (f"interrupted: {found['finished']:,} of {asked:,} replications are in {self.store_path}. "
                "Run it again to go on: nothing is computed twice.")

    def failures(self) -> list[Failure]:
        """Return the replications that failed and have not succeeded since, with error, seed and traceback."""
        with Store(self.store_path) as store:
            return failures_in(store)

    def repeat(self, model: str, learner: str, replication: int) -> Replication:
        """Run one replication again in this process, from its seed, and let its error out; the store is only read."""
        with Store(self.store_path) as store:
            return repeated(store, model, learner, replication)

    def status(self) -> dict[str, Any]:
        """Return how many replications are there, in all and of each learner on each model."""
        with Store(self.store_path) as store:
            return status(store)

    def frame(self, engine: str = "pandas") -> Any:
        """Return one row per model, learner, replication and checkpoint as a pandas or polars data frame."""
        with Store(self.store_path) as store:
            return frame(store, engine)

    def export(self, path: str | PathLike[str]) -> tuple[int, int]:
        """Write the same table to a .csv or .parquet file; return how many replications are in it and how many are missing."""
        with Store(self.store_path) as store:
            return export(store, path)

    def summary(self, regret: str = "pseudo", band: str = "t") -> Summary:
        """Return the final figures, the comparisons and the exploration debt."""
        with Store(self.store_path) as store:
            return summarize(store, regret, band)

    def plot(self, regret: str = "pseudo", band: str = "t", log: bool = True) -> Figure:
        """Draw for each model what was lost, and the slope against log N beside C(M) (needs the extra `plot`)."""
        from sojourn.report.figures import plot_store

        return plot_store(self.store_path, regret, band, log)

    def report(self, path: str | PathLike[str], kind: str | None = None, regret: str = "pseudo", band: str = "t") -> Path:
        """Write the whole study as one page, .html or .md (needs the extra `plot`)."""
        from sojourn.report.study_page import write_report

        return write_report(self.store_path, path, kind, regret, band)

    def __repr__(self) -> str:
        s = self.spec
        length = f"{s.epochs:,} epochs" if s.epochs else f"time {s.time:g}"
        return (
            f"<Study {s.name!r}: {len(s.models)} models x {len(s.learners)} learners x {s.replications} replications of {length}>"
        )


def default_store(spec: Spec) -> Path:
    """Return the file in the current folder that a study made in Python is kept in."""
    return Path(re.sub(r"[^\w.-]+", "-", spec.name).strip("-") or "study").with_suffix(".sqlite")


@from_store
def status(store: Store) -> dict[str, Any]:
    """Return what a store holds, as plain data."""
    done, failed = store.counts(), Counter((one.model, one.learner) for one in failures_in(store))
    cells = [
        {
            "model": m.label,
            "learner": e.label,
            "finished": done.get((m.id, e.id), 0),
            "asked": store.replications,
            "failed": failed[m.label, e.label],
        }
        for m in store.models()
        for e in store.learners()
    ]
    totals = {"finished": sum(done.values()), "missing": missing(store), "failed": failed.total()}
    return {"study": store.name, **store.horizon, **totals, "cells": cells}
