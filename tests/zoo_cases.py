"""The zoo swept: every family over sizes, loads and scales of rates, and the checks that find a wrong number.

A load is the work that arrives over the work that can be done (for epidemics infections per recovery, for river-swim the
current over the stroke).  A scale multiplies all rates; "spread" multiplies each by its own factor between 1e-6 and 1e6.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from exact import ExactModel, policy_gains
from sojourn.errors import SojournError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import closed_classes
from sojourn.zoo.catalogue import make

LOADS = (0.1, 0.3, 0.5, 0.8, 0.95, 1.0, 1.2, 1.5, 2.0, 3.0)
SCALES = (1e-6, 1e-3, 1.0, 1e3, 1e6, "spread")
SIZES = (10, 30, 100, 300, 1000)  # a full grid of loads and scales
LARGE = (3000, 10_000)  # three loads and two scales
WIDTH = 1e-9  # relative to the gain
LEAST = 1e-300  # a gain known to this is below every float that keeps its digits
SMALL = 30  # states up to which any policy is checked by exact arithmetic


def _side(n: int, axes: int = 2) -> int:
    return max(1, round(n ** (1 / axes)) - 1)


def _river(load: float) -> dict[str, Any]:
    return {"forward": 0.35, "back": 0.35 * load} if load <= 1.4 else {"forward": 0.5 / load, "back": 0.5}


def _triangle(n: int) -> int:
    return max(1, int(math.sqrt(2 * n) - 1.5))


FAMILIES: dict[str, tuple[Callable[[int], dict], Callable[[float, dict], dict]]] = {  # name: (parameters of a size, of a load)
    "two-state": (lambda n: {}, lambda x, size: {}),
    "three-state": (lambda n: {}, lambda x, size: {}),
    "customer-selection": (lambda n: {"servers": n - 1}, lambda x, size: {
        "arrival_rates": [x * size["servers"] * share for share in (0.2, 0.3, 0.5)]}),
    "admission": (lambda n: {"capacity": n - 1}, lambda x, size: {"arrival_rate": 0.95 * x, "urgent_rate": 0.05 * x}),
    "service-rate": (lambda n: {"capacity": n - 1}, lambda x, size: {"arrival_rate": 1.2 * x}),
    "routing": (lambda n: {"capacity": _side(n)}, lambda x, size: {"arrival_rate": 1.6 * x}),
    "priority": (lambda n: {"capacity": _side(n)}, lambda x, size: {"arrival_rates": [0.4 * x / 0.7, 0.6 * x / 0.7]}),
    "tandem": (lambda n: {"capacity": _side(n)}, lambda x, size: {"arrival_rate": x}),
    "criss-cross": (lambda n: {"capacity": _side(n, 3)}, lambda x, size: {"arrival_rates": [0.75 * x, 0.75 * x]}),
    "server-switching": (lambda n: {"capacity": _side(n // 2)}, lambda x, size: {"arrival_rates": [0.6 * x, 0.6 * x]}),
    "maintenance": (lambda n: {"levels": max(1, n - 2)}, lambda x, size: {"wear_rate": x}),
    "machine-repair": (lambda n: {"machines": n - 1}, lambda x, size: {"failure_rate": 2.4 * x / size["machines"]}),
    "spare-parts": (lambda n: {"max_stock": n - 1}, lambda x, size: {"critical_rate": 0.4 * x, "ordinary_rate": 0.7 * x}),
    "sis-epidemic": (lambda n: {"population": n - 1}, lambda x, size: {"infection_rate": 0.5 * x}),
    "sir-epidemic": (lambda n: {"population": _triangle(n)}, lambda x, size: {"infection_rate": x}),
    "market-making": (lambda n: {"max_inventory": n // 2}, lambda x, size: {"order_rate": 3.0 * x}),
    "call-centre": (lambda n: {"lines": 2 * _side(n // 2), "callbacks": _side(n // 2), "agents": _side(n // 2)},
                    lambda x, size: {"arrival_rate": x * size["agents"]}),
    "hospital-beds": (lambda n: {"beds": _triangle(n)}, lambda x, size: {
        "emergency_rate": x * size["beds"] / 6.5, "planned_rate": 1.5 * x * size["beds"] / 6.5}),
    "river-swim": (lambda n: {"length": n}, lambda x, size: _river(x)),
    "random": (lambda n: {"states": n}, lambda x, size: {"seed": round(100 * x)}),
    "random-ties": (lambda n: {"states": n}, lambda x, size: {"seed": round(100 * x)}),
}


@dataclass(frozen=True)
class ZooCase:
    """One member of the sweep; `load` None means the family's defaults."""

    family: str
    size: int
    load: float | None
    scale: float | str

    @property
    def name(self) -> str:
        return f"{self.family} size={self.size} load={self.load} scale={self.scale}"

    def model(self) -> CTMDP:
        size, load = FAMILIES[self.family]
        parameters = size(self.size)
        model = make(self.family, **parameters, **({} if self.load is None else load(self.load, parameters)))
        if self.scale == 1.0:
            return model
        if self.scale == "spread":
            factor = 10.0 ** np.random.default_rng(self.size).uniform(-6, 6, model.n_pairs)
            return model.replace(rate=model.rate * factor, rate_bounds=None)
        return model.replace(rate=model.rate * self.scale, running=model.running * self.scale, rate_bounds=None)


