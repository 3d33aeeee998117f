"""Ways into the model from arrays: dense tables, flat pairs, generators, discrete-time MDPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.events import EventTable
from sojourn.model.names import names_of
from sojourn.model.numbers import boolean_table, index_array, real_array, shown

GENERATOR_TOLERANCE = 1e-9


def from_arrays(transition: Any, rate: Any, reward: Any = None, running: Any = None, admissible: Any = None,
                states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None,
                rate_bounds: tuple[float, float] | None = None, *, cost: Any = None, running_cost: Any = None,
                transition_reward: Any = None, normalize_rows: bool = False, name: str = "",
                holding: str = "exponential") -> CTMDP:
    """Build from dense arrays; see `CTMDP.from_arrays`."""
    p = _three_axes("transition", transition)
    shape = p.shape[:2]
    mask = boolean_table("admissible", admissible, shape)
    state, action = np.nonzero(mask)
    paid = None if transition_reward is None else real_array("transition_reward", transition_reward, p.shape)[mask]
    return from_pairs(
        state, action, p[mask], real_array("rate", rate, shape)[mask],
        reward=_signed("reward", reward, "cost", cost, shape)[mask],
        running=_signed("running", running, "running_cost", running_cost, shape)[mask],
        transition_reward=paid, states=names_of("state", states, shape[0]),
        actions=names_of("action", actions, shape[1]),
        rate_bounds=rate_bounds, normalize_rows=normalize_rows, name=name, holding=holding,
    )


def from_pairs(state: Any, action: Any, transition: Any, rate: Any, reward: Any = None, running: Any = None, *,
               cost: Any = None, running_cost: Any = None, transition_reward: Any = None,
               states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None,
               rate_bounds: tuple[float, float] | None = None, normalize_rows: bool = False, name: str = "",
               holding: str = "exponential", events: EventTable | None = None) -> CTMDP:
    """Build from flat lists over pairs, in any order; see `CTMDP.from_pairs`."""
    who, what = index_array("state", state), index_array("action", action)
    pairs = len(who)
    if len(what) != pairs:
        raise ModelError(f"action has {len(what)} entries and state has {pairs}; give one of each per pair.")
    matrix = _sparse_rows("transition", transition, pairs)
    n_states = matrix.shape[1]
    labels = names_of("state", states, n_states)
    names = names_of("action", actions, int(what.max(initial=0)) + 1 if actions is None else None)
    for kind, index, limit in (("state", who, n_states), ("action", what, len(names))):
        bad = np.flatnonzero((index < 0) | (index >= limit))
        if bad.size:
            raise ModelError(f"{kind}[{bad[0]}] is {index[bad[0]]}; {kind} indices run from 0 to {limit - 1}.")
    order: Any = slice(None) if _in_order(who, what) else np.lexsort((what, who))  # a slice copies nothing
    if not isinstance(order, slice):
        matrix = matrix[order]
    paid = None if transition_reward is None else _on_pattern(transition_reward, matrix, np.arange(pairs)[order])
    start = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=n_states))])
    flat = (pairs,)
    return CTMDP(
        pair_start=start, pair_action=what[order], row_start=matrix.indptr, next_state=matrix.indices,
        probability=_normalized(matrix) if normalize_rows else matrix.data,
        rate=real_array("rate", rate, flat)[order],
        reward=_signed("reward", reward, "cost", cost, flat)[order],
        running=_signed("running", running, "running_cost", running_cost, flat)[order],
        states=labels, actions=names, transition_reward=paid, rate_bounds=rate_bounds, name=name, holding=holding,
        events=events,
    )


def _in_order(who: np.ndarray, what: np.ndarray) -> bool:
    """Return whether pairs stand by state and then by action."""
    same = who[1:] == who[:-1]
    return bool(((who[1:] > who[:-1]) | (same & (what[1:] >= what[:-1]))).all())


def from_generators(generators: Any, reward: Any = None, running: Any = None, *, cost: Any = None, running_cost: Any = None,
                    transition_reward: Any = None, states: Sequence[Any] | None = None, actions: Sequence[Any] | None = None,
                    rate_bounds: tuple[float, float] | None = None, name: str = "") -> CTMDP:
    """Build from one generator matrix per action; see `CTMDP.from_generators`."""
    if isinstance(generators, Mapping) and actions is None:
        actions = list(generators)
    matrices = _matrices("generators", generators)
    n_states, n_actions = matrices[0].shape[1], len(matrices)
    state, action, rate, rows = [], [], [], []
    for a, matrix in enumerate(matrices):
        if matrix.shape != (n_states, n_states):
            raise ModelError(f"generators[{a}] has shape {matrix.shape}; every generator must be ({n_states}, {n_states}).")
        jump, total = _jumps(a, matrix)
        alive = np.flatnonzero(total > 0)
        state.append(alive)
        action.append(np.full(len(alive), a))
        rate.append(total[alive])
        rows.append(jump[alive])
    who, what, speed = map(np.concatenate, (state, action, rate))
    if not who.size:
        raise ModelError(f"all {n_actions} generators are 0; every state needs an action with a positive intensity.")
    jumps = sparse.vstack(rows).tocsr()
    jumps.data = jumps.data / np.repeat(speed, np.diff(jumps.indptr))
    table = (n_states, n_actions)
    paid = None
    if transition_reward is not None:
        given = _matrices("transition_reward", transition_reward)
        if [m.shape for m in given] != [m.shape for m in matrices]:
            raise ModelError(f"transition_reward has shapes {[m.shape for m in given][:5]}; it must have those of generators.")
        paid = sparse.vstack([m[s] for m, s in zip(given, state)]).tocsr()
    return from_pairs(
        who, what, jumps, speed, _signed("reward", reward, "cost", cost, table)[who, what],
        _signed("running", running, "running_cost", running_cost, table)[who, what], transition_reward=paid,
        states=states, actions=names_of("action", actions, n_actions), rate_bounds=rate_bounds, normalize_rows=True, name=name,
    )


def from_mdp(transition: Any, reward: Any = None, admissible: Any = None, *, states: Sequence[Any] | None = None,
             actions: Sequence[Any] | None = None, running: Any = None, rate_bounds: tuple[float, float] | None = None,
             cost: Any = None, running_cost: Any = None, transition_reward: Any = None, normalize_rows: bool = False,
             name: str = "") -> CTMDP:
    """Build from a discrete-time MDP: rate 1 and unit holding times; see `CTMDP.from_mdp`."""
    p = _three_axes("transition", transition)
    return from_arrays(p, np.ones(p.shape[:2]), reward, running, admissible, states, actions, rate_bounds, cost=cost,
                       running_cost=running_cost, transition_reward=transition_reward, normalize_rows=normalize_rows,
                       name=name, holding="unit")


def _three_axes(name: str, value: Any) -> np.ndarray:
    array = real_array(name, value)
    if array.ndim != 3 or array.shape[0] != array.shape[2] or not array.size:
        raise ModelError(f"{name} has shape {array.shape}; it must be (states, actions, states), at least one of each.")
    return array


def _signed(name: str, value: Any, cost_name: str, cost: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value`, or minus `cost`, or zeros."""
    if value is not None and cost is not None:
        raise ModelError(
            f"{name} is {shown(value)} and {cost_name} is {shown(cost)}; a cost is a negative {name}: give one of the two."
        )
    if cost is not None:
        return 0.0 - real_array(cost_name, cost, shape)
    return np.zeros(shape) if value is None else real_array(name, value, shape)


