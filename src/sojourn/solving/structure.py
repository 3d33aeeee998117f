"""Is the optimal gain the same from every state?  And a first policy from which policy iteration cannot get lost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.errors import AssumptionError
from sojourn.model.ctmdp import CTMDP, rebuilt
from sojourn.model.graph import end_components, strong_components, sure_reach
from sojourn.solving.chain import Chain, chain_of
from sojourn.solving.elimination import NARROW, is_narrow
from sojourn.solving.optimality import best_pairs
from sojourn.solving.value import PolicyValue, value_of

LARGE = 2000  # jumps from which on compiled passes over the model pay


def one_class(model: CTMDP, pairs: np.ndarray) -> tuple[np.ndarray, Chain, np.ndarray]:
    """Return (pairs, chain, recurrent class): `pairs` itself if it has one recurrent class, else repaired.

    The repair keeps the class with the best gain, or one that earns the same up to rounding, and leads every state that might
    miss it there with probability one.
    """
    chain = chain_of(model, pairs)
    classes = chain.classes()
    if len(classes) == 1:
        return pairs, chain, classes[0]
    values = [value_of(chain.restricted(c), np.arange(len(c))) for c in classes]
    ranked = sorted(range(len(classes)), key=lambda i: -values[i].gain)
    top = ranked[0]
    for best in ranked:
        if earns_less(values[best], values[top]):
            break
        repaired = lead_to(model, pairs, classes[best], [c for i, c in enumerate(classes) if i != best])
        if repaired is not None:
            chain = chain_of(model, repaired)
            return repaired, chain, chain.classes()[0]
    raise AssumptionError(
        f"the optimal gain depends on the state: a policy earns {values[top].gain:.9g} per unit time in "
        f"{_names(model, classes[top])}, which cannot be reached for sure from every state. "
        "Solve the parts as models of their own."
    )


def earns_less(value: PolicyValue, top: PolicyValue) -> bool:
    """Return whether a gain is less than another beyond 1e-9 and the rounding of both."""
    return value.gain < top.gain - 1e-9 * abs(top.gain) - value.gain_error - top.gain_error


def lead_to(model: CTMDP, pairs: np.ndarray, goal: np.ndarray, traps: list[np.ndarray]) -> np.ndarray | None:
    """Return `pairs` changed only where they may end in `traps`, so that `goal` is reached for sure; None if impossible."""
    chain = chain_of(model, pairs)
    bad = np.zeros(model.n_states, dtype=bool)
    bad[np.concatenate(traps)] = True
    bad = _can_reach(chain, bad)
    reached, step = sure_reach(model, ~bad)
    if not reached.all():
        return None
    return np.where(bad, step, pairs)


def _can_reach(chain: Chain, target: np.ndarray) -> np.ndarray:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order

    n = chain.n_states
    goal = np.flatnonzero(target)
    back = chain.matrix.tocoo()
    rows, columns = np.concatenate([back.col, np.full(len(goal), n)]), np.concatenate([back.row, goal])
    graph = csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n + 1, n + 1))
    reached = np.zeros(n + 1, dtype=bool)
    reached[breadth_first_order(graph, n, return_predecessors=False)] = True
    return reached[:n]


def first_policy(model: CTMDP) -> np.ndarray:
    """Return a policy (pair per state) to start from, or raise if the optimal gain depends on the state.

    One maximal end component: the gain is constant, start with the best immediate reward rate.  Several: solve each, and
    require that the best can be reached with probability one from everywhere; start there.
    """
    greedy = best_pairs(model, model.expected_reward * model.rate + model.running)
    if is_connected(model):
        return greedy
    count, _ = strong_components(model.n_states, model.pair_state[_pair_of_jump(model)], model.next_state)
    if count == 1:
        return greedy
    component, inside = end_components(model)
    if component.max() == 0:
        return greedy
    return _from_parts(model, component, inside)


def is_connected(model: CTMDP) -> bool:
    """Return whether it is seen at once, in a few passes over a large model, that every state can reach every other."""
    if len(model.next_state) < LARGE:
        return False
    from sojourn.kernels.connected import reached_by_all, reaches_all

    rows = (model.pair_start, model.row_start, model.next_state)
    return bool(reaches_all(*rows) and reached_by_all(*rows) == 1)


def is_line(model: CTMDP, pairs: np.ndarray) -> bool:
    """Return whether the states stand in a line under a policy, more or less: then taking them out one by one is cheap."""
    from sojourn.kernels.connected import is_wide

    return not is_wide(model.row_start, model.next_state, pairs, NARROW) and is_narrow(model.matrix[pairs])


def towards_most_income(model: CTMDP) -> np.ndarray:
    """Return a policy (pair per state) that goes where the largest income is, each step as near to it as possible on average."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    income = model.expected_reward * model.rate + model.running
    goal = int(model.pair_state[np.argmax(income)])
    back = csr_matrix((np.ones(len(model.next_state)), (model.next_state, model.pair_state[_pair_of_jump(model)])),
                      shape=(model.n_states, model.n_states))
    steps = dijkstra(back, indices=np.array([goal]), unweighted=True)[0]
    steps = np.where(np.isfinite(steps), steps, model.n_states)
    pairs = best_pairs(model, -(model.matrix @ steps))
    pairs[goal] = np.argmax(income)
    return pairs


