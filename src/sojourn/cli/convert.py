"""`sojourn convert IN OUT`: the same model in another file format."""

import click

from sojourn.cli.common import json_option, print_json, read_model, say, waiting


@click.command("convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--reward", metavar="NAME", help="The reward model to read, where a .drn file has several.")
@json_option
def command(source: str, target: str, reward: str | None, as_json: bool) -> None:
    """Write the model IN (a file or a zoo model) to the file OUT, .json, .npz or .drn; OUT is replaced in one step."""
    from sojourn.model.files import load

    if reward is None:
        model = read_model(source)
    else:
        with waiting(f"reading {source}"):
            model = load(source, reward)
    with waiting(f"writing {target}"):
        model.save(target)
    if as_json:
        sizes = {"states": model.n_states, "actions": model.n_actions, "pairs": model.n_pairs}
        print_json({"written": target, "name": model.name, **sizes})
    else:
        say(f"wrote {target}: {repr(model)[1:-1]}")
