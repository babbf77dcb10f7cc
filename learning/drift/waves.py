"""A shift in time: what earlier waves of a panel say of the cells of the next one.

Wave t has a shift theta_t on the tree, and its prior is what the waves before it left, with a step
in time, one of several: a random walk

    theta_t = theta_(t-1) + common + own,    common ~ N(0, g),  own ~ N(0, r) in each cell,    (16)

where the common part moves all cells; or nothing is left, and wave t is fitted alone. After a
sequence of steps the past is one more normal observation of each cell's theta, of precision A
around a. It hangs below the cell in the tree of ``tree_smoothing``, a step further away with each
wave, and arrives as

    v = A / (1 + r A)    around a,                                                             (17)

a vector over the cells, of which the common part takes off what it says of all of them together:
their precision is diag(v) - k v v', with k = 1 / (1 / g + sum v) (Sherman and Morrison). The step
that forgets has v = 0.

How often people change is not known, and learned: a sequence that took each step c times goes on by
(c + ``PSEUDO``) over their sum, and each slot weighs it by how well it predicts wave t, the
evidence of both over that of the past alone, under the same priors of the tree,

    w ~ P(sequence, step) p(wave t and past | sequence, step) / p(past | sequence, step).      (18)

So the step's variance has a prior and its marginal likelihood over all waves so far. A sequence
that forgets starts anew, whatever was before, so there is one of these; of all others those of most
weight are kept. With the contrasts of wave t (``shift``) linearised at its fitted shares, these are
the precision J = b^2 / D around e / b, as in (8), of one more observation, and each sequence goes
on by

    A_t = J_t + v,    the past moved by the mean of its common part,                           (19)

which is Kalman's filter. So noise is averaged over waves where little changes, and where much does
the past is left behind. Nothing goes back: a wave's model stays what it was when it was published.
Left out: which counts of a past wave had correlated noise, how unsure a common part is once it is
past, and chance that waves of the same people share.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privet.protocol.partition import Partition

from ..core.public_data import Floats
from .likelihood import Contrasts
from .prior import Expected
from .tree_smoothing import Smoothed, smooth

STEPS = ((0.02, 0.02), (0.3, 1.0))
"""Standard deviations of the steps' own and common parts: too little to matter
(``prior.NO_SHIFT``), and 25 % to 48 % in all cells. Chosen, not measured."""
PSEUDO = np.array([0.2, 0.2, 0.6])
"""Pseudo-counts of the steps and of forgetting: the second wave has more likely than not nothing to
do with the first, so that little is lost by a jump, and few waves teach otherwise
(ADR 0126)."""
KEPT = 4
"""Sequences that are passed on. Chosen, not measured: each costs time."""


class Past(NamedTuple):
    """The past as it arrives, for each of several priors: v and H, ``(priors, cells, slots)``, and
    k, ``(priors, slots)``; H is the precision of (17) times a."""

    v: Floats
    k: Floats
    H: Floats

    def times(self, z: Floats) -> Floats:
        """The precision times a vector over the cells."""
        return np.asarray(self.v * (z - (self.k * (self.v * z).sum(axis=1))[:, None]))

    def repeated(self, count: int) -> "Past":
        """Each step ``count`` times."""
        return Past(*(np.repeat(each, count, axis=0) for each in self))


@dataclass(frozen=True, eq=False)
class History:
    """Past waves under each of several sequences of steps, as one observation of each cell,
    ``(sequences, cells, slots)``: ``precision`` of theta around ``place``, which is the expected
    share's (``Expected.origin``) plus theta.

    ``odds`` are the logarithms of the sequences' probabilities, ``(sequences, slots)``; ``taken``
    says how often each took each step, the last being forgetting, ``(sequences, steps)``.
    """

    place: Floats
    precision: Floats
    odds: Floats
    taken: Floats

    @property
    def places(self) -> Floats:
        """``place`` for each step of each sequence, step by step, and for forgetting."""
        return np.concatenate([self.place] * len(STEPS) + [self.place[:1]])

    @property
    def next_odds(self) -> Floats:
        """The odds of each step of each sequence, ``(steps, sequences, slots)``."""
        counts = PSEUDO + self.taken
        chances = np.log(counts / counts.sum(axis=1, keepdims=True))
        return np.asarray(self.odds + chances.T[:, :, None])

    @property
    def odds_arriving(self) -> Floats:
        """The odds of what ``arriving`` returns: forgetting is the same after all sequences."""
        *steps, forgetting = self.next_odds
        return np.concatenate([*steps, np.logaddexp.reduce(forgetting, axis=0)[None]])

    def arriving(self, expected: Expected) -> Past:
        """(17) for each step of each sequence, step by step, and last for forgetting."""
        A, slots = self.precision, self.precision.shape[2]
        own, common = (np.array(each)[:, None] ** 2 for each in zip(*STEPS, strict=True))
        v = A / (1.0 + own[:, :, None, None] * A)
        k = 1.0 / (1.0 / common[:, :, None] + v.sum(axis=2))
        v = np.concatenate([v.reshape(-1, *A.shape[1:]), np.zeros_like(A[:1])])
        k = np.concatenate([k.reshape(-1, slots), np.zeros((1, slots))])
        past = Past(v, k, v)
        return past._replace(H=past.times(self.places - expected.origin))

    def taken_with(self) -> Floats:
        """``taken`` with one more step, for each that arrives."""
        *_, forgetting = self.next_odds
        of_each = np.exp(forgetting - np.logaddexp.reduce(forgetting, axis=0)).mean(axis=1)
        *steps, last = np.eye(len(PSEUDO))
        return np.concatenate(
            [*(self.taken + step for step in steps), (of_each @ self.taken + last)[None]]
        )


def loosened(smoothed: Smoothed, past: Past) -> Smoothed:
    """``smoothed``, whose last H is v, without the precision k v v'."""
    C_v = smoothed.means[-1]
    kept = 1.0 - past.k * (past.v * C_v).sum(axis=1)
    gain, of_v = past.k / kept, (past.v * smoothed.means).sum(axis=2)
    log_evidence = smoothed.log_evidence + 0.5 * (gain * of_v[0] ** 2 - np.log(kept))
    means = smoothed.means + C_v * (gain * of_v)[:, :, None]
    variance = smoothed.variance + C_v**2 * gain[:, None]
    return Smoothed(means, variance, log_evidence)


