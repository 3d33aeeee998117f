"""Parts of a multigrid method for the equations of one policy,  d(s) h(s) - Σ_j q(s, j) h(j) + gain w(s) = b(s).

q are intensities between different states, d their sums by row, w and b time and income (1 and λ r + c on the finest level).
States are joined in pairs by their strongest tie, twice a level; the coarser equations are sums of the finer ones, with
weights x that are roughly the time spent in each state, hence of the same form.
"""

import numpy as np

from sojourn.kernels.jit import inlined, kernel


def generator_rows_reference(row_start, next_state, probability, rate, pairs):
    """Return (start, to, intensity, out) of the policy `pairs`: jumps to the same state are left out, `out` sums the others."""
    start, to, intensity, out = [0], [], [], []
    for s, k in enumerate(pairs):
        row = [i for i in range(row_start[k], row_start[k + 1]) if next_state[i] != s]
        to += [next_state[i] for i in row]
        intensity += [rate[k] * probability[i] for i in row]
        out.append(sum(rate[k] * probability[i] for i in row))
        start.append(len(to))
    return np.array(start), np.array(to, dtype=np.int32), np.array(intensity), np.array(out)


@kernel
def generator_rows(row_start, next_state, probability, rate, pairs):
    """See `generator_rows_reference`."""
    n = pairs.size
    most = 0
    for s in range(n):
        most += row_start[pairs[s] + 1] - row_start[pairs[s]]
    start, out = np.empty(n + 1, dtype=np.int64), np.zeros(n)
    to, intensity = np.empty(most, dtype=np.int32), np.empty(most)
    at = 0
    start[0] = 0
    for s in range(n):
        k = pairs[s]
        total = 0.0
        for i in range(row_start[k], row_start[k + 1]):
            if next_state[i] != s:
                to[at], intensity[at] = next_state[i], rate[k] * probability[i]
                total += intensity[at]
                at += 1
        out[s], start[s + 1] = total, at
    return start, to[:at], intensity[:at], out


def rough_law_reference(start, to, q, out, rounds):
    """Return x, roughly with Σ_s x(s) q(s, j) = x(j) d(j): by sweeps forward and backward from 1 everywhere; mean 1."""
    n = len(out)
    q_dense = np.zeros((n, n))
    np.add.at(q_dense, (np.repeat(np.arange(n), np.diff(start)), to), q)
    x = np.ones(n)
    for k in range(rounds):
        for s in range(n)[:: -1 if k % 2 else 1]:
            x[s] = x @ q_dense[:, s] / out[s]
    x = np.maximum(x, 1e-12 * x.max())
    return x / x.mean()


@kernel
def rough_law(start, to, q, out, rounds):
    """See `rough_law_reference`; what flows in less what flows out is kept up to date by rows, so that no columns are needed."""
    n = out.size
    x, rest = np.ones(n), -out
    for s in range(n):
        for i in range(start[s], start[s + 1]):
            rest[to[i]] += q[i]
    for k in range(rounds):
        for step in range(n):
            s = n - 1 - step if k % 2 else step
            change = rest[s] / out[s]
            x[s] += change
            rest[s] = 0.0
            for i in range(start[s], start[s + 1]):
                rest[to[i]] += change * q[i]
    most, total = x.max(), 0.0
    for s in range(n):
        x[s] = max(x[s], 1e-12 * most)
        total += x[s]
    return x * (n / total)


@kernel
def tie(start, to, q, x, i, s):
    """Return how strongly state s and the end j of its i-th jump are tied: x(s) q(s, j) + x(j) q(j, s)."""
    total, j = x[s] * q[i], to[i]
    for e in range(start[j], start[j + 1]):
        if to[e] == s:
            total += x[j] * q[e]
    return total


@kernel
def joined(start, to, q, x):
    """Return (group of each state, first member of each group, next member after each state or -1).

    Each state with the free one it is most strongly tied to; a state that finds none joins the group of its strongest tie, if that
    has fewer than three members.
    """
    n = start.size - 1
    group, link = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    head, size = np.empty(n, dtype=np.int32), np.ones(n, dtype=np.int32)
    count = 0
    for s in range(n):
        if group[s] >= 0:
            continue
        best, strongest = -1, 0.0
        for i in range(start[s], start[s + 1]):
            if group[to[i]] < 0:
                strength = tie(start, to, q, x, i, s)
                if strength > strongest:
                    best, strongest = to[i], strength
        if best < 0:
            for i in range(start[s], start[s + 1]):
                if size[group[to[i]]] < 3:
                    strength = tie(start, to, q, x, i, s)
                    if strength > strongest:
                        best, strongest = to[i], strength
            if best >= 0:
                g = group[best]
                group[s], link[s], head[g] = g, head[g], s
                size[g] += 1
                continue
        group[s], head[count] = count, s
        if best >= 0:
            group[best], link[s] = count, best
            size[count] = 2
        count += 1
    return group, head[:count], link


