"""Expected costs of reaching a state, by elimination without a subtraction (Grassmann, Taksar, Heyman), with a proved error.

A chain is given by its off-diagonal numbers a_ij >= 0 (what a row lacks to one counts as staying) and the positive costs of
a step: Σ_j a_ij (V_i - V_j) = cost_i, V = 0 at the target.  Eliminating state k adds f_ik = a_ik/S_k times row k, costs
included, to each row i, where S_k = Σ a_kj over the states that remain: sums, products and quotients of positive numbers.

The proof.  A step computes the rows i with a_ik > 0 (r_k of them) up to a relative error η = 5 roundings in each entry.  By
the Markov chain tree theorem expected costs and hitting probabilities are ratios of sums of products that hold one factor
of each row, so such a step moves them by a factor of at most ((1 + η)/(1 - η))^r_k.  Going back adds the roundings of a
positive sum at each state.  The logarithms of these factors are added up along with the numbers; the bound is infinite where
a product might have left the range of floats.
"""

import numpy as np

from sojourn.kernels.jit import inlined, kernel

ROUNDING = 2.0**-53
STEP = 11 * ROUNDING  # log((1 + η)/(1 - η)) of one touched row: quotient 1, pivot 2, product 1, sum 1, and a little more
TINY = 1e-285  # products below are not trusted
HUGE = 1e290  # nor are sums above


def hits_reference(rate, cost, target):
    """Return the expected costs of reaching `target`; rate[i][j] >= 0 off the diagonal.  Any numbers, also fractions."""
    n = len(cost)
    a, b = [list(row) for row in rate], list(cost)
    order = [s for s in range(n - 1, target, -1)] + list(range(target))
    left, total = set(range(n)), {}
    for k in order:
        left.remove(k)
        total[k] = sum(a[k][j] for j in left)
        for i in left - {target}:
            f = a[i][k] / total[k]
            for j in left - {i}:
                a[i][j] += f * a[k][j]
            b[i] += f * b[k]
    value = [0 * cost[0]] * n
    for k in reversed(order):
        value[k] = (b[k] + sum(a[k][j] * value[j] for j in left)) / total[k]
        left.add(k)
    return value


@inlined
def careful_sum(row, start, stop):
    """Return the sum of some non-negative entries, to two roundings however many they are."""
    total, rest = 0.0, 0.0
    for j in range(start, stop):
        x = row[j]
        if x != 0.0:
            new = total + x
            rest += (total - new) + x if total >= x else (x - new) + total
            total = new
    return total + rest


@kernel
def eliminate_panel(full, costs, first, last):
    """Eliminate the states last-1 down to `first` of a chain whose later states are gone; return (log error, sound).

    Column c of `full` is a cost for c < costs, else the number a_ij of state c - costs.  Rows of states before `first` are
    updated only in the columns of the panel and in the costs; the rest is one matrix product, left to the caller.
    """
    error, sound = 0.0, True
    for k in range(last - 1, first - 1, -1):
        at = costs + k
        total = careful_sum(full[k], costs, at)
        full[k, at] = total  # the diagonal is free: it keeps the pivot
        if not total > 1e-280:
            return np.inf, False
        least, most = np.inf, 0.0
        for j in range(at):
            x = full[k, j]
            if x > 0.0:
                least, most = min(least, x), max(most, x)
        touched, small, large = 0, np.inf, 0.0
        for i in range(k):
            if full[i, at] > 0.0:
                touched += 1
                f = full[i, at] / total
                full[i, at] = f
                small, large = min(small, f), max(large, f)
                for j in range(costs):
                    full[i, j] += f * full[k, j]
                for j in range(costs + first, at):
                    full[i, j] += f * full[k, j]
                if i >= first:
                    for j in range(costs, costs + first):
                        full[i, j] += f * full[k, j]
        error += touched * STEP
        if touched > 0 and (not small > 1e-280 or not large < HUGE or small * least < TINY or large * most > HUGE):
            sound = False
    return error, sound


@kernel
def substitute_panel(full, costs, kept, first, last, out):
    """Finish out[first:last]: add what goes through earlier states of the panel and divide by the pivots; row 0 is `kept`."""
    for k in range(first, last):
        row = out[k - kept]
        for j in range(first, k):
            x = full[k, costs + j]
            if x > 0.0:
                other = out[j - kept]
                for c in range(len(row)):
                    row[c] += x * other[c]
        total = full[k, costs + k]
        for c in range(len(row)):
            row[c] /= total


