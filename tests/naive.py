"""Slow, obvious twins of the fast code: everything by trying all, in exact arithmetic."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

LEAF = -1


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
    criterion: str,
    min_leaf: int,
) -> Tree:
    """LPCT's Algorithm 1, cell by cell, box by box, with exact scores."""
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
                    labels = [y[i] for i in left], [y[i] for i in right]
                    tried.append((score(criterion, *labels), -k, middle, left, right))
            _, minus_k, middle, left, right = max(tried, key=lambda t: t[:2])
            if min(len(left), len(right)) < min_leaf:
                continue
            k = -minus_k
            tree.feature[node], tree.threshold[node] = k, middle
            tree.left[node], tree.right[node] = tree.add_leaf(), tree.add_leaf()
            following.append((tree.left[node], low, replaced(high, k, middle), left))
            following.append((tree.right[node], replaced(low, k, middle), high, right))
        level = following
    return tree


def score(criterion: str, left: Sequence[float], right: Sequence[float]) -> Fraction:
    """A number that grows with the impurity that a split removes from its node."""
    return {"gini": _gini, "entropy": _entropy, "variance": _variance}[criterion](left, right)


def replaced(corner: list[float], k: int, value: float) -> list[float]:
    return [*corner[:k], value, *corner[k + 1 :]]


def _gini(left: Sequence[float], right: Sequence[float]) -> Fraction:
    """Minus the Gini impurity, weighted by rows."""
    return sum(
        (
            Fraction(sum(c * c for c in Counter(side).values()), len(side)) - len(side)
            for side in (left, right)
            if side
        ),
        Fraction(0),
    )


def _entropy(left: Sequence[float], right: Sequence[float]) -> Fraction:
    """exp of minus the entropy weighted by rows: the product of (a_c / n) ** a_c."""
    return prod(
        (
            Fraction(count, len(side)) ** count
            for side in (left, right)
            for count in Counter(side).values()
        ),
        start=Fraction(1),
    )


def _variance(left: Sequence[float], right: Sequence[float]) -> Fraction:
    """Minus the sum of squared errors around each side's mean."""
    total = Fraction(0)
    for side in (left, right):
        labels = [Fraction(label) for label in side]
        mean = sum(labels, Fraction(0)) / max(len(labels), 1)
        total -= sum(((label - mean) ** 2 for label in labels), Fraction(0))
    return total
