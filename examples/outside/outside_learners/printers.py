"""A model by a plain function."""

from sojourn import CTMDP


def two_printers(jobs: float = 1.0, fast: float = 2.0, slow: float = 1.2, price: float = 0.5) -> CTMDP:
    """One job at a time, printed fast at a price or slowly for nothing."""
    transition = [[[0, 1], [0, 1]], [[1, 0], [1, 0]]]
    return CTMDP.from_arrays(transition, [[jobs, jobs], [fast, slow]], [[0, 0], [1 - price, 1]], states=["idle", "printing"],
                             actions=["fast", "slow"])
