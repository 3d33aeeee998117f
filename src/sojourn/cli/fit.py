"""`sojourn fit LOG`: what an event log says: rates and rows with intervals, what could be earned, what to try next."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.cli.common import NUMBER, Whole, json_option, print_json, read_model, renamed_columns, say
from sojourn.errors import ParameterError
from sojourn.model.columns import columns


@click.command("fit")
@click.argument("log", metavar="LOG", type=click.Path(path_type=Path))
@click.option("--model", metavar="MODEL", help="Its choices, payments and rate bounds are known; its rates and jumps are not used.")
@click.option("--events", is_flag=True, help="Fit the rates of MODEL's events, and test that structure.")
@click.option("--confidence", type=NUMBER, default=0.95, show_default=True, help="Of every interval, and of the gains.")
@click.option("--rate-bounds", type=(NUMBER, NUMBER), metavar="LO HI", help="How slow and how fast choices can be (from the log).")
@click.option("--column", multiple=True, metavar="THEIRS=OURS", help="Rename a column of LOG; may be repeated.")
@click.option("--not-contiguous", is_flag=True, help="Rows need not begin where the last one led.")
@click.option("--max-bytes", type=Whole(1), help="What a Parquet file may unpack to. [default: 256 MB or 64 times its size]")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Write a page (.html) about it.")
@json_option
def command(log: Path, model: str | None, events: bool, confidence: float, rate_bounds: tuple[float, float] | None,
            column: tuple[str, ...], not_contiguous: bool, max_bytes: int | None, report: Path | None, as_json: bool) -> None:
    """Estimate a model from LOG, a .csv or .parquet file.

    Columns: state, action, holding_time, next_state; or time, state, action. Also, if there are any, reward, event, trajectory.
    Time stamps of a sojourn that was not seen to end close with a row that repeats the state at the time of the last look.
    Where EVENT can be seen without leading anywhere, a column silent:EVENT says how often it was.
    """
    from sojourn.control.fit import fit
    from sojourn.control.fit_words import as_object, event_rows, pair_table, sentences

    renamed = renamed_columns(column)
    if events and model is None:
        raise ParameterError("--events is given without --model; the model says which events there are: --model MODEL --events.")
    known = None if model is None else read_model(model).knowledge(None if events else rate_bounds, events=events)
    found = fit(log, confidence, knowledge=known, rate_bounds=rate_bounds if known is None or events else None, columns=renamed,
                contiguous=not not_contiguous, max_bytes=max_bytes)
    if report:
        found.report(report)
    if as_json:
        print_json(as_object(found))
        return
    head, rows = pair_table(found)
    kinds, per_event = event_rows(found)
    listed = [*columns(kinds, per_event, right=range(1, len(kinds))), ""] if per_event else []
    listed += [*columns(head, rows, right=range(2, len(head))), ""]
    say("\n".join([*sentences(found), "", *listed, *found.notes]).rstrip())
