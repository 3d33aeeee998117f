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

BLOCK = 48  # states taken out of a large front before its rest is updated by one matrix product
TINY = 1e-290  # smaller numbers may have lost digits
LARGE = 96  # rows of a front from which on that pays


def eliminate_reference(a):
    """Return (through, onward, total) of a dense chain `a`: f_ik = a_ik / S_k for i > k, a_kj for j > k, and S_k, at elimination."""
    a = a.astype(float)
    n = len(a)
    through, onward, total = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for k in range(n - 1):
        total[k] = a[k, k + 1 :].sum()
        onward[k, k + 1 :] = a[k, k + 1 :]
        through[k + 1 :, k] = a[k + 1 :, k] / total[k]
        a[k + 1 :, k + 1 :] += np.outer(through[k + 1 :, k], onward[k, k + 1 :])
    return through, onward, total


@kernel
def transposed(start, index, value):
    """Return (start, row, value) of a square sparse matrix by columns."""
    n = start.size - 1
    begin = np.zeros(n + 1, dtype=np.int64)
    for e in range(index.size):
        begin[index[e] + 1] += 1
    for j in range(n):
        begin[j + 1] += begin[j]
    filled = begin[:-1].copy()
    row, out = np.empty(index.size, dtype=np.int64), np.empty(index.size)
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            j = index[e]
            row[filled[j]], out[filled[j]] = i, value[e]
            filled[j] += 1
    return begin, row, out


