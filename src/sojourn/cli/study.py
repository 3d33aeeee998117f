"""`sojourn study`: run, resume, look at and publish replicated regret experiments."""

from __future__ import annotations

import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from sojourn.cli.common import Number, Whole, echo, json_option, print_json, say, terminal_width
from sojourn.cli.remedies import for_shell
from sojourn.errors import ParameterError, ReplicationError, SojournError, SojournWarning, StoreError
from sojourn.hidden_characters import visible
from sojourn.model.scalars import is_whole_text

store_argument = click.argument("store", metavar="STORE", type=click.Path(path_type=Path))
regret_option = click.option(
    "--regret",
    type=click.Choice(["pseudo", "regret", "completed", "adjusted"]),
    default="pseudo",
    show_default=True,
    help="Which regret to look at.",
)
band_option = click.option(
    "--band", type=click.Choice(["t", "bootstrap"]), default="t", show_default=True, help="How the 95 % band of the mean is made."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run, resume and report replicated regret experiments.

    A study is a TOML file; its results are one SQLite file, the STORE. Running again computes only what is missing.
    """


@command.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--store", type=click.Path(path_type=Path), help="Where the results are kept. [default: FILE with .sqlite]")
@click.option("--workers", type=Whole(1, 1024), help="Processes to use. [default: all cores]")
@click.option("--dask", metavar="ADDRESS|local", help="Run on a Dask cluster, or on one started here.")
@click.option("--replications", metavar="FIRST:END", help="Only these replications (END not included), for a shard.")
@click.option("--wait", type=Number(0), default=0.0, help="Seconds to wait for another process to let go of the store.")
@click.option(
    "--checkpoint-seconds",
    type=Number(0.05),
    default=10.0,
    show_default=True,
    help="Keep how far a long replication has come this often.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Then write the report here (.html or .md).")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def run(
    file: Path,
    store: Path | None,
    workers: int | None,
    dask: str | None,
    replications: str | None,
    wait: float,
    checkpoint_seconds: float,
    report: Path | None,
    quiet: bool,
) -> None:
    """Compute what STORE lacks of the study in FILE; Ctrl-C or worse loses at most a few seconds.

    A replication that raises does not stop the others: it is recorded with its error and its seed, named at the end (exit code
    1), and computed again by the next run.
    """
    from sojourn.study.executors import dask_executor
    from sojourn.study.study import Study

    study = _read(lambda: Study.from_toml(file, store))
    executor = dask_executor(dask, workers) if dask else None
    failed = ""
    warnings.filterwarnings("ignore", message="interrupted", category=SojournWarning)  # said below, in one line
    try:
        study.run(
            workers=workers,
            executor=executor,
            progress=not quiet,
            replications=_part(replications, study.spec.replications),
            wait=wait,
            slice_seconds=checkpoint_seconds,
        )
    except ReplicationError as error:
        failed = str(error)
    if study.interrupted:
        echo(study.left_words().replace("Run it again to go on", "Run the same command to go on"), err=True)
        sys.exit(130)
    if report is not None and (not failed or study.status()["finished"]):
        study.report(report)
    if not quiet:
        echo(str(report or study.store_path))
    if failed:
        echo(f"error: {for_shell(failed)}", err=True)
        sys.exit(1)


def _read(make: Any) -> Any:
    """Read a study: its problems each on a line of their own, warnings as one line each."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            study = make()
        except ParameterError as error:
            echo(f"error: {for_shell(str(error))}", err=True)
            sys.exit(1)
    for text in dict.fromkeys(str(warning.message) for warning in said if issubclass(warning.category, UserWarning)):
        echo(f"warning: {text}", err=True)
    return study


def _part(text: str | None, total: int) -> range | None:
    if text is None:
        return None
    first, colon, end = text.partition(":")
    if not colon or not is_whole_text(first) or not is_whole_text(end) or not 0 <= int(first) < int(end) <= total:
        raise ParameterError(f"--replications is {text!r}; it must be FIRST:END with 0 <= FIRST < END <= {total}.")
    return range(int(first), int(end))


@command.command()
@store_argument
@json_option
def status(store: Path, as_json: bool) -> None:
    """Say how much of a study is there."""
    from sojourn.model.columns import columns
    from sojourn.study.store import Store
    from sojourn.study.study import status as status_of
    from sojourn.study.words import horizon_words

    with Store(store) as opened:
        found = status_of(opened)
    if as_json:
        print_json(found)
        return
    if "epochs" not in found:
        raise SojournError(f"the store {store} holds no study yet: the run that made it was ended before it began. Run it again.")
    done, asked = found["finished"], found["finished"] + found["missing"]
    echo(f"{found['study']}: {done} of {asked} replications of {horizon_words(found)}, seed {found['seed']}")
    rows = [(c["model"], c["learner"], f"{c['finished']}/{c['asked']}", str(c["failed"])) for c in found["cells"]]
    width = 4 if found["failed"] else 3
    echo("\n".join(columns(("model", "learner", "finished", "failed")[:width], [row[:width] for row in rows])))
    if found["failed"]:
        echo(f"{found['failed']} failed when last tried; `sojourn study failures {shlex.quote(str(store))}` says why")


@command.command()
@store_argument
@json_option
def failures(store: Path, as_json: bool) -> None:
    """List the replications that failed: error, seed, traceback, and the command that repeats each."""
    from dataclasses import asdict

    from sojourn.study.failures import failures_in
    from sojourn.study.store import Store

    with Store(store) as opened:
        found = failures_in(opened)
    if as_json:
        print_json({"failures": [{**asdict(one), "command": one.command(store)} for one in found]})
        return
    if not found:
        echo("no replication has failed")
    for one in found:
        echo(f"{one.learner} on {one.model}, replication {one.replication}, after {one.epoch:,} decisions: {one.error}")
        echo(f"  seed     SeedSequence({one.seed}, spawn_key={one.spawn_key}); the world's spawn_key {one.world_spawn_key}")
        echo(f"  repeat   {one.command(store)}")
        echo("\n".join("  " + line for line in one.traceback.splitlines()))


@command.command()
@store_argument
@click.argument("replication", metavar="REPLICATION", type=Whole(0))
@click.option("--model", required=True, metavar="LABEL", help="The model's label in the store.")
@click.option("--learner", required=True, metavar="LABEL", help="The learner's label in the store.")
def repeat(store: Path, replication: int, model: str, learner: str) -> None:
    """Run one replication again from its seed, in this process, and show the whole traceback of its error.

    The store is only read: `sojourn study run` computes and keeps what failed.
    """
    import traceback

    from sojourn.study.repeat import repeated
    from sojourn.study.store import Store

    with Store(store) as opened:
        try:
            again = repeated(opened, model, learner, replication)
        except (ParameterError, StoreError):
            raise
        except Exception as error:
            echo("".join(traceback.format_exception(error)), err=True)
            said = f"{type(error).__name__}: {error}"
            raise SojournError(f"replication {replication} of {learner} on {model} failed: {said}") from error
    echo(f"replication {replication} of {learner} on {model} did not fail: pseudo-regret {again.points[-1][6]:.6g}")


@command.command()
@store_argument
@regret_option
@band_option
@click.option("--latex", is_flag=True, help="Print the final table as LaTeX.")
@json_option
def summary(store: Path, regret: str, band: str, latex: bool, as_json: bool) -> None:
    """Print the final figures and the comparisons."""
    from dataclasses import asdict

    from sojourn.study.store import Store
    from sojourn.study.summary import summarize
    from sojourn.study.words import latex as latex_table
    from sojourn.study.words import summary_text

    with Store(store) as opened:
        found = summarize(opened, regret, band)
    if as_json:
        print_json(
            {
                "study": found.name,
                "regret": found.regret,
                "band": found.band,
                **found.horizon,
                "missing": found.missing,
                "failures": [asdict(one) for one in found.failures],
                "parameters": found.settings,
                "rows": [asdict(r) for r in found.rows],
                "comparisons": [asdict(c) for c in found.comparisons],
                "debts": [asdict(d) for d in found.debts],
                "stopping": [asdict(s) for s in found.stopping],
                "bounds": {
                    label: {"lower_bound_constant": b.constant, "reason": b.reason, "against": found.floors(label)}
                    for label, b in found.bounds.items()
                },
            }
        )
    else:
        click.echo(visible(latex_table(found)), nl=False) if latex else say(summary_text(found, terminal_width()))


@command.command()
@store_argument
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the figures. [default: beside the store]")
@click.option("--format", "kind", type=click.Choice(["pdf", "svg", "png"]), default="pdf", show_default=True)
@regret_option
@band_option
def plot(store: Path, out: Path | None, kind: str, regret: str, band: str) -> None:
    """Write every figure of the report as a file of its own."""
    from sojourn.report.figures import write_figures

    for path in write_figures(store, out or (store.with_suffix("") if store.name else store), kind, regret=regret, band=band):
        echo(str(path))


@command.command()
@store_argument
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The page to write. [default: report.html beside STORE]"
)
@click.option("--format", "kind", type=click.Choice(["html", "md"]), default=None, help="[default: by the name of the page]")
@regret_option
@band_option
def report(store: Path, out: Path | None, kind: str | None, regret: str, band: str) -> None:
    """Write the whole study as one page."""
    from sojourn.report.study_page import write_report

    path = out or store.parent / f"report.{kind or 'html'}"
    echo(str(write_report(store, path, kind=kind, regret=regret, band=band)))


