"""What a log says against the model itself: holding times that are not exponential, and a memory of the past.

Eight questions are put to every pair: two about the law of its holding times (exponential.py), six about memory (memory.py).
Each question gets an eighth of the level, divided by the number of pairs of which it is asked; so together they raise a false
alarm in at most a share `level` of all logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.control.exponential import law_tests
from sojourn.control.log import Log
from sojourn.control.log_unfinished import unfinished
from sojourn.control.memory import PValues, memory_tests, path_of
from sojourn.learn.unfinished import carried
from sojourn.model.knowledge import Knowledge

LAWS = ("gini", "total time on test")
LISTED = 10  # notes that are written out


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Per pair (P,): `gini`, the answer to each of the eight questions, and how many sojourns were `complete` and `unfinished`.

    P-values are NaN where nothing was tested.
    `noticed` lists the (question, pair) that are noticed at `level`, those with the smallest p-value first.
    """

    level: float
    gini: np.ndarray
    answers: dict[str, PValues]
    complete: np.ndarray
    unfinished: np.ndarray

    @property
    def noticed(self) -> list[tuple[str, int]]:
        found = []
        for question, answer in self.answers.items():
            tested = int((~np.isnan(answer.p)).sum())
            limit = self.level / len(self.answers) / max(1, tested)
            found += [(float(answer.p[k]), question, int(k)) for k in np.flatnonzero(answer.p < limit)]
        return [(question, k) for _, question, k in sorted(found)]

    def smallest(self, questions: tuple[str, ...]) -> np.ndarray:
        """Return one p-value per pair: the smallest of these questions, times their number."""
        found: np.ndarray = np.minimum(1.0, np.fmin.reduce([self.answers[name].p for name in questions]) * len(questions))
        return found


def check_assumptions(rows: Log, knowledge: Knowledge, level: float) -> Assumptions:
    """Return what the log says against the model."""
    path, cut = path_of(rows, knowledge), unfinished(rows, knowledge)
    pair = knowledge.pair_table[rows.state, rows.action].astype(np.int64)
    gini, gini_p, kuiper_p = law_tests(pair, rows.holding_time + carried(pair, cut), knowledge.n_pairs)
    nothing = np.full(knowledge.n_pairs, -1)
    laws = {name: PValues(p, nothing, nothing) for name, p in zip(LAWS, (gini_p, kuiper_p))}
    memory = memory_tests(path, np.asarray(knowledge.pair_state), knowledge.n_pairs)
    complete, unended = (np.bincount(part, minlength=knowledge.n_pairs) for part in (pair, cut.pair))
    return Assumptions(level, gini, {**laws, **memory}, complete, unended)


def notes_of(found: Assumptions, knowledge: Knowledge) -> list[str]:
    """Return a sentence for each choice of which something was noticed, the clearest first."""
    words: dict[int, list[str]] = {}
    for question, k in found.noticed:
        if question == LAWS[1] and any(LAWS[0] == asked and k == pair for asked, pair in found.noticed):
            continue  # the same thing said twice
        words.setdefault(k, []).append(_words(found, knowledge, question, k))
    notes = []
    for k, parts in list(words.items())[:LISTED]:
        n, cut = int(found.complete[k]), int(found.unfinished[k])
        so = f"As {cut:,} more were not seen to end, averages may be wrong too" if cut else \
            "Averages under the choices that were made are right; intervals and gains may not be"
        action, state = knowledge.actions[int(knowledge.pair_action[k])], knowledge.states[int(knowledge.pair_state[k])]
        notes.append(f"{action!r} in state {state!r} ({n:,} sojourns): {'; '.join(parts)}. {so}.")
    if len(words) > LISTED:
        notes.append(f"so it is with {len(words) - LISTED} further choices.")
    return notes


def _words(found: Assumptions, knowledge: Knowledge, question: str, k: int) -> str:
    answer, states = found.answers[question], knowledge.states
    p = f"p-value {answer.p[k]:.2g}"
    context = "" if answer.context[k] < 0 else repr(states[int(answer.context[k])])
    after = "" if answer.successor[k] < 0 else repr(states[int(answer.successor[k])])
    if question == "gini":
        how = "more regular than exponential" if found.gini[k] < 0.5 else "more spread out than exponential"
        return f"its holding times are {how} (Gini {abs(found.gini[k]):.3f} in place of 0.5, {p})"
    said: dict[str, Any] = {
        "total time on test": "its holding times are not exponential, though their Gini is near that of an exponential",
        "last time": "its holding times depend on how long the last one here was",
        "time before": "its holding times depend on how long the sojourn before was",
        "state before": f"its holding times depend on the state before, such as {context}",
        "time and successor": f"its holding times depend on where they lead, such as {context}",
        "last successor": f"where it leads depends on where it led last: to {after} after {context}",
        "successor and state before": f"where it leads depends on the state before: to {after} after {context}",
    }
    return f"{said[question]} ({p})"


