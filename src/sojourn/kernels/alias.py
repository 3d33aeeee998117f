"""Drawing the next state in constant time, by cells of two outcomes each.

A row with m successors is cut into m - 1 cells of equal mass 1/(m-1).  Cell c of pair k stands at `row_start[k] + c`: with
probability cut/2^64 the jump goes along entry `own`, else along entry `other`.  A uniform, read as a fraction of 64 bits and
multiplied by m - 1, has the cell in its high word and the uniform within the cell in its low word.
"""

from fractions import Fraction

import numpy as np

from sojourn.kernels.jit import kernel
from sojourn.kernels.pcg64 import wide_product

WHOLE = 18446744073709551616.0  # 2^64
LARGEST = np.uint64(2**64 - 1)
TWO_53, ELEVEN = 9007199254740992.0, np.uint64(11)


def row_law_reference(start, end, cut, own, other) -> dict[int, Fraction]:
    """Return the exact probability of each entry of a row as its cells have it."""
    law = {entry: Fraction(0) for entry in range(start, end)}
    for cell in range(start, end - 1):
        share = Fraction(int(cut[cell]), 2**64)
        law[int(own[cell])] += share / (end - start - 1)
        law[int(other[cell])] += (1 - share) / (end - start - 1)
    return law if end - start > 1 else {start: Fraction(1)}


@kernel
def cells(row_start, probability):
    """Return (cut, own, other).  Each cell pairs an entry lighter than a cell with a heavier one, which keeps the rest.

    Of k entries with total mass k - 1 cells, two always have at least one cell together, so this never runs dry.
    """
    size = len(probability)
    cut = np.zeros(size, dtype=np.uint64)
    own = np.arange(size)
    other = np.arange(size)
    mass = np.empty(size)
    light = np.empty(size, dtype=np.int64)
    heavy = np.empty(size, dtype=np.int64)
    for pair in range(len(row_start) - 1):
        start, end = row_start[pair], row_start[pair + 1]
        lights, heavies = 0, 0
        for entry in range(start, end):
            mass[entry] = probability[entry] * (end - start - 1)
            if mass[entry] < 1.0:
                light[lights] = entry
                lights += 1
            else:
                heavy[heavies] = entry
                heavies += 1
        for cell in range(start, end - 1):
            if lights == 0:  # rounding only
                heavies -= 1
                light[0] = heavy[heavies]
                lights = 1
            lights -= 1
            small = light[lights]
            if heavies > 0:
                heavies -= 1
                large = heavy[heavies]
            else:
                lights -= 1
                large = light[lights]
            own[cell], other[cell] = small, large
            share = min(max(mass[small], 0.0), 1.0)
            cut[cell] = LARGEST if share * WHOLE >= WHOLE else np.uint64(share * WHOLE)
            mass[large] -= 1.0 - share
            if mass[large] < 1.0:
                light[lights] = large
                lights += 1
            else:
                heavy[heavies] = large
                heavies += 1
    return cut, own, other


def jump_reference(rng, row_start, cut, own, other, pair) -> int:
    """Return the entry (index into `next_state`) of the jump out of `pair`; one uniform, none if there is one successor."""
    start, end = int(row_start[pair]), int(row_start[pair + 1])
    if end - start == 1:
        return start
    cell, rest = divmod(int(rng.random() * 2**53) * 2**11 * (end - start - 1), 2**64)
    return int(own[start + cell] if rest < int(cut[start + cell]) else other[start + cell])


@kernel
def jump(rng, row_start, cut, own, other, pair):
    start = row_start[pair]
    many = row_start[pair + 1] - start - 1
    if many == 0:
        return start
    fraction = np.uint64(np.int64(rng.random() * TWO_53)) << ELEVEN
    high, rest = wide_product(fraction, np.uint64(many))
    cell = start + np.int64(high)
    if rest < cut[cell]:
        return own[cell]
    return other[cell]
