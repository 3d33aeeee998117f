"""`sojourn convert IN OUT`: the same model in another file format."""

import click

from sojourn.cli.common import json_option, print_json, read_model


@click.command("convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@json_option
def command(source: str, target: str, as_json: bool) -> None:
    """Write the model IN (a file or a zoo model) to the file OUT, .json or .npz; OUT is replaced in one step."""
    model = read_model(source)
    model.save(target)
    if as_json:
        sizes = {"states": model.n_states, "actions": model.n_actions, "pairs": model.n_pairs}
        print_json({"written": target, "name": model.name, **sizes})
    else:
        click.echo(f"wrote {target}: {repr(model)[1:-1]}")