def cases(limit: int = 100_000, families: list[str] | None = None) -> Iterator[ZooCase]:
    """The sweep: a full grid to 1,000 states, three loads and two scales to 10,000, the defaults at 100,000."""
    for family in families or FAMILIES:
        fixed = not FAMILIES[family][0](10)
        for size in SIZES[:1] if fixed else SIZES:
            yield from (ZooCase(family, size, load, scale) for load in ((None,) if fixed else LOADS) for scale in SCALES
                        if size <= limit)
        for size in () if fixed else LARGE:
            yield from (ZooCase(family, size, load, scale) for load in (0.5, 1.0, 2.0) for scale in (1e-6, 1e6) if size <= limit)
        if not fixed and limit >= 100_000:
            yield ZooCase(family, 100_000, None, 1.0)


def quick_cases() -> Iterator[ZooCase]:
    """A few of each family: small and middle, light and heavy load, slow and fast."""
    for family in FAMILIES:
        fixed = not FAMILIES[family][0](10)
        for size, load, scale in ((10, 0.3, 1e-6), (10, 1.5, "spread"), (100, 0.5, 1e6), (300, 1.5, 1.0)):
            yield ZooCase(family, size, None if fixed else load, scale)


def run(case: ZooCase, step: Callable[[str, dict], None] = lambda name, record: None, only: str = "") -> dict[str, Any]:
    """Solve, evaluate the optimal and a random policy; return what happened, with everything wrong listed.

    `step` is told what begins and what is known by then; `only` may be "random", to leave out the rest.
    """
    from sojourn.solving.evaluate import evaluate
    from sojourn.solving.solve import solve

    step("build", {})
    model = case.model()
    record: dict[str, Any] = {**vars(case), "states": model.n_states, "wrong": []}
    best, policies = None, {"random": _random_policy(case, model)}
    if not only:
        step("solve", record)
        best = _attempt(record, "solve", lambda: solve(model))
        policies = policies if best is None else {"optimal": best.policy, **policies}
    for name, policy in policies.items():
        step(name, record)
        value = _attempt(record, name, lambda policy=policy: evaluate(model, policy), model, policy)
        step("judge", record)
        if value is not None:
            _judge(record, name, model, policy, best, value)
    return record


def _random_policy(case: ZooCase, model: CTMDP) -> np.ndarray:
    """An action per state, or for every other load a table of probabilities."""
    rng = np.random.default_rng([case.size, round(100 * (case.load or 0))])
    if round(10 * (case.load or 0)) % 2 == 0:
        return model.pair_action[model.pair_start[:-1] + rng.integers(0, np.diff(model.pair_start))]
    weight = rng.integers(1, 65, model.n_pairs) / 64.0
    return model.table(weight / np.repeat(np.add.reduceat(weight, model.pair_start[:-1]), np.diff(model.pair_start)), fill=0.0)


def interval(answer: Any) -> tuple[float, float]:
    """The proved interval; where an answer has none, within 1e-9 of its gain."""
    bounds = getattr(answer, "gain_bounds", None)
    return bounds or (answer.gain - 0.4 * WIDTH * abs(answer.gain), answer.gain + 0.4 * WIDTH * abs(answer.gain))


def _attempt(record: dict[str, Any], name: str, work: Callable[[], Any], model: CTMDP | None = None, policy: Any = None) -> Any:
    began = time.process_time()
    entry: dict[str, Any] = {}
    answer = None
    try:
        answer = work()
        lo, hi = interval(answer)
        entry = {"gain": float(answer.gain), "low": lo, "high": hi}
        if not all(map(math.isfinite, (lo, hi, answer.gain))) or not lo <= answer.gain <= hi:
            record["wrong"].append(f"{name}: gain {answer.gain!r} in [{lo!r}, {hi!r}]")
        proved = hi - lo <= WIDTH * abs(answer.gain)
        entry["status"] = "proved" if proved else "tiny gain" if hi - lo < LEAST else "wide"
    except SojournError as error:
        answer = getattr(error, "best", None)  # judged as well, though not counted as proved
        entry = {"status": "refused", "why": f"{type(error).__name__}: {str(error)[:300]}"}
        if model is not None and _classes(model, policy) > 1:
            entry["status"] = "several classes"
    except Exception as error:
        entry = {"status": "traceback", "why": f"{type(error).__name__}: {str(error)[:300]}"}
    entry["seconds"] = round(time.process_time() - began, 3)  # of the processor: other work on the machine does not count
    record[name] = entry
    return answer


