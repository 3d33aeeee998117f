"""What benchmarks/learners.py found, as tables and as a picture.

    python benchmarks/learners_table.py                          (the ratios, a row per instance)
    python benchmarks/learners_table.py --all                    (every row: mean, median, maximum, speed)
    python benchmarks/learners_table.py --slope benchmarks/learners-1e7.jsonl
    python benchmarks/learners_table.py --plot ratios.png
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
LEARNERS = ("default", "ct-psrl", "ct-bk", "ct-joint-ucrl", "ct-kl-ucrl", "ct-ce", "ct-ucrl", "random")
DRAWN = ("default", "ct-psrl", "ct-kl-ucrl", "ct-ucrl")


def rows(path: Path) -> list[dict[str, Any]]:
    """Return what was measured, one row per (instance, learner, supports)."""
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def last(row: dict[str, Any]) -> np.ndarray:
    """Return the pseudo-regret of each replication at the end."""
    return np.array(row["regret"])[:, -1]


def ratio(row: dict[str, Any]) -> np.ndarray:
    """Return the same over C(M) log N."""
    return last(row) / (row["constant"] * math.log(row["epochs"]))


def line(row: dict[str, Any]) -> str:
    """Return a row as a line of a markdown table."""
    regret, share = last(row), ratio(row)
    known = "known" if row["supports"] else "unknown"
    return (f"| {row['instance']} | {row['states']} | {row['learner']} | {known} | {row['replications']} | {regret.mean():.0f} | "
            f"{np.median(regret):.0f} | {regret.max():.0f} | {share.mean():.3f} | {share.max():.2f} | "
            f"{row['decisions_per_second']:.1e} |")


def every_row(found: list[dict[str, Any]]) -> None:
    """Print every row."""
    head = ("instance", "states", "learner", "supports", "runs", "mean", "median", "max", "mean / C(M) log N", "max / C(M) log N",
            "decisions/s")
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for row in sorted(found, key=lambda r: (LEARNERS.index(r["learner"]), not r["supports"], r["instance"])):
        print(line(row))


def figures(x: float) -> str:
    """Return a ratio with as many figures as mean something."""
    return f"{x:.2f}" if x < 10 else f"{x:.0f}"


def ratios(found: list[dict[str, Any]], supports: bool) -> None:
    """Print mean and worst ratio to C(M) log N, a row per instance, a column per learner."""
    cells = {(r["instance"], r["learner"]): r for r in found if r["supports"] == supports}
    labels = [label for label in LEARNERS if any(label == learner for _, learner in cells)]
    size = {r["instance"]: (r["states"], r["constant"] * math.log(r["epochs"])) for r in found}
    print(f"| supports {'known' if supports else 'unknown'} | states | C(M) log N | " + " | ".join(labels) + " |")
    print("|---" * (3 + len(labels)) + "|")
    for name in sorted({instance for instance, _ in cells}):
        shown = [ratio(cells[name, label]) if (name, label) in cells else None for label in labels]
        states, bound = size[name]
        print(f"| {name} | {states} | {bound:.4g} | "
              + " | ".join("" if r is None else f"{figures(r.mean())}, {figures(r.max())}" for r in shown) + " |")


def goals(found: list[dict[str, Any]]) -> None:
    """Print how often the goals are reached: mean at most 0.8 on 80 % of the instances, at most 1 on all, no run above 5."""
    for label in LEARNERS:
        for known in (True, False):
            of = [ratio(r) for r in found if r["learner"] == label and r["supports"] == known]
            if of:
                mean, worst = np.array([r.mean() for r in of]), np.array([r.max() for r in of])
                print(f"- {label}, supports {'known' if known else 'unknown'}: {len(of)} instances, "
                      f"mean <= 0.8 on {(mean <= 0.8).mean():.0%}, <= 1.0 on {(mean <= 1).mean():.0%}, "
                      f"largest mean {figures(mean.max())}, worst run {figures(worst.max())} "
                      f"(runs above 5: {sum(int((r > 5).sum()) for r in of)} of {sum(map(len, of))})")


def slope(found: list[dict[str, Any]]) -> None:
    """Print (R(10^7) - R(10^5)) / (C(M) log 100) from rows with epochs = 10^7."""
    print("| instance | learner | slope / C(M) between 10^5 and 10^7 | standard error | 10^5 to 10^6 | 10^6 to 10^7 |")
    print("|---|---|---|---|---|---|")
    for row in found:
        if row["epochs"] == 10**7:
            r = np.array(row["regret"]) / row["constant"] / math.log(10)
            whole = (r[:, 2] - r[:, 0]) / 2
            print(f"| {row['instance']} | {row['learner']} | {whole.mean():.3f} | {whole.std(ddof=1) / math.sqrt(len(r)):.3f} | "
                  f"{(r[:, 1] - r[:, 0]).mean():.3f} | {(r[:, 2] - r[:, 1]).mean():.3f} |")


def plot(found: list[dict[str, Any]], file: Path) -> None:
    """Draw mean and worst ratio of some learners, an instance per line, supports known beside unknown."""
    from sojourn.report.look import COLORS, MARKERS, new_figure, save

    names = sorted({r["instance"] for r in found}, reverse=True)
    figure, axes = new_figure(9.0, 0.19 * len(names) + 1.2, 1, 2)
    axes[0, 1].sharey(axes[0, 0])
    axes[0, 1].sharex(axes[0, 0])
    axes[0, 1].tick_params(labelleft=False)
    for ax, known in zip(axes[0], (True, False)):
        ax.axvline(1.0, color="#404040", linewidth=1.0)
        for k, label in enumerate(DRAWN):
            for row in found:
                if row["learner"] == label and row["supports"] == known:
                    y, r = names.index(row["instance"]) + 0.15 * (1.5 - k), ratio(row)
                    ax.plot([r.mean(), r.max()], [y, y], color=COLORS[k], linewidth=0.8)
                    ax.plot([r.mean()], [y], MARKERS[k], color=COLORS[k], markersize=3.5)
            ax.plot([], [], MARKERS[k], linestyle="-", color=COLORS[k], markersize=3.5, linewidth=0.8, label=label)
        ax.set_xscale("log")
        ax.set_title(f"supports {'known' if known else 'unknown'}", fontsize=10)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(-0.6, len(names) - 0.4)
    figure.supxlabel("pseudo-regret at 10$^6$ decisions over C(M) log N: mean, and a line to the worst of 50 runs (default: 20)",
                     fontsize=9)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(DRAWN), fontsize=9, frameon=False)
    save(figure, file, file.suffix[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=HERE / "learners.jsonl")
    parser.add_argument("--all", action="store_true", help="every row")
    parser.add_argument("--slope", action="store_true", help="the slope between 10^5 and 10^7")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios; FILE ends in .png, .svg or .pdf")
    given = parser.parse_args()
    if given.plot and given.plot.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--plot {given.plot} has no ending that says what to draw; end it in .png, .svg or .pdf")
    if not given.path.is_file():
        parser.error(f"{given.path} is no file; benchmarks/learners.py run FILE makes one")
    found = rows(given.path)
    if given.plot:
        plot(found, given.plot)
    elif given.slope:
        slope(found)
    elif given.all:
        every_row(found)
    else:
        for known in (True, False):
            ratios(found, known)
            print()
        goals(found)


if __name__ == "__main__":
    main()
