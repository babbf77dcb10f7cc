"""How far a cell's shares are from those expected of it: linear in the counts, hence unbiased.

For counts V per slot, their sum U, and expected shares q of a cell, the contrast R = V - q U has
mean n w (p - q) whatever the cell's mass w is, where p are the true shares. The mass only sets the
scale, so an error in it can weaken or strengthen a correction, and never point it the other way.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privet.curator.estimation.counts import QuestionCounts
from privet.curator.estimation.prunings import Information
from privet.curator.estimation.ratio import moments
from privet.curator.public_data import Floats
from privet.curator.trees import node_sums
from privet.protocol.partition import Partition

LEAST_SPREAD = 0.02
"""A label's variance within a cell is taken to be at least this much of a unit."""
EXACT_NODES = 500


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The contrasts of one question against expected shares ``q``, ``(cells, slots)``.

    ``mass`` is each cell's share of the holders; ``scale``, ``(cells, slots)``, the unit in which
    a deviation is measured: p - q = scale * theta.
    """

    evidence: QuestionCounts
    q: Floats
    mass: Floats
    scale: Floats

    @cached_property
    def values(self) -> Floats:
        """R, shape ``(cells, slots)``."""
        counts = self.evidence.counts
        return np.asarray(counts - self.q * counts.sum(axis=1, keepdims=True))

    @cached_property
    def variance(self) -> Floats:
        """Variance of R by the mechanism's noise and the chance of who is asked."""
        own, with_mass, of_mass = moments(self.evidence.noise)
        noise = own - 2.0 * self.q * with_mass + self.q**2 * of_mass[:, None]
        spread = np.maximum(self.q * (1.0 - self.q), LEAST_SPREAD)
        sampling = self.evidence.holders_per_record * self.evidence.n * self.mass[:, None] * spread
        return np.maximum(noise, 0.0) + np.maximum(sampling, 1e-9)

    @cached_property
    def _slope(self) -> Floats:
        return self.evidence.n * self.mass[:, None] * self.scale

    @property
    def tree(self) -> Partition:
        """The question's tree."""
        return self.evidence.partition

    def information(self) -> Information:
        """What the reports say of theta."""
        slots, weight = self.q.shape[1], self._slope / self.variance
        J, H = weight * self._slope, weight * self.values
        return Information(J, H, independent=(slots - 1.0) / slots)

    def node_ranges(self) -> Floats:
        """What one report can change in each node's sum of H, at most; ``(nodes, slots)``.

        Exact for the ``EXACT_NODES`` largest nodes, if wanted; for others the sum of their cells'
        ranges, which bounds it.
        """
        tree, slots = self.evidence.partition, self.q.shape[1]
        factor = self._slope / self.variance
        weights = factor[:, :, None] * (np.eye(slots) - self.q[:, :, None])
        ranges = node_sums(tree, np.abs(weights) @ unit_ranges(self.evidence))
        order, first, size = _leaf_order(self.evidence)
        exact = EXACT_NODES if self.evidence.exact_ranges else 0
        for node in np.argsort(-size, kind="stable")[:exact]:
            inside = order[first[node] : first[node] + size[node]]
            for slot in range(slots):
                part = np.zeros((tree.cells, slots))
                part[inside] = weights[inside, slot]
                least, most = self.evidence.mechanism.influence(part)
                ranges[node, slot] = min(ranges[node, slot], most - least)
        return np.asarray(ranges)

    def range_of(self, weights: Floats) -> Floats:
        """What one report can change in each slot's sum of ``weights * H`` over all cells."""
        slots = self.q.shape[1]
        factor = weights * self._slope / self.variance
        ranges = np.zeros(slots)
        for slot in range(slots):
            part = factor[:, slot, None] * (np.eye(slots)[slot] - self.q[:, slot, None])
            least, most = self.evidence.mechanism.influence(part)
            ranges[slot] = most - least
        return ranges


def unit_ranges(evidence: QuestionCounts) -> Floats:
    """What one report instead of another can change in a cell's count, per slot, ``(slots,)``."""
    mechanism = evidence.mechanism
    ranges = np.zeros(mechanism.slots)
    for slot in range(mechanism.slots):
        unit = np.zeros((mechanism.cells, mechanism.slots))
        unit[0, slot] = 1.0
        least, most = mechanism.influence(unit)
        ranges[slot] = most - least
    return ranges


def _leaf_order(evidence: QuestionCounts) -> tuple[NDArray[np.int64], ...]:
    """The cells in depth-first order, and each node's stretch of it: first and size."""
    tree = evidence.partition
    size = node_sums(tree, np.ones(tree.cells, dtype=np.int64))
    first = np.zeros(tree.nodes, dtype=np.int64)
    for nodes in tree.levels:
        inner = nodes[~tree.is_leaf[nodes]]
        first[tree.left[inner]] = first[inner]
        first[tree.right[inner]] = first[inner] + size[tree.left[inner]]
    order = np.empty(tree.cells, dtype=np.int64)
    order[first[tree.leaves]] = np.arange(tree.cells)
    return order, first, np.asarray(size)
