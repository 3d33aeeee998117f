"""The draws in registers are numpy's, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sojourn.kernels.jit import kernel
from sojourn.kernels.pcg64 import (
    exponential,
    exponential_reference,
    next_word,
    next_word_reference,
    wide_product,
    wide_product_reference,
)
from sojourn.learn.streams import stream_state

word = st.integers(0, 2**64 - 1).map(np.uint64)


@kernel
def many_words(words, n):
    out = np.empty(n, dtype=np.uint64)
    high, low = words[0], words[1]
    for i in range(n):
        high, low, out[i] = next_word(high, low, words[2], words[3])
    words[0], words[1] = high, low
    return out


@kernel
def many_exponentials(words, n):
    out = np.empty(n)
    high, low = words[0], words[1]
    for i in range(n):
        high, low, out[i] = exponential(high, low, words[2], words[3])
    words[0], words[1] = high, low
    return out


@kernel
def product(a, b):
    return wide_product(a, b)


def test_words_are_the_raw_output_of_numpys_generator():
    rng = np.random.Generator(np.random.PCG64(5))
    words = stream_state(rng)
    assert np.array_equal(many_words(words, 10_000), rng.bit_generator.random_raw(10_000))
    assert np.array_equal(words, stream_state(rng))


def test_a_million_exponentials_are_numpys_own_and_leave_the_stream_where_numpy_leaves_it():
    rng = np.random.Generator(np.random.PCG64(6))
    words = stream_state(rng)
    drawn = many_exponentials(words, 10**6)
    assert np.array_equal(drawn, rng.standard_exponential(10**6))
    assert np.array_equal(words, stream_state(rng))
    assert drawn.max() > 10  # the tail of the ziggurat was reached


def test_references_of_the_generator_equal_the_kernels():
    words = stream_state(np.random.Generator(np.random.PCG64(7)))
    high, low, plain = words[0], words[1], []
    for _ in range(3000):
        high, low, x = exponential_reference(high, low, words[2], words[3])
        plain.append(x)
    assert plain == many_exponentials(words.copy(), 3000).tolist()
    h, l_, bits = next_word_reference(*words[:4])
    assert [bits] == many_words(words, 1).tolist() and (h, l_) == (words[0], words[1])


@given(word, word)
def test_wide_product_has_both_words(a, b):
    high, low = product(a, b)
    assert (int(high) << 64) + int(low) == int(a) * int(b)
    assert (high, low) == wide_product_reference(a, b)