@kernel
def leaf_hits(full, costs, hits, error):
    """Fill hits[c, s, t] (expected cost c of reaching t from s) of a small chain and error[t], each target on its own."""
    n = full.shape[0]
    order, alive, depth = np.empty(n, np.int64), np.empty(n, np.bool_), np.empty(n)
    for t in range(n):
        a = full.copy()
        for i in range(n - 1 - t):
            order[i] = n - 1 - i
        for i in range(t):
            order[n - 1 - t + i] = i
        alive[:] = True
        total_error, sound = 0.0, True
        for e in range(n - 1):
            k = order[e]
            alive[k] = False
            for j in range(n):
                if not alive[j]:
                    a[k, costs + j] = 0.0
            total = careful_sum(a[k], costs, costs + n)
            if not total > 1e-280:
                sound = False
                total = 1.0
            least, most = np.inf, 0.0
            for j in range(costs + n):
                if a[k, j] > 0.0:
                    least, most = min(least, a[k, j]), max(most, a[k, j])
            touched, small, large = 0, np.inf, 0.0
            for i in range(n):
                if alive[i] and i != t and a[i, costs + k] > 0.0:
                    touched += 1
                    f = a[i, costs + k] / total
                    small, large = min(small, f), max(large, f)
                    for j in range(costs + n):
                        a[i, j] += f * a[k, j]
            a[k, costs + k] = total
            total_error += touched * STEP
            if touched > 0 and (not small > 1e-280 or not large < HUGE or small * least < TINY or large * most > HUGE):
                sound = False
        for c in range(costs):
            hits[c, t, t] = 0.0
        depth[t] = 0.0
        deepest = 0.0
        for e in range(n - 2, -1, -1):
            k = order[e]
            terms, below = 0, 0.0
            for c in range(costs):
                hits[c, k, t] = a[k, c]
            for j in range(n):
                x = a[k, costs + j]
                if j != k and j != t and alive[j] and x > 0.0:
                    terms += 1
                    below = max(below, depth[j])
                    for c in range(costs):
                        hits[c, k, t] += x * hits[c, j, t]
            for c in range(costs):
                hits[c, k, t] /= a[k, costs + k]
                if not hits[c, k, t] < HUGE:
                    hits[c, k, t] = HUGE
                    sound = False
            alive[k] = True
            depth[k] = below + (terms + 6) * ROUNDING
            deepest = max(deepest, depth[k])
        error[t] = total_error + deepest if sound else np.inf


@kernel
def band_passage(row_start, next_state, probability, cost, choice, place, width, target, busy, weight):
    """Return (to target, to busy, cost until either, cost from busy to target, log error, visits) of one policy.

    `place[s]` is the position of state s in an order in which no jump goes farther than `width`; `target` and `busy` are
    kept out of it.  All but these two are eliminated, from the last position on.  The first three are per state: the
    probabilities of meeting the target or the busy state first, and the expected cost until then; each of them, and the cost
    from the busy state, has a relative error of at most exp(log error) - 1.  `visits` are the expected visits of each state
    times `weight`, summed over all starting states.
    """
    n = len(choice)
    band = np.zeros((n, 2 * width + 1))
    right = np.zeros((n, 3))  # by position: to target, to busy, cost
    row = np.zeros(n)  # the busy state's own row, by position
    own = np.zeros(3)
    for s in range(n):
        if s == target:
            continue
        k = choice[s]
        at = place[s]
        if s == busy:
            own[2] = cost[k]
        else:
            right[at, 2] = cost[k]
        for i in range(row_start[k], row_start[k + 1]):
            j = next_state[i]
            if j == s:
                continue
            if s == busy:
                if j == target:
                    own[0] += probability[i]
                else:
                    row[place[j]] += probability[i]
            elif j == target:
                right[at, 0] += probability[i]
            elif j == busy:
                right[at, 1] += probability[i]
            else:
                band[at, width + place[j] - at] += probability[i]
    out = place[target], place[busy]
    pivot, mass = np.ones(n), np.ones(n)
    mass_busy = 1.0
    error, sound = 0.0, True
    for k in range(n - 1, -1, -1):
        if k == out[0] or k == out[1]:
            continue
        low = max(0, k - width)
        line = band[k]
        shift = width - k
        total = careful_sum(line, shift + low, width)
        total = (total + right[k, 0]) + right[k, 1]
        if not total > 1e-280:
            sound = False
            total = 1.0
        pivot[k] = total
        least, most = np.inf, 0.0
        for j in range(low, k):
            x = line[shift + j]
            if x > 0.0:
                least, most = min(least, x), max(most, x)
                mass[j] += mass[k] / total * x
        for c in range(3):
            if right[k, c] > 0.0:
                least, most = min(least, right[k, c]), max(most, right[k, c])
        mass_busy += mass[k] / total * right[k, 1]
        touched, small, large = 0, np.inf, 0.0
        for i in range(low, k):
            x = band[i, width + k - i]
            if x > 0.0:
                touched += 1
                f = x / total
                band[i, width + k - i] = f
                small, large = min(small, f), max(large, f)
                other, move = band[i], width - i
                for j in range(low, k):
                    other[move + j] += f * line[shift + j]
                other[width] = 0.0
                for c in range(3):
                    right[i, c] += f * right[k, c]
        if row[k] > 0.0:
            touched += 1
            f = row[k] / total
            row[k] = f
            small, large = min(small, f), max(large, f)
            for j in range(low, k):
                row[j] += f * line[shift + j]
            own[0] += f * right[k, 0]
            own[2] += f * right[k, 2]
        error += touched * (STEP + 2 * ROUNDING)
        if touched > 0 and (not small > 1e-280 or not large < HUGE or small * least < TINY or large * most > HUGE):
            sound = False
    visits_busy = mass_busy / own[0] if busy != target and own[0] > 0.0 else 0.0
    depth, visits = np.zeros(n), np.zeros(n)
    deepest = 0.0
    for k in range(n):
        if k == out[0] or k == out[1]:
            continue
        low = max(0, k - width)
        terms, below = 0, 0.0
        for j in range(low, k):
            x = band[k, width + j - k]
            if x > 0.0:
                terms += 1
                below = max(below, depth[j])
                for c in range(3):
                    right[k, c] += x * right[j, c]
        for c in range(3):
            right[k, c] /= pivot[k]
        depth[k] = below + (terms + 7) * ROUNDING
        deepest = max(deepest, depth[k])
        visits[k] = mass[k] / pivot[k] + (visits_busy * row[k] if row[k] > 0.0 else 0.0)
        for i in range(low, k):
            if band[i, width + k - i] > 0.0:
                visits[k] += visits[i] * band[i, width + k - i]
    solution, seen = np.empty((n, 3)), np.zeros(n)
    for s in range(n):
        solution[s] = right[place[s]]
        seen[s] = visits[place[s]] * weight[s]
    solution[busy] = np.array([0.0, 1.0, 0.0])
    solution[target] = np.array([1.0, 0.0, 0.0])
    seen[busy], seen[target] = visits_busy * weight[busy], 0.0
    far = 0.0
    if busy != target:
        far = own[2] / own[0] if own[0] > 1e-280 else HUGE
        sound = sound and far < HUGE
    for s in range(n):
        for c in range(3):
            if not solution[s, c] < HUGE:
                solution[s, c] = HUGE
                sound = False
    return solution, far, error + deepest + 2 * ROUNDING if sound else np.inf, seen


