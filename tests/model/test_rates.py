"""Named rates and their linear forms."""

import numpy as np
import pytest

from sojourn.errors import ModelError
from sojourn.model.declared import Declared
from sojourn.model.rates import Rate

arrive, serve = Rate("arrive", 0.8), Rate("serve", 1.5)


def test_a_form_knows_its_value_and_its_coefficients():
    form = 2 * serve + arrive / 4
    assert form.value == 2 * 1.5 + 0.8 / 4
    assert form.terms == ((serve, 2.0), (arrive, 0.25)) and repr(form) == "2 * serve + 0.25 * arrive"
    assert sum([arrive, serve]).value == 0.8 + 1.5 and hash(2 * serve) == hash(serve * 2)


def test_arrays_of_coefficients_work_from_both_sides():
    n = np.arange(3)
    for form in (serve * n, n * serve):
        assert form.value.tolist() == [0.0, 1.5, 3.0] and form.terms[0][1].tolist() == [0, 1, 2]


@pytest.mark.parametrize("make, words", [
    (lambda: arrive * serve, "product of two rates"),
    (lambda: arrive / serve, "quotient of two rates"),
    (lambda: 1 / serve, "not linear"),
    (lambda: arrive + 1.0, "known=True"),
    (lambda: arrive - serve, "must not be negative"),
    (lambda: -1 * arrive, "not negative"),
    (lambda: arrive * float("nan"), "finite"),
    (lambda: arrive * "2", "finite number"),
    (lambda: arrive / 0, "divided by 0"),
    (lambda: arrive / np.float64(0.0), "divided by 0"),
    (lambda: arrive + "2", "known=True"),
    (lambda: -arrive, "must not be negative"),
    (lambda: arrive**2, "linear in the rates"),
    (lambda: Rate("", 1.0), "must be a word"),
    (lambda: Rate("x", 0.0), "positive and finite"),
    (lambda: Rate("x", 1.0, known=True, bounds=(0, 2)), "give one of the two"),
    (lambda: Rate("x", 1.0, bounds=(2, 3)), "outside its bounds"),
    (lambda: Rate("x", 1.0, bounds=(3, 2)), "lo < hi"),
    (lambda: Rate("x", 1.0, bounds=5), "pair"),
])
def test_what_is_not_linear_or_no_rate_is_refused_with_a_sentence(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_one_name_is_one_rate():
    declared = Declared()
    declared.add(0, 1, arrive)
    with pytest.raises(ModelError, match="two rates are named 'arrive'"):
        declared.add(0, 1, Rate("arrive", 0.9))