def _policy_rows(model: CTMDP, policy: np.ndarray) -> tuple[Any, np.ndarray]:
    """(weight of each pair, its pairs): the embedded matrix of the policy comes from both."""
    weight = np.zeros(model.n_pairs)
    if policy.ndim == 2:
        weight = policy[model.pair_state, model.pair_action]
    else:
        weight[model.policy_pairs(policy)] = 1.0
    return weight, np.flatnonzero(weight)


def _classes(model: CTMDP, policy: np.ndarray) -> int:
    used = _policy_rows(model, policy)[0] > 0
    jump = used[np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))]
    tail = np.repeat(model.pair_state, np.diff(model.row_start))[jump]
    return len(closed_classes(model.n_states, tail, model.next_state[jump]))


def _judge(record: dict[str, Any], name: str, model: CTMDP, policy: np.ndarray, best: Any, value: Any) -> None:
    lo, hi = interval(value)
    if best is not None:
        below, above = interval(best)
        if lo > above or (name == "optimal" and hi < below):
            record["wrong"].append(f"{name}: evaluated in [{lo!r}, {hi!r}], the optimum in [{below!r}, {above!r}]")
    weight, pairs = _policy_rows(model, policy)
    income = np.abs(model.expected_reward * model.rate + model.running)
    share = np.add.reduceat(weight * income, model.pair_start[:-1]) @ value.occupancy
    if record[name]["status"] == "wide" and abs(value.gain) < 1e-6 * share:  # incomes cancel
        record[name]["status"] = "tiny gain"
    truth = birth_death_gain(model, weight, pairs)
    if truth is None and model.n_states <= SMALL and _classes(model, policy) == 1:
        exact = ExactModel(model)
        truth = (policy_gains(exact, exact.mixture(weight))[0], Fraction(0))
    if truth is not None:
        record[name]["checked"] = True
        if Fraction(hi) < truth[0] - truth[1] or Fraction(lo) > truth[0] + truth[1]:
            record["wrong"].append(f"{name}: evaluated in [{lo!r}, {hi!r}], the truth is {float(truth[0])!r}")


def birth_death_gain(model: CTMDP, weight: np.ndarray, pairs: np.ndarray) -> tuple[Fraction, Fraction] | None:
    """(gain, error) from the product form in 60 digits, where the policy moves by one state at a time; else None."""
    row = np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))
    used = weight[row] > 0
    move = model.next_state[used] - model.pair_state[row[used]]
    if np.abs(move).max() > 1:
        return None
    n = model.n_states
    with localcontext(Context(prec=60, Emax=999_999_999_999, Emin=-999_999_999_999)):
        up, down, reward, size, holding = ([Decimal(0)] * n for _ in range(5))
        numbers = [model.probability.tolist(), model.rate.tolist(), model.reward.tolist(), model.running.tolist()]
        paid, start = model.transition_reward, model.row_start.tolist()
        for k in pairs.tolist():
            s, share = int(model.pair_state[k]), Decimal(float(weight[k]))
            stay = share / Decimal(numbers[1][k])
            terms = [share * Decimal(numbers[2][k]), stay * Decimal(numbers[3][k])]
            for i in range(start[k], start[k + 1]):
                p, j = share * Decimal(numbers[0][i]), int(model.next_state[i])
                up[s], down[s] = up[s] + p * (j > s), down[s] + p * (j < s)
                if paid is not None:
                    terms.append(p * Decimal(float(paid[i])))
            reward[s], size[s], holding[s] = reward[s] + sum(terms), size[s] + sum(map(abs, terms)), holding[s] + stay
        if any(up[s] == 0 or down[s + 1] == 0 for s in range(n - 1)):
            return None
        visits = [Decimal(1)]
        for s in range(n - 1):
            visits.append(visits[-1] * up[s] / down[s + 1])
        total = sum(v * h for v, h in zip(visits, holding))
        gain = sum(v * r for v, r in zip(visits, reward)) / total
        error = sum(v * z for v, z in zip(visits, size)) / total / 10**45
        return Fraction(gain), Fraction(error)
