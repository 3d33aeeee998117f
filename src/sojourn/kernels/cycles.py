"""One chain seen from a hub: how often each state is met on a round from the hub and back, for all states at once.

With the hub taken out, A = I - P is eliminated without a subtraction, as in `hitting`, in an order in which jumps are short, into
A = (I - L)(D - U) with L, U >= 0.  Of its inverse Z, the expected visits Z[s, t] of t from s before the hub, the entries within the
band follow from the last state to the first, again by sums and products of positive numbers alone:
Z[i, j] = Σ_k U[i, k] Z[k, j] / D[i] and Z[j, i] = Σ_k Z[j, k] L[k, i] for i < j, and Z[i, i] = (1 + Σ_k U[i, k] Z[k, i]) / D[i].

The proof of the error is that of `hitting`: visits, costs and probabilities are ratios of sums of products that hold one factor of
each row (the Markov chain tree theorem), and a step that touches r rows moves them by a factor of at most ((1 + η)/(1 - η))^r;
going back adds the roundings of a positive sum at each state.

What is below DROP of its row is left out.  Where a round, and the way home from any state, takes at most LONG steps, that matters
in one round of 1/(DROP LONG) = 1e230; numbers that this could move by more than a rounding, visits below FAINT, are not trusted.
"""

import numpy as np

from sojourn.kernels.hitting import HUGE, ROUNDING, STEP, careful_sum
from sojourn.kernels.jit import kernel

DROP, LONG, FAINT = 1e-250, 1e20, 1e-190
LEAST = 1e-40  # the least pivot: what a product loses to underflow is then below DROP of its row


def cycles_reference(chain, costs, hub):
    """Return (home, round, visits, own, Z): costs from each state to the hub, of a round, visits of each state on a round, and Z.

    `chain[i][j]` are probabilities; any numbers, also fractions.  Gauss and Jordan on I - P without the hub.
    """
    n = len(chain)
    others = [s for s in range(n) if s != hub]
    one = costs[0][0] * 0 + 1
    left = [[(one if i == j else 0 * one) - chain[i][j] for j in others] for i in others]
    right = [[one if i == j else 0 * one for j in others] for i in others]
    for c in range(n - 1):
        pivot = left[c][c]
        left[c], right[c] = [x / pivot for x in left[c]], [x / pivot for x in right[c]]
        for r in range(n - 1):
            if r != c and left[r][c] != 0:
                f = left[r][c]
                left[r] = [x - f * y for x, y in zip(left[r], left[c])]
                right[r] = [x - f * y for x, y in zip(right[r], right[c])]
    at = {s: i for i, s in enumerate(others)}
    home = [[sum(right[at[s]][at[t]] * cost[t] for t in others) if s != hub else 0 * one for s in range(n)] for cost in costs]
    rounds = [cost[hub] + sum(chain[hub][j] * back[j] for j in others) for cost, back in zip(costs, home)]
    stay = one - chain[hub][hub]  # rounds are from leaving the hub to coming back, and the stay before
    rounds = [whole / stay for whole in rounds]
    visits = [sum(chain[hub][j] * right[at[j]][at[t]] for j in others) / stay if t != hub else 1 / stay for t in range(n)]
    return home, rounds, visits, [right[at[s]][at[s]] if s != hub else one for s in range(n)], right


@kernel
def in_band(row_start, next_state, probability, place, width, hub, costs):
    """Return the chain without the hub: (band, to the hub, from the hub, probability to leave it, costs of the others and its own).

    In the order of `place`; band[i, width + j - i] is the probability of a jump from i to j.
    """
    n, kinds = len(place), costs.shape[0]
    band, leave, start = np.zeros((n, 2 * width + 1)), np.zeros(n), np.zeros(n)
    right, own_cost, away = np.zeros((kinds, n)), costs[:, hub].copy(), 0.0
    for s in range(n):
        at = place[s]
        if s != hub:
            right[:, at] = costs[:, s]
        for i in range(row_start[s], row_start[s + 1]):
            j = next_state[i]
            if j == s:
                continue
            if s == hub:
                start[place[j]] += probability[i]
                away += probability[i]
            elif j == hub:
                leave[at] += probability[i]
            else:
                band[at, width + place[j] - at] += probability[i]
    return band, leave, start, away, right, own_cost


@kernel
def eliminate_band(band, leave, right, width, middle):
    """Turn `band` into L (below) and U (above), `right` into what the forward pass makes of it, and return D.

    Also the error in logs, whether all pivots are sound, and whether something small was left out.  `middle` is the hub's place.
    """
    n, kinds = len(leave), right.shape[0]
    pivot = np.ones(n)
    error, sound, dropped = 0.0, True, False
    for k in range(n):
        if k == middle:
            continue
        stop, line, shift = min(n, k + width + 1), band[k], width - k
        total = careful_sum(line, width + 1, shift + stop) + leave[k]
        if not total > LEAST:
            sound = False
            total = 1.0
        pivot[k] = total
        least = np.inf
        for j in range(k + 1, stop):
            x = line[shift + j]
            if x > 0.0:
                if x < DROP * total:
                    line[shift + j] = 0.0
                    dropped = True
                else:
                    least = min(least, x)
        if leave[k] > 0.0:
            if leave[k] < DROP * total:
                leave[k] = 0.0
                dropped = True
            else:
                least = min(least, leave[k])
        touched, small = 0, np.inf
        for i in range(k + 1, stop):
            x = band[i, width + k - i]
            if x > 0.0:
                touched += 1
                f = x / total
                band[i, width + k - i] = f
                small = min(small, f)
                other, move = band[i], width - i
                for j in range(k + 1, stop):
                    other[move + j] += f * line[shift + j]
                other[width] = 0.0
                leave[i] += f * leave[k]
                for c in range(kinds):
                    right[c, i] += f * right[c, k]
        error += touched * (STEP + 2 * ROUNDING)
        if touched > 0 and small * least < 1e-290:
            dropped = True
    return pivot, error, sound, dropped


