"""The figures of three studies, from their stores.

    python studies/figures.py discretisation discretisation.sqlite studies/discretisation/regret.png
    python studies/figures.py truncation truncation.sqlite studies/truncation/regret.png
    python studies/figures.py which-learner which-learner.sqlite studies/which-learner/regret.png
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import sojourn


def final(store: str) -> Any:
    """Return a table of the mean final pseudo-regret: learners down, models across."""
    frame = sojourn.Study.open(store).frame()
    last = frame[frame.epoch == frame.epoch.max()]
    return last.pivot_table(index="learner", columns="model", values="pseudo_regret", aggfunc="mean", sort=False)


def discretisation(table: Any, axes: Any) -> None:
    """Regret against the step, with the others as level lines."""
    steps = [name for name in table.index if "step" in name]
    for colour, model in zip(("C0", "C1", "C2"), table.columns, strict=False):
        axes.loglog([float(name.split()[-1]) for name in steps], table.loc[steps, model], "o-", color=colour, label=model)
        for name, style in (("ucrl2, uniformised", "--"), ("default", ":")):
            axes.axhline(table.loc[name, model], color=colour, linestyle=style, linewidth=1)
    axes.set_xlabel("step of time between two looks")
    axes.set_ylabel("pseudo-regret, 10^5 decisions")
    axes.legend(title="dashed: uniformised, dotted: default", frameon=False)


def truncation(table: Any, axes: Any) -> None:
    """Bars per estimator, printed and a tenth of the radii, for each model."""
    places, width = np.arange(len(table.index)), 0.8 / len(table.columns)
    for i, model in enumerate(table.columns):
        axes.bar(places + i * width, table[model], width, label=model)
    axes.set_yscale("log")
    names = [name.replace(", ", "\n").replace("median-of-means", "median\nof means") for name in table.index]
    axes.set_xticks(places + 0.3, names, fontsize=7)
    axes.set_ylabel("pseudo-regret, 10^5 decisions")
    axes.legend(frameon=False, ncols=len(table.columns), loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)


def which_learner(table: Any, axes: Any) -> None:
    """Regret as a share of what playing at random pays, in colours and numbers."""
    share = table / table.loc["random"]
    share = share.loc[np.log(share).mean(axis=1).sort_values().index]
    share.index = [name.split(" (")[0] for name in share.index]  # without parameters
    image = axes.imshow(np.log10(share.to_numpy()), cmap="viridis_r", vmin=-4, vmax=0.3, aspect="auto")
    axes.set_xticks(range(share.shape[1]), share.columns, rotation=60, ha="right", fontsize=7)
    axes.set_yticks(range(share.shape[0]), share.index, fontsize=7)
    for i, j in np.ndindex(share.shape):
        value = share.to_numpy()[i, j]
        axes.text(j, i, f"{value:.1%}" if value < 0.1 else f"{value:.0%}", ha="center", va="center", fontsize=5,
                  color="white" if value > 0.03 else "black")
    axes.figure.colorbar(image, label="log10 of the regret over that of `random`")


def main() -> None:
    kind, store, path = sys.argv[1:]
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    {"discretisation": discretisation, "truncation": truncation, "which-learner": which_learner}[kind](final(store), axes)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
