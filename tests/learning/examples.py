"""Small partitions, public data and reports that the estimation tests share."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.growth import GrowthSpec
from privet.learning.core.public_data import PublicData
from privet.learning.core.public_model import BaseModel, Linear, Link
from privet.learning.methods import GROWERS
from privet.learning.simulation import simulate_sums
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import LEAF, Partition
from tests import naive

BINARY = Classes(name="y", classes=("no", "yes"))
THREE = Classes(name="y", classes=("a", "b", "c"))
NUMBER = Range(name="y", low=-2.0, high=6.0)
LABELS: dict[str, Classes | Range] = {"binary": BINARY, "three": THREE, "number": NUMBER}
REPORTS_ALONE: dict[str, Any] = {"weight": 0.0, "counts": "unbiased"}
PUBLIC_ALONE: dict[str, Any] = {"weight": math.inf}
"""Parameters of ``weighted``: the ends of eq. 8."""
EVERY_LABEL = pytest.mark.parametrize("label", LABELS.values(), ids=LABELS)


def complete(depth: int, columns: int = 2) -> Partition:
    """The complete tree of midpoint splits, columns in turn: ``2**depth`` cells."""
    X, y = np.zeros((2, columns)), np.arange(2.0)  # which tell no split from another
    return GROWERS["max_edge"](X, y, GrowthSpec(depth=depth), classes=2)


def reports(
    partition: Partition,
    counts: np.ndarray,
    epsilon: float,
    seed: int,
    mechanism: str = "subset",
    regression: bool = False,
    strata: tuple[int, ...] = (),
    misfits: int = 0,
) -> QuestionCounts:
    """What holders with these true ``(cells, slots)`` counts would have reported."""
    counts = np.asarray(counts, dtype=np.int64)
    randomizer = create_mechanism(
        mechanism, epsilon, *counts.shape, regression=regression, strata=strata
    )
    sums = simulate_sums(randomizer, counts, np.random.default_rng(seed), misfits)
    return QuestionCounts(partition, randomizer, sums, int(counts.sum()) + misfits)


def unasked(question: QuestionCounts) -> QuestionCounts:
    """The question before its first report."""
    return replace(question, sums=np.zeros_like(question.sums), n=0)


def linear_model(coefficients: object, intercept: object, link: Link = "softmax") -> BaseModel:
    """A public model that is one linear map, ``(columns, S)`` and ``(S,)``."""
    part = Linear(link, np.array(coefficients, dtype=float), np.array(intercept, dtype=float))
    return BaseModel("linear", (part,), (1.0,))


def public_rows(label: Classes | Range, rows: int, seed: int, columns: int = 2) -> PublicData:
    """Uniform rows whose label leans to the last class, or up, with the first column."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, columns))
    if isinstance(label, Range):
        t = np.clip(0.2 + 0.6 * X[:, 0] + 0.1 * rng.standard_normal(rows), 0.0, 1.0)
        return PublicData(X, label.low + t * (label.high - label.low))
    lean = 0.2 + 0.6 * X[:, 0]
    other = rng.integers(label.slots - 1, size=rows)
    return PublicData(X, np.where(rng.random(rows) < lean, label.slots - 1, other).astype(float))


def random_tree(seed: int, cells: int, *, deep: bool = False) -> Partition:
    """A random binary tree with this many cells, over three columns.

    A ``deep`` one splits only leaves made last, so that some paths are long and some short.
    """
    rng, tree = np.random.default_rng(seed), naive.Tree()
    for _ in range(cells - 1):
        leaves = [node for node, child in enumerate(tree.left) if child == LEAF]
        node = int(rng.choice(leaves[-2:] if deep else leaves))
        tree.feature[node], tree.threshold[node] = int(rng.integers(3)), float(rng.random())
        tree.left[node], tree.right[node] = tree.add_leaf(), tree.add_leaf()
    return Partition.build(3, tree.feature, tree.threshold, tree.left, tree.right)
