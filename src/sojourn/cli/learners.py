"""`sojourn learners`: list the learners."""

from dataclasses import asdict

import click

from sojourn.cli.common import json_option, print_json, say


@click.command("learners")
@json_option
def command(as_json: bool) -> None:
    """List the learners: what each does, what it knows, what is proved, and where it comes from."""
    from sojourn.learn.catalogue import LEARNERS

    entries = list(LEARNERS.values())
    if as_json:
        print_json({"learners": [{key: value for key, value in asdict(entry).items() if key != "home"} for entry in entries]})
        return
    for entry in entries:
        say(f"{entry.name}: {entry.summary}")
        say(f"    knows   {entry.knows}")
        say(f"    proved  {entry.proved}")
        say(f"    source  {entry.source}")
