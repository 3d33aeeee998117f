"""Two queues in tandem: when should the first station push work to the second? (Rosberg, Varaiya, Walrand 1982)"""

from __future__ import annotations

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, grid, named, tuple_labels
from sojourn.zoo.family import Family, amount, count, limit_states, rate


def build(capacity: int, arrival_rate: float, slow_rate: float, fast_rate: float, second_rate: float, first_cost: float,
          second_cost: float, loss_cost: float) -> CTMDP:
    """Return the model; the state is the number of customers at each station."""
    if fast_rate < slow_rate:
        raise ParameterError(f"fast_rate is {fast_rate:g} and slow_rate is {slow_rate:g}; fast_rate must be at least slow_rate.")
    size = capacity + 1
    limit_states(size**2, capacity=capacity)
    states, (first, second) = grid(size, size)
    model = Assembly(len(states))
    arrive, slow, fast = named("arrive", arrival_rate), named("serve 1 slow", slow_rate), named("serve 1 fast", fast_rate)
    second_serve = named("serve 2", second_rate)
    able = (first > 0) & (second < capacity)
    moving = (first < capacity) | (second > 0)  # something happens even while station 1 stands still
    for action, speed in (("hold back", slow), ("push", fast)):
        at = able if action == "push" else moving | (slow_rate > 0)
        x, y, s = first[at], second[at], states[at]
        jumps = [
            ((x + (x < capacity)) * size + y, arrive * (x < capacity)),
            ((x - able[at]) * size + y + able[at], speed * able[at]),
            (s - (y > 0), second_serve * (y > 0)),
        ]
        model.add(action, s, jumps, running=-first_cost * x - second_cost * y - loss_cost * arrival_rate * (x == capacity),
                  silent=[(arrive * (x == capacity), -loss_cost)], apart=-first_cost * x - second_cost * y)
    return model.build(tuple_labels(first, second))


FAMILY = Family(
    name="tandem",
    summary="two queues in tandem: when the first station should push work on to the dearer second one",
    theory="The state (n1, n2) holds the customers at the two stations. `push` runs station 1 at fast_rate, `hold "
    "back` at slow_rate; station 2 works at second_rate. Customers cost first_cost and second_cost per unit "
    "of time. Where waiting at station 2 is dearer, it pays to hold customers back while station 2 is busy. "
    "Station 1 stops while station 2 is full; arrivals to a full station 1 are lost.",
    source="Z. Rosberg, P. Varaiya and J. Walrand (1982), Optimal control of service in tandem queues, IEEE Trans. "
    "Automatic Control 27(3), 600-610",
    parameters=(
        count("capacity", 7, "customers", "room at each station", 1, 1413),
        rate("arrival_rate", 0.6, "arrivals at station 1"),
        rate("slow_rate", 0.1, "rate of station 1 when holding back", zero=True),
        rate("fast_rate", 1.2, "rate of station 1 when pushing"),
        rate("second_rate", 1.0, "rate of station 2"),
        amount("first_cost", 1.0, "reward/(time x customer)", "cost of a customer at station 1"),
        amount("second_cost", 2.0, "reward/(time x customer)", "cost of a customer at station 2"),
        amount("loss_cost", 50.0, "reward", "cost of a lost customer"),
    ),
    build=build,
    axes=("customers at station 1", "customers at station 2"),
    answer="A switching curve: push iff n1 is large enough for n2, the bar rising with n2 (Rosberg et al. 1982, for "
    "slow_rate = 0 and an infinite buffer). With equal rates the stationary law is Jackson's product form as "
    "the buffer grows.",
    note="With slow_rate=0 a policy that always holds back never fills station 2: communicating, not irreducible. "
    "slow_rate > 0 is the variant that satisfies the assumption.",
)
