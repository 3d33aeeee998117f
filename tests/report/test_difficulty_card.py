"""The card of a model's difficulty says from when on the lower bound means something."""

import pytest

import sojourn
from sojourn.report.difficulty import plot_difficulty, when_it_means


def test_the_card_says_when_n_is_too_small_for_the_bound():
    found = sojourn.difficulty(sojourn.make("admission"))
    speaks, words = when_it_means(found, 1e6)
    assert not speaks and "means nothing yet" in words and "from about N = 1e9 on" in words
    assert found.payable_bound(1e6) < 0.5 * found.lower_bound(epochs=1e6)
    assert when_it_means(found, 1e9)[0]
    card = plot_difficulty(found)
    written = " ".join(text.get_text() for axes in card.axes for text in axes.texts).replace("\n", " ")
    assert words in written and written.count("means nothing yet") == 1


def test_the_card_says_when_n_is_large_enough_and_when_there_is_no_bound():
    found = sojourn.difficulty(sojourn.make("three-state"))
    speaks, words = when_it_means(found, 1e6)
    assert speaks and "begins to speak" in words and "not a floor" in words
    assert when_it_means(sojourn.difficulty(sojourn.make("two-state")), 1e6) == (
        False, "There is no lower bound here to compare a learner with.")


@pytest.mark.parametrize("name", ["admission", "two-state"])
def test_the_card_is_drawn(name, tmp_path):
    sojourn.difficulty(sojourn.make(name)).plot(path=tmp_path / "card.svg")
    assert (tmp_path / "card.svg").stat().st_size > 10_000
