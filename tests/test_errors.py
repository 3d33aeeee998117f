"""Errors are worded at once, however many names there are and however long they are."""

import time

import numpy as np

from sojourn.errors import unknown_name


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
