"""Contrasts (see ``contrasts``) of several questions about nested levels of one tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.curator.estimation.contrasts import Contrasts
from privet.curator.estimation.counts import QuestionCounts
from privet.curator.estimation.levels import Joined, embed
from privet.curator.estimation.masses import cell_masses
from privet.curator.estimation.prunings import Information, Inner
from privet.curator.public_data import Floats
from privet.curator.trees import node_sums
from privet.protocol.partition import Index, Partition


def contrasts_of(
    questions: Sequence[QuestionCounts], q: Floats, scale: Floats, points: Floats, rows: int
) -> "Contrasts | LevelContrasts":
    """The contrasts of one question, or of several whose first has the finest cells.

    ``q`` and ``scale``, ``(cells, slots)``, and ``points``, ``(cells,)``, are of the finest cells;
    see ``Contrasts`` and ``cell_masses``.
    """
    finest = questions[0]
    if len(questions) == 1:
        return Contrasts(finest, q, cell_masses(finest, q, points, rows), scale)
    mass = cell_masses(Joined.of(finest.partition, questions), q, points, rows)
    return LevelContrasts(tuple(questions), q, mass, scale)


@dataclass(frozen=True, eq=False)
class LevelContrasts:
    """What ``Contrasts`` says, from several questions, the one with the finest cells first.

    All must tell the label on one scale, so that the counts of a node's cells add up to its own.
    ``q``, ``mass`` and ``scale`` are of the finest cells. What one report can change is added up
    over questions, as if a holder answered all of them.
    """

    questions: tuple[QuestionCounts, ...]
    q: Floats
    mass: Floats
    scale: Floats

    @property
    def tree(self) -> Partition:
        """The finest question's tree."""
        return self.questions[0].partition

    @cached_property
    def _weights(self) -> Floats:
        return np.asarray(node_sums(self.tree, self.mass[:, None] * self.scale))

    @cached_property
    def _levels(self) -> list[tuple[Index, Contrasts]]:
        """Each question's own contrasts, with the nodes of the tree that its nodes are."""
        mass = node_sums(self.tree, self.mass)
        shares = node_sums(self.tree, self.mass[:, None] * self.q) / mass[:, None]
        found = []
        for question in self.questions:
            node = embed(self.tree, question.partition)
            at = node[question.partition.leaves]
            scale = self._weights[at] / mass[at][:, None]
            found.append((node, Contrasts(question, shares[at], mass[at], scale)))
        return found

    @cached_property
    def _ranges(self) -> list[Floats]:
        return [level.node_ranges() for _, level in self._levels]

    def information(self) -> Information:
        """What all questions say of theta: of cells, and of its means over nodes above them."""
        shape = self._weights.shape
        J, H, ranges = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for (node, level), own_ranges in zip(self._levels, self._ranges, strict=True):
            own, at = level.information(), node[level.tree.leaves]
            J[at] += own.J
            H[at] += own.H
            ranges[at] += own_ranges[level.tree.leaves]
        cells, slots = self.tree.leaves, shape[1]
        of_cells = J[cells], H[cells]
        for array in (J, H, ranges):
            array[cells] = 0.0
        inner = Inner(self.tree, J, H, ranges, self._weights)
        return Information(*of_cells, 0.0, (slots - 1.0) / slots, inner)

    def node_ranges(self) -> Floats:
        """What one report can change in the sum of H within each node, ``(nodes, slots)``."""
        ranges = np.zeros_like(self._weights)
        for (node, _), own in zip(self._levels, self._ranges, strict=True):
            ranges[node] += own
        return ranges

    def range_of(self, weights: Floats) -> Floats:
        """What one report can change in each slot's sum of ``weights * H``.

        A node above the cells has the mean of its cells' ``weights``, ``(cells, slots)``.
        """
        leaves = self._weights[self.tree.leaves]
        means = node_sums(self.tree, leaves * weights) / self._weights
        ranges = [level.range_of(means[node[level.tree.leaves]]) for node, level in self._levels]
        return np.asarray(np.sum(ranges, axis=0))
