"""What a study ends with: the regret of every run, the visits that the lower bound asks for, the time under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.report.curves import WIDTH, curves_on, learner_numbers
from sojourn.report.look import COLORS, HATCHES, MARKERS, legend_above, line_of, literal, new_figure, shortened, with_look
from sojourn.report.policy_names import policy_name
from sojourn.study.statistics import mean_band
from sojourn.study.summary import REGRETS, Summary

if TYPE_CHECKING:
    from sojourn.report.look import Figure

PAIRS = 12
POLICIES = 7
BAR_COLORS = ("#0072B2", "#F0E442", "#56B4E9", "#D55E00", "#BBBBBB", "#CC79A7", "#009E73")


@with_look
def final_figure(summary: Summary, model: str) -> Figure:
    """Return the final regret of every run, with mean and 95 % band of the mean, and the median."""
    shown, numbers = curves_on(summary, model), learner_numbers(summary)
    figure, axes = new_figure(WIDTH, 1.2 + 0.5 * len(shown))
    panel = axes[0][0]
    rng = np.random.default_rng(0)
    for row, c in enumerate(shown):
        i, name = numbers[c.learner], {"label": None} if row else {}
        panel.plot(c.final, row + rng.uniform(-0.22, 0.22, len(c.final)), MARKERS[i % len(MARKERS)], color=line_of(i)["color"],
                   alpha=0.5, markersize=3.5, markeredgewidth=0, rasterized=len(c.final) > 500)
        low, high = mean_band(c.final, method=summary.band)
        panel.plot([low, high], [row, row], color="black", linewidth=2.4, solid_capstyle="butt",
                   **({"label": "mean and 95 % band"} | name))
        panel.plot(c.final.mean(), row, "o", color="white", markeredgecolor="black", markersize=6)
        panel.plot([np.median(c.final)] * 2, [row - 0.28, row + 0.28], color="black", linewidth=1.0, **({"label": "median"} | name))
    _rows(panel, [c.learner for c in shown])
    least, most = min(c.final.min() for c in shown), max(c.final.max() for c in shown)
    if least > 0 and most / least > 30:
        panel.set_xscale("log")
    panel.set_xlabel(f"final {REGRETS[summary.regret][1]} (reward), one mark per run")
    legend_above(figure, panel)
    return figure


@with_look
def debt_figure(summary: Summary, model: str) -> Figure | None:
    """Return, for the critical pairs that matter most, visits over log N / K; None where no pair is critical."""
    debts = [d for d in summary.debts if d.model == model]
    if not debts:
        return None
    worth: dict[tuple[str, str], float] = {}
    for d in debts:  # learners that are told less have more critical pairs, with less divergence
        worth[d.state, d.action] = max(worth.get((d.state, d.action), 0.0), d.gap / d.divergence)
    pairs = sorted(worth, key=lambda pair: -worth[pair])[:PAIRS]
    numbers = learner_numbers(summary)
    figure, axes = new_figure(WIDTH, 1.3 + 0.26 * len(pairs))
    panel = axes[0][0]
    here = list(dict.fromkeys(d.learner for d in debts))
    for learner in here:
        i = numbers[learner]
        paid = {(d.state, d.action): d.paid for d in debts if d.learner == learner}
        offset = (here.index(learner) - (len(here) - 1) / 2) * 0.6 / max(1, len(here))
        shares = [max(paid[pair], 1e-3) if pair in paid else np.nan for pair in pairs]
        panel.plot(shares, np.arange(len(pairs)) + offset, MARKERS[i % len(MARKERS)],
                   color=COLORS[i % len(COLORS)], markersize=5, label=learner)
    panel.axvline(1.0, color="black", linewidth=1.1, linestyle=(0, (5, 2.5)), label="log N / K")
    panel.set_xscale("log")
    _rows(panel, [f"{_clip(s)}: {_clip(a)}" for s, a in pairs])
    panel.set_xlabel("mean visits over log N / K (log scale)")
    legend_above(figure, panel)
    return figure


@with_look
def policy_figure(summary: Summary, model: str) -> Figure | None:
    """Return the share of decisions under each policy, the optimal one first; None for learners without policies."""
    shown = [c for c in curves_on(summary, model) if c.policies]
    if not shown:
        return None
    total: dict[tuple[int, ...], float] = {}
    for c in shown:
        for policy, share in c.policies:
            if share > 1e-3:
                total[policy] = total.get(policy, 0.0) + share
    bounds = summary.bounds[model]
    best = tuple(int(a) for a in bounds.policy) if bounds.policy is not None else max(total, key=lambda policy: total[policy])
    ranked = sorted(total, key=lambda policy: (policy != best, -total[policy], policy))[:POLICIES]
    names = [_policy_words(summary, model, policy, best) for policy in ranked]
    figure, axes = new_figure(WIDTH, 1.15 + 0.36 * len(shown) + 0.19 * sum(name.count("\n") + 1 for name in names))
    panel = axes[0][0]
    left = np.zeros(len(shown))
    for i, policy in enumerate(ranked):
        width = np.array([dict(c.policies).get(policy, 0.0) for c in shown])
        panel.barh(range(len(shown)), width, left=left, color=BAR_COLORS[i % len(BAR_COLORS)], hatch=HATCHES[i % len(HATCHES)],
                   edgecolor="#1a1a1a", linewidth=0.5, label=names[i], height=0.62)
        left += width
    rest = np.maximum(0.0, 1.0 - left)
    if rest.max() > 2e-3:
        panel.barh(range(len(shown)), rest, left=left, color="white", edgecolor="black", linewidth=0.5, label="other policies",
                   height=0.62)
    _rows(panel, [c.learner for c in shown])
    panel.set_xlim(0, 1)
    panel.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    panel.set_xlabel("share of the decisions, mean over runs")
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=1, handlelength=2.4)
    return figure


def _policy_words(summary: Summary, model: str, policy: tuple[int, ...], best: tuple[int, ...]) -> str:
    bounds = summary.bounds[model]
    if bounds.policy is None and policy == best:
        return "the policy played most"
    return literal("\n".join(shortened(policy_name(summary.models[model], policy, best, bounds.gaps), 56, 2)))


def _rows(panel: Any, names: list[str]) -> None:
    """Name the rows from the top down."""
    panel.set_yticks(range(len(names)), [literal("\n".join(shortened(name, 24, 2))) for name in names])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)


def _clip(label: str) -> str:
    return label if len(label) <= 20 else label[:17] + "..."
