"""A smaller model that resembles a large one: groups of states in the place of states, each action as the mean over the group.

Its best policy is where policy iteration on the large model starts.
"""

import numpy as np

from sojourn.kernels.jit import kernel


@kernel
def mixed_rows(pair_start, row_start, next_state, probability, rate):
    """Return (start, to, intensity, out) of the policy that mixes all actions alike; an end may stand several times in a row."""
    n = pair_start.size - 1
    start, out = np.empty(n + 1, dtype=np.int64), np.empty(n)
    to, q = np.empty(next_state.size, dtype=np.int32), np.empty(next_state.size)
    at = 0
    start[0] = 0
    for s in range(n):
        total, share = 0.0, 1.0 / (pair_start[s + 1] - pair_start[s])
        for k in range(pair_start[s], pair_start[s + 1]):
            for i in range(row_start[k], row_start[k + 1]):
                if next_state[i] != s:
                    to[at], q[at] = next_state[i], share * rate[k] * probability[i]
                    total += q[at]
                    at += 1
        out[s], start[s + 1] = total, at
    return start, to[:at], q[:at], out


@kernel
def members(group, count):
    """Return (first member of each group, next member after each state or -1)."""
    head, link = np.full(count, -1, dtype=np.int32), np.empty(group.size, dtype=np.int32)
    for s in range(group.size - 1, -1, -1):
        link[s] = head[group[s]]
        head[group[s]] = s
    return head, link


@kernel
def pair_with(pair_start, pair_action, s, action, otherwise):
    """Return the pair of state s with `action`, or `otherwise` where it is not admissible."""
    for k in range(pair_start[s], pair_start[s + 1]):
        if pair_action[k] == action:
            return k
    return otherwise


@kernel
def room(pair_start, pair_action, row_start, head, link, n_actions):
    """Return (pairs, jumps) that the smaller model has at most."""
    seen = np.full(n_actions, -1, dtype=np.int64)
    pairs, jumps = 0, 0
    for g in range(head.size):
        actions, longest_sum = 0, 0
        s = head[g]
        while s >= 0:
            longest = 0
            for k in range(pair_start[s], pair_start[s + 1]):
                longest = max(longest, row_start[k + 1] - row_start[k])
                if seen[pair_action[k]] != g:
                    seen[pair_action[k]] = g
                    actions += 1
            longest_sum += longest
            s = link[s]
        pairs += actions
        jumps += actions * (longest_sum + 1)
    return pairs, jumps


@kernel
def coarse_model(pair_start, pair_action, row_start, next_state, probability, rate, income, group, head, link, n_actions, usual):
    """Return the model of the groups as (pair_start, pair_action, row_start, next_state, probability, rate, income).

    An action of a group is taken in every member that has it, and `usual` (a pair per state) in the others; intensities and incomes
    are means over the members.  A group that an action never leaves gets a jump to itself.
    """
    count = head.size
    most_pairs, most_jumps = room(pair_start, pair_action, row_start, head, link, n_actions)
    c_start, c_action = np.empty(count + 1, dtype=np.int64), np.empty(most_pairs, dtype=np.int64)
    c_row, c_rate, c_income = np.empty(most_pairs + 1, dtype=np.int64), np.empty(most_pairs), np.empty(most_pairs)
    c_next, c_probability = np.empty(most_jumps, dtype=np.int64), np.empty(most_jumps)
    place, seen = np.full(count, -1, dtype=np.int64), np.full(n_actions, -1, dtype=np.int64)
    pairs, at = 0, 0
    c_start[0] = c_row[0] = 0
    for g in range(count):
        first_pair, size = pairs, 0
        s = head[g]
        while s >= 0:
            size += 1
            for k in range(pair_start[s], pair_start[s + 1]):
                if seen[pair_action[k]] != g:
                    seen[pair_action[k]] = g
                    c_action[pairs] = pair_action[k]
                    pairs += 1
            s = link[s]
        c_action[first_pair:pairs].sort()
        for pair in range(first_pair, pairs):
            first, total, earned = at, 0.0, 0.0
            s = head[g]
            while s >= 0:
                k = pair_with(pair_start, pair_action, s, c_action[pair], usual[s])
                earned += income[k] / size
                for i in range(row_start[k], row_start[k + 1]):
                    j = group[next_state[i]]
                    if j != g:
                        flow = rate[k] * probability[i] / size
                        total += flow
                        if place[j] >= first:
                            c_probability[place[j]] += flow
                        else:
                            place[j] = at
                            c_next[at], c_probability[at] = j, flow
                            at += 1
                s = link[s]
            if total == 0.0:
                c_next[at], c_probability[at] = g, 1.0
                total = 1.0
                at += 1
            for i in range(first, at):
                c_probability[i] /= total
            c_rate[pair], c_income[pair], c_row[pair + 1] = total, earned, at
        c_start[g + 1] = pairs
    return c_start, c_action[:pairs], c_row[: pairs + 1], c_next[:at], c_probability[:at], c_rate[:pairs], c_income[:pairs]


@kernel
def spread_policy(pair_start, pair_action, group, action, pairs):
    """Take the action of its group in every state that has it, in place of `pairs`."""
    for s in range(group.size):
        pairs[s] = pair_with(pair_start, pair_action, s, action[group[s]], pairs[s])
