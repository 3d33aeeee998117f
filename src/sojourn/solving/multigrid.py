"""The equations of one policy by multigrid: sweeps on the states, corrections from ever larger groups of states.

Each level joins the states of the one below in groups of up to four by their strongest ties; the equations of a group are
sums of its states' equations, so the coarser chain is a chain again.  A level is solved by one or two steps of a minimal-residual
method around sweeps and the next level (a K-cycle); gain and bias are one system, closed exactly on the coarsest level.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sojourn.kernels import multigrid as kernels

COARSEST = 60  # groups that are solved by plain arrays
SHRINK = 0.7  # a level must have fewer intensities than this share of the one below, else the graph does not coarsen
KEPT = 15  # directions that the outermost method remembers
ENOUGH = 0.25  # reduction of a level's residual after which the second step is saved

Enough = Callable[[float, float, int], bool]  # (least residual, most residual, cycles so far)


class Level:
    """The equations of one level, and how to get to the next."""

    def __init__(self, start: np.ndarray, to: np.ndarray, q: np.ndarray, out: np.ndarray, w: np.ndarray):
        self.rows, self.w, self.n = (start, to, q, out), w, len(w)
        self.group, self.law = np.empty(0, dtype=np.int32), np.empty(0)
        self.coarse: Level | None = None
        self.inverse: np.ndarray | None = None
        self.h, self.v = np.empty(self.n), np.empty(self.n)

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

    def close(self) -> None:
        """Invert the equations of the coarsest level together with  Σ h = 0."""
        start, to, q, out = self.rows
        system = np.zeros((self.n + 1, self.n + 1))
        np.add.at(system, (np.repeat(np.arange(self.n), np.diff(start)), to), -q)
        system[np.arange(self.n), np.arange(self.n)] += out
        system[:-1, -1], system[-1, :-1] = self.w, out.max()
        self.inverse = np.linalg.inv(system)[:, :-1]

    def cycle(self, b: np.ndarray) -> tuple[np.ndarray, float, np.ndarray | None]:
        """Return (h, gain, d h - q h + gain w) that nearly solve the equations for b; the last is None where they are exact."""
        if self.inverse is not None:
            found = self.inverse @ b
            return found[:-1], float(found[-1]), None
        assert self.coarse is not None
        h, v, rest = self.h, self.v, np.empty(self.coarse.n)
        kernels.down(*self.rows, self.law, self.group, b, h, v, rest)
        correction, gain = self.coarse.solve(rest)
        kernels.up(*self.rows, self.w, self.group, b, h, v, correction, gain)
        return h, gain, v

    def solve(self, b: np.ndarray) -> tuple[np.ndarray, float]:
        """Return (h, gain) by at most two steps of the minimal-residual method; `b` is used up."""
        h, gain, v = self.cycle(b)
        if v is None:
            return h, gain
        size, along, before = kernels.inner_products(v, b)
        if not size > 0:
            return h, gain
        step = along / size
        if before - step * along <= ENOUGH**2 * before:
            return step * h, step * gain
        first, first_v, first_gain = h.copy(), v.copy(), gain
        kernels.reduced(b, v, step)
        h, gain, v = self.cycle(b)
        assert v is not None
        common = kernels.inner_products(first_v, v)[1] / size
        kernels.reduced(v, first_v, common)
        size, along, _ = kernels.inner_products(v, b)
        if not size > 0:
            return step * first, step * first_gain
        second = along / size
        return (step - second * common) * first + second * h, (step - second * common) * first_gain + second * gain


class Multigrid:
    """All levels of one policy's equations (start, to, intensity, out), each weighted by `law` sweeps for the time in its states.

    `usable` is False where the graph does not coarsen.
    """

    def __init__(self, rows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], law: int = 2):
        level = self.finest = Level(*rows, np.ones(len(rows[3])))
        self.usable = False
        while level.n > COARSEST:
            above = level.coarsen(law)
            if above is None or not above.rows[3].min() > 0:
                return
            level.coarse = above
            level = above
        try:
            level.close()
        except np.linalg.LinAlgError:
            return
        self.usable = level is not self.finest

    def improve(self, income: np.ndarray, h: np.ndarray, gain: float, enough: Enough) -> float:
        """Bring (h, gain) nearer to the solution for `income`, h in place, until `enough`; return the gain."""
        top = self.finest
        rest = np.empty(top.n)
        cycles = 0
        while True:
            least, most = kernels.left_over(*top.rows, top.w, income, h, gain, rest)
            if enough(least, most, cycles):
                return gain
            gain, cycles = self._round(rest, h, gain, enough, cycles)

    def _round(self, rest: np.ndarray, h: np.ndarray, gain: float, enough: Enough, cycles: int) -> tuple[float, int]:
        """Go through up to `KEPT` cycles, each with the least residual over all directions since the round began."""
        top = self.finest
        kept: list[tuple[np.ndarray, float, np.ndarray]] = []
        mixing, steps = np.zeros((KEPT, KEPT)), np.zeros(KEPT)
        while len(kept) < KEPT:
            e, shift, v = top.cycle(rest)
            assert v is not None
            e, v, k = e.copy(), v.copy(), len(kept)
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
