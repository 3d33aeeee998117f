"""The picture of one run: its regret against the decisions, beside what no learner can beat in the long run."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError, SojournError
from sojourn.instance.difficulty import Difficulty, difficulty
from sojourn.learn.abilities import called
from sojourn.learn.catalogue import may_stay_wrong, proved_bound, said_name
from sojourn.report.look import COLORS, check_picture, literal, new_figure, save, with_look
from sojourn.simulation.holding import UNTOLD, no_bounds
from sojourn.simulation.run import Run
from sojourn.study.bounds import NAMES, proved_of
from sojourn.study.growth import slopes

if TYPE_CHECKING:
    from sojourn.report.look import Figure

MANY = 60  # episodes whose starts are still marked
LARGE = 2000  # states beyond which the lower bound is left to `sojourn difficulty`
NO_FLOOR = ("{name} is a slope in the long run, not a floor: it does not exclude less regret than {name} log N at a given N,\n"
            "nor a smaller slope in a single run; it excludes that the mean slope of a uniformly fast learner stays below it.")
STUCK = ("With a fixed delta this learner may stay wrong for good with a probability of up to {chance:.3g}: "
         "it need not be uniformly fast.")


@with_look
def plot_run(run: Run, path: str | PathLike[str] | None = None, bounds: bool = True) -> Figure:
    """Draw the regret of a run, and how fast it grows against log N; write it to `path` if given; return the figure.

    With `bounds`, C(M) (thm:main), or C_u(M) for a learner that is not told the supports, stands as a line beside the growth,
    which it bounds in the long run, and a line below says what it does not exclude.  What is proved of the learner's regret is
    named there too, and never drawn: it is many times what is seen.
    """
    kind = None if path is None else check_picture(path)
    if len(run.epochs) < 2:
        raise ParameterError(f"the run has {len(run.epochs)} checkpoints; a picture needs at least 2.")
    figure, axes = new_figure(8.4, 3.7, 1, 2)
    lost, growth = axes[0]
    card = _card(run) if bounds and not run.other_law else None
    name, constant = ("", 0.0) if card is None else _constant(run, card)
    _curves(lost, run)
    _lost_axes(lost)
    _growth(growth, run, name, constant)
    figure.suptitle(literal(_title(run)), fontsize=10)
    notes = [NO_FLOOR.format(name=name)] if constant > 0 else []
    if constant > 0 and (chance := may_stay_wrong(said_name(type(run.learner)), run.settings)):
        notes.append(STUCK.format(chance=chance))
    notes += [] if card is None else _upper_bound(run, card.as_told)
    notes += [f"No bounds: {no_bounds(run.model, run.other_law)}."] if bounds and run.other_law else []
    notes += [f"No bounds: {UNTOLD}."] if bounds and not run.other_law and not _rates_told(run) else []
    if notes:
        figure.supxlabel("\n".join(notes), fontsize=7.5, color="#444444")
    if path is not None:
        save(figure, path, kind or "png")
    return figure


def _rates_told(run: Run) -> bool:
    """Return whether the learner was told rate bounds; true where it says nothing of it."""
    return bool(getattr(getattr(run.learner, "knowledge", None), "rates_told", True))


def _card(run: Run) -> Difficulty | None:
    """Return the model's difficulty, as far as the learner's rate bounds define it; None where there is none."""
    known = getattr(run.learner, "knowledge", None)
    if run.model.n_states > LARGE or known is None:
        return None
    try:
        card = difficulty(run.model, (known.rate_min, known.rate_max))
        _ = card.as_told.lower_bound_constant
        return card
    except SojournError:
        return None


def _constant(run: Run, card: Difficulty) -> tuple[str, float]:
    """Return the lower bound's constant for what the learner was told, by name and value."""
    known = run.learner.knowledge
    if known.events is not None:
        return NAMES["events"], card.events.constant
    if known.supports_known:
        return NAMES["supports"], card.as_told.lower_bound_constant
    return NAMES["no supports"], card.as_told.lower_bound_constant_unknown