@command.command(name="export")
@store_argument
@click.argument("out", metavar="OUT.csv|OUT.parquet", type=click.Path(path_type=Path, dir_okay=False))
def export_command(store: Path, out: Path) -> None:
    """Write one row per model, learner, replication and checkpoint."""
    from sojourn.study.export import export
    from sojourn.study.store import Store

    with Store(store) as opened:
        finished, missing = export(opened, out)
    echo(f"{out}: {finished} replications" + (f"; {missing} are missing" if missing else ""), err=bool(missing))


@command.command()
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("stores", metavar="STORE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--salvage", is_flag=True, help="Take what is intact of damaged stores; needs --study.")
@click.option("--study", "file", type=click.Path(path_type=Path), help="The study file, for --salvage.")
def merge(out: Path, stores: tuple[Path, ...], salvage: bool, file: Path | None) -> None:
    """Put the shards of one study together in OUT, or save what is intact of a damaged store."""
    from sojourn.study.merge import merge as merge_stores
    from sojourn.study.merge import salvage as salvage_store
    from sojourn.study.spec import read_study

    if not salvage:
        done = merge_stores(out, stores)
        echo(f"{out}: {done.copied} replications copied" + (f", {done.known} were there already" if done.known else ""))
        return
    if file is None:
        raise SojournError("--salvage needs --study FILE: the study file says which replications there may be.")
    spec = _read(lambda: read_study(file))
    for store in stores:
        done = salvage_store(out, store, spec)
        echo(f"{out}: {done.copied} intact replications copied from {store}, {done.damaged} damaged ones left")
