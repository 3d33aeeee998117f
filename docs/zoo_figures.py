"""Draws the figures of the zoo's pages: `python docs/zoo_figures.py` (needs the extra `plot`)."""

from pathlib import Path

import numpy as np

import sojourn
from sojourn.report.model_path import plot_path
from sojourn.report.model_style import DARK, INK, WARM, figure, plain_axes
from sojourn.report.models import plot_model, save_figure

HERE = Path(__file__).parent / "figures"


def regrets(name: str, sizes: list[int], **parameters: object) -> np.ndarray:
    """Return the mean pseudo-regret after 20,000 decisions of 4 runs, for each buffer size of `service-rate`."""
    means = []
    for size in sizes:
        model = sojourn.make("service-rate", capacity=size)
        solution = sojourn.solve(model)
        runs = [sojourn.simulate(model, sojourn.learner(name, model.knowledge(), seed=seed, **parameters), max_epochs=20_000,
                                 seed=seed, checkpoints=[20_000], solution=solution) for seed in range(4)]
        means.append(np.mean([run.pseudo_regret[-1] for run in runs]))
        print(f"{name}, buffer {size}: regret {means[-1]:.0f}")
    return np.array(means)


def buffer_figure() -> object:
    """Return the gain's error, the diameter and the regret of two learners against the buffer of `service-rate`."""
    sizes = [4, 6, 8, 12, 16, 24, 32, 48]
    models = [sojourn.make("service-rate", capacity=size) for size in sizes]
    gains = np.array([sojourn.solve(model).gain for model in models])
    limit = sojourn.solve(sojourn.make("service-rate", capacity=120)).gain
    fig = figure(13.2, 3.7)
    left, middle, right = fig.subplots(1, 3)
    left.semilogy(sizes, np.maximum(np.abs(gains - limit), 1e-15), color=DARK, marker="o", linewidth=2)
    middle.plot(sizes, [sojourn.diameter(model).value for model in models], color=WARM, marker="s", linewidth=2)
    tried = [5, 10, 20, 40, 80]
    bold, default = regrets("ct-ucrl", tried, delta=1e-4, planning="fast"), regrets("default", tried)
    right.loglog(tried, bold, color=WARM, marker="s", linewidth=2, label="CT-UCRL")
    right.loglog(tried, default, color=DARK, marker="o", linewidth=2, label="the default learner")
    right.legend(frameon=False, fontsize=10, loc="center right")
    right.set_xticks(tried, map(str, tried))
    right.minorticks_off()
    titles = ("error of the gain", "diameter D (time)", "regret after 20,000 decisions")
    for ax, title in zip((left, middle, right), titles):
        ax.set_title(title, loc="left", fontsize=11.5, color=INK)
        plain_axes(ax, grid="y")
        ax.set_xlabel("buffer (customers)", fontsize=10.5, color=INK)
    fig.suptitle("the gain settles, the diameter does not", x=0.01, ha="left", fontsize=15, fontweight="bold", color=INK)
    return fig


def main() -> None:
    HERE.mkdir(exist_ok=True)
    plot_model(sojourn.make("routing", capacity=14), path=HERE / "routing.png")
    plot_model(sojourn.make("customer-selection", servers=4), path=HERE / "customer-selection.png")
    save_figure(buffer_figure(), HERE / "buffer.png")
    model = sojourn.make("customer-selection", servers=6)
    run = sojourn.simulate(model, sojourn.learner("ct-ucrl", model.knowledge(), delta=0.05), max_epochs=600, seed=1, record=True)
    plot_path(run, path=HERE / "path.png")


if __name__ == "__main__":
    main()
