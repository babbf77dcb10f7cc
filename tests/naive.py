"""Slow, obvious twins of the fast code: everything by trying all, box by box."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from privet.protocol.partition import Partition

LEAF = -1
TIE = 1e-9
"""Part of a node's impurity by which the scores of two splits may differ and yet be equal."""


@dataclass
class Tree:
    """The arrays of a partition as lists."""

    feature: list[int] = field(default_factory=lambda: [LEAF])
    threshold: list[float] = field(default_factory=lambda: [0.0])
    left: list[int] = field(default_factory=lambda: [LEAF])
    right: list[int] = field(default_factory=lambda: [LEAF])

    def add_leaf(self) -> int:
        self.feature.append(LEAF)
        self.threshold.append(0.0)
        self.left.append(LEAF)
        self.right.append(LEAF)
        return len(self.feature) - 1


def max_edge(
    X: Sequence[Sequence[float]],
    y: Sequence[float],
    depth: int,
    classes: int,
    min_leaf: int,
) -> Tree:
    """LPCT's Algorithm 1, cell by cell, box by box; of equal splits the smallest index."""
    columns = len(X[0])
    tree = Tree()
    level = [(0, [0.0] * columns, [1.0] * columns, list(range(len(X))))]
    for _ in range(depth):
        following = []
        for node, low, high, rows in level:
            longest = max(high[k] - low[k] for k in range(columns))
            tried = []
            for k in range(columns):
                if high[k] - low[k] == longest:
                    middle = (low[k] + high[k]) / 2
                    left = [i for i in rows if X[i][k] < middle]
                    right = [i for i in rows if X[i][k] >= middle]
                    after = sum(impurity([y[i] for i in side], classes) for side in (left, right))
                    tried.append((after, k, middle, left, right))
            near = TIE * impurity([y[i] for i in rows], classes)
            least = min(split[0] for split in tried)
            _, k, middle, left, right = next(s for s in tried if s[0] <= least + near)
            if min(len(left), len(right)) < min_leaf:
                continue
            tree.feature[node], tree.threshold[node] = k, middle
            tree.left[node], tree.right[node] = tree.add_leaf(), tree.add_leaf()
            following.append((tree.left[node], low, replaced(high, k, middle), left))
            following.append((tree.right[node], replaced(low, k, middle), high, right))
        level = following
    return tree


def impurity(labels: Sequence[float], classes: int) -> float:
    """Rows times the impurity of a node: Gini's for classes, the variance for numbers."""
    n, counts = len(labels), Counter(labels).values()
    if not n:
        return 0.0
    if classes:
        return float(n - Fraction(sum(count * count for count in counts), n))
    values = [Fraction(label) for label in labels]
    mean = sum(values, Fraction(0)) / n
    return float(sum((value - mean) ** 2 for value in values))


def replaced(corner: list[float], k: int, value: float) -> list[float]:
    return [*corner[:k], value, *corner[k + 1 :]]


def path_to(partition: Partition, cell: int) -> list[int]:
    """The nodes from the root to a cell, both included."""
    path = [int(partition.leaves[cell])]
    while path[0]:
        path.insert(0, int(partition.parent[path[0]]))
    return path
