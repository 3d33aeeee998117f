"""`sojourn learn MODEL`: run a learner on a model and report its regret."""

import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from typing import Any

import click

from sojourn.cli.common import (
    NUMBER,
    WHOLE,
    asked,
    echo,
    folded,
    json_option,
    learner_names,
    model_argument,
    named_state,
    policy_in_words,
    print_json,
    read_model,
    say,
    terminal_width,
)
from sojourn.cli.remedies import for_shell
from sojourn.errors import ParameterError
from sojourn.model.columns import fitting
from sojourn.zoo.syntax import parse_parameters

ROWS = 12
EPOCHS, EPOCHS_WITHIN = 1e6, 1e7  # unless told; the latter where a run ends by itself
WIDE = 120  # characters of a line where there is no terminal
OPEN_FROM = 1000  # decisions after which it is said that nothing is ruled out yet
LARGE = 2000  # states beyond which the lower bound is left to `sojourn difficulty`


@click.command("learn")
@model_argument
@click.option("--learner", "name", default="default", show_default=True, metavar="NAME", shell_complete=learner_names,
              help="A name of `sojourn learners`, or module:Class (a file here, or a module).")
@click.option("--epochs", type=NUMBER, help="How many decisions at most (1e6 if no --time is given, 1e7 with --within).")
@click.option("--time", "max_time", type=NUMBER, help="How much time instead; the regret is then R_T.")
@click.option("--delta", type=NUMBER,
              help="Level of the learner's sets, where it has one (0.01; of ct-kl-ucrl and ct-joint-ucrl 1/t at decision t).")
@click.option("--within", "epsilon", metavar="EPS",
              help="Stop when a policy is proved to be within EPS of the best: 5% of the best gain, or 0.05 per unit of time.")
@click.option("--confidence", type=NUMBER, default=0.95, show_default=True, help="Of that proof.")
@click.option("--horizon", type=NUMBER, help="Instead of --delta: N decisions, delta = 1/N.")
@click.option("--seed", type=WHOLE, default=1, show_default=True, help="Of the world's and the learner's streams.")
@click.option("--start", metavar="STATE", help="The first state, as the model calls it (its first one).")
@click.option("--rate-bounds", type=(NUMBER, NUMBER), metavar="LO HI", help="Rates the learner is told (the model's own).")
@click.option("--no-rate-bounds", is_flag=True, help="Tell the learner nothing about rates.")
@click.option("--supports", is_flag=True, help="Tell the learner which jumps are possible.")
@click.option("--reward-range", metavar="auto|LO,HI",
              help="Rescale rewards inside the learner by this range; auto takes the model's. Not rescaled unless given.")
@click.option("--param", multiple=True, metavar="KEY=VALUE", help="Further parameters of the learner; may be repeated.")
@click.option("--holding-times", metavar="LAW", help="Another law of the holding times, e.g. erlang:stages=3.")
@click.option("--checkpoints", type=WHOLE, default=200, show_default=True, help="How many moments to report.")
@click.option("--plot", "picture", type=click.Path(dir_okay=False, writable=True), help="Draw the regret: .png, .svg or .pdf.")
@json_option
def command(model: str, as_json: bool, picture: str | None, **options: Any) -> None:
    """Run a learner on MODEL and report its regret against the optimum.

    With --within it stops when what it has seen proves a policy to be good enough, and names that policy.

    Ctrl-C ends the run early and reports what there is (exit code 130).
    """
    from sojourn.report.look import check_picture

    if picture:
        check_picture(picture)
    run, label = learned(read_model(model), options)
    if as_json:
        print_json(as_object(run, label))
    else:
        say("\n".join(in_words(run, label)))
    if options["epsilon"] is not None and run.certificate is None:
        from sojourn.simulation.looks import first_look

        echo(f"warning: --within is given, but the run ended before it was asked, which is first after "
             f"{first_look(run.model.n_states)} decisions", err=True)
    if picture:  # last: whatever is wrong with it, the result is out
        run.plot(path=picture)
        if not as_json:
            click.echo(f"drawn in {picture}")
    if run.interrupted:
        click.echo(f"interrupted after {int(run.visits.sum()):,} decisions; the result above is what there is", err=True)
        sys.exit(130)


def learned(model: Any, options: dict[str, Any]) -> tuple[Any, str]:
    """Return the Run and the learner's name."""
    from sojourn.simulation.progress import ProgressBar
    from sojourn.simulation.simulate import simulate

    epochs, max_time = options["epochs"], options["max_time"]
    if epochs is not None and max_time is not None:
        raise ParameterError(f"--epochs is {epochs:g} and --time is {max_time:g}; give one of them.")
    if epochs is not None and not epochs >= 1:
        raise ParameterError(f"--epochs is {epochs:g}; it must be a whole number of decisions, at least 1.")
    wanted = None if options["epsilon"] is None else asked(options["epsilon"], options["confidence"])
    if epochs is None and max_time is None:
        epochs = EPOCHS if wanted is None else EPOCHS_WITHIN
    state = named_state(model, options["start"])
    bar = ProgressBar(epochs, max_time)
    with warned():
        run = simulate(model, built(model, options), max_epochs=epochs, max_time=max_time, start=state, seed=options["seed"],
                       checkpoints=options["checkpoints"], holding_times=options["holding_times"], progress=bar,
                       stop_when=wanted)
    return run, options["name"]


