"""The short form of `benchmarks/fuzz.py`: every shape of random model a few times, judged by exact arithmetic."""

import pytest

from shapes import RARE, SHAPES, case
from verdicts import FAILURES, JUDGES


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", JUDGES)
def test_random_models_are_proved_or_refused_in_words(question, shape):
    for index in range(2 if shape in RARE else 6):
        verdict = JUDGES[question](case(2026, index, (shape,)))
        assert verdict.kind not in FAILURES, f"case {index}: {verdict.kind}: {verdict.detail}"


@pytest.mark.parametrize("question, index", [("solve", 642), ("solve", 5062), ("evaluate", 1829), ("evaluate", 5450)])
def test_intervals_hold_also_where_rows_that_miss_one_by_less_than_1e_12_are_divided_by_their_sums(question, index):
    verdict = JUDGES[question](case(17, index))
    assert verdict.kind == "proved", verdict.detail


def test_a_case_is_the_same_model_and_policy_every_time():
    one, two = case(5, 17), case(5, 17)
    assert one.model.equals(two.model) and (one.policy == two.policy).all()
    assert not one.model.equals(case(6, 17).model)
