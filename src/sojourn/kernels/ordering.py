"""In which order to take states out of a chain, and which numbers come into being on the way.

The graph of a chain joins two states if there is a jump between them in either direction.  Taking a state out joins all its
neighbours with each other; the order decides how many numbers that makes.
"""

import numpy as np

from sojourn.kernels.jit import kernel


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
    """Return (offset, state, above): the later neighbours of each supernode, sorted, and its parent (-1: the last state)."""
    many, n = begin.size - 1, parent.size
    offset = np.zeros(many + 1, dtype=np.int64)
    home = np.empty(n, dtype=np.int64)
    for s in range(many):
        offset[s + 1] = offset[s] + count[begin[s + 1] - 1]
        home[begin[s] : begin[s + 1]] = s
    home[n - 1] = -1
    state, filled = np.empty(offset[many], dtype=np.int64), offset[:-1].copy()
    seen = np.full(n, -1, dtype=np.int64)
    for i in range(n):  # as in `later_neighbours`: whose later neighbour is i?
        seen[i] = i
        for e in range(start[i], start[i + 1]):
            j = index[e]
            while j < i and seen[j] != i:
                seen[j] = i
                s = home[j]
                if j == begin[s + 1] - 1:
                    state[filled[s]] = i
                    filled[s] += 1
                j = parent[j]
    above = np.empty(many, dtype=np.int64)
    for s in range(many):
        above[s] = home[state[offset[s]]]
    return offset, state, above
