"""The learner that docs/simulation.md gives as a template learns: over the whole zoo it is nowhere worse than random."""

import re
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import families, make

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
EPOCHS = 4000


@pytest.fixture(scope="module")
def template():
    text = PAGE.read_text(encoding="utf-8")
    source = re.search(r"^class EstimateAndSolve:\n.*?(?=^mine = )", text, re.MULTILINE | re.DOTALL)
    names = {"np": np, "sojourn": sojourn}
    exec(source[0], names)
    return names["EstimateAndSolve"]


@pytest.mark.parametrize("family", families())
def test_the_template_learner_of_the_docs_is_nowhere_worse_than_random(template, family):
    """Fixed seeds; a template that takes the lump sums for all that is paid loses to random on service-rate."""
    model = make(family)
    solution = sojourn.solve(model)
    learned = simulate(model, template(model.knowledge()), max_epochs=EPOCHS, seed=1, solution=solution)
    random = simulate(model, "random", max_epochs=EPOCHS, seed=1, solution=solution)
    assert learned.pseudo_regret[-1] <= random.pseudo_regret[-1]
