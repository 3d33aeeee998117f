"""`sojourn show MODEL`: a model in words or as a picture."""

from typing import Any

import click

from sojourn.cli.common import Whole, json_option, learner_names, model_argument, print_json, read_model, say
from sojourn.model.columns import columns
from sojourn.model.words import left_over

ROWS = 16


@click.command("show")
@model_argument
@click.option("--plot", "picture", metavar="FILE", help="Draw the model to FILE (.png, .svg, .pdf).")
@click.option("--kind", default="auto", show_default=True, type=click.Choice(["auto", "graph", "grid", "curves"]),
              help="How to draw it.")
@click.option("--path", "sample", metavar="FILE", help="Draw a sample path with its regret to FILE.")
@click.option("--learner", "learner_name", default="default", show_default=True, metavar="NAME", shell_complete=learner_names,
              help="Who walks the sample path: a name of `sojourn learners`, or `optimal`.")
@click.option("--epochs", default=500, show_default=True, type=Whole(1, 1_000_000), help="Decisions of the sample path.")
@click.option("--seed", default=0, show_default=True, type=Whole(0), help="Seed of the sample path.")
@json_option
def command(model: str, picture: str | None, kind: str, sample: str | None, learner_name: str, epochs: int, seed: int,
            as_json: bool) -> None:
    """Show MODEL in words, and as a picture with --plot or --path."""
    found = read_model(model)
    if picture is not None:
        from sojourn.report.models import plot_model

        plot_model(found, kind=kind, path=picture)
    if sample is not None:
        from sojourn.report.model_path import plot_path

        plot_path(_walked(found, learner_name, epochs, seed), path=sample)
    if as_json:
        print_json({**as_object(found), "plot": picture, "path": sample})
        return
    say("\n".join(in_words(found)))
    for file in filter(None, (picture, sample)):
        click.echo(f"wrote {file}")


def as_object(model: Any) -> dict[str, Any]:
    """Return what `--json` prints."""
    low, high = model.bounds
    return {
        "name": model.name, "states": model.n_states, "actions": list(model.actions), "pairs": model.n_pairs,
        "transitions": len(model.next_state), "rate_min": low, "rate_max": high, "holding": model.holding,
        "first_states": list(model.states.labels[:ROWS]),
    }


def in_words(model: Any) -> list[str]:
    """Return the model as lines for a terminal: its sizes and its first choices."""
    rows = []
    for k in range(min(ROWS, model.n_pairs)):
        jumps = [f"{model.states.label(j)}: {p:.4g}" for j, p in _row(model, k)]
        shown = ", ".join(jumps[:4]) + (f", and {len(jumps) - 4} more" if len(jumps) > 4 else "")
        rows.append((model.states.label(model.pair_state[k]), model.actions.label(model.pair_action[k]), f"{model.rate[k]:.6g}",
                     f"{model.expected_reward[k] + 0.0:.6g}", f"{model.running[k] + 0.0:.6g}", shown))
    table = columns(("state", "action", "rate", "reward", "running", "next"), rows, right=(2, 3, 4))
    more = [f"... and {left_over(model.n_pairs - ROWS, 'choice')}"] if model.n_pairs > ROWS else []
    return [repr(model)[1:-1], "", *table, *more]


def _row(model: Any, pair: int) -> list[tuple[int, float]]:
    row = slice(model.row_start[pair], model.row_start[pair + 1])
    return list(zip(model.next_state[row].tolist(), model.probability[row].tolist()))


def _walked(model: Any, name: str, epochs: int, seed: int) -> Any:
    """Return a recorded run of the learner, or of the optimal policy."""
    from sojourn.cli.learn import built, warned
    from sojourn.simulation.simulate import simulate
    from sojourn.solving.solve import solve

    if name == "optimal":
        who: Any = solve(model).policy
    else:
        options = dict.fromkeys(("rate_bounds", "no_rate_bounds", "delta", "horizon", "reward_range"))
        with warned():
            who = built(model, {**options, "name": name, "seed": seed, "supports": False, "param": ()})
    return simulate(model, who, max_epochs=epochs, seed=seed, record=True)