def past_evidence(tree: Partition, steps: Floats, slope: Floats, z: Floats, past: Past) -> Floats:
    """The log evidence of the past alone, under each prior, ``(priors, slots)``."""
    M_z = past.times(z)
    smoothed = smooth(tree, steps, past.v, np.stack([past.H, M_z, past.v]))
    smoothed = loosened(smoothed, past)
    y = z - smoothed.means[1]
    J_z, H_z = (M_z * y).sum(axis=1), (y * past.H).sum(axis=1)
    of_slope = slope / (1.0 + slope * J_z)
    gained = of_slope * H_z**2 - np.log1p(slope * J_z)
    return np.asarray(smoothed.log_evidence + 0.5 * gained)


def passed_on(
    before: History | None,
    contrasts: Contrasts,
    shares: Floats,
    theta: Floats,
    weights: Floats,
    expected: Expected,
) -> History:
    """The history for the next wave: (19), with a wave's contrasts at its fitted ``shares``.

    ``theta``, ``(what arrived times priors, cells, slots)``, and ``weights``, without the cells,
    are those of all priors, for one that arrived after the other.
    """
    b = contrasts.size * expected.derivative(shares)
    e = contrasts.values - contrasts.size * (shares - contrasts.reference)
    J = b**2 / contrasts.variance
    H = J * expected.place(shares) + b * e / contrasts.variance
    if before is None:
        none_taken, slots = np.zeros((1, len(PSEUDO))), J.shape[1]
        return History((H / np.maximum(J, 1e-300))[None], J[None], np.zeros((1, slots)), none_taken)
    past = before.arriving(expected)
    of_priors = weights.reshape(len(past.v), -1, weights.shape[1])
    of_each = of_priors.sum(axis=1)
    of_theta = theta.reshape(*of_priors.shape[:2], *theta.shape[1:])
    mean = (of_priors[:, :, None] * of_theta).sum(axis=1)
    mean = mean / np.maximum(of_each, 1e-300)[:, None]
    moved = mean - (before.places - expected.origin)
    common = past.k * (past.v * moved).sum(axis=1)
    A = J + past.v
    place = (H + past.v * (before.places + common[:, None])) / np.maximum(A, 1e-300)
    odds = np.log(np.maximum(of_each, 1e-300))
    best = np.argsort(-of_each.max(axis=1), kind="stable")[:KEPT]
    odds = odds[best] - np.logaddexp.reduce(odds[best], axis=0)
    return History(place[best], A[best], odds, before.taken_with()[best])
