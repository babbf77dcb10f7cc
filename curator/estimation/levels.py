"""Several questions about nested levels of one tree, as one.

Every question counts the holders of a level: the cells of a pruning of the finest question's tree.
``combined`` joins the levels' counts by generalised least squares (Hay et al., 2010; Qardaji et
al., 2013; here with every count's own covariance): one pass up joins each node's own count with
the sum of its children's, one pass down shares out what is left over.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.curator.estimation.counts import QuestionCounts, sampling_covariance
from privet.curator.estimation.prunings import families
from privet.curator.public_data import Floats
from privet.protocol.errors import InvalidRequest
from privet.protocol.partition import LEAF, Index, Partition

LEAST_COUNT = 0.1
"""A count's sampling variance is taken to be at least this."""


def embed(fine: Partition, coarse: Partition) -> Index:
    """The node of ``fine`` that each node of ``coarse`` is, shape ``(coarse.nodes,)``.

    Raises ``InvalidRequest`` unless ``coarse`` is a pruning of ``fine``.
    """
    node = np.zeros(coarse.nodes, dtype=np.int32)
    for nodes in coarse.levels:
        inner = nodes[coarse.left[nodes] != LEAF]
        at = node[inner]
        same = (
            (fine.left[at] != LEAF)
            & (coarse.feature[inner] == fine.feature[at])
            & (coarse.threshold[inner] == fine.threshold[at])
        )
        if not same.all():
            raise InvalidRequest(
                "The questions' trees are not nested: grow them with one grower and one seed, "
                "and let only their depths differ; or choose pruned or histogram."
            )
        node[coarse.left[inner]] = fine.left[at]
        node[coarse.right[inner]] = fine.right[at]
    return node


@dataclass(frozen=True, eq=False)
class Level:
    """Shares of the holders at some nodes of a tree, which has them as its nodes ``node``.

    ``node`` has shape ``(K,)``, ``shares`` ``(K, slots)``, ``covariance`` ``(K, slots, slots)``.
    """

    node: Index
    shares: Floats
    covariance: Floats

    @classmethod
    def of(cls, tree: Partition, question: QuestionCounts) -> "Level":
        """What a question with at least one report says; noise and the chance of who is asked."""
        n, coarse = question.n, question.partition
        sampling = question.holders_per_record * sampling_covariance(
            question.plausible + LEAST_COUNT
        )
        covariance = question.noise + sampling
        return cls(embed(tree, coarse)[coarse.leaves], question.counts / n, covariance / n**2)


def combined(tree: Partition, levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """Best linear unbiased shares of the tree's cells, and each cell's covariance.

    Shapes ``(cells, slots)`` and ``(cells, slots, slots)``. One of the levels must be the tree's
    cells. Counts of different cells, and of different questions, are taken as uncorrelated.
    """
    slots = levels[0].shares.shape[1]
    precision, score = np.zeros((tree.nodes, slots, slots)), np.zeros((tree.nodes, slots))
    for level in levels:
        inverse = np.asarray(np.linalg.inv(level.covariance), dtype=np.float64)
        np.add.at(precision, level.node, inverse)
        np.add.at(score, level.node, _times(inverse, level.shares))
    mean, spread = np.zeros_like(score), np.zeros_like(precision)
    spread[tree.leaves] = np.linalg.inv(precision[tree.leaves])
    mean[tree.leaves] = _times(spread[tree.leaves], score[tree.leaves])
    below = [array.copy() for array in (mean, spread)]
    for nodes in reversed(tree.levels):
        v, left, right = families(tree, nodes)
        halves, noise = mean[left] + mean[right], spread[left] + spread[right]
        below[0][v], below[1][v] = halves, noise
        gain = np.linalg.solve(np.eye(slots) + precision[v] @ noise, precision[v])
        spread[v] = noise - noise @ gain @ noise
        mean[v] = halves + _times(spread[v], score[v] - _times(precision[v], halves))
    for nodes in tree.levels:
        v, left, right = families(tree, nodes)
        surplus, certain = mean[v] - below[0][v], below[1][v] - spread[v]
        for child in (left, right):
            share = np.asarray(np.linalg.solve(below[1][v], spread[child]), dtype=np.float64)
            share = share.transpose(0, 2, 1)
            mean[child] += _times(share, surplus)
            spread[child] -= share @ certain @ share.transpose(0, 2, 1)
    return mean[tree.leaves], spread[tree.leaves]


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.einsum("cst,ct->cs", matrices, vectors))


@dataclass(frozen=True, eq=False)
class Joined:
    """All levels' counts of the finest cells: ``counts`` ``(cells, slots)`` of ``n`` holders.

    ``noise``, ``(cells, slots, slots)``, is their covariance; see ``QuestionCounts``.
    """

    counts: Floats
    noise: Floats
    n: int
    holders_per_record: float

    @classmethod
    def of(cls, tree: Partition, questions: Sequence[QuestionCounts]) -> "Joined":
        """The questions' counts, as shares of all their reports."""
        n = sum(question.n for question in questions)
        shares, covariance = combined(tree, [Level.of(tree, each) for each in questions])
        holders_per_record = max(question.holders_per_record for question in questions)
        return cls(shares * n, covariance * n**2, n, holders_per_record)


def nested(name: str, evidence: Sequence[QuestionCounts]) -> list[QuestionCounts]:
    """The questions that were answered, the one with the most cells first; at least one.

    Raises ``InvalidRequest`` for a question that asks for the cell alone, and for numbers told
    around the centres of one level, which say nothing that adds up to those of another.
    """
    if any(question.mechanism.slots == 1 for question in evidence):
        raise InvalidRequest(
            f"{name} needs every question to ask for the label, and one here asks for the cell "
            "alone: fit histogram or adjusted_histogram."
        )
    ordered = sorted(evidence, key=lambda question: -question.partition.cells)
    answered = [question for question in ordered if question.n] or ordered[:1]
    if len(answered) > 1 and any(q.centred for q in answered):
        raise InvalidRequest(
            f"{name} cannot join several questions whose numbers are told around centres: "
            "create the task with centred set to false."
        )
    return answered


def reports_of(questions: Sequence[QuestionCounts]) -> int:
    """How many holders answered: each of them all questions if these have equally many answers."""
    answers = [question.n for question in questions]
    return answers[0] if len(set(answers)) == 1 else sum(answers)
