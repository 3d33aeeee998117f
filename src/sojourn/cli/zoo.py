"""`sojourn zoo [NAME]`: the families of models, or one of them explained."""

import click

from sojourn.cli.common import json_option, print_json, say, terminal_width
from sojourn.model.columns import columns


@click.command("zoo")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the zoo of models, or explain the family NAME: parameters, units, assumptions, source."""
    from sojourn.zoo.catalogue import families, family

    found = [family(name)] if name is not None else [family(each) for each in families()]
    if as_json:
        print_json({"families": [each.as_dict() for each in found]})
    elif name is not None:
        say(found[0].explain(max(20, min(100, terminal_width() or 100))))
    else:
        rows = [(each.name, each.summary) for each in found]
        say("\n".join(columns(("family", "what it is"), rows)))
        say("\n`sojourn zoo NAME` explains one; `sojourn solve NAME:parameter=value` solves it.")
