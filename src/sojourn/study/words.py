"""A study's figures as text: for a terminal, for Markdown, for LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.hidden_characters import visible
from sojourn.learn.saving import settings_in_words
from sojourn.model.columns import stacked
from sojourn.model.words import html_card
from sojourn.study.bounds import TOLD
from sojourn.study.failures import failure_lines

if TYPE_CHECKING:
    from sojourn.study.summary import Row, Summary

FINAL_HEAD = ("model", "learner", "runs", "mean", "95 % band", "median", "worst", "slope / bound")


def number(value: float) -> str:
    """Return a figure with as many digits as one can use.

    >>> number(1234.5678), number(0.0123456), number(float("nan")), number(0.0), number(12345678.0)
    ('1235', '0.0123', '-', '0', '1.23e+07')
    """
    if not np.isfinite(value):
        return "-" if np.isnan(value) else "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6 or size < 1e-3:
        return f"{value:.2e}"
    if size >= 1000:
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 100 else f"{value:.2f}" if size >= 10 else f"{value:.3g}"


def p_value(p: float) -> str:
    return "-" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def final_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the final table as text cells, in the order of FINAL_HEAD."""
    return [
        (
            r.model,
            r.learner,
            str(r.replications),
            number(r.mean),
            f"{number(r.low)} to {number(r.high)}" if r.replications > 1 else "-",
            number(r.median),
            number(r.worst),
            slope_cell(r),
        )
        for r in summary.rows
    ]


def slope_cell(row: Row) -> str:
    """Return growth per unit of log N over the last two decades, over the constant for what the learner was told, with its band."""
    constant = row.constant
    if not constant > 0 or np.isnan(row.slope):
        return "-"
    band = f" ({number(row.slope_low / constant)} to {number(row.slope_high / constant)})" if row.replications > 1 else ""
    return f"{number(row.slope / constant)} {row.bound}{band}"


COMPARISON_HEAD = ("model", "learners", "difference", "95 % interval", "effect g", "P(first lower)", "p (Holm)", "verdict")


def comparison_rows(summary: Summary) -> list[tuple[str, ...]]:
    return [
        (
            c.model,
            f"{c.first} vs {c.second}",
            number(c.difference),
            f"{number(c.low)} to {number(c.high)}",
            number(c.effect),
            f"{c.lower_share:.2f}",
            p_value(c.p_holm),
            c.verdict,
        )
        for c in summary.comparisons
    ]


DEBT_HEAD = ("model", "learner", "state", "action", "gap", "K", "log N / K", "mean visits", "visits / (log N / K)")


