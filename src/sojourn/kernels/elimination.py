"""Elimination without a subtraction (Grassmann, Taksar, Heyman): states are taken out of a Markov chain one after another.

Taking out state k sends what used to pass through it straight on: with S_k = Σ_j a_kj over the states j that remain,
a_ij grows by a_ik a_kj / S_k and a cost b_i by a_ik b_k / S_k.  Only off-diagonal numbers are used, all of them positive, so
nothing cancels: every result keeps its digits however rare a state is.

The sparse form works on dense fronts (multifrontal): a supernode is a run of states with the same later neighbours; its front
holds their rows and columns, the states are taken out of it, and the rest is handed on to the parent in the elimination tree.
States are numbered in elimination order; the last one, the reference, stays.
"""

import numpy as np

from sojourn.kernels.jit import inlined, kernel

TINY = 1e-290  # smaller numbers may have lost digits
LARGE = 160  # rows of a front from which on a matrix product is faster
PANEL = 32  # states taken out between two of them


def eliminate_reference(a):
    """Return (through, onward, total) of a dense chain `a`: f_ik = a_ik / S_k for i > k, a_kj for j > k, and S_k."""
    a = a.astype(float)
    n = len(a)
    through, onward, total = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for k in range(n - 1):
        total[k] = a[k, k + 1 :].sum()
        onward[k, k + 1 :] = a[k, k + 1 :]
        through[k + 1 :, k] = a[k + 1 :, k] / total[k]
        a[k + 1 :, k + 1 :] += np.outer(through[k + 1 :, k], onward[k, k + 1 :])
    return through, onward, total


@inlined
def sum_twice(row, begin, end):
    """Return Σ row[begin:end] of positive numbers as if in twice the precision: off by at most two roundings."""
    total, rest = 0.0, 0.0
    for j in range(begin, end):
        x = row[j]
        new = total + x
        part = new - total
        rest += (total - (new - part)) + (x - part)
        total = new
    return total + rest


@kernel
def take_out(front, many, total):
    """Take the first `many` states out of a dense front in place; fill `total` with S_k; return the number of rows touched, summed.

    Afterwards front[i, k] is f_ik and front[k, j] is a_kj; the rest, from `many` on, is the chain without them.  Several states at
    a time: what lies beyond them is updated once for all of them, by a matrix product where it is large.
    """
    size = front.shape[0]
    touched, first = 0, 0
    while first < many:
        large = size - first >= LARGE
        end = min(first + (PANEL if large else 4), many)
        for k in range(first, end):
            s = sum_twice(front[k], k + 1, size)
            total[k] = s
            for i in range(k + 1, size):
                f = front[i, k]
                if f != 0.0:
                    f /= s
                    front[i, k] = f
                    touched += 1
                    for j in range(k + 1, size if i < end else end):
                        front[i, j] += f * front[k, j]
        if large:
            front[end:, end:] += np.dot(front[end:, first:end].copy(), front[first:end, end:].copy())
        else:
            pass_on(front, first, end)
        first = end
    return touched


@kernel
def pass_on(front, first, end):
    """Add what passes through the states `first` to `end`, at most four, to what lies beyond them in the front."""
    size = front.shape[0]
    for i in range(end, size):
        row = front[i]
        if end - first == 4:
            f0, f1, f2, f3 = row[first], row[first + 1], row[first + 2], row[first + 3]
            if f0 != 0.0 or f1 != 0.0 or f2 != 0.0 or f3 != 0.0:
                r0, r1, r2, r3 = front[first], front[first + 1], front[first + 2], front[first + 3]
                for j in range(end, size):
                    row[j] += (f0 * r0[j] + f1 * r1[j]) + (f2 * r2[j] + f3 * r3[j])
        else:
            for k in range(first, end):
                f = row[k]
                if f != 0.0:
                    for j in range(end, size):
                        row[j] += f * front[k, j]


