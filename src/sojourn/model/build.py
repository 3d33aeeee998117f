"""Ways into the model from arrays: dense tables, flat pairs, generators, discrete-time MDPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import real_array

EXACT_SUM = 1e-12  # rows closer to 1 than this are left as they are, so that saving and loading changes nothing


def from_arrays(transition: Any, rate: Any, reward: Any = None, running: Any = None, admissible: Any = None,
                states: Sequence[str] | None = None, actions: Sequence[str] | None = None,
                rate_bounds: tuple[float, float] | None = None, *, cost: Any = None, running_cost: Any = None,
                transition_reward: Any = None, normalize_rows: bool = False, name: str = "",
                holding: str = "exponential") -> CTMDP:
    """Build from dense arrays; see `CTMDP.from_arrays`."""
    p = real_array("transition", transition)
    if p.ndim != 3 or p.shape[0] != p.shape[2]:
        raise ModelError(f"transition has shape {p.shape}; it must be (states, actions, states).")
    shape = p.shape[:2]
    speed = real_array("rate", rate, shape)
    mask = _mask(admissible, shape)
    state, action = np.nonzero(mask)
    rows = p[mask]
    paid = None if transition_reward is None else real_array("transition_reward", transition_reward, p.shape)[mask]
    return from_pairs(
        state, action, rows, speed[mask],
        reward=_signed("reward", reward, "cost", cost, shape, mask),
        running=_signed("running", running, "running_cost", running_cost, shape, mask),
        transition_reward=paid, states=states or _default_labels(shape[0]), actions=actions or _default_labels(shape[1]),
        rate_bounds=rate_bounds, normalize_rows=normalize_rows, name=name, holding=holding,
    )


def from_pairs(state: Any, action: Any, transition: Any, rate: Any, reward: Any = None, running: Any = None, *,
               cost: Any = None, running_cost: Any = None, transition_reward: Any = None,
               states: Sequence[str] | None = None, actions: Sequence[str] | None = None,
               rate_bounds: tuple[float, float] | None = None, normalize_rows: bool = False, name: str = "",
               holding: str = "exponential") -> CTMDP:
    """Build from flat lists over pairs, in any order; see `CTMDP.from_pairs`."""
    who, what = _indices("state", state), _indices("action", action)
    pairs = len(who)
    if len(what) != pairs:
        raise ModelError(f"action has {len(what)} entries and state has {pairs}; give one of each per pair.")
    matrix = _sparse_rows("transition", transition, pairs)
    n_states = matrix.shape[1]
    labels = tuple(states) if states is not None else _default_labels(n_states)
    if len(labels) != n_states:
        raise ModelError(f"there are {len(labels)} state labels and {n_states} columns in transition; they must agree.")
    names = tuple(actions) if actions is not None else _default_labels(int(what.max(initial=-1)) + 1)
    for kind, index, limit in (("state", who, n_states), ("action", what, len(names))):
        if pairs and (index.min() < 0 or index.max() >= limit):
            bad = int(index[(index < 0) | (index >= limit)][0])
            raise ModelError(f"{kind} index {bad} does not exist; indices run from 0 to {limit - 1}.")
    order = np.lexsort((what, who))
    matrix = matrix[order]
    paid = None if transition_reward is None else _on_pattern(transition_reward, matrix, pairs, order)
    start = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=n_states))]).astype(np.int64)
    flat = (pairs,)
    return CTMDP(
        pair_start=start, pair_action=what[order],
        row_start=matrix.indptr.astype(np.int64), next_state=matrix.indices.astype(np.int64),
        probability=_normalized(matrix, normalize_rows),
        rate=real_array("rate", rate, flat)[order],
        reward=_signed("reward", reward, "cost", cost, flat)[order],
        running=_signed("running", running, "running_cost", running_cost, flat)[order],
        states=labels, actions=names, transition_reward=paid, rate_bounds=rate_bounds, name=name, holding=holding,
    )


def from_generators(generators: Any, reward: Any = None, running: Any = None, *, actions: Sequence[str] | None = None,
                    **more: Any) -> CTMDP:
    """Build from one generator matrix per action; see `CTMDP.from_generators`."""
    if isinstance(generators, Mapping):
        actions = actions or [str(a) for a in generators]
        generators = list(generators.values())
    matrices = [_sparse_rows(f"generators[{a}]", g, None) for a, g in enumerate(generators)]
    if not matrices:
        raise ModelError("generators is empty; give at least one generator matrix.")
    n_states = matrices[0].shape[1]
    state, action, rate, rows = [], [], [], []
    for a, matrix in enumerate(matrices):
        if matrix.shape != (n_states, n_states):
            raise ModelError(f"generators[{a}] has shape {matrix.shape}; every generator must be ({n_states}, {n_states}).")
        jump, total = _jumps(a, matrix)
        alive = np.flatnonzero(total > 0)
        state.append(alive)
        action.append(np.full(len(alive), a))
        rate.append(total[alive])
        rows.append(sparse.diags(1 / total[alive]) @ jump[alive])
    shape = (n_states, len(matrices))
    mask = np.zeros(shape, dtype=bool)
    mask[np.concatenate(state), np.concatenate(action)] = True
    order = np.lexsort((np.concatenate(action), np.concatenate(state)))
    for key, other in (("cost", reward), ("running_cost", running)):
        if key in more and more[key] is not None:
            more[key] = _signed(key, more[key], key, None, shape, mask)
    return from_pairs(
        np.concatenate(state)[order], np.concatenate(action)[order], sparse.vstack(rows).tocsr()[order],
        np.concatenate(rate)[order],
        reward=None if reward is None else _signed("reward", reward, "cost", None, shape, mask),
        running=None if running is None else _signed("running", running, "running_cost", None, shape, mask),
        actions=actions or _default_labels(len(matrices)), normalize_rows=True, **more,
    )


def from_mdp(transition: Any, reward: Any = None, admissible: Any = None, **more: Any) -> CTMDP:
    """Build from a discrete-time MDP: rate 1 and unit holding times; see `CTMDP.from_mdp`."""
    p = real_array("transition", transition)
    if p.ndim != 3:
        raise ModelError(f"transition has shape {p.shape}; it must be (states, actions, states).")
    mask = _mask(admissible, p.shape[:2])
    return from_arrays(p, np.where(mask, 1.0, np.nan), reward, admissible=mask, holding="unit", **more)


def _default_labels(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(n))


def _indices(name: str, value: Any) -> np.ndarray:
    index = np.asarray(value)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        if index.size == 0:
            raise ModelError(f"{name} is empty; a model needs at least one pair.")
        raise ModelError(f"{name} has type {index.dtype} and shape {index.shape}; it must be a flat list of 0-based indices.")
    return index.astype(np.int64)


def _mask(admissible: Any, shape: tuple[int, ...]) -> np.ndarray:
    if admissible is None:
        return np.ones(shape, dtype=bool)
    mask = np.asarray(admissible)
    if mask.dtype != bool or mask.shape != shape:
        raise ModelError(f"admissible has type {mask.dtype} and shape {mask.shape}; it must be boolean with shape {shape}.")
    return mask


def _signed(name: str, value: Any, cost_name: str, cost: Any, shape: tuple[int, ...],
            mask: np.ndarray | None = None) -> np.ndarray:
    """Return `value`, or minus `cost`, or zeros, restricted to `mask` where the input has the mask's shape."""
    if value is not None and cost is not None:
        raise ModelError(f"both {name} and {cost_name} are given; a cost is a negative {name}: give one of the two.")
    if value is None and cost is None:
        return np.zeros(shape if mask is None else int(mask.sum()))
    array = real_array(name, value, shape) if cost is None else -real_array(cost_name, cost, shape)
    return array if mask is None else array[mask]


