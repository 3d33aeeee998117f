"""Packed trees come back bit for bit, and nothing else gets in."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.errors import StoreError
from sojourn.model.pack import canonical, digest, pack, unpack

leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), st.binary(max_size=5))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=4).filter(lambda key: not key.startswith("$")), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(trees)
def test_a_tree_comes_back_as_it_was(tree):
    assert unpack(pack(tree)) == tree
    assert pack(unpack(pack(tree))) == pack(tree)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array([np.nan, -0.0, np.inf]),
        np.zeros((0, 4), dtype=np.int32),
        np.array(True),
        np.array([2**64 - 1], dtype=np.uint64),
        np.arange(4.0)[::2],
        np.array([1, 2], dtype=">i8"),
    ],
)
def test_an_array_comes_back_bit_for_bit(array):
    back = unpack(pack({"a": array}))["a"]
    assert back.shape == array.shape and back.dtype == array.dtype.newbyteorder("=")
    assert back.tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes() and back.flags.writeable


def test_what_is_not_data_is_refused_with_its_place():
    with pytest.raises(StoreError, match=r"\.a\[1\] is a object"):
        pack({"a": [1, object()]})
    with pytest.raises(StoreError, match="array of type object"):
        pack({"a": np.array([object()])})
    with pytest.raises(StoreError, match="key 3"):
        pack({3: 1})


@given(st.binary(max_size=60), st.integers(0, 50))
def test_damaged_bytes_are_refused_or_read_but_never_run(noise, cut):
    good = pack({"a": np.arange(3.0), "b": "x"})
    for data in (noise, good[:cut], good[:8] + noise):
        with contextlib.suppress(StoreError):
            unpack(data)


def test_no_two_lists_of_parts_have_the_same_digest():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert canonical({"b": 1, "a": 2}) == canonical({"a": 2, "b": 1})