@kernel
def room_needed(begin, offset, above):
    """Return (place of each supernode's factors, largest front, most numbers handed on at a time, children of each supernode)."""
    many = begin.size - 1
    place, sizes = np.zeros(many + 1, dtype=np.int64), np.empty(many, dtype=np.int64)
    children = np.zeros(many + 1, dtype=np.int64)
    biggest, held, top, high = 1, 0, 0, 0
    for s in range(many):
        rest = offset[s + 1] - offset[s]
        size = begin[s + 1] - begin[s] + rest
        place[s + 1] = place[s] + (begin[s + 1] - begin[s]) * size
        biggest = max(biggest, size)
        for _ in range(children[s]):
            held -= 1
            top -= sizes[held]
        sizes[held] = rest * rest
        held += 1
        top += rest * rest
        high = max(high, top)
        children[above[s]] += 1
    return place, biggest, high, children


@kernel
def assemble(front, first, last, at, number, order, rows, columns):
    """Write the chain's own numbers of the states `first` to `last` into their front; `at` is the place of a state in it."""
    start, index, value = rows
    column_start, column_row, column_value = columns
    for k in range(first, last):
        for e in range(start[order[k]], start[order[k] + 1]):
            j = number[index[e]]
            if j >= first and j != k:
                front[k - first, at[j]] += value[e]
        for e in range(column_start[order[k]], column_start[order[k] + 1]):
            i = number[column_row[e]]
            if i >= last:
                front[at[i], k - first] += column_value[e]


@kernel
def keep(front, many, through, onward):
    """Copy f and a of the states taken out of a front, by state; return whether no product of theirs leaves the range of floats."""
    size = front.shape[0]
    least, most, small, large = 1e300, 0.0, 1e300, 0.0
    for k in range(many):
        through[k * size : k * size + k + 1] = 0.0
        onward[k * size : k * size + k + 1] = 0.0
        for i in range(k + 1, size):
            f, a = front[i, k], front[k, i]
            through[k * size + i], onward[k * size + i] = f, a
            large, most = max(large, f), max(most, a)
            small, least = min(small, f if f > 0.0 else 1e300), min(least, a if a > 0.0 else 1e300)
    return small * least > 1e-280 and large * most < 1e280 and small > 1e-280 and least > 1e-280 and large < 1e280


@kernel
def eliminate(rows, columns, order, begin, offset, state, above):
    """Take all states but the last of `order` out; return (through, onward, total, place, roundings, sound).

    The chain by `rows` and by `columns` (start, index, value), in its own numbers; everything else in elimination order.
    `through[place[s]:]` holds f of supernode s by state k and then by row i of its front, `onward` likewise a_kj.  `roundings`
    counts row roundings for the error bound: each is one edge of a tree that may be off by half a unit.  `sound` is False where a
    number left the range of floats; the factors are then no proof, and end where a `total` is lost.
    """
    many, n = begin.size - 1, order.size
    place, biggest, high, children = room_needed(begin, offset, above)
    through, onward, total = np.empty(place[many]), np.empty(place[many]), np.zeros(n)
    work, stack = np.empty(biggest * biggest), np.empty(high)
    owner, held, top = np.empty(many, dtype=np.int64), 0, 0
    at, number = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for k in range(n):
        number[order[k]] = k
    roundings, sound = 0.0, True
    for s in range(many):
        first, last, rest = begin[s], begin[s + 1], offset[s + 1] - offset[s]
        ns, size = last - first, last - first + rest
        front = work[: size * size].reshape((size, size))
        front[:, :] = 0.0
        for k in range(first, last):
            at[k] = k - first
        for e in range(offset[s], offset[s + 1]):
            at[state[e]] = ns + e - offset[s]
        assemble(front, first, last, at, number, order, rows, columns)
        for _ in range(children[s]):
            held -= 1
            c = owner[held]
            wide = offset[c + 1] - offset[c]
            top -= wide * wide
            to = at[state[offset[c] : offset[c + 1]]]
            for p in range(wide):
                row, handed = front[to[p]], stack[top + p * wide : top + (p + 1) * wide]
                for q in range(wide):
                    row[to[q]] += handed[q]
            roundings += wide
        roundings += 5 * take_out(front, ns, total[first:last])
        sound = keep(front, ns, through[place[s] : place[s + 1]], onward[place[s] : place[s + 1]]) and sound
        if not total[first:last].min() > 1e-290:  # also where it is no number
            return through, onward, total, place, roundings, False
        stack[top : top + rest * rest].reshape((rest, rest))[:, :] = front[ns:, ns:]
        top += rest * rest
        owner[held] = s
        held += 1
    return through, onward, total, place, roundings, sound


