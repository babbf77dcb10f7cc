"""The shares that are expected before any report, and how far holders may differ from them.

Where q is expected of a cell's holders, they have

    p = q e^theta / (1 - q + q e^theta),    or    p = q + theta / 12:                           (1)

for classes theta is a shift of log-odds, for numbers a twelfth of a scale's width. Its unit is half
a standard deviation of the label in both: at q = 1/2 one is 1/2 and p' = 1/4, and a scale around a
centre is six of them wide. Over the cells, which are the leaves of a tree,

    theta = slope * z + tree,    slope ~ N(0, b^2),    tree as in ``tree_smoothing``.           (2)

z is logit q (for numbers 12 (mean - average) / width) less its mean. The root's step moves all
cells, the slope makes expected shares flatter, steeper or reversed, and the further steps of a path
have equal variances. b is such that slope * z deviates as far as a root's step may: cells that the
public model tells well apart are not likely to be known apart much worse. The deviations (root,
slope, path) are integrated over ``GRID``, weighted by evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, starmap
from typing import NamedTuple

import numpy as np

from privet.protocol.partition import Partition

from ..core.public_data import Floats


class Deviations(NamedTuple):
    """Prior standard deviations of theta: at the root, by the slope, and over a path below it.

    That by the slope is the root mean square over the holders, whatever the spread of z is; the
    slope's own deviation is at most ``MOST_SLOPE``.
    """

    root: float
    slope: float
    path: float


NO_SHIFT = Deviations(0.02, 0.0, 0.02)
"""Chosen, not measured: 0.02 of log-odds is half a point of probability, too little to matter."""
USUAL, LARGE, LARGE_SHIFTS = 0.6, 3.0, 0.05
"""One shift in twenty has a large deviation at the root, and one in twenty by the slope. Were such
roots one in two, reports that say nothing would cost .0014 of Brier score; were such slopes, noise
would be believed to turn expected numbers round (ADR 0128)."""
GRID = (NO_SHIFT, *starmap(Deviations, product((USUAL, LARGE), (USUAL, LARGE), (0.1, 1.0))))
"""Chosen, not measured: at the root 0.6 turns 25 % into 38 %, and 3.0 reaches classes that public
data lack; by the slope likewise, so that expected shares that are far apart are less likely to be
much flatter or steeper; single cells are nearly equal or unlike. Finer grids are no better
(ADR 0128)."""
MOST_SLOPE = 1.0
"""The slope's largest deviation, which reaches none of the expected differences and twice them."""
NO_SHIFT_OF_CLASSES, NO_SHIFT_OF_NUMBERS = 0.5, 0.9
"""Classes: as likely as not. Numbers: nine to one, since a squared error has no bound
(ADR 0128)."""
PER_THETA = 1.0 / 12.0
"""Widths of a number's scale in a unit of theta: a scale is six standard deviations wide, and a
unit half of one."""
LEAST_EXPECTED = 0.01
"""Part of q that is spread evenly over the classes, so that no class that public data lack is
impossible; chosen, not measured: one holder in a hundred."""


@dataclass(frozen=True, eq=False)
class Expected:
    """The prior knowledge of shares: ``q``, and z, ``(cells, slots)``, of ``slope``.

    ``points``, ``(cells,)``, are public reference points per cell, standing for ``rows`` records.
    ``of_public`` are the shares that the public model has; q differ where the classes' prevalence
    is stated.
    """

    q: Floats
    slope: Floats
    points: Floats
    rows: int
    numeric: bool
    of_public: Floats

    @classmethod
    def classes(
        cls, shares: Floats, points: Floats, rows: int, ratio: Floats | float = 1.0
    ) -> "Expected":
        """Expected class probabilities ``(cells, classes)``.

        Of holders with ``ratio`` times as many of each class, ``(classes,)``, who in each class are
        like public records: then q of a cell is as ratio times its shares, and its mass is their
        sum times as large (Saerens, Latinne and Decaestecker, 2002).
        """
        from scipy.special import logit  # slow to import

        least = LEAST_EXPECTED / shares.shape[1]
        of_public = (1.0 - LEAST_EXPECTED) * shares / shares.sum(axis=1, keepdims=True) + least
        joint = of_public * ratio
        mass = joint.sum(axis=1)
        q = joint / mass[:, None]
        points = points * mass * (points.sum() / max(float(points @ mass), 1e-300))
        return cls(q, logit(q), points, rows, numeric=False, of_public=of_public)

    @classmethod
    def numbers(cls, t: Floats, position: Floats, points: Floats, rows: int) -> "Expected":
        """Expected means ``t`` on the cells' scales; ``position`` in widths from any origin."""
        slope = np.stack([-position, position], axis=1) / PER_THETA
        q = np.stack([1.0 - t, t], axis=1)
        return cls(q, slope, points, rows, numeric=True, of_public=q)

    def place(self, shares: Floats) -> Floats:
        """Shares on the scale of theta, from an origin that is equal for all expected shares."""
        from scipy.special import logit  # slow to import

        return np.asarray(shares / PER_THETA if self.numeric else logit(shares))

    @property
    def origin(self) -> Floats:
        """The place of the expected shares, where theta is 0."""
        return self.place(self.q)

    def derivative(self, shares: Floats) -> Floats:
        """The derivative by theta of shares."""
        return np.full_like(shares, PER_THETA) if self.numeric else shares * (1.0 - shares)

    def shares(self, theta: Floats) -> tuple[Floats, Floats]:
        """p of (1), and its derivative by theta."""
        from scipy.special import expit, logit  # slow to import

        if self.numeric:
            return self.q + PER_THETA * theta, np.full_like(theta, PER_THETA)
        p = expit(logit(self.q) + theta)
        return p, p * (1.0 - p)


@dataclass(frozen=True)
class Prior:
    """A mixture of normal priors of theta, the first of them "no shift"."""

    grid: Sequence[Deviations]
    no_shift: float

    @classmethod
    def default(cls, *, numeric: bool) -> "Prior":
        """The prior of numbers or of classes."""
        return cls(GRID, NO_SHIFT_OF_NUMBERS if numeric else NO_SHIFT_OF_CLASSES)

    @property
    def probabilities(self) -> Floats:
        """Prior probability of each component, ``(priors,)``.

        Large roots have ``LARGE_SHIFTS`` together, and so have large slopes.
        """
        large = np.array(self.grid[1:]).reshape(-1, 3)[:, :2] == LARGE
        count = large.sum(axis=0)
        usual = (1.0 - LARGE_SHIFTS) / np.maximum(len(large) - count, 1)
        root, slope = np.where(large, LARGE_SHIFTS / np.maximum(count, 1), usual).T
        others = root * slope
        return np.array([self.no_shift, *(1.0 - self.no_shift) * others / others.sum()])

    def variances(self, tree: Partition, spread: Floats) -> tuple[Floats, Floats]:
        """The variances of all steps, ``(priors, nodes)``, and of the slope, ``(priors, slots)``,
        where z has the mean square ``spread``, ``(slots,)``."""
        root, slope, path = np.array(self.grid).T[:, :, None] ** 2
        slope = np.minimum(slope / np.maximum(spread, 1e-12), MOST_SLOPE**2)
        depth = tree.node_depth
        mean_depth = max(float(depth[tree.leaves].mean()), 1.0)
        return np.where(depth == 0, root, path / mean_depth), slope
