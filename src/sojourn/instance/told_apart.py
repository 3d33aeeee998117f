"""What a learner must have seen to play well in two models, as linear conditions on its visits: no constant is left out.

Let A be any event of the first N decisions, or Z any number between 0 and 1 that they determine.  The histories under M and M' are
Σ η KL(M, M') nats apart, η being the expected visits in M, and neither A nor Z tells more (Garivier, Menard and Stoltz 2019):

    Σ η KL >= kl(E Z, E' Z),      kl(z, q) = z log(z/q) + (1 - z) log((1 - z)/(1 - q)).

Two such Z, with W = Σ φ' n what M' charges for the visits n of a run, V = Σ φ n what M does, R and R' the means of both:

*A charge.*  Z = 1 if W >= θ G.  In M' that has a chance of at most R'/(θ G), by Markov's inequality.  In M, let v per state and w
be such that φ' - λ/8 B² + c φ >= w + v(s) - Σ p v for every pair, B the range of v over its successors.  Summed along a run, v
leaves a martingale, and by Hoeffding's lemma W + c V < G = N w - (max v - min v) - log(1/ε)/λ has a chance of at most ε; so Z = 0
has at most ε + c R/((1 - θ) G).

*A share.*  Z is the share of decisions that falls on pairs that good play uses more in M than in M'.  In M' it is at most what a
walk can have that loses at most R' (visits_program.py), in M what the visits say.  Better where a regime is seldom left.

kl is convex in z and lies above its tangents; each is one condition  Σ η told >= nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sojourn.instance.gaps import Optimum
from sojourn.instance.visits_program import charged, largest_share, rounded_down

CHANCES = (0.1, 0.03, 0.01, 0.001)  # ε
PARTS = (0.6, 0.9)  # θ
TANGENTS = 8
NEAREST = 1e-6  # to the largest z, of a tangent
LIVED_IN = 0.9  # a share is looked at where good play in M has so much of it, and in M' less than half
ROUNDS = 6  # in which v and B are made to fit each other
SAFE = 1 + 1e-12  # for rounding
ROUNDING = 1e-15  # of a kl, whose terms nearly cancel where z is near q


@dataclass(frozen=True, eq=False)
class Apart:
    """One other model: nats per visit of each pair, both optima, and the shares of decisions of good play in each, per pair."""

    here: Optimum
    there: Optimum
    told: np.ndarray
    share_here: np.ndarray
    share_there: np.ndarray
    epochs: float

    @cached_property
    def counted(self) -> np.ndarray:
        """1.0 for pairs that good play uses more here."""
        return (self.share_here > self.share_there).astype(float)

    @cached_property
    def charges(self) -> list[tuple[float, float, float]]:
        """(ε, G, c) for every ε with G > 0."""
        found = [(chance, *charge(self.here, self.there, self.epochs, chance)) for chance in CHANCES]
        return [one for one in found if one[1] > 0]

    def conditions(self, regret: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (told per condition and pair, nats per condition) for learners that lose at most `regret` there."""
        told, nats = [np.zeros((0, len(self.told)))], [np.zeros(0)]
        most = self.here.proof.gap + self.here.proof.error
        for chance, charged_least, c in self.charges:
            for part in PARTS:
                q, per_loss = regret / (part * charged_least) * SAFE, c / ((1 - part) * charged_least) * SAFE
                kl, slope, below = tangents(1 - chance, q)  # z = 1 - ε - Σ η φ c/((1 - θ) G)
                told.append(self.told + slope[:, None] * (per_loss * np.maximum(most, 0.0)))
                nats.append(kl + slope * below)
        if self.share_here @ self.counted >= LIVED_IN and self.share_there @ self.counted < 0.5:
            kl, slope, below = tangents(1.0, largest_share(self.there, self.epochs, self.counted, regret))
            told.append(self.told + slope[:, None] * ((1 - self.counted) / self.epochs))  # z = 1 - Σ η (1 - counted) / N
            nats.append(kl + slope * below)
        return np.vstack(told), np.concatenate(nats) / SAFE**10


def tangents(top: float, q: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kl(z, q), its slope and top - z at some z between q and `top`; nothing where q is too near to it."""
    if not 0 <= q < top - 2 * NEAREST:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    q = max(q, 1e-300)
    below = np.geomspace(NEAREST, top - q, TANGENTS + 1)[:-1]
    below = np.concatenate([below, top - q - np.geomspace(1e-3, 0.5, TANGENTS // 2) * (top - q)])  # and near q
    z = top - below
    up, down = np.log(z / q), np.log1p(-z) - math.log1p(-q)
    return z * up + (1 - z) * down - ROUNDING, up - down, below


def charge(here: Optimum, there: Optimum, epochs: float, chance: float) -> tuple[float, float]:
    """Return (G, c), rounded to the safe side: W + c V < G has at most this chance in M.  The best of some v."""
    model, log = here.model, math.log(1 / chance)
    price = np.maximum(there.proof.gap - there.proof.error, 0.0)
    least = np.maximum(here.proof.gap - here.proof.error, 0.0)
    good = here.optimal | (least <= 0)
    reach = model.matrix.toarray() > 0
    v, often = charged(model, price, epochs, good)
    found, rate = (0.0, 0.0), 0.0
    for again in range(ROUNDS):
        spread = np.where(reach, v, -np.inf).max(axis=1) - np.where(reach, v, np.inf).min(axis=1)
        if again < ROUNDS / 2:  # λ from what good play meets; then it stays
            rate = math.sqrt(8 * log / (epochs * max(float(often @ spread[good] ** 2), 1e-300)))
        cost = price - rate / 8 * spread**2 * SAFE
        left = rounded_down(model, cost, v, price + rate / 8 * spread**2)
        w = float(left[good].min())
        lacks = np.maximum(w - left[~good], 0.0)
        c = float((lacks / least[~good]).max(initial=0.0)) * SAFE
        whole = epochs * w - float(np.ptp(v)) * SAFE - log / rate * SAFE
        found = (whole - 1e-12 * epochs * abs(w), c) if whole > found[0] else found
        v, often = charged(model, cost, epochs, good)
    return found