@contextmanager
def warned() -> Iterator[None]:
    """Print warnings as lines on stderr, in the words of the command line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *where, **more: click.echo(f"warning: {for_shell(str(message))}", err=True)
        yield


def built(model: Any, options: dict[str, Any]) -> Any:
    """Return the learner with the parameters that were given, and no others."""
    from sojourn.learn.catalogue import learner_class, learner_for, needed_knowledge

    here = Path()
    kind = learner_class(options["name"], here)
    allowed = set(inspect.signature(kind).parameters)
    if options["no_rate_bounds"] and options["rate_bounds"]:
        raise ParameterError("--rate-bounds and --no-rate-bounds are both given; give one of them.")
    bounds = "unknown" if options["no_rate_bounds"] else options["rate_bounds"]
    knowledge = needed_knowledge(model, kind, bounds, options["supports"])
    given: dict[str, Any] = {}
    for text in options["param"]:
        given |= parse_parameters(text)
    if options["reward_range"] is not None:
        options = {**options, "reward_range": reward_range(options["reward_range"])}
    for key in ("delta", "horizon", "reward_range"):
        if options[key] is not None:
            if key not in allowed:
                option = f"--{key.replace('_', '-')}"
                raise ParameterError(f"{option} is {options[key]} but the learner {options['name']!r} has no {key}; leave it out.")
            given.setdefault(key, options[key])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = learner_for(model, options["name"], knowledge=knowledge, seed=options["seed"], parameters=given, folder=here)
    for warning in said:
        echo(f"warning: {for_shell(str(warning.message))}", err=True)
    return made


def reward_range(text: str) -> str | tuple[float, float]:
    """Return what --reward-range says: auto, or two numbers with a comma."""
    if text == "auto":
        return text
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ParameterError(f"--reward-range is {text!r}; give auto, or two numbers with a comma such as -2,10.") from None
    return low, high


def as_object(run: Any, label: str) -> dict[str, Any]:
    """Return what `--json` prints."""
    points = run.points()
    last = points[-1]._asdict() if points else {}
    return {
        "learner": label, "parameters": run.settings, **last, "episodes": run.episodes.total,
        "decisions_per_second": run.decisions_per_second, "interrupted": run.interrupted,
        "events": run.structure.as_dict() if run.structure is not None else None,
        **({} if run.certificate is None else {"certificate": run.certificate.as_dict() | {"any_rule_needs": least_needed(run)}}),
        "checkpoints": [point._asdict() for point in points],
    }


def in_words(run: Any, label: str) -> list[str]:
    """Return the run as lines for a terminal."""
    from sojourn.learn.saving import settings_in_words

    points = run.points()
    if not points:
        return [f"{label}: no decision was taken"]
    last = points[-1]
    step = max(1, -(-len(points) // ROWS))
    shown = points[::-step][::-1]
    gained = f"{last.reward / last.time:.9g}" if last.time else "nothing yet"
    table = fitting(("decisions", "pseudo-regret", "regret", "time", "reward", "adjusted"),
                    [(f"{p.epochs:,}", f"{p.pseudo_regret:.6g}", f"{p.regret:.6g}", f"{p.time:.6g}", f"{p.reward:.6g}",
                      f"{p.adjusted_regret:.6g}") for p in shown], terminal_width())
    return [
        repr(run.model)[1:-1],
        f"learner        {label}, {run.episodes.total:,} episode{'s' * (run.episodes.total != 1)}",
        *([f"parameters     {settings}"] if (settings := settings_in_words(run.settings)) else []),
        f"optimal gain   {run.gain:.9g} per unit of time; gained {gained}",
        f"lost           {last.pseudo_regret:.6g} by its choices in {last.epochs:,} decisions (the pseudo-regret)",
        f"regret         {last.regret:.6g} as it happened, luck with holding times and jumps included (it may be negative)",
        *against_bounds(run, last.epochs),
        *proved(run, last.epochs),
        *([f"events         {run.structure}"] if run.structure is not None and run.structure.events else []),
        *certified(run),
        *still_open(run),
        f"speed          {run.decisions_per_second:.3g} decisions per second",
        "", *table,
    ]


def certified(run: Any) -> list[str]:
    """Return what is proved of a policy where --within was given, the policy, and what any rule needs."""
    found = run.certificate
    if found is None:
        return []
    width = terminal_width() or WIDE
    words = folded(f"certificate    {found}", width)
    if found:
        words += folded(f"the policy     {policy_in_words(found.as_dict()['policy'])}", width)
    needed = least_needed(run)
    if needed:
        words += folded(f"any rule       that is right as often needs at least {needed:,.1f} decisions here in the mean to name "
                        "such a policy; the rule of this run proves its gain as well", width)
    return words


def least_needed(run: Any) -> float | None:
    """Return how many decisions any rule needs in the mean that is right as often; None where that is not known."""
    from sojourn.errors import SojournError
    from sojourn.instance.difficulty import difficulty

    known = getattr(run.learner, "knowledge", None)
    if known is None or known.events is not None or run.other_law:
        return None
    try:
        found = difficulty(run.model, (known.rate_min, known.rate_max)).as_told
        return float(found.stopping_bound(run.certificate.wanted, supports=known.supports_known).epochs)
    except SojournError:
        return None


def still_open(run: Any) -> list[str]:
    """Return a line where a learner with wide sets has ruled out nothing yet about most rates, and what makes them smaller."""
    import numpy as np

    from sojourn.learn.abilities import abilities_of

    scale, known = run.settings.get("radius_scale"), getattr(run.learner, "knowledge", None)
    if known is None or not isinstance(scale, (int, float)) or not scale >= 1:
        return []
    if run.epochs[-1] < OPEN_FROM or not abilities_of(run.learner).shows:
        return []
    rates = run.learner.snapshot().get("rate_interval")
    if not isinstance(rates, np.ndarray) or rates.shape != (*known.pair_table.shape, 2) or known.rate_min == known.rate_max:
        return []
    whole = int(((rates[..., 0] <= known.rate_min) & (rates[..., 1] >= known.rate_max)).sum())
    if whole <= known.n_pairs / 2:
        return []
    text = (f"still open     the rates of {whole} of {known.n_pairs} choices, about which nothing is ruled out yet: with sets "
            "this wide it tries whatever could be best. --param radius_scale=0.05 tries less, without a guarantee")
    return folded(text, terminal_width() or WIDE)


def proved(run: Any, epochs: int) -> list[str]:
    """Return what is proved of the regret of this learner, where docs/learners-proofs.md has a theorem for it."""
    from sojourn.errors import SojournError
    from sojourn.instance.difficulty import difficulty
    from sojourn.learn.catalogue import said_name
    from sojourn.study.bounds import MAX_UPPER_PAIRS, proved_of

    known = getattr(run.learner, "knowledge", None)
    if known is None or known.events is not None or run.other_law or run.model.n_pairs > MAX_UPPER_PAIRS:
        return []
    try:
        found = difficulty(run.model, (known.rate_min, known.rate_max)).as_told
    except SojournError:
        return []
    own = proved_of(found, said_name(type(run.learner)), run.settings, epochs)
    return [] if own is None else folded(
        f"proved         a mean pseudo-regret of at most {own[0]:.3g} at this N ({own[1]}, docs/learners-proofs.md): it says that "
        "regret is logarithmic, and is far above what is seen", terminal_width() or WIDE)


def against_bounds(run: Any, epochs: int) -> list[str]:
    """Return what the lower bound says about this run and what not (thm:main); nothing where the model has none.

    A learner that is told the supports is compared with C(M), another with C_u(M), a learner of events with the constant of
    hidden events.
    """
    from sojourn.errors import SojournError
    from sojourn.instance.difficulty import difficulty
    from sojourn.learn.catalogue import may_stay_wrong, said_name
    from sojourn.simulation.holding import UNTOLD, no_bounds
    from sojourn.study.growth import slopes

    known = getattr(run.learner, "knowledge", None)
    if known is None or run.model.n_states > LARGE or epochs < 3:
        return []
    if run.other_law:
        return folded(f"lower bound    none: {no_bounds(run.model, run.other_law)}", terminal_width() or WIDE)
    if not known.rates_told:
        return folded(f"lower bound    none: {UNTOLD}", terminal_width() or WIDE)
    try:
        if known.events is not None:  # another class of models, another bound
            return [f"lower bound    {difficulty(run.model).events.words()}"]
        found = difficulty(run.model, (known.rate_min, known.rate_max)).as_told
        supports = known.supports_known
        name, constant = ("C(M)", found.lower_bound_constant) if supports else ("C_u(M)", found.lower_bound_constant_unknown)
        meaningful = found.meaningful_epochs(supports)
    except SojournError:
        return []
    if constant <= 0:
        return [f"lower bound    {name} = 0: no pair is critical, so it says nothing"]
    slope = float(slopes(run.epochs, run.pseudo_regret[None])[0, -1])
    grew = f"; this run's grew by {slope:.4g} over the last two decades" if slope == slope else ""
    early = f". {epochs:,} decisions are too few for it to mean anything; from about {meaningful:.0e} on it does"
    said = (f"lower bound    {name} = {constant:.6g}: what the mean regret of a uniformly fast learner grows by per unit of log N "
            f"in the long run{grew}. No floor: it does not exclude less than {name} log N = {constant * log(epochs):.6g} at a "
            f"given N, nor in a single run{early if epochs < meaningful else ''}")
    if chance := may_stay_wrong(said_name(type(run.learner)), run.settings):
        said += (f". With a fixed delta this learner may stay wrong for good with a probability of up to {chance:.3g}, so it need "
                 "not be uniformly fast")
    return folded(said, terminal_width() or WIDE)
