"""What a solver made of a case, judged by exact arithmetic: proved, refused in words, or one of the failures."""

from __future__ import annotations

import math
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from exact import ExactModel, embedded_law, policy_gains, recurrent_classes
from exact_lower_bound import lower_bound_constant
from exact_optimum import best_gains, diameter, gain_losses
from shapes import Case
from sojourn.errors import AssumptionError, SojournError, ToleranceError
from sojourn.model.ctmdp import CTMDP

FAILURES = ("false", "one reading", "nan", "traceback", "stuck", "unjustified", "inconsistent", "law", "policy", "judge")
SMALL = 12  # states up to which the whole structure is judged exactly


@dataclass
class Verdict:
    """`kind` is "proved", "refused", "not judged" or one of FAILURES; `width` is relative to the gain."""

    kind: str
    detail: str = ""
    width: float = 0.0
    seconds: float = 0.0


class Stuck(BaseException):
    """The time of a case is up; no `except Exception` may swallow it."""


def _ring(*_: Any) -> None:
    raise Stuck


def attempt(work: Callable[[], Any], seconds: int = 60) -> tuple[Any, Verdict | None, float]:
    """Return (answer or SojournError, None, seconds), or (None, the failure, seconds); seconds of the processor.

    What numpy warns of is a failure too: nobody but a caller who asks for it should be told of an overflow.
    """
    before, began = signal.signal(signal.SIGPROF, _ring), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    failure, answer = None, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            answer = work()
    except SojournError as error:
        answer = error
    except Stuck:
        failure = Verdict("stuck", f"no answer in {seconds} s")
    except Exception as error:
        failure = Verdict("traceback", f"{type(error).__name__}: {error}\n{''.join(traceback.format_exc().splitlines(True)[-6:])}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    spent = time.process_time() - began
    if failure:
        failure.seconds = spent
    return answer, failure, spent


def relative_width(bounds: tuple[float, float], gain: float) -> float:
    """Return the width relative to |gain|."""
    width = bounds[1] - bounds[0]
    return width / abs(gain) if gain else (0.0 if width == 0 else math.inf)


def _holds(bounds: tuple[float, float], low: Fraction, high: Fraction) -> bool:
    """Whether the interval may hold a truth known to lie between `low` and `high`; an infinite end is open."""
    lo, hi = bounds
    return (lo == -math.inf or (lo != math.inf and Fraction(lo) <= high)) and (
        hi == math.inf or (hi != -math.inf and low <= Fraction(hi)))


def _judge_interval(answer: Any, bounds: tuple[float, float], truths: list[tuple[Fraction, Fraction]]) -> Verdict:
    gain = float(answer.gain)
    if math.isnan(gain) or any(math.isnan(x) for x in bounds):
        return Verdict("nan", f"gain {gain}, bounds {bounds}")
    wrong = next(((low, high) for low, high in truths if not _holds(bounds, low, high)), None)
    if wrong:
        return Verdict("false", f"the truth is {float(wrong[0])!r}, the gain {gain!r}, the bounds {bounds}")
    if not math.isfinite(gain) or not bounds[0] <= gain <= bounds[1]:
        return Verdict("inconsistent", f"gain {gain!r} outside its own bounds {bounds}")
    for name in ("stationary", "occupancy", "bias"):
        values = getattr(answer, name, None)
        if values is not None and (np.isnan(values).any() or (name != "bias" and not np.isfinite(values).all())):
            return Verdict("nan", f"{name} holds {values[~np.isfinite(values)][0]}")
    return Verdict("proved", width=relative_width(bounds, gain))


def _refused(error: SojournError, judge: Callable[[Any], Verdict]) -> Verdict:
    """A refusal in words: what a ToleranceError holds in `.best` must be true as well."""
    best = getattr(error, "best", None)
    if isinstance(error, ToleranceError) and best is not None:
        verdict = judge(best)
        if verdict.kind != "proved":
            verdict.detail = f"in .best: {verdict.detail}"
            return verdict
    return Verdict("refused", f"{type(error).__name__}: {error}")


def _both_readings(case: Case, judge: Callable[[ExactModel], Verdict]) -> Verdict:
    """The verdict; "one reading" where the interval is true of the rows as stored, and false of the rows divided by their sums."""
    verdict = judge(ExactModel(case.model))
    divided = ExactModel(case.model, divide=True)
    if verdict.kind == "proved" and not divided.sums_to_one():
        other = judge(divided)
        if other.kind in ("false", "policy"):
            return Verdict("one reading", f"with rows divided by their sums, {other.detail}")
    return verdict


def judge_solve(case: Case) -> Verdict:
    """Solve the model and judge the optimal gain, its interval, and the policy."""
    from sojourn.solving.solve import solve

    answer, failure, spent = attempt(lambda: solve(case.model))
    if failure:
        return failure

    def judge(exact: ExactModel, found: Any) -> Verdict:
        pairs = case.model.policy_pairs(found.policy)
        if exact.n > SMALL and len(recurrent_classes(exact.choice(pairs))) > 1:
            pairs = None
        verdict = _judge_interval(found, found.gain_bounds, best_gains(exact, pairs, SMALL))
        if verdict.kind == "proved" and pairs is not None:
            worst = min(policy_gains(exact, exact.choice(pairs)))
            width = found.gain_bounds[1] - found.gain_bounds[0]
            if math.isfinite(width) and worst < Fraction(found.gain) - Fraction(1e-8 * abs(found.gain)) - 10 * Fraction(width):
                return Verdict("policy", f"the policy earns {float(worst)!r}, the gain is {found.gain!r}")
        return verdict

    if isinstance(answer, AssumptionError):
        verdict = _judge_assumption(case, answer)
    elif isinstance(answer, SojournError):
        verdict = _refused(answer, lambda best: judge(ExactModel(case.model), best))
    else:
        verdict = _both_readings(case, lambda exact: judge(exact, answer))
    verdict.seconds = spent
    return verdict


def _judge_assumption(case: Case, error: AssumptionError) -> Verdict:
    """"The gain depends on the state" is right if it does, or if parts that cannot reach each other earn the same."""
    if case.model.n_states > SMALL:
        return Verdict("unjustified" if case.irreducible else "not judged", str(error))
    exact = ExactModel(case.model)
    gains = {low for low, _ in best_gains(exact, small=SMALL)}
    apart = recurrent_classes([(0, 1, {j: 1 for k in range(a, b) for j in exact.rows[k][2]})
                               for a, b in zip(exact.pair_start, exact.pair_start[1:])])
    if len(gains) > 1 or len(apart) > 1:
        return Verdict("refused", f"AssumptionError: {error}")
    return Verdict("unjustified", f"every state earns {float(gains.pop())!r}, and was refused: {error}")


def judge_evaluate(case: Case) -> Verdict:
    """Evaluate the policy and judge its gain and how often each state is visited."""
    from sojourn.solving.evaluate import evaluate

    answer, failure, spent = attempt(lambda: evaluate(case.model, case.policy))
    if failure:
        return failure
    table = np.ndim(case.policy) == 2
    pairs = None if table else case.model.policy_pairs(case.policy)
    weight = case.policy[case.model.pair_state, case.model.pair_action] if table else None

    def judge(exact: ExactModel, found: Any) -> Verdict:
        rows = exact.mixture(weight) if table else exact.choice(pairs)
        gains = policy_gains(exact, rows)
        bounds = getattr(found, "gain_bounds", None) or _claimed(case, found.gain)
        verdict = _judge_interval(found, bounds, [(g, g) for g in gains])
        if verdict.kind == "proved" and not table and len(gains) == 1:
            off = max(abs(float(x - Decimal(y))) for x, y in zip(embedded_law(exact, pairs), found.stationary.tolist()))
            if off > 1e-9:
                return Verdict("law", f"the stationary law is off by {off:.3g}")
        return verdict

    if isinstance(answer, AssumptionError):
        exact = ExactModel(case.model)
        count = len(recurrent_classes(exact.mixture(weight) if table else exact.choice(pairs)))
        verdict = Verdict("refused" if count > 1 else "unjustified", f"{count} recurrent classes; AssumptionError: {answer}")
    elif isinstance(answer, SojournError):
        verdict = _refused(answer, lambda best: judge(ExactModel(case.model), best))
    else:
        verdict = _both_readings(case, lambda exact: judge(exact, answer))
    verdict.seconds = spent
    return verdict


def _claimed(case: Case, value: float) -> tuple[float, float]:
    """Where no interval is given: within 1e-9 of the value, or of the largest income."""
    model = case.model
    size = 1e-9 * max(abs(value), float(np.abs(model.expected_reward * model.rate + model.running).max()))
    return value - size, value + size


class Constant(float):
    """A number with an interval, or without one, to be judged as the gain gap and the diameter are."""

    bounds: tuple[float, float] | None = None
    exact = False


def _constant(model: CTMDP) -> Constant:
    """C(M), with its interval if there is one."""
    from sojourn.instance.difficulty import difficulty

    found = difficulty(model)
    answer = Constant(found.lower_bound_constant)
    answer.bounds = getattr(found, "lower_bound_constant_bounds", None)
    return answer


def judge_difficulty(case: Case) -> Verdict:
    """Judge g, D and C(M) of a small model or a short walk that is irreducible under every policy."""
    from sojourn.instance.diameter import diameter as float_diameter
    from sojourn.instance.gain_gap import gain_gap as float_gap

    if not case.irreducible or case.model.n_states > 40 or case.model.n_pairs > 120:
        return Verdict("not judged")
    exact, whole, widest = ExactModel(case.model), 0.0, 0.0
    for name, work, truths in (("gain gap", float_gap, lambda: _possible_gaps(exact)),
                               ("diameter", float_diameter, lambda: [diameter(exact)]),
                               ("C(M)", _constant, lambda: [lower_bound_constant(case.model)])):
        answer, failure, spent = attempt(lambda work=work: work(case.model))
        whole += spent
        if not failure and isinstance(answer, SojournError):
            failure = Verdict("refused", f"{type(answer).__name__}: {answer}")
        verdict = failure or _judge_constant(answer, truths())
        verdict.detail, verdict.seconds = f"{name}: {verdict.detail}", whole
        if verdict.kind != "proved":
            return verdict
        widest = max(widest, verdict.width)
    return Verdict("proved", width=widest, seconds=whole)


def _possible_gaps(exact: ExactModel) -> list[Fraction | None]:
    """g, and what it is where policies that lose less than 1e-9 of the incomes count as optimal; infinite where none is left."""
    try:
        losses = gain_losses(exact)
    except ValueError:
        return [None]
    size = max(Fraction(abs(row[0]), row[1]) for row in exact.rows) * exact.unit
    tied = [loss for loss in losses if loss <= size / 10**9]
    return [*tied, *(losses[len(tied):len(tied) + 1] or [math.inf])]


def _judge_constant(answer: Any, truths: list[Any]) -> Verdict:
    """Judge a number that may know its `bounds` and whether it is `exact`, against one of several right answers.

    None among them stands for an answer that cannot be judged.
    """
    bounds = getattr(answer, "bounds", None) or (float(answer) * (1 - 1e-9), float(answer) * (1 + 1e-9))
    if math.isnan(answer) or any(math.isnan(x) for x in bounds):
        return Verdict("nan", f"{float(answer)!r}, bounds {bounds}")
    if None in truths:
        return Verdict("proved")
    right = [x if x == math.inf else Fraction(x) for x in truths]
    held = [x for x in right if bounds[0] <= x <= bounds[1]]
    words = f"the truth is {float(right[0])!r}, the value {float(answer)!r}, the bounds {bounds}"
    if not held:
        return Verdict("false", words)
    if answer.exact and not any(x == answer if x == math.inf else (
            math.isfinite(answer) and abs(Fraction(float(answer)) - x) <= x / 10**9) for x in held):
        return Verdict("false", f"called exact, {words}")
    return Verdict("proved", width=relative_width(bounds, float(answer)) if math.isfinite(answer) else 0.0)


def judged(question: str, case: Case) -> Verdict:
    """The verdict; where the judge itself fails, "judge"."""
    try:
        return JUDGES[question](case)
    except Exception as error:
        return Verdict("judge", f"{type(error).__name__}: {error}\n{''.join(traceback.format_exc().splitlines(True)[-6:])}")


JUDGES = {"solve": judge_solve, "evaluate": judge_evaluate, "difficulty": judge_difficulty}