@kernel
def neighbours(start, index, column_start, column_row):
    """Return the pattern (start, index) of jumps in either direction, by rows, without the diagonal."""
    n = start.size - 1
    begin, out = np.zeros(n + 1, dtype=np.int64), np.empty(2 * index.size, dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    filled = 0
    for i in range(n):
        seen[i] = i
        for e in range(start[i], start[i + 1]):
            if seen[index[e]] != i:
                seen[index[e]] = i
                out[filled] = index[e]
                filled += 1
        for e in range(column_start[i], column_start[i + 1]):
            if seen[column_row[e]] != i:
                seen[column_row[e]] = i
                out[filled] = column_row[e]
                filled += 1
        begin[i + 1] = filled
    return begin, out[:filled].copy()


@kernel
def by_distance(start, index, reference):
    """Return (states from the farthest from `reference` to itself, widest span of a jump in that order)."""
    n = start.size - 1
    place = np.full(n, -1, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    order[n - 1], place[reference] = reference, n - 1
    filled, widest = n - 1, 0
    for k in range(n - 1, -1, -1):
        if k < filled:  # another part of the graph: not connected
            return order, n
        i = order[k]
        for e in range(start[i], start[i + 1]):
            j = index[e]
            if place[j] == -1:
                filled -= 1
                order[filled], place[j] = j, filled
            widest = max(widest, abs(place[j] - k))
    return order, widest


@kernel
def renumbered(start, index, order):
    """Return the pattern with its states numbered by their place in `order`."""
    n = start.size - 1
    place = np.empty(n, dtype=np.int64)
    for k in range(n):
        place[order[k]] = k
    begin, out = np.zeros(n + 1, dtype=np.int64), np.empty(index.size, dtype=np.int64)
    filled = 0
    for k in range(n):
        for e in range(start[order[k]], start[order[k] + 1]):
            out[filled] = place[index[e]]
            filled += 1
        begin[k + 1] = filled
    return begin, out


@kernel
def elimination_tree(start, index):
    """Return the parent of each state (-1 for the last): its first later neighbour once all before it are taken out.

    `start`, `index`: symmetric pattern by rows.
    """
    n = start.size - 1
    parent = np.full(n, -1, dtype=np.int64)
    ancestor = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            j = index[e]
            while j != -1 and j < i:
                up = ancestor[j]
                ancestor[j] = i
                if up == -1:
                    parent[j] = i
                j = up
    return parent


@kernel
def postorder(parent):
    """Return the states in an order in which every subtree of the elimination tree stands together, its root last."""
    n = parent.size
    first = np.full(n + 1, -1, dtype=np.int64)
    sibling = np.full(n + 1, -1, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        up = parent[i] if parent[i] >= 0 else n
        sibling[i] = first[up]
        first[up] = i
    order, stack = np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    stack[0], depth, filled = n, 1, 0
    while depth:
        top = stack[depth - 1]
        down = first[top]
        if down != -1:
            first[top] = sibling[down]
            stack[depth] = down
            depth += 1
        else:
            depth -= 1
            if top < n:
                order[filled] = top
                filled += 1
    return order


@kernel
def later_neighbours(start, index, parent):
    """Return how many later neighbours each state has when it is taken out."""
    n = start.size - 1
    count = np.zeros(n, dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        seen[i] = i
        for e in range(start[i], start[i + 1]):
            j = index[e]
            while j < i and seen[j] != i:
                count[j] += 1
                seen[j] = i
                j = parent[j]
    return count


@kernel
def supernodes(parent, count):
    """Return the first state of each run of states with nearly the same later neighbours, and one past the last run.

    The last state is left out.  Runs may store some zeros, a fifth and a few more: larger fronts are faster.
    """
    n = parent.size
    begin = np.empty(n + 1, dtype=np.int64)
    many, used = 0, 0
    for k in range(n - 1):
        length = k - begin[many - 1] + 1 if many else 0
        room = length * count[k] + length * (length - 1) // 2
        if many and parent[k - 1] == k and room <= 1.2 * (used + count[k]) + 16:
            used += count[k]
        else:
            begin[many] = k
            many += 1
            used = count[k]
    begin[many] = n - 1
    return begin[: many + 1].copy()


@kernel
def fronts(start, index, parent, count, begin):
    """Return (offset, state): the later neighbours of each supernode, sorted; and the parent supernode of each (-1: the last state)."""
    many = begin.size - 1
    n = parent.size
    offset = np.zeros(many + 1, dtype=np.int64)
    for s in range(many):
        offset[s + 1] = offset[s] + count[begin[s + 1] - 1]
    state = np.empty(offset[many], dtype=np.int64)
    home = np.empty(n, dtype=np.int64)
    for s in range(many):
        home[begin[s] : begin[s + 1]] = s
    home[n - 1] = -1
    above = np.full(many, -1, dtype=np.int64)
    child = np.full(many, -1, dtype=np.int64)  # first child supernode, then through `sibling`
    sibling = np.full(many, -1, dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    for s in range(many):
        last = begin[s + 1] - 1
        filled = offset[s]
        for k in range(begin[s], begin[s + 1]):
            for e in range(start[k], start[k + 1]):
                j = index[e]
                if j > last and seen[j] != s:
                    seen[j] = s
                    state[filled] = j
                    filled += 1
        c = child[s]
        while c != -1:
            for e in range(offset[c], offset[c + 1]):
                j = state[e]
                if j > last and seen[j] != s:
                    seen[j] = s
                    state[filled] = j
                    filled += 1
            c = sibling[c]
        state[offset[s] : offset[s + 1]] = np.sort(state[offset[s] : offset[s + 1]])
        above[s] = home[state[offset[s]]]
        if above[s] != -1:
            sibling[s] = child[above[s]]
            child[above[s]] = s
    return offset, state, above


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

    Afterwards front[i, k] is f_ik and front[k, j] is a_kj; the rest, from `many` on, is the chain without them.
    """
    size = front.shape[0]
    touched = 0
    large = size >= LARGE
    for first in range(0, many, BLOCK if large else many):
        end = min(first + BLOCK, many) if large else many
        for k in range(first, end):
            s = sum_twice(front[k], k + 1, size)
            total[k] = s
            for i in range(k + 1, size):
                if front[i, k] != 0.0:
                    f = front[i, k] / s
                    front[i, k] = f
                    touched += 1
                    stop = size if i < end or not large else end
                    for j in range(k + 1, stop):
                        front[i, j] += f * front[k, j]
        if large:
            left = np.ascontiguousarray(front[end:, first:end])
            right = np.ascontiguousarray(front[first:end, end:])
            front[end:, end:] += np.dot(left, right)
    return touched


@kernel
def eliminate(start, index, value, column_start, column_row, column_value, order, begin, offset, state, above):
    """Take all states but the last of `order` out; return (through, onward, total, place, roundings, sound).

    The chain by rows (`start`, `index`, `value`) and by columns, in its own numbers; everything else in elimination order.  `through[place[s]:]` holds f of supernode s
    by state k and then by row i of its front, `onward` likewise a_kj.  `roundings` counts row roundings for the error bound: each
    is one edge of a tree that may be off by half a unit.  `sound` is False where a number left the range of floats.
    """
    many, n = begin.size - 1, start.size - 1
    place = np.zeros(many + 1, dtype=np.int64)
    biggest, high, top = 1, 0, 0
    waiting = np.zeros(many + 1, dtype=np.int64)  # children that wait for each supernode
    for s in range(many):
        rest = offset[s + 1] - offset[s]
        size = begin[s + 1] - begin[s] + rest
        place[s + 1] = place[s] + (begin[s + 1] - begin[s]) * size
        biggest = max(biggest, size)
    stack_sizes = np.empty(many, dtype=np.int64)
    held = 0
    for s in range(many):  # how much room the parts handed on need at most
        for _ in range(waiting[s]):
            held -= 1
            top -= stack_sizes[held]
        rest = offset[s + 1] - offset[s]
        stack_sizes[held] = rest * rest
        held += 1
        top += rest * rest
        high = max(high, top)
        waiting[above[s]] += 1
    through, onward = np.empty(place[many]), np.empty(place[many])
    total = np.zeros(n)
    work, stack = np.empty(biggest * biggest), np.empty(high)
    owner, held, top = np.empty(many, dtype=np.int64), 0, 0
    at, number = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for k in range(n):
        number[order[k]] = k
    roundings, sound = 0.0, True
    for s in range(many):
        first, last = begin[s], begin[s + 1]
        ns, rest = last - first, offset[s + 1] - offset[s]
        size = ns + rest
        front = work[: size * size].reshape((size, size))
        front[:, :] = 0.0
        for k in range(first, last):
            at[k] = k - first
        for e in range(offset[s], offset[s + 1]):
            at[state[e]] = ns + e - offset[s]
        for k in range(first, last):
            for e in range(start[order[k]], start[order[k] + 1]):
                j = number[index[e]]
                if j >= first and j != k:
                    front[k - first, at[j]] += value[e]
            for e in range(column_start[order[k]], column_start[order[k] + 1]):
                i = number[column_row[e]]
                if i >= last:
                    front[at[i], k - first] += column_value[e]
        for _ in range(waiting[s]):
            held -= 1
            c = owner[held]
            wide = offset[c + 1] - offset[c]
            top -= wide * wide
            part = stack[top : top + wide * wide].reshape((wide, wide))
            for p in range(wide):
                i = at[state[offset[c] + p]]
                for q in range(wide):
                    front[i, at[state[offset[c] + q]]] += part[p, q]
            roundings += wide
        roundings += 5 * take_out(front, ns, total[first:last])
        least, most, small, large = 1e300, 0.0, 1e300, 0.0
        for k in range(ns):
            if not 1e-280 < total[first + k] < 1e280:
                sound = False
            for i in range(size):
                f, a = front[i, k] if i > k else 0.0, front[k, i] if i > k else 0.0
                through[place[s] + k * size + i], onward[place[s] + k * size + i] = f, a
                if f > 0.0:
                    small, large = min(small, f), max(large, f)
                if a > 0.0:
                    least, most = min(least, a), max(most, a)
        if small * least < 1e-280 or large * most > 1e280 or small < 1e-280 or least < 1e-280:
            sound = False
        if not sound:
            return through, onward, total, place, roundings, sound
        part = stack[top : top + rest * rest].reshape((rest, rest))
        part[:, :] = front[ns:, ns:]
        top += rest * rest
        owner[held] = s
        held += 1
    return through, onward, total, place, roundings, sound


@kernel
def forward(begin, offset, state, place, through, b):
    """Add to each later row of `b` (states x columns) what the states taken out hand on; the last row ends as the total of a cycle."""
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
def steps(begin, offset, state, place, through, onward):
    """Return the most roundings in an entry after `forward` and what `backward` adds to it, for positive costs."""
    n = begin[begin.size - 1] + 1
    ahead, back = np.zeros(n), np.zeros(n)
    for s in range(begin.size - 1):
        first, ns, rest = begin[s], begin[s + 1] - begin[s], offset[s + 1] - offset[s]
        size = ns + rest
        for k in range(ns):
            row = place[s] + k * size
            for i in range(k + 1, size):
                if through[row + i] != 0.0:
                    to = first + i if i < ns else state[offset[s] + i - ns]
                    ahead[to] = max(ahead[to], ahead[first + k] + 1) + 1
    for s in range(begin.size - 2, -1, -1):
        first, ns, rest = begin[s], begin[s + 1] - begin[s], offset[s + 1] - offset[s]
        size = ns + rest
        for k in range(ns - 1, -1, -1):
            row = place[s] + k * size
            worst, terms = 0.0, 2
            for j in range(k + 1, size):
                if onward[row + j] != 0.0:
                    to = first + j if j < ns else state[offset[s] + j - ns]
                    worst = max(worst, back[to])
                    terms += 1
            back[first + k] = worst + terms
    return ahead.max(), back.max()