def _curves(panel: Any, run: Run) -> None:
    panel.plot(run.epochs, run.regret, color=COLORS[1], linewidth=0.9, alpha=0.8, zorder=2,
               label="regret, with the luck of the run")
    panel.plot(run.epochs, run.pseudo_regret, color=COLORS[0], linewidth=2.0, zorder=4,
               label="pseudo-regret, what the choices cost")
    starts = run.episodes.start_epoch
    if 1 < len(starts) <= MANY:
        heights = np.interp(starts, run.epochs, run.pseudo_regret)
        panel.plot(starts, heights, linestyle="none", marker="|", markersize=8, markeredgewidth=0.9, color="black",
                   label="an episode begins", zorder=5)


def _growth(panel: Any, run: Run, name: str, constant: float) -> None:
    """Draw pseudo-regret per log N and its slope over the last two decades, and the lower bound as a line."""
    late = run.epochs >= 3
    n = run.epochs[late]
    panel.plot(n, run.pseudo_regret[late] / np.log(n), color=COLORS[3], linewidth=1.4, linestyle=(0, (5, 2)), zorder=3,
               label="pseudo-regret / log N")
    panel.plot(run.epochs, slopes(run.epochs, run.pseudo_regret[None])[0], color=COLORS[0], linewidth=2.0, zorder=4,
               label="slope against log N, from N/100 to N")
    if constant > 0:
        panel.axhline(constant, color="black", linewidth=1.2, linestyle=(0, (2, 2)), zorder=5,
                      label=f"{name}, the long-run bound on the mean slope")
    panel.set_xscale("log")
    panel.set_ylim(0, 1.35 * panel.get_ylim()[1])  # room for the legend
    panel.set_xlabel("decisions N (log scale)")
    panel.set_ylabel("pseudo-regret per unit of log N")
    panel.legend(loc="upper left")


def _upper_bound(run: Run, card: Difficulty) -> list[str]:
    """Return the theorem's bound in words, only where its learner is walking.

    In the form that does not depend on the unit of time: as printed it is no guarantee where rate_max > 1.
    There is none for a learner that had learned before the run.
    """
    last, name = int(run.epochs[-1]), said_name(type(run.learner))
    if _knew_more(run):
        return []
    theorem = proved_bound(name, run.settings, last)
    own = proved_of(card, name, run.settings, last)
    if own is not None:
        return [f"Proved of {name} at this N: a mean pseudo-regret of at most {own[0]:.3g} ({own[1]}, docs/learners-proofs.md)."]
    try:
        if theorem == "thm:UCRL2":
            bound = card.upper_bound_doubling(epochs=float(last), consistent=True)
            return [f"The upper bound of doubling CT-UCRL, the same in every unit of time (thm:UCRL2): {bound:.3g}."]
        if theorem == "thm:UCRL":
            bound = card.upper_bound(float(last), consistent=True)
            return [f"The upper bound at delta = 1/N, the same in every unit of time (thm:UCRL): {bound:.3g}."]
    except SojournError:
        pass
    return []


def _knew_more(run: Run) -> bool:
    """Return whether the learner has counted more decisions than the run's: theorems are for learners that begin with none."""
    counts = getattr(run.learner, "counts", None)
    return counts is not None and int(counts.visits.sum()) > int(run.visits.sum())


def _lost_axes(panel: Any) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    panel.set_xscale("log")
    panel.set_xlabel("decisions N (log scale)")
    panel.set_ylabel("lost so far (reward)")
    panel.axhline(0.0, color="#888888", linewidth=0.6, zorder=1)
    panel.yaxis.set_major_locator(MaxNLocator(6))
    panel.yaxis.set_major_formatter(EngFormatter(sep=" "))
    panel.legend(loc="upper left")


def _title(run: Run) -> str:
    name = run.model.name or f"{run.model.n_states} states"
    unit = f"time {run.times[-1]:.3g}, " if run.times[-1] < 1e3 else ""
    rest = ", interrupted" if run.interrupted else ""
    return f"{called(run.learner)} on {name}: {int(run.epochs[-1]):,} decisions, {unit}{run.episodes.total:,} episodes{rest}"
