"""Nested dissection: a graph is cut in two by a small set of states, which is taken out last, and each part likewise.

The cut is a level of a breadth-first search that begins at a far end: what lies before it is joined with what lies beyond it
through it only.  Grids and other graphs that can be drawn without many crossings have cuts of about √n states.
"""

import numpy as np

from sojourn.kernels.jit import kernel

LEAF = 16  # states that are not cut any more
HUB = 10  # neighbours over the root of the number of states, above which a state is taken out last
WIDE = 3  # a cut of more than one in so many states is none


@kernel
def searched(start, index, part, number, level, queue, root):
    """Fill `queue` with the states of part `number` that `root` reaches, nearest first, and `level` with their distance.

    Return how many there are.  `level` must be negative for all of them.
    """
    queue[0], level[root] = root, 0
    filled, head = 1, 0
    while head < filled:
        i = queue[head]
        head += 1
        for e in range(start[i], start[i + 1]):
            j = index[e]
            if part[j] == number and level[j] < 0:
                level[j] = level[i] + 1
                queue[filled] = j
                filled += 1
    return filled


@kernel
def searched_from_afar(start, index, part, number, level, queue, members):
    """As `searched`, from a state as far away as a few searches can tell."""
    root, deepest, filled = members[0], -1, 0
    for _ in range(3):
        level[members] = -1
        filled = searched(start, index, part, number, level, queue, root)
        root = queue[filled - 1]
        if level[root] <= deepest:
            break
        deepest = level[root]
    return filled


@kernel
def best_level(level, queue, size):
    """Return a level with few states that leaves three in ten or more on either side, better half of them, else the middle one."""
    width = np.zeros(level[queue[size - 1]] + 1, dtype=np.int64)
    for t in range(size):
        width[level[queue[t]]] += 1
    best, least, middle, before = -1, np.inf, 0, 0
    for d in range(width.size):
        after = size - before - width[d]
        cost = width[d] * (0.5 * size + max(before, after))
        if 10 * min(before, after) >= 3 * size and cost < least:
            best, least = d, cost
        if 2 * before <= size:
            middle = d
        before += width[d]
    return best if best >= 0 else middle


@kernel
def cut(start, index, part, number, level, queue, members):
    """Put the states of a connected part, as `searched` left them, into `members`: one side, the other, the cut.

    Return how many states the first side and the cut have; no cut where it would be too wide.
    """
    size = members.size
    best = best_level(level, queue, size)
    near, between = 0, 0
    for t in range(size):
        i = queue[t]
        if level[i] == best:
            for e in range(start[i], start[i + 1]):
                if part[index[e]] == number and level[index[e]] == best + 1:
                    level[i] = -2  # only these are needed to part the two sides
                    between += 1
                    break
        near += -1 < level[i] <= best
    if between == 0 or WIDE * between > size:
        return size, 0
    sides = np.array([0, near, size - between])
    for t in range(size):
        i = queue[t]
        side = 2 if level[i] == -2 else 0 if level[i] <= best else 1
        members[sides[side]] = i
        sides[side] += 1
    return near, between


@kernel
def hubs_last(start):
    """Return the states with those at the end that very many others are joined with, and how many the others are.

    One hub, such as the state that every repair leads to, brings all states near each other: without it there may be small cuts.
    """
    n = start.size - 1
    most = max(16.0, HUB * np.sqrt(n))
    order, ordinary, last = np.empty(n, dtype=np.int64), 0, n
    for i in range(n):
        if start[i + 1] - start[i] > most:
            last -= 1
            order[last] = i
        else:
            order[ordinary] = i
            ordinary += 1
    return order, ordinary


@kernel
def dissected(start, index):
    """Return the states of a graph (symmetric pattern by rows) in the order of nested dissection, and whether it parted any."""
    n = start.size - 1
    order, ordinary = hubs_last(start)
    part, level, queue = np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    todo = [(0, ordinary)]
    number, cuts = 0, n - ordinary
    while len(todo) > 0:
        begin, end = todo.pop()
        if end - begin <= LEAF:
            continue
        number += 1
        members = order[begin:end]
        part[members] = number
        found = searched_from_afar(start, index, part, number, level, queue, members)
        if found == end - begin:
            near, between = cut(start, index, part, number, level, queue, members)
            if between > 0:
                cuts += 1
                todo.append((begin, begin + near))
                todo.append((begin + near, end - between))
            continue
        pieces = members.copy()  # not connected: each piece by itself
        level[pieces] = -1
        at = begin
        for root in pieces:
            if level[root] < 0:
                found = searched(start, index, part, number, level, queue, root)
                order[at : at + found] = queue[:found]
                todo.append((at, at + found))
                at += found
    return order, cuts > 0
