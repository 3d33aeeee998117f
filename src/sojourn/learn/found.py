"""What a plan over events finds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """A policy as the pair of each state, with its gain and bias."""

    gain: float
    bias: np.ndarray
    pair: np.ndarray