def debt_rows(summary: Summary, most: int = 40) -> list[tuple[str, ...]]:
    """Return the exploration debt, the pairs that matter most (gap / K) first within each cell."""
    order = {(r.model, r.learner): i for i, r in enumerate(summary.rows)}
    debts = sorted(summary.debts, key=lambda d: (order[d.model, d.learner], -d.gap / d.divergence))
    kept, seen = [], dict.fromkeys(order, 0)
    for d in debts:
        seen[d.model, d.learner] += 1
        if seen[d.model, d.learner] <= max(1, most // max(1, len(order))):
            kept.append(d)
    return [
        (
            d.model,
            d.learner,
            d.state,
            d.action,
            number(d.gap),
            number(d.divergence),
            number(d.needed),
            number(d.visits),
            number(d.paid),
        )
        for d in kept
    ]


def horizon_words(horizon: dict[str, object]) -> str:
    """Return the horizon in words, such as `N = 10,000,000 decisions`."""
    return f"N = {horizon['epochs']:,} decisions" if horizon["epochs"] else f"time T = {horizon['time']:g}"


def headline(summary: Summary) -> str:
    """Return what the figures are: `demo: pseudo-regret at N = 10,000 decisions`."""
    from sojourn.study.summary import REGRETS

    return f"{summary.name}: {REGRETS[summary.regret][1]} at {horizon_words(summary.horizon)}"


def lacks(summary: Summary) -> list[str]:
    """Return what is missing or failed, as lines."""
    missing = [f"{summary.missing} replications are still missing"] if summary.missing else []
    return [*missing, *failure_lines(summary.failures)]


def settings_used(summary: Summary) -> list[str]:
    """Return a line for each learner: the parameters that it used."""
    return [f"{label}: {settings_in_words(used)}" for label, used in summary.settings.items() if used]


def structure_lines(summary: Summary) -> list[str]:
    """Return a sentence for each learner that was told events: whether they hold (the test of `learn/structure_test.py`)."""
    return [f"{c.learner} on {c.model}: {_structure(c.structure)}" for c in summary.curves if c.structure]


def _structure(runs: Sequence[dict[str, Any]]) -> str:
    against = [run for run in runs if run["rejected"]]
    if not against:
        largest = number(float(np.exp(max(run["log_e"] for run in runs))))
        return (f"nothing speaks against the declared events (evidence of at most {largest} to 1 in {len(runs)} "
                f"run{'s' * (len(runs) > 1)}; 100 to 1 would).")
    events = [run["event"] for run in against]
    when = float(np.median([run["rejected"] for run in against]))
    return (f"the declared events do not hold, found in {len(against)} of {len(runs)} runs (median: after {when:,.0f} decisions), "
            f"most of it about {max(events, key=events.count)!r}. A learner that goes on believing them may lose for ever; with "
            "guard = true it goes on as the tabular default.")


STOPPING_HEAD = ("model", "learner", "runs", "could stop", "rightly", "10 % by", "median", "90 % by", "any rule needs")


def stopping_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return when runs could have stopped, in decisions, as text cells in the order of STOPPING_HEAD."""
    return [
        (
            s.model,
            s.learner,
            str(s.runs),
            f"{s.stopped / s.runs:.0%}" if not s.refused else "cannot say",
            f"{s.correct / s.stopped:.0%}" if s.stopped else "-",
            *(f"{end:,.0f}" if np.isfinite(end) else "later" if not s.refused else "-" for end in (s.early, s.median, s.late)),
            number(s.least),
        )
        for s in summary.stopping
    ]


def stopping_words(summary: Summary) -> str:
    """Return what the table of stopping times is about."""
    from sojourn.study.stopping import wish

    wanted = wish(summary.horizon["within"])
    return (f"decisions until a policy is proved to be within {wanted}; a run goes on to its horizon, and the last column is what "
            "any rule needs in the mean to name such a policy")


def stopping_refusals(summary: Summary) -> list[str]:
    """Return why the runs of some learners could not be judged."""
    return list(dict.fromkeys(s.refused for s in summary.stopping if s.refused))


def tests_made(summary: Summary) -> str:
    return f"comparisons ({summary.comparisons[0].test}-test, Holm over {len(summary.comparisons)})"


def summary_text(summary: Summary, width: int = 0) -> str:
    """Return the summary for a terminal of so many characters a line (0: any)."""
    parts = [headline(summary), *lacks(summary), "", *stacked(FINAL_HEAD, final_rows(summary), width)]
    parts += [*settings_used(summary), *bounds_used(summary)]
    if summary.stopping:
        parts += ["", stopping_words(summary), *stacked(STOPPING_HEAD, stopping_rows(summary), width), *stopping_refusals(summary)]
    if summary.comparisons:
        parts += ["", tests_made(summary), *stacked(COMPARISON_HEAD, comparison_rows(summary), width)]
    for sentence in (*without_bound(summary), *structure_lines(summary)):
        parts += ["", sentence]
    return visible("\n".join(parts))


def summary_html(summary: Summary) -> str:
    """Return the summary for a notebook."""
    said = (lacks, settings_used, bounds_used, without_bound, structure_lines)
    notes = "; ".join(line for lines in said for line in lines(summary))
    cards = [html_card(headline(summary), FINAL_HEAD, final_rows(summary), notes)]
    if summary.stopping:
        refused = "; ".join(stopping_refusals(summary))
        cards.append(html_card(stopping_words(summary), STOPPING_HEAD, stopping_rows(summary), refused))
    if summary.comparisons:
        cards.append(html_card(tests_made(summary), COMPARISON_HEAD, comparison_rows(summary)))
    return visible("".join(cards))


def bounds_used(summary: Summary) -> list[str]:
    """Return a line for each lower bound that learners are set against: for whom it is, and its value on each model."""
    found: dict[str, list[str]] = {}
    for model in summary.bounds:
        for name, constant in summary.floors(model).items():
            found.setdefault(name, []).append(f"{number(constant)} on {model}")
    return [f"{name}, the long-run bound on the slope for {TOLD[name]}: {', '.join(values)}" for name, values in found.items()]


def without_bound(summary: Summary) -> list[str]:
    """Return a sentence for each model whose regret has no lower bound to be set against."""
    found = []
    for label, bounds in summary.bounds.items():
        none = dict.fromkeys(r.bound for r in summary.rows if r.model == label and r.constant == 0)
        if bounds.reason:
            found.append(f"{label}: no lower bound, because {bounds.reason}")
        elif none:
            why = "nothing that is hidden could confuse" if list(none) == ["C_events(M)"] else "no pair is critical"
            found.append(f"{label}: no lower bound, because {why} ({', '.join(f'{name} = 0' for name in none)}), so a regret that "
                         "stays bounded is not excluded.")
    return found


def in_markdown(text: str) -> str:
    """Return a text as Markdown that shows it as it stands: a name may hold stars, brackets, dollars, tags.

    >>> print(in_markdown("C_u(M) of [*x*](y) <b>"))
    C_u(M) of \\[\\*x\\*\\](y) &lt;b&gt;
    """
    return re.sub(r"([\\`*#\[\]|~$]|(?<!\w)_|_(?!\w))", r"\\\1", escape(" ".join(text.split("\n")), quote=False))


def fenced(text: str, kind: str = "") -> str:
    """Return a text as a block of code, between fences longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table.

    >>> print(markdown(("a", "b"), [("x|y", "<1")]))
    | a | b |
    |---|---|
    | x\\|y | &lt;1 |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(in_markdown, cells)) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)])


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "∞": r"$\infty$",
    "<": r"$<$",
    ">": r"$>$",
}


def latex(summary: Summary) -> str:
    """Return the final table as a LaTeX tabular (booktabs)."""

    def cell(text: str) -> str:
        return "".join(_LATEX.get(char, char) for char in text)

    head = ("Model", "Learner", "Runs", "Mean", "95\\,\\% band", "Median", "Worst", "Slope / bound")
    lines = [r"\begin{tabular}{llrrrrrr}", r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    before = ""
    for row in final_rows(summary):
        shown = ("" if row[0] == before else row[0], *row[1:])
        if before and row[0] != before:
            lines.append(r"\addlinespace")
        before = row[0]
        lines.append(" & ".join(cell(x) for x in shown) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
