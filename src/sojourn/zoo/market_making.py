"""Market making in a limit order book: how far from the mid price to quote (Avellaneda and Stoikov 2008).

Why there is a closed form.  With quotes free to take any value the optimality equation at inventory q is

    gain = -risk q^2 + sum over the two sides of max_d A exp(-k d) (d + h(q -+ 1) - h(q)),

whose maximum is (A/k) exp(-1) exp(k (h(q -+ 1) - h(q))).  With v = exp(k h) it becomes linear,

    k gain v(q) = -k risk q^2 v(q) + A exp(-1) (v(q - 1) + v(q + 1)),

so k x gain is the largest eigenvalue of a tridiagonal matrix (`continuous_gain`).  Quotes on a grid earn a little less.
"""

from __future__ import annotations

import math

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, Parameter, all_different, amount, count, limit_states, rate

MAX_EXPONENT = 200


def build(max_inventory: int, order_rate: float, decay: float, offsets: tuple[float, ...], risk_cost: float) -> CTMDP:
    """Return the model; the state is the inventory from -max_inventory to max_inventory."""
    size = 2 * max_inventory + 1
    limit_states(size, size * len(offsets) ** 2, max_inventory=max_inventory, offsets=len(offsets))
    all_different("offsets", offsets)
    if decay * max(offsets) > MAX_EXPONENT:
        raise ParameterError(f"decay is {decay:g} and the largest of offsets is {max(offsets):g}: such a quote is never filled. "
                             f"decay x offset must be at most {MAX_EXPONENT}.")
    model = Assembly(size)
    q = np.arange(size)
    held = q - max_inventory
    risk = -risk_cost * held.astype(float) ** 2
    sells, buys = ([named(name, order_rate) * math.exp(-decay * d) for d in offsets] for name in ("sell order", "buy order"))
    inner = q[1:-1]
    for a, bid in enumerate(offsets):
        model.add(f"bid {bid:g} only", q[:1], [(q[:1] + 1, sells[a], bid)], running=risk[:1])
    for a, bid in enumerate(offsets):
        for b, ask in enumerate(offsets):
            jumps = [(inner + 1, sells[a], bid), (inner - 1, buys[b], ask)]
            model.add(f"bid {bid:g} / ask {ask:g}", inner, jumps, running=risk[1:-1])
    for b, ask in enumerate(offsets):
        model.add(f"ask {ask:g} only", q[-1:], [(q[-1:] - 1, buys[b], ask)], running=risk[-1:])
    return model.build([f"inventory {h}" for h in held.tolist()])


def continuous_gain(max_inventory: int, order_rate: float, decay: float, risk_cost: float) -> float:
    """Return the gain when quotes may take any value: the largest eigenvalue above, over `decay`.

    >>> round(continuous_gain(1, 1.0, 1.0, 0.0), 6)   # sqrt(2) / e
    0.52026
    """
    held = np.arange(-max_inventory, max_inventory + 1).astype(float)
    side = np.full(2 * max_inventory, order_rate / math.e)
    matrix = np.diag(-decay * risk_cost * held**2) + np.diag(side, 1) + np.diag(side, -1)
    return float(np.linalg.eigvalsh(matrix)[-1] / decay)


FAMILY = Family(
    name="market-making",
    summary="limit-order-book market making: how far from the mid price to quote, given the inventory",
    theory="The state is the inventory. The action is a pair of quotes, bid and ask, at distances from the mid "
    "price taken from `offsets` (fixed by the tick size). A quote at distance d is filled at rate order_rate "
    "x exp(-decay x d) and then earns d; holding q units costs risk_cost x q^2 per unit of time. At the "
    "inventory limits only one side is quoted.",
    source="M. Avellaneda and S. Stoikov (2008), High-frequency trading in a limit order book, Quantitative Finance "
    "8(3), 217-224; O. Gueant, C.-A. Lehalle and J. Fernandez-Tapia (2013), Dealing with the inventory risk, "
    "Mathematics and Financial Economics 7(4), 477-507, for the linear system behind the optimal quotes",
    parameters=(
        count("max_inventory", 5, "units", "largest inventory, long or short", 1, 100_000),
        rate("order_rate", 3.0, "rate of market orders that would fill a quote at the mid price"),
        Parameter("decay", 1.0, "1/price", "how fast fills become rare with distance", "real", 0, 100, True),
        Parameter("offsets", (0.25, 0.75, 1.25, 1.75), "price", "distances that may be quoted", "reals", 0, 100),
        amount("risk_cost", 0.05, "reward/(time x unit^2)", "cost of inventory risk"),
    ),
    build=build,
    axes=("inventory",),
    answer="Symmetric: the ask at q is the bid at -q; the bid moves away as inventory grows. As the grid of offsets "
    "is refined the gain rises to the largest eigenvalue of a tridiagonal matrix over `decay` "
    "(`continuous_gain`).",
)