@kernel
def forward(begin, offset, state, place, through, b):
    """Add to each later row of `b` (states x columns) what the states taken out hand on; the last row ends as a cycle's total."""
    width = b.shape[1]
    for s in range(begin.size - 1):
        first, ns, rest = begin[s], begin[s + 1] - begin[s], offset[s + 1] - offset[s]
        size = ns + rest
        for k in range(ns):
            row = place[s] + k * size
            for i in range(k + 1, size):
                f = through[row + i]
                if f != 0.0:
                    to = first + i if i < ns else state[offset[s] + i - ns]
                    for c in range(width):
                        b[to, c] += f * b[first + k, c]


@kernel
def backward(begin, offset, state, place, onward, total, b):
    """Solve for the states from the last to the first, in place; the last row must hold the value of the reference."""
    width = b.shape[1]
    for s in range(begin.size - 2, -1, -1):
        first, ns, rest = begin[s], begin[s + 1] - begin[s], offset[s + 1] - offset[s]
        size = ns + rest
        for k in range(ns - 1, -1, -1):
            row = place[s] + k * size
            for j in range(k + 1, size):
                a = onward[row + j]
                if a != 0.0:
                    to = first + j if j < ns else state[offset[s] + j - ns]
                    for c in range(width):
                        b[first + k, c] += a * b[to, c]
            for c in range(width):
                b[first + k, c] /= total[first + k]


@kernel
def visits(begin, offset, state, place, through, law):
    """Fill `law` with the expected visits between two visits of the last state; return the most roundings in an entry.

    Infinite where a number that floats do not hold would have mattered.
    """
    n = law.size
    error = np.zeros(n)
    law[n - 1] = 1.0
    lost = False
    for s in range(begin.size - 2, -1, -1):
        first, ns, rest = begin[s], begin[s + 1] - begin[s], offset[s + 1] - offset[s]
        size = ns + rest
        for k in range(ns - 1, -1, -1):
            row = place[s] + k * size
            total, worst, terms, unsure = 0.0, 0.0, 1, 0.0
            for i in range(k + 1, size):
                f = through[row + i]
                if f != 0.0:
                    at = first + i if i < ns else state[offset[s] + i - ns]
                    total += f * law[at]
                    worst = max(worst, error[at])
                    terms += 1
                    if law[at] < TINY:
                        unsure += f * TINY
            law[first + k], error[first + k] = total, worst + terms
            lost = lost or total > 1e290 or (total > TINY and unsure > 1e-17 * total)
    return np.inf if lost else error.max()


@kernel
def steps(begin, offset, state):
    """Return the most roundings in an entry after `forward` and what `backward` adds to it, for positive costs.

    A supernode of m states adds two roundings a state to their own entries, and one a state to those of its later neighbours, or
    to what its own have by then where that is more; `backward` adds one a neighbour and two.
    """
    n = begin[begin.size - 1] + 1
    ahead, back = np.zeros(n), np.zeros(n)
    for s in range(begin.size - 1):
        first, last, later = begin[s], begin[s + 1], state[offset[s] : offset[s + 1]]
        own = ahead[first:last].max() + 2 * (last - first)
        ahead[first:last] = own
        for to in later:
            ahead[to] = max(ahead[to] + (last - first), own)
    for s in range(begin.size - 2, -1, -1):
        first, last, worst = begin[s], begin[s + 1], 0.0
        for to in state[offset[s] : offset[s + 1]]:
            worst = max(worst, back[to])
        terms = offset[s + 1] - offset[s] + 2
        for k in range(last - 1, first - 1, -1):
            worst += terms + (last - 1 - k)
            back[k] = worst
    return ahead.max(), back.max()
