"""Errors are worded at once, however many names there are and however long they are."""

import time

import numpy as np
import pytest

import sojourn
from sojourn.errors import ParameterError, unknown_name


def test_a_near_name_is_found_at_once_among_thousands_of_long_ones():
    rng = np.random.default_rng(3)
    known = ["".join(rng.choice(list("abcd"), 1500)) for _ in range(2000)]
    began = time.process_time()
    words = unknown_name("state", known[7][:-1] + "e", known)
    assert time.process_time() - began < 2.0  # 12 s before; some 0.1 s now
    assert f"did you mean {known[7][:100]}" in words.replace("'", "") and len(words) < 10_000


def test_a_short_name_is_guessed_among_many():
    words = unknown_name("state", "s17x", [f"s{i}" for i in range(900)])
    assert "did you mean 's17'?" in words and words.endswith("(900 in all)")


@pytest.mark.parametrize(("typed", "meant"), [("lp", "linear-programming"), ("PI", "policy-iteration"), ("vi", "value-iteration"),
                                              ("programming", "linear-programming"), ("sweep", "sweeps"), ("grid", "multigrid")])
def test_initials_and_parts_of_a_name_are_understood(typed, meant):
    with pytest.raises(ParameterError, match=f"no method named '{typed}'; did you mean '{meant}'"):
        sojourn.solve(sojourn.make("two-state"), method=typed)


def test_a_keyword_that_there_is_not_is_a_type_error_that_names_the_nearest():
    model = sojourn.make("two-state")
    for call, words in ((lambda: sojourn.simulate(model, [0, 0], epochs=9), r"simulate\(\) .* 'epochs'; did you mean 'max_epochs'"),
                        (lambda: sojourn.fit({}, confidnce=0.9), r"fit\(\) has no keyword .*; did you mean 'confidence'"),
                        (lambda: sojourn.Session("ct-ce", 0, knowlege=None), r"Session\(\) has .*; did you mean 'knowledge'"),
                        (lambda: sojourn.Study("x", epoch=1), r"Study\(\) has no keyword .*; did you mean 'epochs'"),
                        (lambda: sojourn.Controller.create("x", None, lerner="ct-ce"),
                         r"Controller\.create\(\) has .*; did you mean 'learner'\? Known: false_alarms, "),
                        (lambda: sojourn.Choice(rate={1: 1.0}), r"Choice\(\) has no keyword named 'rate'; did you mean 'rates'"),
                        (lambda: sojourn.solve(model, tol=1e-6), r"solve\(\) has no keyword named 'tol'; did you mean 'tolerance'"),
                        (lambda: sojourn.difficulty(model, bounds=(1, 2)), "'bounds'; did you mean 'rate_bounds'")):
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(TypeError, match="missing 1 required positional argument"):  # other mistakes are worded as before
        sojourn.simulate(model)


def test_a_public_name_that_there_is_not_names_the_nearest():
    with pytest.raises(AttributeError, match="module 'sojourn' has no attribute 'evalute'; did you mean 'evaluate'"):
        _ = sojourn.evalute
    with pytest.raises(AttributeError, match=r"module 'sojourn\.learn' has no attribute 'CTUCR'; did you mean 'CTUCRL'"):
        _ = sojourn.learn.CTUCR
