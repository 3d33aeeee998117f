"""The judge finds what it is there to find: planted false intervals, wrong laws, nan, wrong refusals, endless work."""

from dataclasses import replace

import numpy as np
import pytest

from shapes import case
from sojourn.errors import AssumptionError, ToleranceError
from sojourn.instance import gain_gap as gap_module
from sojourn.solving import evaluate as evaluate_module
from sojourn.solving import solve as solve_module
from verdicts import attempt, judge_difficulty, judge_evaluate, judge_solve


@pytest.fixture(params=["plain", "walk", "long walk"])
def drawn(request):
    return case(8, 0, (request.param,))


def plant(monkeypatch, module, name, change):
    real = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: change(real(*given)))


def moved(answer, by):
    """The same answer with a narrow interval beside the truth."""
    return replace(answer, gain=answer.gain * (1 + by), gain_bounds=(answer.gain * (1 + by), answer.gain * (1 + by)))


@pytest.mark.parametrize("by", [1e-11, -1e-11, 1e-3])
def test_an_optimum_off_by_a_hair_is_called_false(monkeypatch, drawn, by):
    plant(monkeypatch, solve_module, "solve", lambda answer: moved(answer, by))
    assert judge_solve(drawn).kind == "false"


def test_a_wrong_interval_inside_a_refusal_is_called_false(monkeypatch, drawn):
    def refuse(answer):
        raise ToleranceError("too wide", moved(answer, 1e-9))

    plant(monkeypatch, solve_module, "solve", refuse)
    assert judge_solve(drawn).kind == "false"


def test_a_policy_that_earns_less_is_found(monkeypatch):
    def worst(answer):
        policy = answer.policy.copy()
        policy[0] = 1 - policy[0]
        return replace(answer, policy=policy)

    drawn = next(c for i in range(50) if (c := case(8, i, ("plain",))).model.n_actions == 2)
    plant(monkeypatch, solve_module, "solve", worst)
    assert judge_solve(drawn).kind == "policy"


def test_a_refusal_of_a_model_with_one_gain_is_called_unjustified(monkeypatch, drawn):
    def refuse(answer):
        raise AssumptionError("the optimal gain depends on the state")

    plant(monkeypatch, solve_module, "solve", refuse)
    plant(monkeypatch, evaluate_module, "evaluate", refuse)
    assert judge_solve(drawn).kind == "unjustified" and judge_evaluate(drawn).kind == "unjustified"


def test_a_gain_that_is_nan_or_off_and_a_wrong_law_are_found(monkeypatch):
    drawn = next(c for i in range(50) if (c := case(8, i, ("plain",))).policy.ndim == 1)
    real = evaluate_module.evaluate
    for change, kind in ((lambda x: replace(x, gain=float("nan")), "nan"), (lambda x: replace(x, gain=x.gain * 1.001), "false"),
                         (lambda x: replace(x, stationary=np.roll(x.stationary, 1)), "law")):
        monkeypatch.setattr(evaluate_module, "evaluate", lambda *given, change=change: _with_bounds(change(real(*given))))
        assert judge_evaluate(drawn).kind == kind


def _with_bounds(answer):
    """The interval follows the gain."""
    if "gain_bounds" not in answer.__dataclass_fields__:
        return answer
    return replace(answer, gain_bounds=(answer.gain, answer.gain) if answer.gain != answer.gain else (
        answer.gain - 1e-12 * abs(answer.gain), answer.gain + 1e-12 * abs(answer.gain)))


def test_a_gap_off_by_one_in_a_million_is_called_false(monkeypatch):
    def off(gap):
        bounds = {"bounds": (gap.value * (1 + 1e-6),) * 2} if "bounds" in gap.__dataclass_fields__ else {}
        return replace(gap, value=gap.value * (1 + 1e-6), **bounds)

    plant(monkeypatch, gap_module, "gain_gap", off)
    assert judge_difficulty(case(8, 3, ("plain",))).kind == "false"


def test_a_traceback_and_endless_work_are_told_apart():
    def endless():
        while True:
            pass

    assert attempt(lambda: 1 / 0)[1].kind == "traceback"
    assert attempt(endless, seconds=1)[1].kind == "stuck"