def _matrices(name: str, value: Any) -> list[sparse.csr_matrix]:
    """Return one sparse matrix per action of {action: matrix}, a list of matrices or an array (A, S, S)."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, np.ndarray) and value.ndim != 3:
        raise ModelError(f"{name} has shape {value.shape}; it must be (actions, states, states).")
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise ModelError(f"{name} is {shown(value)} (a {type(value).__name__}); give one matrix per action, in a list or a dict.")
    if not len(value):
        raise ModelError(f"{name} is {shown(value)}; give at least one matrix.")
    return [_sparse_rows(f"{name}[{a}]", matrix) for a, matrix in enumerate(value)]


def _sparse_rows(name: str, value: Any, rows: int | None = None) -> sparse.csr_matrix:
    """Return a CSR matrix with entries as given, explicit zeros dropped, columns in order."""
    given: Any = value
    if sparse.issparse(value):
        if given.dtype.kind not in "iuf" or given.ndim != 2:
            raise ModelError(f"{name} is sparse with type {given.dtype} and shape {given.shape}; it must hold real numbers "
                             "on two axes. Convert it with `.astype(float)`.")
        matrix = sparse.csr_matrix(given, dtype=np.float64)
        if matrix.has_canonical_format and (matrix.data != 0).all() and (rows is None or matrix.shape[0] == rows):
            return matrix  # the caller's own arrays: nobody changes them on the way into the model, which has its own
        matrix = matrix.copy()
    else:
        array = real_array(name, value)
        if array.ndim != 2:
            raise ModelError(f"{name} has shape {array.shape}; it must have two axes.")
        matrix = sparse.csr_matrix(array)
    if rows is not None and matrix.shape[0] != rows:
        raise ModelError(f"{name} has {matrix.shape[0]} rows; it needs one for each of the {rows} pairs.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _jumps(a: int, generator: sparse.csr_matrix) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return the off-diagonal part of a generator and its row sums, checking that rows of the generator sum to 0."""
    row = np.repeat(np.arange(generator.shape[0]), np.diff(generator.indptr))
    off = row != generator.indices
    bad = np.flatnonzero(~np.isfinite(generator.data) | (off & (generator.data < 0)))
    if bad.size:
        s, j, value = row[bad[0]], generator.indices[bad[0]], generator.data[bad[0]]
        raise ModelError(f"generators[{a}][{s}, {j}] is {shown(value)}; off the diagonal an intensity must be >= 0 and finite.")
    diagonal = generator.diagonal()
    jump = generator.copy()
    jump.data = np.where(off, jump.data, 0.0)
    jump.eliminate_zeros()
    total = np.asarray(jump.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(total + diagonal) > GENERATOR_TOLERANCE * np.maximum(total, np.abs(diagonal)))
    if wrong.size:
        s = int(wrong[0])
        raise ModelError(f"generators[{a}] row {s} sums to {total[s] + diagonal[s]:g}; the rows of a generator must sum to 0. "
                         f"Set the entry [{s}, {s}] to {-total[s]!s}.")
    return jump, total


