"""Small partitions, public data and reports that the estimation tests share."""

import numpy as np

from privet.learning.counts import QuestionCounts
from privet.learning.public_data import PublicData
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import LEAF, Partition

BINARY = Classes(name="y", classes=("no", "yes"))
THREE = Classes(name="y", classes=("a", "b", "c"))
NUMBER = Range(name="y", low=-2.0, high=6.0)


def complete(depth: int, columns: int = 2) -> Partition:
    """The complete tree of midpoint splits, columns in turn: ``2**depth`` cells."""
    feature, threshold, left, right = [], [], [], []
    boxes = [(np.zeros(columns), np.ones(columns))]
    for node in range(2 ** (depth + 1) - 1):
        low, high = boxes[node]
        level = (node + 1).bit_length() - 1
        if level == depth:
            feature.append(LEAF)
            threshold.append(0.0)
            left.append(LEAF)
            right.append(LEAF)
            continue
        split = level % columns
        at = (low[split] + high[split]) / 2
        feature.append(split)
        threshold.append(at)
        left.append(2 * node + 1)
        right.append(2 * node + 2)
        below, above = high.copy(), low.copy()
        below[split] = above[split] = at
        boxes += [(low, below), (above, high)]
    return Partition.build(columns, feature, threshold, left, right)


def reports(
    partition: Partition,
    counts: np.ndarray,
    epsilon: float,
    seed: int,
    mechanism: str = "subset",
    regression: bool = False,
) -> QuestionCounts:
    """What holders with these true ``(cells, slots)`` counts would have reported."""
    counts = np.asarray(counts, dtype=np.int64)
    randomizer = create_mechanism(mechanism, epsilon, *counts.shape, regression=regression)
    sums = randomizer.simulate(counts, np.random.default_rng(seed))
    return QuestionCounts(partition, randomizer, sums, int(counts.sum()))


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
