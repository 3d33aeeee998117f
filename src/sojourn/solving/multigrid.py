"""The equations of one policy by multigrid: sweeps on the states, corrections from ever larger groups of states.

Each level joins the states of the one below in groups of up to four by their strongest ties; the equations of a group are
sums of its states' equations, so the coarser chain is a chain again.  A level is solved by one or two steps of a minimal-residual
method around sweeps and the next level (a K-cycle); gain and bias are one system, closed exactly on the coarsest level.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sojourn.kernels import multigrid as kernels
from sojourn.solving.arrays import unsigned

COARSEST = 60  # groups that are solved by plain arrays
SHRINK = 0.7  # a level must have fewer intensities than this share of the one below, else the graph does not coarsen
KEPT = 15  # directions that the outermost method remembers
ENOUGH = 0.25  # reduction of a level's residual after which the second step is saved

Enough = Callable[[float, float, int], bool]  # (least residual, most residual, cycles so far)


class Level:
    """The equations of one level, and the groups that make up the next."""

    def __init__(self, start: np.ndarray, to: np.ndarray, q: np.ndarray, out: np.ndarray, w: np.ndarray):
        self.rows, self.w, self.n = (start, to, q, out), w, len(w)
        self.fast = unsigned(start), unsigned(to), q, out
        self.group, self.law = np.zeros(self.n, dtype=np.int32), np.ones(self.n)

    def coarsen(self, law: int) -> Level | None:
        """Return the next level, weighted by `law` sweeps; None where joining does not make the equations much smaller."""
        start, to, q, _ = self.rows
        x = self.law = kernels.rough_law(*self.rows, law)
        group, head, link = kernels.joined(start, to, q, x)
        start, to, middle, _ = kernels.summed_rows(start, to, q, x, group, head, link)
        plain = np.ones(len(head))
        above, head, link = kernels.joined(start, to, middle, plain)
        start, to, coarse, out = kernels.summed_rows(start, to, middle, plain, above, head, link)
        if len(coarse) > SHRINK * len(q):
            return None
        self.group = kernels.composed(group, above)
        return Level(start, to, coarse, out, kernels.sums(self.w, x, self.group, len(head)))

    def inverse(self) -> np.ndarray:
        """Return the inverse, transposed, of the equations together with  Σ h = 0: a row for each right-hand side, gain last."""
        start, to, q, out = self.rows
        system = np.zeros((self.n + 1, self.n + 1))
        np.add.at(system, (np.repeat(np.arange(self.n), np.diff(start)), to), -q)
        system[np.arange(self.n), np.arange(self.n)] += out
        system[:-1, -1], system[-1, :-1] = self.w, out.max()
        return np.ascontiguousarray(np.linalg.inv(system)[:, :-1].T)


class Coarse:
    """All levels but the finest, one after another in the same arrays."""

    def __init__(self, levels: list[Level]):
        self.ends = np.cumsum([(0, 0), *((level.n, len(level.rows[2])) for level in levels)], axis=0)
        self.rows = [np.concatenate(part) for part in zip(*(
            (*level.fast, level.w, level.law, level.group) for level in levels), strict=True)]
        self.inverse, n = levels[-1].inverse(), int(self.ends[-1, 0])
        self.b, self.h, self.scratch = np.empty(n), np.empty(n), np.empty((3, n))
        self.n = levels[0].n

    def solve(self) -> tuple[np.ndarray, float]:
        """Return (h, gain) that nearly solve the equations of the first of these levels for the first part of `b`."""
        start, to, q, out, w, law, group = self.rows
        v, first, first_v = self.scratch
        gain = kernels.solve_level(self.ends, start, to, q, out, w, law, group, self.inverse, self.b, self.h, v, first, first_v,
                                   ENOUGH, 0)
        return self.h[: self.n], gain


class Multigrid:
    """All levels of one policy's equations (start, to, intensity, out), each weighted by `law` sweeps for the time in its states.

    `usable` is False where the graph does not coarsen.
    """

    def __init__(self, rows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], law: int = 2):
        level = self.finest = Level(*rows, np.ones(len(rows[3])))
        self.usable = False
        levels = []
        while level.n > COARSEST:
            above = level.coarsen(law)
            if above is None or not above.rows[3].min() > 0:
                return
            level = above
            levels.append(level)
        if not levels:
            return
        try:
            self.coarse = Coarse(levels)
        except np.linalg.LinAlgError:
            return
        self.usable = True

    def cycle(self, b: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Return (h, gain, d h - q h + gain w) that nearly solve the finest equations for b."""
        top, coarse = self.finest, self.coarse
        h, v = np.empty(top.n), np.empty(top.n)
        kernels.down(*top.fast, top.law, top.group, b, h, v, coarse.b[: coarse.n])
        correction, gain = coarse.solve()
        kernels.up(*top.fast, top.w, top.group, b, h, v, correction, gain)
        return h, gain, v

    def improve(self, income: np.ndarray, h: np.ndarray, gain: float, enough: Enough) -> float:
        """Bring (h, gain) nearer to the solution for `income`, h in place, until `enough`; return the gain."""
        top = self.finest
        rest = np.empty(top.n)
        cycles = 0
        while True:
            least, most = kernels.left_over(*top.fast, top.w, income, h, gain, rest)
            if enough(least, most, cycles):
                return gain
            gain, cycles = self._round(rest, h, gain, enough, cycles)

    def _round(self, rest: np.ndarray, h: np.ndarray, gain: float, enough: Enough, cycles: int) -> tuple[float, int]:
        """Go through up to `KEPT` cycles, each with the least residual over all directions since the round began."""
        kept: list[tuple[np.ndarray, float, np.ndarray]] = []
        mixing, steps = np.zeros((KEPT, KEPT)), np.zeros(KEPT)
        while len(kept) < KEPT:
            e, shift, v = self.cycle(rest)
            k = len(kept)
            for i, (_, _, old) in enumerate(kept):
                mixing[i, k] = kernels.inner_products(old, v)[1]
                kernels.reduced(v, old, mixing[i, k])
            size = np.sqrt(kernels.inner_products(v, v)[0])
            if not 0 < size < np.inf:
                break
            v /= size
            mixing[k, k] = size
            kept.append((e, shift, v))
            cycles += 1
            steps[k] = kernels.inner_products(v, rest)[1]
            kernels.reduced(rest, v, steps[k])
            if enough(float(rest.min()), float(rest.max()), cycles):
                break
        many = len(kept)
        for (e, shift, _), step in zip(kept, np.linalg.solve(mixing[:many, :many], steps[:many])):
            kernels.reduced(h, e, -step)
            gain += float(step) * shift
        return gain, cycles
