"""What the report of a study says: the opening in plain words, what follows, what the bound means, and the captions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sojourn.errors import SojournError
from sojourn.learn.catalogue import LEARNERS
from sojourn.report.curves import model_labels
from sojourn.study.growth import WHAT_IT_EXCLUDES, WHO_IS_TOLD
from sojourn.study.store import StoredLearner, StoredModel
from sojourn.study.summary import REGRETS, Row, Summary
from sojourn.study.words import bounds_used, horizon_words, number, without_bound
from sojourn.zoo.catalogue import our_family

if TYPE_CHECKING:
    from sojourn.report.look import Figure

FEW = 6  # states up to which the best policy is spelled out

KINDS = {
    "pseudo": "Shown is the pseudo-regret: what the choices of the learner cost on average, added up. Luck with holding times and "
    "jumps is left out of it.",
    "regret": "Shown is the regret as it happened. It holds the luck with holding times and jumps, and may be negative.",
    "completed": "Shown is the completed regret: as it happened, with the last stay brought to its end. It holds the luck with "
    "holding times and jumps too, and may therefore be negative.",
    "adjusted": "Shown is the adjusted regret: what each choice pays on average less than the best gain in the time it takes on "
    "average. It goes up and down with the states visited, and may be negative.",
}

CAPTIONS = {  # name: (headline, text)
    "regret": ("What was lost", "{regret} against {axis}. Line: mean; shade: 95 % band of the mean, at each point by itself; "
               "faint: single runs (at most 50)."),
    "linear": ("The same on plain axes", "Here one sees how the regret bends; learners that lose far more than the others "
               "leave the picture, which then says so."),
    "growth": ("Regret per log N", "{regret} divided by log N: a logarithmic regret becomes flat."),
    "slope": ("Slope against log N", "By how much the {regret} grows per unit of log N, taken from N/100 to N. This is what the "
              "lower bound speaks of."),
    "final": ("Every run", "Final {regret} of every run, with the mean and its 95 % band (thick), and the median (thin)."),
    "debt": ("Visits that the bound asks for", "Mean visits to the critical choices, over log N / K (dashed: 1), which a uniformly "
             "fast learner needs in the long run. The choices with the largest share of the bound; below 0.001 is drawn at 0.001."),
    "policies": ("What was played", "Share of the decisions taken under each policy, mean over runs. Policies are named by what "
                 "they do differently from the optimal one."),
}
ALT = {
    "regret": "regret curves",
    "linear": "regret curves on plain axes",
    "growth": "regret over log N, and C(M)",
    "slope": "slope of the regret against log N, and C(M)",
    "final": "final regret of every run",
    "debt": "visits over what the lower bound asks for",
    "policies": "share of decisions under each policy",
}
AGAINST_BOUND = ("growth", "slope")
DASHED = {"C(M)": "short", "C_u(M)": "long", "C_events(M)": "long and short"}  # as in report/curves.py


def caption(summary: Summary, name: str, model: str, figure: Figure) -> tuple[str, str]:
    """Return headline and text of a figure, in agreement with what is drawn."""
    headline, text = CAPTIONS[name]
    text = text.format(regret=REGRETS[summary.regret][1], axis="decisions" if summary.horizon["epochs"] else "time")
    text = text[0].upper() + text[1:]
    if name == "regret" and figure.axes[0].get_yscale() == "log":
        text += " Both axes are logarithmic, so that every learner is seen."
    if name in AGAINST_BOUND and (floors := summary.floors(model)):
        text += " Dashed: " + ", ".join(f"{bound} ({DASHED[bound]})" if len(floors) > 1 else bound for bound in floors)
        text += "; a learner that is good on all models may lie below its bound for long, but not for ever."
    if name == "regret" and (upper := summary.bounds[model].upper):
        last = float(next(c for c in summary.curves if c.model == model).epochs[-1])
        told = ", ".join(f"{words} {number(bound(last))}" for words, bound in upper.items())
        text += f" Proved upper bounds at the end, not drawn: {told}."
    return headline, text


def opening(summary: Summary, learners: int, replications: int) -> list[str]:
    """Return what was done and what regret means, for a reader who knows neither."""
    models = len(summary.bounds)
    return [
        f"{_count(learners, 'learner')} had to control {_count(models, 'model')}, {_count(replications, 'time')} each, for "
        f"{horizon_words(summary.horizon)}. A model is a system that pays: one chooses an action, the system stays for a random "
        "time, pays, and jumps to another state. The learners are told which actions there are and what they pay, but not how fast "
        "the system moves and where it jumps; that they find out by trying (what each one knew is said below).",
        "Trying costs. The regret is what a learner earned less than the best policy would have earned in the same time; good "
        f"learners have little, and it grows ever more slowly. {KINDS[summary.regret]}",
    ]


def model_sentences(summary: Summary, models: list[StoredModel]) -> Iterator[tuple[str, str]]:
    """Yield (label, what the model is and what the best policy earns there)."""
    for stored in models:
        model, bounds = stored.model, summary.bounds[stored.label]
        text = f"{_origin(stored)}. {_count(model.n_states, 'state')}, {_count(model.n_pairs, 'choice')} of an action in all."
        if bounds.policy is not None:
            size = f"earns {number(bounds.gain)}" if bounds.gain >= 0 else f"costs {number(-bounds.gain)}"
            rules = ", ".join(f"{model.actions.label(a)} in {s}" for s, a in zip(model.states.labels, bounds.policy))
            text += f" The best policy {size} per unit of time" + (f": {rules}." if model.n_states <= FEW else ".")
        yield stored.label, text


def _origin(stored: StoredModel) -> str:
    if "zoo" in stored.source:
        try:
            text = our_family(str(stored.source["zoo"])).summary.rstrip(".")
            return text[0].upper() + text[1:]
        except SojournError:  # a family of another package, which is not imported for a page
            return f"The model {stored.source['zoo']!r} of the zoo"
    return f"The model of the file {stored.source['file']}" if "file" in stored.source else "A model given in Python"


def told_the_model(learners: list[StoredLearner]) -> set[str]:
    """Return the labels of those that were shown the model: they win by definition."""
    ours = {name for name, entry in LEARNERS.built_in.items() if entry.shown_the_model}
    return {entry.label for entry in learners if entry.source["name"] in ours or entry.source.get("shown_the_model")}


def findings(summary: Summary, learners: list[StoredLearner]) -> Iterator[str]:
    """Yield for each model who loses least, whether that is shown, and how that compares with the lower bound."""
    told = told_the_model(learners)
    for model in model_labels(summary):
        rows = sorted((r for r in summary.rows if r.model == model), key=lambda r: r.mean)
        rows = [r for r in rows if r.learner not in told] or rows
        best = rows[0]
        band = f" (95 % band {number(best.low)} to {number(best.high)})"
        text = f"On {model}, {best.learner} loses {'least: ' * (len(rows) > 1)}{number(best.mean)}"
        text += f" on average{band}" if best.replications > 1 else ""
        text += _share(summary, best)
        if len(rows) > 1:
            near = [r.learner for r in rows[1:] if not _is_shown(summary, model, best.learner, r.learner)]
            text += ("; less than every other learner (5 % level, Holm)" if not near
                     else "; not shown to be less than " + " and ".join(near))
        yield f"{text}.{_growth(summary, best)}"


def _share(summary: Summary, row: Row) -> str:
    """Return the loss as a share of what the best policy earns in that time."""
    gain = summary.bounds[row.model].gain
    time = next(float(c.times[-1]) for c in summary.curves if (c.model, c.learner) == (row.model, row.learner))
    if not abs(gain) * time > 0 or not row.mean > 0:
        return ""
    return f", {100 * row.mean / (abs(gain) * time):.2g} % of what the best policy {'earns' if gain > 0 else 'costs'} in that time"


def _growth(summary: Summary, row: Row) -> str:
    if not row.constant > 0 or row.slope != row.slope:
        return ""
    band = f" ({number(row.slope_low)} to {number(row.slope_high)})" if row.replications > 1 else ""
    return (f" Over the last two decades of decisions that grew by {number(row.slope)}{band} per unit of log N; "
            f"the long-run bound is {row.bound} = {number(row.constant)}.")


def _is_shown(summary: Summary, model: str, a: str, b: str) -> bool:
    return any(c.p_holm < 0.05 for c in summary.comparisons if c.model == model and {c.first, c.second} == {a, b})


def about_bound(summary: Summary) -> list[str]:
    """Return what the lower bound excludes and what not, and for which models this study is too short for it."""
    names = {name for model in summary.bounds for name in summary.floors(model)}
    if not names:
        return without_bound(summary)
    return [WHAT_IT_EXCLUDES, *([WHO_IS_TOLD] if names != {"C(M)"} else []), *(f"{line}." for line in bounds_used(summary)),
            *too_short(summary), *without_bound(summary)]


def too_short(summary: Summary) -> list[str]:
    """Return a sentence for each model at whose number of decisions the bound means nothing yet."""
    found = []
    for model, bounds in summary.bounds.items():
        last = max((float(c.epochs[-1]) for c in summary.curves if c.model == model), default=0.0)
        floors = [floor for floor in bounds.floors.values() if floor.name in summary.floors(model)]
        found += [f"On {model} {last:,.0f} decisions are too few for {floor.name} to mean anything: it asks for more tries than "
                  f"good play brings visits to those states. From about {floor.meaningful:.0e} decisions on it does."
                  for floor in floors if last < floor.meaningful]
    return found


def notes(summary: Summary) -> list[str]:
    """Return how the figures were made."""
    shared = summary.horizon["common_random_numbers"]
    test = "the paired t-test (runs share the world's random numbers)" if shared else "Welch's t-test"
    band = "Student's t" if summary.band == "t" else "the studentised bootstrap (2,000 resamples)"
    made = [
        f"Shown is the {REGRETS[summary.regret][1]}. Pseudo-regret is the sum over pairs of gap times visits; its mean is that of "
        "the completed regret up to a bounded term, with much less noise. The other regrets: "
        "sojourn study report STORE --regret regret|completed|adjusted.",
        f"Bands are 95 % confidence bands of the mean over replications, by {band}, at each point by itself.",
        "A slope is (R(N) - R(N/100)) / log 100, its band that of its mean over replications.",
    ]
    if summary.comparisons:
        made.append(f"Learners are compared by {test} on the final value, p-values corrected by Holm's method over all "
                    f"{len(summary.comparisons)} comparisons; the effect is Hedges' g, and P(first lower) the chance that a run of "
                    "the first has less regret than one of the second.")
    return made


def _count(n: int, what: str) -> str:
    """Return `1 model`, `2 models`, `10,000 states`."""
    return f"{n:,} {what}{'s' * (n != 1)}"
