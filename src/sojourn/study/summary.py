"""What a store says: final figures of each learner on each model, comparisons, exploration debt.  Reads, never runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, StoreError, unknown_name
from sojourn.model.ctmdp import CTMDP
from sojourn.study.bounds import Bounds, Floor, bounds_of, told
from sojourn.study.export import missing
from sojourn.study.failures import Failure, failures_in
from sojourn.study.growth import slopes
from sojourn.study.schema import from_store
from sojourn.study.statistics import Comparison, compare, holm, mean_band
from sojourn.study.stopping import Stopping, least_needed, stopping_of, wish
from sojourn.study.store import Store

REGRETS = {  # name on the command line: (column of a result, words)
    "pseudo": ("pseudo_regret", "pseudo-regret"),
    "regret": ("regret", "regret"),
    "completed": ("completed_regret", "completed regret"),
    "adjusted": ("adjusted_regret", "adjusted regret"),
}


@dataclass(frozen=True, eq=False)
class Curves:
    """All runs of one learner on one model: `values[run, checkpoint]` over `epochs` (means, where the horizon is a time)."""

    model: str
    learner: str
    epochs: np.ndarray
    times: np.ndarray
    values: np.ndarray
    replications: np.ndarray
    visits: np.ndarray  # mean per pair
    policies: list[tuple[tuple[int, ...], float]]  # policy, mean share of the decisions taken under it; the longest first
    episodes: float
    structure: tuple[dict[str, Any], ...] = ()  # of each run what the test of the declared events found (task.py), if there was one
    stopping: tuple[dict[str, Any], ...] = ()  # of each run when it could have stopped (stopping.py), if the study asked

    @property
    def final(self) -> np.ndarray:
        return self.values[:, -1]


@dataclass(frozen=True)
class Row:
    """The final figures of one learner on one model."""

    model: str
    learner: str
    replications: int
    mean: float
    low: float  # 95 % band of the mean
    high: float
    median: float
    best: float
    worst: float
    deviation: float
    ratio: float  # mean over the lower bound's constant times log N; NaN where there is none
    episodes: float
    slope: float = float("nan")  # mean growth per unit of log N from N / 100 to N; NaN where the checkpoints begin later
    slope_low: float = float("nan")  # 95 % band of that mean
    slope_high: float = float("nan")
    bound: str = "C(M)"  # the constant for what this learner was told, by name
    constant: float = float("nan")  # and its value, reward per unit of log N


@dataclass(frozen=True)
class Debt:
    """One critical pair of a model: visits that the lower bound asks for, and the mean visits of a learner."""

    model: str
    learner: str
    state: str
    action: str
    gap: float
    divergence: float
    needed: float  # log N / K, with the K of what this learner was told
    visits: float

    @property
    def paid(self) -> float:
        return self.visits / self.needed


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """A study in numbers.  `str(summary)` is the table for a terminal; a notebook shows it as tables."""

    name: str
    regret: str
    band: str
    horizon: dict[str, Any]
    rows: list[Row]
    comparisons: list[Comparison]
    debts: list[Debt]
    bounds: dict[str, Bounds]
    curves: list[Curves]
    missing: int = 0
    failures: list[Failure] = field(default_factory=list)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)  # {learner: the parameters it used}
    models: dict[str, CTMDP] = field(default_factory=dict)  # {label: the model}
    stopping: list[Stopping] = field(default_factory=list)  # when runs could have stopped, where the study asked with `within`

    def floors(self, model: str) -> dict[str, float]:
        """Return {name: constant} of the lower bounds that the learners on a model are set against, where there is one."""
        return {r.bound: r.constant for r in self.rows if r.model == model and r.constant > 0}

    def row(self, model: str, learner: str) -> Row:
        """Return the final figures of one learner on one model."""
        for row in self.rows:
            if (row.model, row.learner) == (model, learner):
                return row
        raise ParameterError(unknown_name("cell", f"{learner} on {model}", [f"{r.learner} on {r.model}" for r in self.rows]))

    def __str__(self) -> str:
        from sojourn.study.words import summary_text

        return summary_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from sojourn.study.words import summary_html

        return summary_html(self)


@from_store
def curves_of(store: Store, regret: str = "pseudo") -> list[Curves]:
    """Return the runs of every cell that has any, models and learners in the order of the study."""
    if regret not in REGRETS:
        raise ParameterError(unknown_name("regret", regret, REGRETS))
    found = []
    for model in store.models():
        for learner in store.learners():
            cell = _curves(store, model.id, learner.id, model.label, learner.label, REGRETS[regret][0])
            if cell is not None:
                found.append(cell)
    if not found:
        failed = len(failures_in(store))
        why = f" ({failed} failed; `sojourn study failures` says why)" if failed else ""
        raise StoreError(f"the store {store.path} holds no finished replication yet{why}; `sojourn study run` computes some.")
    return found


def _curves(store: Store, model_id: int, learner_id: int, model: str, learner: str, column: str) -> Curves | None:
    values, numbers, times, epochs = [], [], [], []
    visits: np.ndarray | None = None
    shares: dict[tuple[int, ...], float] = {}
    episodes, structure, stopping = 0, [], []
    for result in store.results(model_id, learner_id):
        data = result.data
        values.append(data[column])
        epochs.append(data["epochs"])
        times.append(data["times"])
        numbers.append(result.replication)
        visits = data["visits"].astype(float) if visits is None else visits + data["visits"]
        episodes += int(data["episodes"])
        structure += [data["structure"]] if "structure" in data else []
        stopping += [data["stopping"]] if "stopping" in data else []
        for policy, spent in zip(data["policies"].tolist(), data["policy_epochs"].tolist()):
            shares[tuple(policy)] = shares.get(tuple(policy), 0.0) + spent / max(1, int(data["visits"].sum()))
    if visits is None:
        return None
    count = len(values)
    ranked = sorted(((policy, share / count) for policy, share in shares.items()), key=lambda item: (-item[1], item[0]))
    return Curves(
        model,
        learner,
        np.mean(epochs, axis=0),
        np.mean(times, axis=0),
        np.array(values),
        np.array(numbers),
        visits / count,
        ranked,
        episodes / count,
        tuple(structure),
        tuple(stopping),
    )


@from_store
def summarize(store: Store, regret: str = "pseudo", band: str = "t") -> Summary:
    """Return the study in numbers; `regret` is pseudo, regret, completed or adjusted, `band` is t or bootstrap."""
    curves = curves_of(store, regret)
    entries = store.learners()
    parameters = [(e.source["name"], e.settings) for e in entries]
    knew = {e.label: told(e.source) for e in entries}
    bounds = {m.label: bounds_of(m.model, parameters, store.horizon["epochs"], knew.values(), m.source.get("holding_times"))
              for m in store.models()}
    models = {m.label: m.model for m in store.models()}
    rows, debts, stopping = [], [], []
    wanted = wish(store.horizon["within"]) if "within" in store.horizon else None
    laws = {m.label: m.source.get("holding_times") for m in store.models()}
    for c in curves:
        floor = bounds[c.model].floor(knew[c.learner])
        rows.append(_row(c, floor, band))
        debts += _debts(c, models[c.model], bounds[c.model].gaps, floor)
        if wanted is not None and c.stopping:
            least = least_needed(models[c.model], wanted, knew[c.learner], laws[c.model])
            stopping.append(stopping_of(c.stopping, c.model, c.learner, least))
    return Summary(
        store.name,
        regret,
        band,
        store.horizon,
        rows,
        _comparisons(curves, store.horizon["common_random_numbers"]),
        debts,
        bounds,
        curves,
        missing(store),
        failures_in(store),
        {entry.label: entry.settings for entry in store.learners()},
        models,
        stopping,
    )


def _row(c: Curves, bound: Floor, band: str) -> Row:
    final = c.final
    low, high = mean_band(final, method=band)
    floor = bound.lower(float(c.epochs[-1]))
    growth = slopes(c.epochs, c.values)[:, -1]
    slope_low, slope_high = mean_band(growth, method=band)
    return Row(
        c.model,
        c.learner,
        len(final),
        float(final.mean()),
        float(low),
        float(high),
        float(np.median(final)),
        float(final.min()),
        float(final.max()),
        float(final.std(ddof=1)) if len(final) > 1 else float("nan"),
        float(final.mean()) / floor if floor > 0 else float("nan"),
        c.episodes,
        float(growth.mean()),
        float(slope_low),
        float(slope_high),
        bound.name,
        bound.constant,
    )


def _comparisons(curves: list[Curves], shared: bool) -> list[Comparison]:
    """Compare every two learners on every model; p-values are corrected by Holm over all comparisons of the study."""
    from dataclasses import replace

    found = []
    for i, a in enumerate(curves):
        for b in curves[i + 1 :]:
            if a.model != b.model:
                continue
            first, second = a.final, b.final
            if shared:
                both = np.intersect1d(a.replications, b.replications)
                first, second = first[np.isin(a.replications, both)], second[np.isin(b.replications, both)]
            if len(first) and len(second) and np.isfinite(first).all() and np.isfinite(second).all():
                found.append(compare(a.model, a.learner, b.learner, first, second, shared))
    return [replace(c, p_holm=p) for c, p in zip(found, holm([c.p for c in found]))]


def _debts(c: Curves, model: Any, gaps: np.ndarray | None, floor: Floor) -> list[Debt]:
    if floor.critical is None or floor.divergence is None or gaps is None:
        return []
    needed = np.log(max(2.0, float(c.epochs[-1])))
    return [
        Debt(
            c.model,
            c.learner,
            model.states.label(model.pair_state[k]),
            model.actions.label(model.pair_action[k]),
            float(gaps[k]),
            float(floor.divergence[k]),
            float(needed / floor.divergence[k]),
            float(c.visits[k]),
        )
        for k in np.flatnonzero(floor.critical)
    ]
