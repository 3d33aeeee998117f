"""The elimination of `elimination.py` on numbers of any size: positive x = m 2^e with m in [1, 2), or m = 0.

Needed where chains are crossed so rarely (1e-400) that floats cannot hold the numbers on the way, though the results may be ordinary.
"""

import numpy as np

from sojourn.kernels.jit import inlined, kernel




def add_wide_reference(m, e, m2, e2):
    """Return m 2^e + m2 2^e2 as a mantissa in [1, 2) and an exponent, from Python's whole numbers (rounded once)."""
    from fractions import Fraction

    total = Fraction(m) * Fraction(2) ** e + Fraction(m2) * Fraction(2) ** e2
    if total == 0:
        return 0.0, 0
    power = total.numerator.bit_length() - total.denominator.bit_length()
    power -= total < Fraction(2) ** power
    head = float(total / Fraction(2) ** power)
    return (head / 2, power + 1) if head == 2.0 else (head, power)


@inlined
def add_wide(m, e, m2, e2):
    """Return (m, e) of the sum."""
    if m2 == 0.0:
        return m, e
    if m == 0.0:
        return m2, e2
    if e2 > e:
        m, e, m2, e2 = m2, e2, m, e
    apart = e - e2
    if apart < 60:
        m = m + m2 / (1 << apart)
    if m >= 2.0:
        return m * 0.5, e + 1
    return m, e


@inlined
def multiply_wide(m, e, m2, e2):
    """Return (m, e) of the product."""
    if m == 0.0 or m2 == 0.0:
        return 0.0, 0
    m, e = m * m2, e + e2
    if m >= 2.0:
        return m * 0.5, e + 1
    return m, e


@inlined
def divide_wide(m, e, m2, e2):
    """Return (m, e) of the quotient by a positive number."""
    if m == 0.0:
        return 0.0, 0
    m, e = m / m2, e - e2
    if m < 1.0:
        return m * 2.0, e - 1
    return m, e


@inlined
def later(k, p, last, offset, state):
    """Return the p-th later neighbour of state k, whose supernode ends before `last` and has its own later neighbours at `offset`."""
    inside = last - 1 - k
    return k + 1 + p if p < inside else state[offset + p - inside]


@kernel
def eliminate_wide(start, index, m_value, e_value, order, begin, offset, state):
    """Take all states but the last out; return (pointer, m_through, e_through, m_onward, e_onward, m_total, e_total, roundings).

    Numbers of state k are at pointer[k]: one for each of its later neighbours in turn.
    """
    n = order.size
    home, number, pointer = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    for s in range(begin.size - 1):
        for k in range(begin[s], begin[s + 1]):
            home[k] = s
            pointer[k + 1] = pointer[k] + begin[s + 1] - 1 - k + offset[s + 1] - offset[s]
    pointer[n] = pointer[n - 1]
    for k in range(n):
        number[order[k]] = k
    m_through, e_through = np.zeros(pointer[n]), np.zeros(pointer[n], dtype=np.int64)
    m_onward, e_onward = np.zeros(pointer[n]), np.zeros(pointer[n], dtype=np.int64)
    m_total, e_total = np.zeros(n), np.zeros(n, dtype=np.int64)
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
                            m_onward[pointer[low] + p], e_onward[pointer[low] + p] = m_value[edge], e_value[edge]
                        else:
                            m_through[pointer[low] + p], e_through[pointer[low] + p] = m_value[edge], e_value[edge]
    roundings = 0.0
    for k in range(n - 1):
        first, size, s = pointer[k], pointer[k + 1] - pointer[k], home[k]
        m, e = 0.0, 0
        for p in range(size):
            m, e = add_wide(m, e, m_onward[first + p], e_onward[first + p])
        m_total[k], e_total[k] = m, e
        for p in range(size):
            if m_through[first + p] == 0.0:
                continue
            roundings += size + 4
            fm, fe = divide_wide(m_through[first + p], e_through[first + p], m, e)
            m_through[first + p], e_through[first + p] = fm, fe
            i = later(k, p, begin[s + 1], offset[s], state)
            for q in range(size):
                j = later(k, q, begin[s + 1], offset[s], state)
                if j == i or m_onward[first + q] == 0.0:
                    continue
                pm, pe = multiply_wide(fm, fe, m_onward[first + q], e_onward[first + q])
                low, high = min(i, j), max(i, j)
                t, at = home[low], pointer[low]
                while later(low, at - pointer[low], begin[t + 1], offset[t], state) != high:
                    at += 1
                if i == low:
                    m_onward[at], e_onward[at] = add_wide(m_onward[at], e_onward[at], pm, pe)
                else:
                    m_through[at], e_through[at] = add_wide(m_through[at], e_through[at], pm, pe)
    return pointer, m_through, e_through, m_onward, e_onward, m_total, e_total, roundings


@kernel
def totals_wide(pointer, begin, offset, state, m_through, e_through, m_onward, e_onward, m_total, e_total, m, e):
    """Turn costs m 2^e (states x columns, positive) into expected totals until the last state, in place; return its cycle's totals."""
    n, width = m.shape
    for s in range(begin.size - 1):
        for k in range(begin[s], begin[s + 1]):
            for p in range(pointer[k + 1] - pointer[k]):
                at = pointer[k] + p
                if m_through[at] != 0.0:
                    i = later(k, p, begin[s + 1], offset[s], state)
                    for c in range(width):
                        pm, pe = multiply_wide(m_through[at], e_through[at], m[k, c], e[k, c])
                        m[i, c], e[i, c] = add_wide(m[i, c], e[i, c], pm, pe)
    m_cycle, e_cycle = m[n - 1].copy(), e[n - 1].copy()
    m[n - 1], e[n - 1] = 0.0, 0
    for s in range(begin.size - 2, -1, -1):
        for k in range(begin[s + 1] - 1, begin[s] - 1, -1):
            for p in range(pointer[k + 1] - pointer[k]):
                at = pointer[k] + p
                j = later(k, p, begin[s + 1], offset[s], state)
                for c in range(width):
                    pm, pe = multiply_wide(m_onward[at], e_onward[at], m[j, c], e[j, c])
                    m[k, c], e[k, c] = add_wide(m[k, c], e[k, c], pm, pe)
            for c in range(width):
                m[k, c], e[k, c] = divide_wide(m[k, c], e[k, c], m_total[k], e_total[k])
    return m_cycle, e_cycle


@kernel
def visits_wide(pointer, begin, offset, state, m_through, e_through):
    """Return (m, e, roundings): expected visits of each state between two visits of the last one."""
    n = pointer.size - 1
    m, e, worst = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
    m[n - 1] = 1.0
    for s in range(begin.size - 2, -1, -1):
        for k in range(begin[s + 1] - 1, begin[s] - 1, -1):
            for p in range(pointer[k + 1] - pointer[k]):
                at = pointer[k] + p
                if m_through[at] != 0.0:
                    i = later(k, p, begin[s + 1], offset[s], state)
                    pm, pe = multiply_wide(m_through[at], e_through[at], m[i], e[i])
                    m[k], e[k] = add_wide(m[k], e[k], pm, pe)
                    worst[k] = max(worst[k], worst[i])
            worst[k] += pointer[k + 1] - pointer[k] + 1
    return m, e, worst.max()
