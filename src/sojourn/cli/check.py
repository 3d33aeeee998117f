"""`sojourn check MODEL`: the paper's assumptions, each with a verdict in words."""

from typing import Any

import click

from sojourn.cli.common import echo, json_option, model_argument, policy_object, print_json, read_model, say


@click.command("check")
@model_argument
@json_option
def command(model: str, as_json: bool) -> None:
    """Check the paper's assumptions on MODEL, with a witness where one fails."""
    from sojourn.model.checks import check

    found = read_model(model)
    verdicts = check(found)
    if as_json:
        answers = {key: as_object(found, getattr(verdicts, key)) for key in verdicts.__dataclass_fields__}
        print_json({"model": found.name, **answers})
        return
    say(repr(found)[1:-1])
    for verdict in verdicts:
        word = {True: "yes", False: "NO", None: "not decided"}[verdict.holds]
        echo(f"{verdict.question}: {word}")
        say(f"    {verdict.statement}")


def as_object(model: Any, verdict: Any) -> dict[str, Any]:
    """Return one verdict, states and actions by label; `witness` is null unless the answer is no."""

    def label(state: Any) -> str:
        return str(model.states.label(model.state(state)))

    witness = None
    if verdict.holds is False:
        witness = {
            "policy": None if verdict.policy is None else policy_object(model, verdict.policy),
            "states": [label(s) for s in verdict.states],
            "unreached": None if verdict.unreached is None else label(verdict.unreached),
            "others": [label(s) for s in verdict.others],
        }
    return {"holds": verdict.holds, "statement": verdict.statement, "witness": witness}