def summed_rows_reference(start, to, q, x, group, count):
    """Return (start, to, intensity, out) of the groups, the rows of states added with weights x; columns in ascending order."""
    n = len(start) - 1
    dense = np.zeros((count, count))
    for s in range(n):
        for i in range(start[s], start[s + 1]):
            if group[to[i]] != group[s]:
                dense[group[s], group[to[i]]] += x[s] * q[i]
    rows = [np.flatnonzero(row) for row in dense]
    return (np.concatenate([[0], np.cumsum([len(r) for r in rows])]), np.concatenate(rows).astype(np.int32),
            np.concatenate([dense[s, r] for s, r in enumerate(rows)]), dense.sum(axis=1))


@kernel
def summed_rows(start, to, q, x, group, head, link):
    """See `summed_rows_reference`; columns stand as they are met."""
    count = head.size
    new_start, out = np.empty(count + 1, dtype=np.int64), np.zeros(count)
    new_to, new_q = np.empty(q.size, dtype=np.int32), np.empty(q.size)
    place = np.full(count, -1, dtype=np.int64)
    at = 0
    new_start[0] = 0
    for g in range(count):
        first = at
        total = 0.0
        s = head[g]
        while s >= 0:
            for i in range(start[s], start[s + 1]):
                j = group[to[i]]
                if j == g:
                    continue
                add = x[s] * q[i]
                total += add
                if place[j] >= first:
                    new_q[place[j]] += add
                else:
                    place[j] = at
                    new_to[at], new_q[at] = j, add
                    at += 1
            s = link[s]
        new_start[g + 1], out[g] = at, total
    return new_start, new_to[:at], new_q[:at], out


@kernel
def composed(group, above):
    """Return the group of each state after both joinings, in place of `group`."""
    for s in range(group.size):
        group[s] = above[group[s]]
    return group


@kernel
def sums(w, x, group, count):
    """Return the sums of x w over the groups."""
    total = np.zeros(count)
    for s in range(x.size):
        total[group[s]] += x[s] * w[s]
    return total


def down_reference(start, to, q, out, x, group, b, count):
    """Return (h, rest): h after a sweep forward from zero and one backward, and the sums of x times what is left of b."""
    h = np.zeros(len(b))
    for s in [*range(len(b)), *range(len(b))[::-1]]:
        row = slice(start[s], start[s + 1])
        h[s] = (b[s] + q[row] @ h[to[row]]) / out[s]
    left = np.array([b[s] - out[s] * h[s] + q[start[s]:start[s + 1]] @ h[to[start[s]:start[s + 1]]] for s in range(len(b))])
    return h, np.bincount(group, weights=x * left, minlength=count)


@inlined
def relaxed(start, to, q, out, h, s, total, before, last):
    """Return the new value of state s: `total` and what flows in.  `last` is that of `before`, the state swept just now.

    It is added last: a processor can sum up the rest of a row before it knows it.
    """
    near, share = 0.0, 1.0 / out[s]
    for i in range(start[s], start[s + 1]):
        if to[i] == before:
            near += q[i]
        else:
            total += q[i] * h[to[i]]
    return total * share + near * share * last


@kernel
def down(start, to, q, out, x, group, b, h, v, rest):
    """See `down_reference`; h and rest are filled, v is scratch.  What is left of b is what states before have changed by."""
    n, last = b.size, 0.0
    for s in range(n):
        total, near, share, before = b[s], 0.0, 1.0 / out[s], s - 1
        for i in range(start[s], start[s + 1]):
            if to[i] < before:
                total += q[i] * h[to[i]]
            elif to[i] == before:
                near += q[i]
        last = total * share + near * share * last
        h[s] = last
    last = 0.0
    for s in range(n - 1, -1, -1):
        last = relaxed(start, to, q, out, h, s, b[s], s + 1, last)
        v[s] = last - h[s]
        h[s] = last
    rest[:] = 0.0
    for s in range(n):
        left = 0.0
        for i in range(start[s], start[s + 1]):
            if to[i] < s:
                left += q[i] * v[to[i]]
        rest[group[s]] += x[s] * left


def up_reference(start, to, q, out, w, group, b, h, coarse, gain):
    """Return (h, v): h plus the coarser correction, swept forward and backward at `gain`, and v = d h - q h + gain w."""
    h = h + coarse[group]
    for s in [*range(len(b)), *range(len(b))[::-1]]:
        row = slice(start[s], start[s + 1])
        h[s] = (b[s] - gain * w[s] + q[row] @ h[to[row]]) / out[s]
    v = np.array([out[s] * h[s] - q[start[s]:start[s + 1]] @ h[to[start[s]:start[s + 1]]] for s in range(len(b))]) + gain * w
    return h, v


