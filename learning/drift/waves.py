"""A shift in time: what earlier waves of a panel say of the cells of the next one.

Wave t has a shift theta_t on the tree, and its prior is what wave t - 1 left, with a step in time,
one of several: a random walk

    theta_t = theta_(t-1) + common + own,    common ~ N(0, g),  own ~ N(0, r) in each cell,     (1)

where the common part moves all cells. The past is one more normal observation of each cell's theta,
of precision A around a. It hangs below the cell in the tree of ``tree_smoothing``, a step further
away with each wave, and arrives as

    v = A / (1 + r A)    around a,                                                              (2)

a vector over the cells, of which the common part takes off what it says of all of them together:
their precision is diag(v) - k v v', with k = 1 / (1 / g + sum v) (Sherman and Morrison). The last
step forgets, v = 0: then wave t is fitted alone.

Each slot weighs the steps by how well they predict wave t: the evidence of both over that of the
past alone, under the same priors of the tree,

    w ~ P(step) p(wave t and past | step) / p(past | step).                                     (3)

With the contrasts of wave t (``shift``) linearised at its fitted shares, these are the precision
J = b^2 / D around theta + e / b of one more observation, and waves go on by

    A_t = J_t + sum over steps of w v,    the past moved by the mean of its common part,        (4)

which is Kalman's filter where one step has all of the weight. So noise is averaged over waves where
little changes, and where much does the past is left behind. Left out: which counts of a past wave
had correlated noise, how unsure a common part is once it is past, and chance that waves of the same
people share.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privet.protocol.partition import Partition

from ..core.public_data import Floats
from .likelihood import Contrasts
from .prior import Expected
from .tree_smoothing import Smoothed, smooth

DEVIATIONS = ((0.02, 0.02), (0.1, 0.3), (0.3, 1.0), (1.0, 1.0))
"""Standard deviations of the steps' own and common parts; the last step forgets, whatever it says.
Chosen, not measured: too little to matter (``prior.NO_SHIFT``); 25 % to 31 % in all cells; 25 % to
48 %."""
PROBABILITIES = np.array([0.4, 0.35, 0.2, 0.05])
"""Chosen, not measured: one wave in twenty has nothing to do with the one before."""
REMEMBERS = np.array([1.0, 1.0, 1.0, 0.0])


class Past(NamedTuple):
    """The past as it arrives, for each of several priors: v and H, ``(priors, cells, slots)``, and
    k, ``(priors, slots)``; H is the precision of (2) times a."""

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
    """Past waves as one observation of each cell, ``(cells, slots)``: ``precision`` of theta around
    ``place``, which is the expected share's (``Expected.origin``) plus theta."""

    place: Floats
    precision: Floats

    def arriving(self, expected: Expected) -> Past:
        """(2) for each step."""
        own, common = (np.array(each)[:, None, None] ** 2 for each in zip(*DEVIATIONS, strict=True))
        v = REMEMBERS[:, None, None] * self.precision / (1.0 + own * self.precision)
        k = REMEMBERS[:, None] / (1.0 / common[:, 0] + v.sum(axis=1))
        a = self.place - expected.origin
        past = Past(v, k, v)
        return past._replace(H=past.times(a))


def loosened(smoothed: Smoothed, past: Past) -> tuple[Smoothed, Floats]:
    """``smoothed``, whose last H is v, without the precision k v v'; and the vector whose square
    the covariance gains."""
    C_v = smoothed.means[-1]
    kept = 1.0 - past.k * (past.v * C_v).sum(axis=1)
    gain, of_v = past.k / kept, (past.v * smoothed.means).sum(axis=2)
    log_evidence = smoothed.log_evidence + 0.5 * (gain * of_v[0] ** 2 - np.log(kept))
    means = smoothed.means + C_v * (gain * of_v)[:, :, None]
    variance = smoothed.variance + C_v**2 * gain[:, None]
    return Smoothed(means, variance, log_evidence), C_v * np.sqrt(gain)[:, None]


def past_evidence(tree: Partition, steps: Floats, slope: Floats, z: Floats, past: Past) -> Floats:
    """The log evidence of the past alone, under each prior, ``(priors, slots)``."""
    M_z = past.times(z)
    smoothed = smooth(tree, steps, past.v, np.stack([past.H, M_z, past.v]))
    smoothed, _ = loosened(smoothed, past)
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
    """The history for the next wave: (4), with a wave's contrasts at its fitted ``shares``.

    ``theta``, ``(steps times priors, cells, slots)``, and ``weights``, ``(steps times priors,
    slots)``, are those of all priors, step by step.
    """
    b = contrasts.size * expected.derivative(shares)
    e = contrasts.values - contrasts.size * (shares - contrasts.reference)
    A = b**2 / contrasts.variance
    H = A * expected.place(shares) + b * e / contrasts.variance
    if before is not None:
        past, shape = before.arriving(expected), (len(REMEMBERS), -1)
        of_priors = weights.reshape(*shape, weights.shape[1])
        of_steps = of_priors.sum(axis=1)
        of_theta = theta.reshape(*shape, *theta.shape[1:])
        mean = (of_priors[:, :, None] * of_theta).sum(axis=1)
        mean = mean / np.maximum(of_steps, 1e-300)[:, None]
        moved = mean - (before.place - expected.origin)
        common = past.k * (past.v * moved).sum(axis=1)
        kept = of_steps[:, None] * past.v
        A = A + kept.sum(axis=0)
        H = H + (kept * (before.place + common[:, None])).sum(axis=0)
    return History(H / np.maximum(A, 1e-300), A)