def _pair_of_jump(model: CTMDP) -> np.ndarray:
    return np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))


def _from_parts(model: CTMDP, component: np.ndarray, inside: np.ndarray) -> np.ndarray:
    from sojourn.solving.policy_iteration import improve_until_optimal

    parts: list[_Part] = []
    for number in range(component.max() + 1):
        states = np.flatnonzero(component == number)
        pairs = np.flatnonzero(inside & (component[model.pair_state] == number))
        inner = restricted(model, states, pairs)
        best, value, _ = improve_until_optimal(inner, best_pairs(inner, inner.expected_reward * inner.rate + inner.running))
        parts.append(_Part(value, states, pairs[best]))
    parts.sort(key=lambda part: -part.value.gain)
    for part in parts:
        if earns_less(part.value, parts[0].value):
            break
        target = np.zeros(model.n_states, dtype=bool)
        target[part.states] = True
        reached, step = sure_reach(model, target)
        if reached.all():
            step[part.states] = part.pairs
            return step
    raise AssumptionError(_depends_on_state(model, parts))


class _Part(NamedTuple):
    """A maximal end component with its best policy."""

    value: PolicyValue
    states: np.ndarray
    pairs: np.ndarray


def _depends_on_state(model: CTMDP, parts: list[_Part]) -> str:
    top = parts[0]
    target = np.zeros(model.n_states, dtype=bool)
    target[top.states] = True
    reached, _ = sure_reach(model, target)
    lost = int(np.flatnonzero(~reached)[0])
    other = next((p for p in parts[1:] if lost in p.states), parts[1])
    reason = "the optimal gain depends on the state" if earns_less(other.value, top.value) else (
        "two parts of the model that cannot reach each other earn the same, so that the bias between them is not determined")
    here, there = _names(model, top.states), _names(model, other.states)
    return (f"{reason}: {top.value.gain:.9g} per unit time in {here}, but from {model.states[lost]!r} no policy gets there "
            f"for sure ({other.value.gain:.9g} in {there}). Sojourn solves models whose optimal gain is the same from "
            "every state; solve the parts as models of their own.")


def _names(model: CTMDP, states: np.ndarray) -> str:
    return "{" + ", ".join(model.states.label(s) for s in states[:4]) + (", ...}" if len(states) > 4 else "}")


def restricted(model: CTMDP, states: np.ndarray, pairs: np.ndarray) -> CTMDP:
    """Return the model on some states and pairs that never leave them."""
    number = np.full(model.n_states, -1, dtype=np.int64)
    number[states] = np.arange(len(states))
    lengths = np.diff(model.row_start)[pairs]
    jumps = np.repeat(model.row_start[pairs] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
    count = np.bincount(number[model.pair_state[pairs]], minlength=len(states))
    paid = model.transition_reward
    return rebuilt(model, {
        "pair_start": np.concatenate([[0], np.cumsum(count)]).astype(np.int64), "pair_action": model.pair_action[pairs],
        "row_start": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), "next_state": number[model.next_state[jumps]],
        "probability": model.probability[jumps], "rate": model.rate[pairs], "reward": model.reward[pairs],
        "running": model.running[pairs], "transition_reward": None if paid is None else paid[jumps],
        "states": model.states.some(states),
    })