@kernel
def up(start, to, q, out, w, group, b, h, v, coarse, gain):
    """See `up_reference`; h is changed and v filled.  v = b less what the states before have changed by since."""
    n, last = b.size, 0.0
    for s in range(n):
        h[s] += coarse[group[s]]
    for s in range(n):
        last = relaxed(start, to, q, out, h, s, b[s] - gain * w[s], s - 1, last)
        h[s] = last
    last = 0.0
    for s in range(n - 1, -1, -1):
        last = relaxed(start, to, q, out, h, s, b[s] - gain * w[s], s + 1, last)
        v[s] = last - h[s]
        h[s] = last
    for s in range(n - 1, -1, -1):
        total = b[s]
        for i in range(start[s], start[s + 1]):
            if to[i] < s:
                total -= q[i] * v[to[i]]
        v[s] = total


@kernel
def left_over(start, to, q, out, w, b, h, gain, rest):
    """Fill `rest` with b - (d h - q h + gain w), summed over differences; return its least and largest entry."""
    least, most = np.inf, -np.inf
    for s in range(b.size):
        total = b[s] - gain * w[s]
        for i in range(start[s], start[s + 1]):
            total += q[i] * (h[to[i]] - h[s])
        rest[s] = total
        least, most = min(least, total), max(most, total)
    return least, most


@kernel
def inner_products(v, r):
    """Return (v v, v r, r r)."""
    a, b, c = 0.0, 0.0, 0.0
    for s in range(v.size):
        a += v[s] * v[s]
        b += v[s] * r[s]
        c += r[s] * r[s]
    return a, b, c


@kernel
def reduced(r, v, step):
    """Take step v off r in place; return r r."""
    total = 0.0
    for s in range(r.size):
        r[s] -= step * v[s]
        total += r[s] * r[s]
    return total


@kernel
def solve_level(ends, start, to, q, out, w, law, group, inverse, b, h, v, first, first_v, enough, level):
    """Solve the equations of a level roughly for its part of b, which is used up; fill its part of h and return the gain.

    At most two steps of the minimal-residual method, each a `down`, the next level and an `up`; the second is saved where the first
    leaves no more than `enough` of the residual.  The last level is solved by its `inverse`.  All levels stand one after another
    in the arrays: level l has the states ends[l, 0] to ends[l + 1, 0] and the jumps ends[l, 1] to ends[l + 1, 1]; its `start` has
    one entry more than states.
    """
    n0, n1, j0, j1 = ends[level, 0], ends[level + 1, 0], ends[level, 1], ends[level + 1, 1]
    mine, my_h = b[n0:n1], h[n0:n1]
    if level == ends.shape[0] - 2:
        my_h[:] = 0.0
        gain, n = 0.0, n1 - n0
        for j in range(n):
            for i in range(n):
                my_h[i] += inverse[j, i] * mine[j]
            gain += inverse[j, n] * mine[j]
        return gain
    n2 = ends[level + 2, 0]
    s_, t_, q_, o_ = start[n0 + level:n1 + level + 1], to[j0:j1], q[j0:j1], out[n0:n1]
    my_v, w_, x_, g_, one, one_v = v[n0:n1], w[n0:n1], law[n0:n1], group[n0:n1], first[n0:n1], first_v[n0:n1]
    down(s_, t_, q_, o_, x_, g_, mine, my_h, my_v, b[n1:n2])
    gain = solve_level(ends, start, to, q, out, w, law, group, inverse, b, h, v, first, first_v, enough, level + 1)
    up(s_, t_, q_, o_, w_, g_, mine, my_h, my_v, h[n1:n2], gain)
    size, along, before = inner_products(my_v, mine)
    if not size > 0:
        return gain
    step = along / size
    if before - step * along <= enough * enough * before:
        my_h *= step
        return step * gain
    one[:], one_v[:], one_gain = my_h, my_v, gain
    reduced(mine, my_v, step)
    down(s_, t_, q_, o_, x_, g_, mine, my_h, my_v, b[n1:n2])
    gain = solve_level(ends, start, to, q, out, w, law, group, inverse, b, h, v, first, first_v, enough, level + 1)
    up(s_, t_, q_, o_, w_, g_, mine, my_h, my_v, h[n1:n2], gain)
    common = inner_products(one_v, my_v)[1] / size
    reduced(my_v, one_v, common)
    size, along, before = inner_products(my_v, mine)
    second = along / size if size > 0 else 0.0
    share = step - second * common if size > 0 else step
    for s in range(n1 - n0):
        my_h[s] = share * one[s] + second * my_h[s]
    return share * one_gain + second * gain