@kernel
def passage_advantages(row_start, next_state, probability, cost, state, choice, target, solution, far, error):
    """Return per option cost + Σ p (V(j) - V(s)), a bound on its error, and cost + Σ p |V(j) - V(s)|, V a policy's costs.

    V = far · P(busy first) + cost until either; differences are taken in whichever of the two probabilities is small.  The
    policy's own option gives exactly 0, so it is subtracted from each: what an option shares with it causes no error.
    """
    n = len(state)
    value, bound, size = np.zeros(n), np.zeros(n), np.zeros(n)
    weight = np.zeros(len(choice))
    for k in range(n):
        s = state[k]
        own = choice[s]
        if s == target or k == own:
            continue
        for i in range(row_start[own], row_start[own + 1]):
            weight[next_state[i]] -= probability[i]
        for i in range(row_start[k], row_start[k + 1]):
            weight[next_state[i]] += probability[i]
        total = cost[k] - cost[own]
        terms, apart, rounding = abs(total), cost[k], cost[k] + cost[own]
        for part in range(2):
            pair = own if part == 0 else k
            for i in range(row_start[pair], row_start[pair + 1]):
                j = next_state[i]
                if j == s:
                    weight[j] = 0.0
                    continue
                miss, hit = solution[s, 1] + solution[j, 1], solution[s, 0] + solution[j, 0]
                if hit < miss:
                    step, around = far * (solution[s, 0] - solution[j, 0]), far * hit
                else:
                    step, around = far * (solution[j, 1] - solution[s, 1]), far * miss
                step += solution[j, 2] - solution[s, 2]
                if part == 1:
                    apart += probability[i] * abs(step)
                if weight[j] != 0.0:
                    total += weight[j] * step
                    terms += abs(weight[j]) * (around + solution[j, 2] + solution[s, 2])
                    rounding += abs(weight[j] * step)
                    weight[j] = 0.0
        length = row_start[k + 1] - row_start[k] + row_start[own + 1] - row_start[own]
        value[k], size[k] = total, apart
        bound[k] = (2.01 * error + 12 * ROUNDING) * terms + (length + 4) * 2 * ROUNDING * rounding
        if cost[k] == cost[own] and rounding == cost[k] + cost[own]:
            bound[k] = 0.0  # the same row and the same cost
    return value, bound, size
