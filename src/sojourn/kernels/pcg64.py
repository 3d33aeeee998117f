"""numpy's PCG64 with its 128-bit state in registers: the same bits as np.random.Generator, without a call per draw.

A stream is (high, low, inc_high, inc_low), the words of `bit_generator.state`; every draw returns (high, low, value).
The exponential is numpy's ziggurat with numpy's tables, as numba carries them.
"""

from math import exp, log1p

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numba.np.random._constants import fe_double, ke_double, we_double, ziggurat_exp_r

from sojourn.kernels.jit import inlined, kernel

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
WORD = 2**64
TOP = np.uint64(0xFFFFFFFFFFFFF800)  # the 53 bits that a uniform keeps
TO_UNIT = 1.0 / 2**53
FE, KE, WE = np.array(fe_double), np.array(ke_double).astype(np.int64), np.array(we_double)
TAIL = float(ziggurat_exp_r)
ZERO, ONE, THREE, EIGHT, ELEVEN, BYTE = (np.uint64(x) for x in (0, 1, 3, 8, 11, 255))


def next_word_reference(high, low, inc_high, inc_low):
    """Return (high, low, 64 random bits): one step of the generator, then its XSL-RR output."""
    state = ((int(high) << 64 | int(low)) * MULTIPLIER + (int(inc_high) << 64 | int(inc_low))) % 2**128
    top, rest = divmod(state, WORD)
    turn, mixed = top >> 58, top ^ rest
    return np.uint64(top), np.uint64(rest), np.uint64((mixed >> turn | mixed << (64 - turn)) % WORD)


def wide_product_reference(a, b):
    """Return (high, low) words of the 128-bit product of two 64-bit words."""
    top, rest = divmod(int(a) * int(b), WORD)
    return np.uint64(top), np.uint64(rest)


@intrinsic
def _next_word(context, high, low, inc_high, inc_low):
    signature = types.UniTuple(types.uint64, 3)(*[types.uint64] * 4)  # type: ignore[attr-defined]

    def generate(target, builder, sig, args):
        big, small = ir.IntType(128), ir.IntType(64)
        shift = ir.Constant(big, 64)

        def joined(above, below):
            return builder.or_(builder.shl(builder.zext(above, big), shift), builder.zext(below, big))

        state = builder.add(builder.mul(joined(args[0], args[1]), ir.Constant(big, MULTIPLIER)), joined(args[2], args[3]))
        top, rest = builder.trunc(builder.lshr(state, shift), small), builder.trunc(state, small)
        mixed, turn = builder.xor(top, rest), builder.lshr(top, ir.Constant(small, 58))
        back = builder.and_(builder.neg(turn), ir.Constant(small, 63))
        bits = builder.or_(builder.lshr(mixed, turn), builder.shl(mixed, back))
        return target.make_tuple(builder, sig.return_type, [top, rest, bits])

    return signature, generate


@intrinsic
def _wide_product(context, a, b):
    signature = types.UniTuple(types.uint64, 2)(types.uint64, types.uint64)  # type: ignore[attr-defined]

    def generate(target, builder, sig, args):
        big, small = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], big), builder.zext(args[1], big))
        top = builder.trunc(builder.lshr(product, ir.Constant(big, 64)), small)
        return target.make_tuple(builder, sig.return_type, [top, builder.trunc(product, small)])

    return signature, generate


# NUMBA_DISABLE_JIT=1 leaves plain Python everywhere, where an intrinsic cannot run.
next_word = next_word_reference if numba.config.DISABLE_JIT else _next_word
wide_product = wide_product_reference if numba.config.DISABLE_JIT else _wide_product


def exponential_reference(high, low, inc_high, inc_low):
    """Return (high, low, x) with x standard exponential: numpy's ziggurat, draw for draw."""
    while True:
        high, low, bits = next_word_reference(high, low, inc_high, inc_low)
        layer, k = int(bits) >> 3 & 255, int(bits) >> 11
        x = k * WE[layer]
        if k < KE[layer]:
            return high, low, float(x)
        high, low, bits = next_word_reference(high, low, inc_high, inc_low)
        u = (int(bits) >> 11) * TO_UNIT
        if layer == 0:
            return high, low, TAIL - log1p(-u)
        if (FE[layer - 1] - FE[layer]) * u + FE[layer] < exp(-x):
            return high, low, float(x)


@kernel
def exponential_rare(high, low, inc_high, inc_low, layer, x):
    """Go on from a first draw that fell outside the layer (1.1 % of the draws)."""
    while True:
        high, low, bits = next_word(high, low, inc_high, inc_low)
        u = np.float64(np.int64(bits >> ELEVEN)) * TO_UNIT
        if layer == ZERO:
            return high, low, TAIL - log1p(-u)
        if (FE[layer - ONE] - FE[layer]) * u + FE[layer] < exp(-x):
            return high, low, x
        high, low, bits = next_word(high, low, inc_high, inc_low)
        layer = (bits >> THREE) & BYTE
        k = np.int64(bits >> ELEVEN)
        x = np.float64(k) * WE[layer]
        if k < KE[layer]:
            return high, low, x


@inlined
def exponential(high, low, inc_high, inc_low):
    high, low, bits = next_word(high, low, inc_high, inc_low)
    layer = (bits >> THREE) & BYTE
    k = np.int64(bits >> ELEVEN)
    x = np.float64(k) * WE[layer]
    if k >= KE[layer]:
        high, low, x = exponential_rare(high, low, inc_high, inc_low, layer, x)
    return high, low, x