def _sparse_rows(name: str, value: Any, rows: int | None) -> sparse.csr_matrix:
    """Return a CSR matrix with entries as given, explicit zeros dropped, columns in order."""
    matrix = sparse.csr_matrix(value) if sparse.issparse(value) else sparse.csr_matrix(_two_axes(name, value))
    if rows is not None and matrix.shape[0] != rows:
        raise ModelError(f"{name} has {matrix.shape[0]} rows; it needs one for each of the {rows} pairs.")
    matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _two_axes(name: str, value: Any) -> np.ndarray:
    array = real_array(name, value)
    if array.ndim != 2:
        raise ModelError(f"{name} has shape {array.shape}; it must have two axes.")
    return array


def _jumps(a: int, generator: sparse.csr_matrix) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return the off-diagonal part of a generator and its row sums, checking that rows of the generator sum to 0."""
    diagonal = generator.diagonal()
    jump = (generator - sparse.diags(diagonal)).tocsr()
    jump.eliminate_zeros()
    if not np.isfinite(generator.data).all():
        raise ModelError(f"generators[{a}] holds {generator.data[~np.isfinite(generator.data)][0]}; intensities must be finite.")
    if jump.nnz and jump.data.min() < 0:
        entry = int(np.argmin(jump.data))
        s = int(np.searchsorted(jump.indptr, entry, side="right") - 1)
        raise ModelError(f"generators[{a}][{s}, {jump.indices[entry]}] is {jump.data[entry]:g}; off the diagonal it must be >= 0.")
    total = np.asarray(jump.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(total + diagonal) > 1e-9 * np.maximum(1, total))
    if wrong.size:
        s = int(wrong[0])
        raise ModelError(f"generators[{a}] row {s} sums to {total[s] + diagonal[s]:g}; the rows of a generator must sum to 0.")
    return jump, total


def _on_pattern(values: Any, matrix: sparse.csr_matrix, pairs: int, order: np.ndarray) -> np.ndarray:
    """Return the transition rewards that stand on the support of `matrix` (whose rows are already in `order`)."""
    given = values.tocsr()[order] if sparse.issparse(values) else sparse.csr_matrix(
        real_array("transition_reward", values, (pairs, matrix.shape[1]))[order])
    row = np.repeat(np.arange(pairs), np.diff(matrix.indptr))
    return np.asarray(given[row, matrix.indices], dtype=np.float64).ravel()


def _normalized(matrix: sparse.csr_matrix, force: bool) -> np.ndarray:
    """Return the probabilities, each row divided by its sum where it is off by rounding (or always if `force`)."""
    p = matrix.data.copy()
    lengths = np.diff(matrix.indptr)
    if not p.size or lengths.min() == 0:
        return p
    total = np.add.reduceat(p, matrix.indptr[:-1])
    off = np.abs(total - 1)
    fix = (off > EXACT_SUM) & (force | (off <= 1e-9)) & (total > 0)
    return p / np.repeat(np.where(fix, total, 1.0), lengths)
