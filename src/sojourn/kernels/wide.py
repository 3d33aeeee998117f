"""The elimination of `elimination.py` on numbers of about 32 digits and any size: (h + r) 2^e with h in [1, 2), or h = 0.

Needed where chains are crossed so rarely (once in 1e20 jumps, or in 1e400) that floats cannot hold the differences, or the numbers
on the way, though the results may be ordinary.
"""

import numpy as np

from sojourn.kernels.jit import inlined, kernel


@inlined
def normal(h, r, e):
    """Return the same number with h in [1, 2) and r below half a unit of it."""
    total = h + r
    r = r - (total - h)
    if total == 0.0:
        return 0.0, 0.0, 0
    if total >= 2.0:
        return total * 0.5, r * 0.5, e + 1
    if total < 1.0:
        return total * 2.0, r * 2.0, e - 1
    return total, r, e


@inlined
def add_wide(h, r, e, h2, r2, e2):
    """Return the sum of two numbers that are not negative."""
    if h2 == 0.0:
        return h, r, e
    if h == 0.0:
        return h2, r2, e2
    if e2 > e:
        h, r, e, h2, r2, e2 = h2, r2, e2, h, r, e
    apart = e - e2
    if apart > 118:
        return h, r, e
    shrink = 1.0
    if apart > 59:
        shrink = 1.0 / (1 << 59)
        apart -= 59
    shrink /= 1 << apart
    h2, r2 = h2 * shrink, r2 * shrink
    total = h + h2
    part = total - h
    rest = (h - (total - part)) + (h2 - part)
    return normal(total, rest + (r + r2), e)


@inlined
def multiply_wide(h, r, e, h2, r2, e2):
    """Return the product."""
    if h == 0.0 or h2 == 0.0:
        return 0.0, 0.0, 0
    total = h * h2
    a, b = 134217729.0 * h, 134217729.0 * h2
    a, b = a - (a - h), b - (b - h2)
    c, d = h - a, h2 - b
    rest = ((a * b - total) + a * d + c * b) + c * d
    return normal(total, rest + (h * r2 + r * h2), e + e2)


@inlined
def divide_wide(h, r, e, h2, r2, e2):
    """Return the quotient by a positive number."""
    if h == 0.0:
        return 0.0, 0.0, 0
    first = h / h2
    a, b = 134217729.0 * first, 134217729.0 * h2
    a, b = a - (a - first), b - (b - h2)
    c, d = first - a, h2 - b
    total = first * h2
    rest = ((a * b - total) + a * d + c * b) + c * d
    left = ((h - total) - rest) + (r - first * r2)
    return normal(first, left / h2, e - e2)


@inlined
def later(k, p, last, offset, state):
    """Return the p-th later neighbour of state k; its supernode ends before `last`, whose own later neighbours are at `offset`."""
    inside = last - 1 - k
    return k + 1 + p if p < inside else state[offset + p - inside]


@kernel
def laid_out(start, index, h_value, e_value, order, begin, offset, state):
    """Return (supernode of each state, pointer, through, onward) with the chain's own numbers put where they belong."""
    n = order.size
    home, number, pointer = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    for s in range(begin.size - 1):
        for k in range(begin[s], begin[s + 1]):
            home[k] = s
            pointer[k + 1] = pointer[k] + begin[s + 1] - 1 - k + offset[s + 1] - offset[s]
    pointer[n] = pointer[n - 1]
    for k in range(n):
        number[order[k]] = k
    th, tl, te = np.zeros(pointer[n]), np.zeros(pointer[n]), np.zeros(pointer[n], dtype=np.int64)
    oh, ol, oe = np.zeros(pointer[n]), np.zeros(pointer[n]), np.zeros(pointer[n], dtype=np.int64)
    for old in range(n):
        i = number[old]
        for edge in range(start[old], start[old + 1]):
            j = number[index[edge]]
            low, high = min(i, j), max(i, j)
            if low != high:
                s = home[low]
                for p in range(pointer[low + 1] - pointer[low]):
                    if later(low, p, begin[s + 1], offset[s], state) == high:
                        if i == low:
                            oh[pointer[low] + p], oe[pointer[low] + p] = h_value[edge], e_value[edge]
                        else:
                            th[pointer[low] + p], te[pointer[low] + p] = h_value[edge], e_value[edge]
    return home, pointer, (th, tl, te), (oh, ol, oe)


