"""Spare parts under continuous review: when to reorder, and for whom to keep the last parts (Ha 1997)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate


def build(max_stock: int, critical_rate: float, ordinary_rate: float, supply_rate: float, return_rate: float,
          critical_loss: float, ordinary_loss: float, holding_cost: float) -> CTMDP:
    """Return the model; the state is the number of parts on the shelf."""
    limit_states(max_stock + 1, max_stock=max_stock)
    model = Assembly(max_stock + 1)
    stock = np.arange(max_stock + 1)
    critical, ordinary = named("critical", critical_rate), named("ordinary", ordinary_rate)
    back, deliver = named("return", return_rate), named("supply", supply_rate)
    for supply, inflow in (("order", deliver + back), ("wait", back)):
        for service, served in (("serve all", critical + ordinary), ("keep for critical", critical)):
            here = stock if supply == "order" or return_rate else stock[1:]
            here = here if supply == "wait" else here[here < max_stock]
            here = here if service == "keep for critical" else here[here > 0]
            lost = critical_loss * critical_rate * (here == 0)
            lost = lost + ordinary_loss * ordinary_rate * ((here == 0) | (service == "keep for critical"))
            jumps = [(np.minimum(here + 1, max_stock), inflow * (here < max_stock)), (np.maximum(here - 1, 0), served * (here > 0))]
            kept = (here == 0) | (service == "keep for critical")
            model.add(f"{supply}, {service}", here, jumps, running=-holding_cost * here - lost, apart=-holding_cost * here,
                      silent=[(critical * (here == 0), -critical_loss), (ordinary * kept, -ordinary_loss)])
    return model.build([f"{i} in stock" for i in range(max_stock + 1)])


FAMILY = Family(
    name="spare-parts",
    summary="spare parts, two kinds of customers, lost sales: when to reorder and for whom to keep the last parts",
    theory="State n is the number of parts in stock. Parts are made one at a time at supply_rate while the action "
    "says `order`; used parts come back repaired at return_rate whatever one does. Critical customers take a "
    "part whenever there is one; ordinary ones only while the action says `serve all`. A part on the shelf "
    "costs holding_cost per unit of time, a lost demand critical_loss or ordinary_loss.",
    source="A. Y. Ha (1997), Inventory rationing in a make-to-stock production system with several demand classes "
    "and lost sales, Management Science 43(8), 1093-1103",
    parameters=(
        count("max_stock", 12, "parts", "room on the shelf", 1, 499_999),
        rate("critical_rate", 0.5, "demand of critical customers"),
        rate("ordinary_rate", 0.8, "demand of ordinary customers"),
        rate("supply_rate", 1.0, "parts made per unit of time while ordering"),
        rate("return_rate", 0.1, "repaired parts that come back", zero=True),
        amount("critical_loss", 10.0, "reward", "cost of a critical demand not met"),
        amount("ordinary_loss", 2.0, "reward", "cost of an ordinary demand not met"),
        amount("holding_cost", 0.2, "reward/(time x part)", "cost of a part on the shelf"),
    ),
    build=build,
    axes=("parts in stock",),
    answer="A base-stock level and a rationing level (Ha 1997, for return_rate = 0): order below one number, serve "
    "ordinary customers above another.",
    note="With return_rate=0 a policy that orders only for an empty shelf never sees two parts: communicating and unichain, "
    "not irreducible. An empty shelf then always orders (waiting would stop the process for ever).",
)
