"""`sojourn difficulty MODEL`: gaps, least divergences, C(M), g, D and the bounds."""

import click

from sojourn.cli.common import NUMBER, Whole, json_option, model_argument, print_json, read_model, say, waiting


@click.command("difficulty")
@model_argument
@click.option(
    "--rate-bounds",
    nargs=2,
    type=NUMBER,
    metavar="LO HI",
    default=None,
    help="The rate bounds that the learner knows (default: the model's, else the range of its rates).",
)
@click.option("--bernoulli", is_flag=True, help="Take the lump sums as 0/1 rewards of unknown mean.")
@click.option("--rows", default=40, show_default=True, type=Whole(0), help="Suboptimal pairs to print.")
@click.option("--epochs", type=NUMBER, metavar="N", default=None,
              help="Also the bounds at N decisions: takes seconds, or a minute.")
@click.option(
    "--plot", "picture", metavar="FILE", default=None, help="Write the one-page card to FILE (.png, .svg or .pdf)."
)
@json_option
def command(
    model: str, rate_bounds: tuple[float, float] | None, bernoulli: bool, rows: int, epochs: float | None, picture: str | None,
    as_json: bool
) -> None:
    """Say how hard MODEL is to learn, in the paper's constants, and what any learner must pay."""
    from sojourn.instance.difficulty import difficulty
    from sojourn.model.scalars import whole

    if picture is not None:
        from sojourn.report.look import check_picture

        check_picture(picture)
    if epochs is not None:
        whole("--epochs", epochs, 1, note=" of decisions")  # refused here, not after minutes
    subject = read_model(model)
    with waiting(f"gaps, divergences, g and D of {subject.n_states:,} states"):
        found = difficulty(subject, rate_bounds, rewards="bernoulli" if bernoulli else "known")
        if picture is not None:
            found.plot(picture)
        said, table = (found.as_dict(epochs), "") if as_json else ({}, found.table(rows, epochs))
    if as_json:
        print_json(said)
        return
    say(table)
    if picture is not None:
        click.echo(f"\ncard written to {picture}")