@kernel
def eliminate_wide(start, index, h_value, e_value, order, begin, offset, state):
    """Take all states but the last out; return (pointer, through, onward, total, roundings), the middle three as (h, r, e).

    Numbers of state k are at pointer[k]: one for each of its later neighbours in turn.
    """
    n = order.size
    home, pointer, through, onward = laid_out(start, index, h_value, e_value, order, begin, offset, state)
    th, tl, te = through
    oh, ol, oe = onward
    sh, sl, se = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    roundings = 0.0
    for k in range(n - 1):
        first, size, s = pointer[k], pointer[k + 1] - pointer[k], home[k]
        h, r, e = 0.0, 0.0, 0
        for p in range(size):
            h, r, e = add_wide(h, r, e, oh[first + p], ol[first + p], oe[first + p])
        sh[k], sl[k], se[k] = h, r, e
        for p in range(size):
            at = first + p
            if th[at] == 0.0:
                continue
            roundings += size + 4
            fh, fl, fe = divide_wide(th[at], tl[at], te[at], h, r, e)
            th[at], tl[at], te[at] = fh, fl, fe
            i = later(k, p, begin[s + 1], offset[s], state)
            for q in range(size):
                j = later(k, q, begin[s + 1], offset[s], state)
                if j == i or oh[first + q] == 0.0:
                    continue
                ph, pl, pe = multiply_wide(fh, fl, fe, oh[first + q], ol[first + q], oe[first + q])
                low, high = min(i, j), max(i, j)
                t, to = home[low], pointer[low]
                while later(low, to - pointer[low], begin[t + 1], offset[t], state) != high:
                    to += 1
                if i == low:
                    oh[to], ol[to], oe[to] = add_wide(oh[to], ol[to], oe[to], ph, pl, pe)
                else:
                    th[to], tl[to], te[to] = add_wide(th[to], tl[to], te[to], ph, pl, pe)
    return pointer, through, onward, (sh, sl, se), roundings


@kernel
def totals_wide(pointer, begin, offset, state, through, onward, total, h, r, e):
    """Turn costs (states x columns, none negative) into expected totals until the last state, in place; return its cycle's."""
    th, tl, te = through
    oh, ol, oe = onward
    sh, sl, se = total
    n, width = h.shape
    for s in range(begin.size - 1):
        for k in range(begin[s], begin[s + 1]):
            for p in range(pointer[k + 1] - pointer[k]):
                at = pointer[k] + p
                if th[at] != 0.0:
                    i = later(k, p, begin[s + 1], offset[s], state)
                    for c in range(width):
                        ph, pl, pe = multiply_wide(th[at], tl[at], te[at], h[k, c], r[k, c], e[k, c])
                        h[i, c], r[i, c], e[i, c] = add_wide(h[i, c], r[i, c], e[i, c], ph, pl, pe)
    cycle = h[n - 1].copy(), r[n - 1].copy(), e[n - 1].copy()
    h[n - 1], r[n - 1], e[n - 1] = 0.0, 0.0, 0
    for s in range(begin.size - 2, -1, -1):
        for k in range(begin[s + 1] - 1, begin[s] - 1, -1):
            for p in range(pointer[k + 1] - pointer[k]):
                at = pointer[k] + p
                if oh[at] != 0.0:
                    j = later(k, p, begin[s + 1], offset[s], state)
                    for c in range(width):
                        ph, pl, pe = multiply_wide(oh[at], ol[at], oe[at], h[j, c], r[j, c], e[j, c])
                        h[k, c], r[k, c], e[k, c] = add_wide(h[k, c], r[k, c], e[k, c], ph, pl, pe)
            for c in range(width):
                h[k, c], r[k, c], e[k, c] = divide_wide(h[k, c], r[k, c], e[k, c], sh[k], sl[k], se[k])
    return cycle


@kernel
def visits_wide(pointer, begin, offset, state, through):
    """Return (h, r, e, roundings): expected visits of each state between two visits of the last one."""
    th, tl, te = through
    n = pointer.size - 1
    h, r, e, worst = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
    h[n - 1] = 1.0
    for s in range(begin.size - 2, -1, -1):
        for k in range(begin[s + 1] - 1, begin[s] - 1, -1):
            for p in range(pointer[k + 1] - pointer[k]):
                at = pointer[k] + p
                if th[at] != 0.0:
                    i = later(k, p, begin[s + 1], offset[s], state)
                    ph, pl, pe = multiply_wide(th[at], tl[at], te[at], h[i], r[i], e[i])
                    h[k], r[k], e[k] = add_wide(h[k], r[k], e[k], ph, pl, pe)
                    worst[k] = max(worst[k], worst[i])
            worst[k] += pointer[k + 1] - pointer[k] + 1
    return h, r, e, worst.max()
