"""The compiled peeling against its plain twin."""

import numpy as np

from sojourn.kernels.peeling import peel, peel_reference
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import edges


def test_peeling_equals_its_reference():
    rng = np.random.default_rng(3)
    for _ in range(150):
        n, a = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        support = rng.random((n, a, n)) < 0.3
        support[..., 0] |= ~support.any(-1)
        model = CTMDP.from_arrays(support / support.sum(-1, keepdims=True), np.ones((n, a)))
        pair, _, head = edges(model)
        order = np.argsort(head, kind="stable")
        into = np.concatenate([[0], np.cumsum(np.bincount(head, minlength=n))])
        removed = rng.random(n) < 0.3
        left, stay = peel(model.pair_start, model.row_start, model.next_state, into, pair[order], model.pair_state, removed)
        expected, chosen = peel_reference(model.pair_start, model.row_start, model.next_state, removed)
        assert (left == expected).all() and (stay == chosen).all()
