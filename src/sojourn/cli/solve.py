"""`sojourn solve MODEL`: the optimal gain, the interval that proves it, policy and bias."""

from typing import Any

import click

from sojourn.cli.common import NUMBER, json_option, model_argument, policy_object, print_json, read_model, say
from sojourn.model.columns import columns
from sojourn.model.words import left_over

ROWS = 24


@click.command("solve")
@model_argument
@click.option("--method", default="auto", show_default=True, metavar="NAME",
              help="auto, policy-iteration, sweeps, multigrid, value-iteration or linear-programming.")
@click.option("--tolerance", default=1e-9, show_default=True, type=NUMBER,
              help="Width of the certificate, relative to |gain|.")
@json_option
def command(model: str, method: str, tolerance: float, as_json: bool) -> None:
    """Solve MODEL exactly: gain, certificate, policy and bias."""
    from sojourn.solving.solve import solve

    solution = solve(read_model(model), method=method, tolerance=tolerance, progress=True)
    if as_json:
        print_json(as_object(solution))
    else:
        say("\n".join(in_words(solution)))


def as_object(solution: Any) -> dict[str, Any]:
    """Return what `--json` prints."""
    model = solution.model
    return {
        "gain": solution.gain, "gain_bounds": list(solution.gain_bounds), "policy": policy_object(model, solution.policy),
        "bias": dict(zip(model.states.labels, solution.bias.tolist())), "method": solution.method,
        "iterations": solution.iterations, "seconds": solution.seconds,
    } | ({"note": solution.note} if solution.note else {})


def in_words(solution: Any) -> list[str]:
    """Return the solution as lines for a terminal; of a large model the first states only."""
    model, (lo, hi) = solution.model, solution.gain_bounds
    table = columns(("state", "action", "bias"), [(s, a, f"{h:.6f}") for s, a, h in solution.rows(ROWS)], right=(2,))
    if model.n_states > ROWS:
        table.append(f"... and {left_over(model.n_states - ROWS, 'state')}; `--json` prints them all")
    return [
        repr(model)[1:-1],
        f"gain    {solution.gain:.12g} per unit of time",
        f"proved  {lo!r} <= gain <= {hi!r} (width {hi - lo:.1e})",
        f"method  {solution.method}, {solution.iterations} iterations, {solution.seconds:.3f} s",
        *([f"note    {solution.note}"] if solution.note else []),
        "", *table,
    ]
