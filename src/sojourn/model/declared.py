"""Collecting the events of a model while it is built: which rates drive which jumps, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.events import NOWHERE, EventTable, event_table
from sojourn.model.rates import Form, Rate

KNOWN = "known"  # the event of all intensities that were given as plain numbers: its rate is 1, and told


class Declared:
    """Rows (pair, successor, event, coefficient, payment) as they come; `table` puts them in order.

    A plain number among named rates is known; where no rate was named at all, there is no table.
    """

    def __init__(self) -> None:
        self.rates: dict[str, Rate] = {}
        self._rows: list[tuple[Any, Any, str, Any, Any]] = []

    def add(self, pair: Any, next_state: Any, intensity: Any, payment: Any = 0.0) -> None:
        """Note that in `pair` (a number, or an array of them) the `intensity` leads to `next_state` and pays `payment`."""
        if not isinstance(intensity, Form):
            self._rows.append((pair, next_state, KNOWN, intensity, payment))
            return
        for rate, coefficient in intensity.terms:
            first = self.rates.setdefault(rate.name, rate)
            if first.facts != rate.facts or rate.name == KNOWN:
                raise ModelError(f"two rates are named {rate.name!r}, with values {_said(first)} and {_said(rate)}; one name is "
                                 f"one rate, and {KNOWN!r} stands for plain numbers. Rename one.")
            self._rows.append((pair, next_state, rate.name, coefficient, payment))

    def add_silent(self, pair: Any, form: Form, payment: Any = 0.0) -> None:
        """Note that in `pair` the events of `form` are seen, lead nowhere and pay `payment`."""
        self.add(pair, NOWHERE, form, payment)

    def table(self, order: np.ndarray, reward: Any, running: Any) -> EventTable | None:
        """Return the table when pair `order[i]` becomes pair i; `reward`, `running` (in the old order) are what no event pays."""
        if not self.rates:
            return None
        columns: list[list[np.ndarray]] = [[], [], [], [], []]
        numbers = {name: k for k, name in enumerate(self.rates)}
        for pair, to, name, coefficient, payment in self._rows:
            number = numbers.setdefault(name, len(numbers))
            row = np.broadcast_arrays(np.atleast_1d(pair), to, number, np.asarray(coefficient, dtype=float),
                                      np.asarray(payment, dtype=float))
            real = row[3] != 0
            for column, values in zip(columns, row):
                column.append(values[real])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        who, to, what, size, paid = (np.concatenate(column) for column in columns)
        used = np.unique(what)
        names = [name for name, number in numbers.items() if number in used]
        told = [self.rates[name] if name in self.rates else Rate(KNOWN, 1.0, known=True) for name in names]
        open_ = any(rate.without_value for rate in told)
        return event_table(names, place[who], to, np.searchsorted(used, what), size, paid, reward=np.asarray(reward)[order],
                           running=np.asarray(running)[order], low=[rate.bounds[0] for rate in told],
                           high=[rate.bounds[1] for rate in told], value=None if open_ else [float(rate.value) for rate in told])


def _said(rate: Rate) -> str:
    """Return the value of a rate in words."""
    return "none" if rate.without_value else f"{rate.value:g} in {rate.bounds}"
