"""What is done about untried actions where no rate bounds are told: each is taken when it is met, and sought where it is not.

The rate of a pair that was never tried may be anything in (0, inf), and with a lump sum at an infinite rate so may the gain.  Such
optimism has a limit: take an untried action where there is one, and elsewhere go, in the least time that the confidence sets allow,
to a state that has one.  That is a plan over the same sets, in a model in which all states with an untried action are one, which
pays 1 per unit of time and is never left, and nothing else pays: its gain is 1, and -u the optimistic time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError, ToleranceError
from sojourn.kernels.joint_optimism import JointProblem
from sojourn.kernels.kl_optimism import KLProblem
from sojourn.learn.counts import Counts
from sojourn.learn.learner import Plan
from sojourn.learn.optimism import DriftIteration, improved
from sojourn.model.knowledge import Knowledge

END = 2  # entries of the row of the state that is sought: itself, and a place for others


def trying(iteration: DriftIteration, knowledge: Knowledge, untried: np.ndarray, quota: np.ndarray, counts: Counts,
           tolerance: float, most: int) -> Plan:
    """Return the plan that takes untried actions and seeks them; `iteration` plans over the sets, `quota` is that of any plan."""
    sought = np.maximum.reduceat(untried, knowledge.pair_start[:-1])  # states that have an untried action
    pair = knowledge.pair_start[:-1] + np.array([np.argmax(part) for part in np.split(untried, knowledge.pair_start[1:-1])])
    looks = 0
    if not sought.all():
        refuse_unreachable(knowledge, sought)
        pace = counts.visits.sum() / counts.holding_sum.sum()
        pair[~sought], _, looks = least_time(iteration, knowledge, sought, pace, tolerance, most)
    return Plan(np.array(knowledge.pair_action[pair]), quota=quota,
                info={"untried": int(untried.sum()), "sweeps": looks})


def least_time(iteration: DriftIteration, knowledge: Knowledge, sought: np.ndarray, pace: float, tolerance: float,
               most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (pair, optimistic time) of the states not `sought`, and the looks taken; `pace` is any rate in the data's unit."""
    kept = np.flatnonzero(~sought[knowledge.pair_state])
    smaller = DriftIteration(iteration.kernel, least_time_problem(iteration.problem, knowledge, sought, kept, pace))
    u = np.zeros(int((~sought).sum()) + 1)
    found = improved(smaller, u, tolerance, most)
    if not found.converged:
        raise ToleranceError(f"the least time to an untried action is not known after {found.steps} looks. {iteration.remedy}")
    return kept[found.pair[:-1]], u[-1] - u[:-1], found.steps


def least_time_problem(problem: Any, knowledge: Knowledge, sought: np.ndarray, kept: np.ndarray, pace: float) -> Any:
    """Return the sets of the pairs `kept` in a model whose last state stands for all that are `sought`."""
    end = int((~sought).sum())
    place = np.where(sought, end, np.cumsum(~sought) - 1)
    size = np.diff(problem.row_start)[kept]
    entries = chosen_entries(problem.row_start, kept)
    common: dict[str, Any] = {
        "pair_start": np.concatenate([[0], np.cumsum(np.diff(knowledge.pair_start)[~sought]), [len(kept) + 1]]).astype(np.int64),
        "row_start": np.concatenate([[0], np.cumsum(np.append(size, END))]).astype(np.int64),
        "next_state": np.append(place[problem.next_state[entries]], [end, end]),
        "reward": np.zeros(len(kept) + 1), "running": np.append(np.zeros(len(kept)), 1.0),
        "rate_high": np.append(problem.rate_high[kept], pace)}
    if isinstance(problem, KLProblem):
        return problem._replace(probability=np.append(problem.probability[entries], [1.0, 0.0]),
                                radius=np.append(problem.radius[kept], 0.0),
                                rate_low=np.append(problem.rate_low[kept], pace), **common)
    assert isinstance(problem, JointProblem)
    supports: dict[str, Any] = {}
    if len(problem.support_start):
        length = np.diff(problem.support_start)[kept]
        supports = {"support_start": np.concatenate([[0], np.cumsum(np.append(length, 1))]).astype(np.int64),
                    "support_state": np.append(place[problem.support_state[chosen_entries(problem.support_start, kept)]], end)}
    return problem._replace(jumps=np.append(problem.jumps[entries], [1.0, 0.0]), time=np.append(problem.time[kept], 1 / pace),
                            bound=np.append(problem.bound[kept], 0.0), **supports, **common)


def chosen_entries(start: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the places of the entries of `rows` in a list that is bounded by `start`."""
    size = np.diff(start)[rows]
    found: np.ndarray = np.repeat(start[rows] - np.cumsum(size) + size, size) + np.arange(size.sum())
    return found


def refuse_unreachable(knowledge: Knowledge, sought: np.ndarray) -> None:
    """Raise if the supports that are told rule out that some state ever leads to one that is `sought`."""
    if knowledge.support_start is None or knowledge.support_state is None:
        return
    state = np.repeat(knowledge.pair_state, np.diff(knowledge.support_start))
    leads, before = sought.copy(), -1
    while leads.sum() != before:
        before = int(leads.sum())
        leads[state[leads[knowledge.support_state]]] = True
    if not leads.all():
        here, there = knowledge.states[int(np.argmin(leads))], knowledge.states[int(np.argmax(sought))]
        raise ParameterError(f"state {there!r} has an action that was never tried or only once, and no jumps lead there from state "
                             f"{here!r}. Without rate bounds every action must be tried. Tell rate_bounds=(lo, hi), or remove "
                             "the action from the model.")