@kernel
def go_home(band, right, pivot, width):
    """Turn `right` into the costs from each state to the hub; return the error that this adds, in logs."""
    n, kinds = len(pivot), right.shape[0]
    depth = 0.0
    for k in range(n - 1, -1, -1):
        depth += (min(width, n - 1 - k) + 10) * ROUNDING
        for j in range(k + 1, min(n, k + width + 1)):
            x = band[k, width + j - k]
            if x > 0.0:
                for c in range(kinds):
                    right[c, k] += x * right[c, j]
        for c in range(kinds):
            right[c, k] /= pivot[k]
    return depth


@kernel
def seen_on_a_round(band, pivot, start, away, width):
    """Return the expected visits of each state on a round: forward through D - U, back through I - L."""
    n = len(pivot)
    seen = start / away
    for k in range(n):
        for j in range(max(0, k - width), k):
            x = band[j, width + k - j]
            if x > 0.0:
                seen[k] += seen[j] * x
        seen[k] /= pivot[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, min(n, k + width + 1)):
            x = band[j, width + k - j]
            if x > 0.0:
                seen[k] += seen[j] * x
    return seen


@kernel
def invert_band(band, pivot, width, middle):
    """Turn the factors in `band` into the entries of Z within it, from the last state to the first."""
    n = len(pivot)
    up, low = np.zeros(2 * width + 1), np.zeros(2 * width + 1)
    for i in range(n - 1, -1, -1):
        stop, shift = min(n, i + width + 1), width - i
        total = 1.0
        for j in range(i + 1, stop):
            up[j - i], low[j - i] = band[i, shift + j], band[j, width + i - j]
        line = band[i]
        for j in range(i + 1, stop):
            line[shift + j] = 0.0
        for k in range(i + 1, stop):
            x = up[k - i] / pivot[i]
            if x > 0.0:
                other, move = band[k], width - k
                for j in range(i + 1, stop):
                    line[shift + j] += x * other[move + j]
        for j in range(i + 1, stop):
            other, move, x = band[j], width - j, 0.0
            for k in range(i + 1, stop):
                x += other[move + k] * low[k - i]
            other[move + i] = x
            total += up[j - i] * x
        line[width] = 0.0 if i == middle else total / pivot[i]


@kernel
def come_back(band, place, width, hub, ask_state, ask_start, ask_next, ask_probability):
    """Return (miss, hit) of the rows that are asked for, `band` being Z: see `band_cycles`."""
    miss, hit = np.zeros(len(ask_state)), np.zeros(len(ask_state))
    for q in range(len(ask_state)):
        s = ask_state[q]
        for e in range(ask_start[q], ask_start[q + 1]):
            j, p = ask_next[e], ask_probability[e]
            if j == s:
                hit[q] += p
            elif j == hub or s == hub:
                miss[q] += p
            else:
                mine, back = band[place[s], width], band[place[j], width + place[s] - place[j]]
                hit[q] += p * (back / mine)
                miss[q] += p * max(0.0, (mine - back) / mine)
    return miss, hit


@kernel
def band_cycles(row_start, next_state, probability, place, width, hub, costs, ask_state, ask_start, ask_next, ask_probability):
    """Return (home, round, visits, own, miss, hit, log error): see `cycles_reference`; each is right up to exp(±log error).

    `place[s]` is the position of state s in an order in which no jump goes farther than `width`.  Rows that are asked for lie
    within the band too: `hit` is the probability to come back to their state before the hub is met, and `miss` = 1 - hit, whose
    error is that of `hit`, absolute.  Visits that are too few to be trusted are 0.
    """
    kinds, middle = costs.shape[0], place[hub]
    band, leave, start, away, right, own_cost = in_band(row_start, next_state, probability, place, width, hub, costs)
    pivot, error, sound, dropped = eliminate_band(band, leave, right, width, middle)
    depth = go_home(band, right, pivot, width)
    rounds, longest = own_cost / away, 0.0
    for c in range(kinds):
        for k in range(len(place)):
            if start[k] > 0.0:
                rounds[c] += start[k] * right[c, k] / away
        longest = max(longest, right[c].max() / costs[c].min())
    seen = seen_on_a_round(band, pivot, start, away, width)
    steps = 1.0 / away + seen.sum()
    for k in range(len(place)):
        if k != middle and not seen[k] > FAINT:
            dropped = True
            seen[k] = 0.0
    invert_band(band, pivot, width, middle)
    sound = sound and (right < HUGE).all() and (band[:, width] < HUGE).all() and steps < HUGE
    if dropped and not max(steps, longest) < LONG:
        sound = False
    miss, hit = come_back(band, place, width, hub, ask_state, ask_start, ask_next, ask_probability)
    home, visits, own = right[:, place], seen[place], band[place, width]
    home[:, hub], visits[hub], own[hub] = 0.0, 1.0 / away, 1.0
    return home, rounds, visits, own, miss, hit, error + 2 * depth + 8 * ROUNDING if sound else np.inf
