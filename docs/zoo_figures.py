"""Draws the figures of the zoo's pages: `python docs/zoo_figures.py` (needs the extra `plot`)."""

from pathlib import Path

import numpy as np

import sojourn
from sojourn.report.model_path import plot_path
from sojourn.report.model_style import DARK, INK, WARM, figure, plain_axes
from sojourn.report.models import plot_model, save_figure

HERE = Path(__file__).parent / "figures"


def buffer_figure():
    """Return the gain's error and the diameter against the buffer of `service-rate`."""
    sizes = [4, 6, 8, 12, 16, 24, 32, 48]
    models = [sojourn.make("service-rate", capacity=size) for size in sizes]
    gains = np.array([sojourn.solve(model).gain for model in models])
    limit = sojourn.solve(sojourn.make("service-rate", capacity=120)).gain
    reach = [sojourn.diameter(model).value for model in models]
    fig = figure(9.6, 3.6)
    left, right = fig.subplots(1, 2)
    left.semilogy(sizes, np.maximum(np.abs(gains - limit), 1e-15), color=DARK, marker="o", linewidth=2)
    left.set_title("error of the gain", loc="left", fontsize=11.5, color=INK)
    right.plot(sizes, reach, color=WARM, marker="s", linewidth=2)
    right.set_title("diameter D (time)", loc="left", fontsize=11.5, color=INK)
    for ax in (left, right):
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
