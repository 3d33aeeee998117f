"""Exact optima: gains of every state, the gain gap, the diameter; for long walks, exact bounds closer than 1e-30."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm, prod

from exact import ExactModel, Row, class_gain, eliminate, passage, policy_values, recurrent_classes


def optimal_gains(exact: ExactModel) -> list[Fraction]:
    """The exact optimal gain of every state, by Howard's policy iteration for models with any structure."""
    pairs = exact.pair_start[:-1]
    while True:
        gain, bias = policy_values(exact.choice(pairs))
        better = improved(exact, pairs, gain, bias)
        if better == pairs:
            return [g * exact.unit for g in gain]
        pairs = better


def improved(exact: ExactModel, pairs: list[int], gain: list[Fraction], bias: list[Fraction]) -> list[int]:
    """For each state a pair that leads to more gain, or else of more value at the same gain; its own if there is none."""
    common, level = lcm(*(g.denominator for g in gain)), lcm(*(h.denominator for h in bias))
    g, h = [int(common * x) for x in gain], [int(level * x) for x in bias]
    flat, even = len(set(g)) == 1, len({row[1] for row in exact.rows}) == 1

    def per_time(x: int, k: int) -> Fraction | int:
        return x if even else Fraction(x, exact.rows[k][1])

    better = []
    for s, own in enumerate(pairs):
        options = range(exact.pair_start[s], exact.pair_start[s + 1])
        drift = dict.fromkeys(options, 0) if flat else {k: per_time(_jumps(exact.rows[k], s, g), k) for k in options}
        top = max(drift.values())
        if drift[own] < top:
            better.append(max(options, key=drift.__getitem__))
            continue
        value = {k: per_time(level * exact.rows[k][0] + _jumps(exact.rows[k], s, h), k) for k in options if drift[k] == top}
        better.append(own if value[own] == max(value.values()) else max(value, key=value.__getitem__))
    return better


def _jumps(row: Row, s: int, x: list[int]) -> int:
    """Σ q (x(j) - x(s))."""
    return sum(q * (x[j] - x[s]) for j, q in row[2].items())


def optimum_bounds(exact: ExactModel, pairs: list[int], bits: int = 512) -> tuple[Fraction, Fraction]:
    """Exact bounds on the optimal gain, for models in which every policy met has one recurrent class.

    Below: the exact gain of a policy, improved from `pairs`.  Above: the largest drift of any pair for a bias in fixed-point
    integers, which is a bound whatever the bias; more bits are taken until the two are closer than 2^-100 of the incomes.
    """
    pairs = [int(k) for k in pairs]
    size = max(Fraction(abs(r), t) for r, t, _ in exact.rows) * exact.unit
    while True:
        rows = exact.choice(pairs)
        (states,) = recurrent_classes(rows)
        low = class_gain(rows, states, exact.unit)
        bias = _rounded_bias(rows, states[len(states) // 2], low / exact.unit, bits)
        value = [(row[0] << bits) + sum(q * (bias[j] - bias[s]) for j, q in row[2].items())
                 for row, s in zip(exact.rows, exact.pair_state)]
        high = max(Fraction(v, row[1] << bits) for v, row in zip(value, exact.rows)) * exact.unit
        if high - low <= size / 2**100:
            return low, high
        better = []
        for s, own in enumerate(pairs):
            options = range(exact.pair_start[s], exact.pair_start[s + 1])
            best = max(options, key=lambda k: Fraction(value[k], exact.rows[k][1]))
            ahead = Fraction(value[best], exact.rows[best][1]) - Fraction(value[own], exact.rows[own][1])
            better.append(best if ahead * exact.unit > (size * 2**bits) / 2**110 else own)
        if better == pairs:
            bits *= 2
            if bits > 2**17:
                raise ArithmeticError("no exact bounds with 2^17 bits")
        pairs = better


def _rounded_bias(rows: list[Row], reference: int, gain: Fraction, bits: int) -> list[int]:
    """The bias times 2^bits, rounded to integers."""
    removed, _ = eliminate(dict(enumerate(rows)), {reference})
    price = (gain.numerator << 2 * bits) // gain.denominator
    bias = {reference: 0}
    for k, (reward, time, to), out in reversed(removed):
        drop = max(0, out.bit_length() - 4 * bits)
        own = (((reward << 2 * bits) - time * price) >> bits + drop) + sum((q >> drop) * bias[j] for j, q in to.items())
        bias[k] = own // (out >> drop)
    return [bias[s] for s in range(len(rows))]


def best_gains(exact: ExactModel, pairs=None, small: int = 12) -> list[tuple[Fraction, Fraction]]:
    """Bounds on the optimal gain of each state: exact for small models, closer than 1e-30 of the incomes otherwise."""
    if exact.n <= small:
        return [(g, g) for g in optimal_gains(exact)]
    start = exact.pair_start[:-1] if pairs is None else pairs
    return [optimum_bounds(exact, start)]


def gain_losses(exact: ExactModel, most: int = 300, near: Fraction = Fraction(1, 10**9)) -> list[Fraction]:
    """What policies lose against ρ*, ascending, of a model irreducible under every policy; the first is g.

    All policies where there are at most `most`; otherwise single deviations from one optimal policy (ValueError where another
    is optimal too, or nearer than `near` of the incomes, because then g may need two deviations).
    """
    options = [range(a, b) for a, b in zip(exact.pair_start, exact.pair_start[1:])]
    whole = list(range(exact.n))
    if prod(map(len, options)) <= most:
        gains = sorted({class_gain(exact.choice(p), whole, exact.unit) for p in product(*options)}, reverse=True)
        return [gains[0] - gain for gain in gains[1:]]
    pairs = optimal_pairs(exact)
    best = class_gain(exact.choice(pairs), whole, exact.unit)
    others = [[*pairs[:s], k, *pairs[s + 1:]] for s, own in enumerate(pairs) for k in options[s] if k != own]
    losses = sorted({best - class_gain(exact.choice(other), whole, exact.unit) for other in others})
    size = max(Fraction(abs(row[0]), row[1]) for row in exact.rows) * exact.unit
    if losses and losses[0] <= size * near:
        raise ValueError("more than one policy is optimal, or nearly so")
    return losses


def optimal_pairs(exact: ExactModel) -> list[int]:
    """An optimal policy of a model irreducible under every policy, by exact policy iteration."""
    pairs = exact.pair_start[:-1]
    while (better := improved(exact, pairs, *policy_values(exact.choice(pairs)))) != pairs:
        pairs = better
    return pairs


def diameter(exact: ExactModel) -> Fraction:
    """The largest over (s, t) of the least expected time from s to t, of a model irreducible under every policy."""
    worst = Fraction(0)
    scale = Fraction(1 << exact.jump_bits, 1 << exact.time_bits)
    timed = [(time, 0, to) for _, time, to in exact.rows]
    for target in range(exact.n):
        pairs = exact.pair_start[:-1]
        while True:
            rows = {s: timed[k] for s, k in enumerate(pairs) if s != target}
            time = passage(rows, Fraction(0), {target: Fraction(0)})
            better = []
            for s, own in enumerate(pairs):
                cost = {k: (timed[k][0] + sum(q * (time[j] - time[s]) for j, q in timed[k][2].items())) / sum(timed[k][2].values())
                        for k in range(exact.pair_start[s], exact.pair_start[s + 1])} if s != target else {own: 0}
                better.append(own if cost[own] == min(cost.values()) else min(cost, key=cost.__getitem__))
            if better == pairs:
                break
            pairs = better
        worst = max(worst, *time.values())
    return worst * scale