def _on_pattern(values: Any, matrix: sparse.csr_matrix, order: np.ndarray) -> np.ndarray:
    """Return the transition rewards that stand on the support of `matrix` (whose rows are already in `order`)."""
    given = _sparse_rows("transition_reward", values, len(order))
    if given.shape != matrix.shape:
        raise ModelError(f"transition_reward has shape {given.shape}; it must have that of transition, {matrix.shape}.")
    key = np.repeat(np.arange(len(order)), np.diff(matrix.indptr)) * matrix.shape[1] + matrix.indices
    given = given[order]
    known = np.repeat(np.arange(len(order)), np.diff(given.indptr)) * matrix.shape[1] + given.indices
    at = np.minimum(np.searchsorted(known, key), max(len(known) - 1, 0))
    found = known[at] == key if len(known) else np.zeros(len(key), dtype=bool)
    paid = np.zeros(len(key))
    paid[found] = given.data[at[found]]
    return paid


def _normalized(matrix: sparse.csr_matrix) -> np.ndarray:
    """Return the probabilities, each row divided by its sum where that is a positive number."""
    lengths = np.diff(matrix.indptr)
    if not matrix.nnz or lengths.min() == 0:
        return matrix.data
    total = np.add.reduceat(matrix.data, matrix.indptr[:-1])
    fix = np.isfinite(total) & (total > 0) & (np.abs(total - 1) > 1e-12)
    divided: np.ndarray = matrix.data / np.repeat(np.where(fix, total, 1.0), lengths)
    return divided
