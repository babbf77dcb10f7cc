"""Random forests and extra trees, scikit-learn's to the last bit.

Its ``fit`` checks and copies every tree for itself, which of a thousand rows takes as long as half
of the trees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..core.public_data import Floats, Single
from ..core.sklearn_trees import depth_first_tree

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree


@dataclass(frozen=True, eq=False)
class Forest:
    """Fitted ``trees`` and the ``classes_`` that they know, none if they predict a number."""

    trees: "list[Tree]"
    classes_: Floats

    def predict(self, X: Floats) -> Floats:
        """The trees' mean probabilities of the classes, or number: ``(rows, values)``."""
        single, total = X.astype(np.float32), np.zeros((len(X), max(len(self.classes_), 1)))
        for tree in self.trees:
            total += tree.predict(single)
        return total / len(self.trees)


@dataclass(frozen=True)
class ForestMaker:
    """Fits scikit-learn's forests of ``trees`` trees with at least ``leaf`` rows in each leaf.

    With ``extra`` they are its extra trees, else each tree has ``drawn`` rows drawn anew, by
    default as many as there are. A split tries the square root of the columns for classes, and all
    for ``numbers``, which are scikit-learn's defaults.
    """

    trees: int
    leaf: int
    extra: bool
    numbers: bool
    drawn: int | None = None

    def fit(self, X: Floats, y: Floats) -> Forest:
        """The forest of rows ``X`` without gaps, and of class indices or numbers ``y``."""
        single = np.ascontiguousarray(X, dtype=np.float32)
        classes = np.zeros(0) if self.numbers else np.unique(y)
        targets = y if self.numbers else np.searchsorted(classes, y)
        Y = np.ascontiguousarray(targets, dtype=np.float64)[:, None]
        return Forest(list(self._grown(single, Y, classes)), classes)

    def _grown(self, X: Single, Y: Floats, classes: Floats) -> "Iterator[Tree]":
        rows, columns = X.shape
        tried = columns if self.numbers else max(1, int(np.sqrt(columns)))
        shape = {"tried": tried, "leaf": self.leaf, "classes": len(classes)}
        for seed in np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=self.trees):
            times = None
            if not self.extra:  # that each row is drawn
                drawn = np.random.RandomState(seed).randint(0, rows, self.drawn or rows)
                times = np.bincount(drawn, minlength=rows).astype(np.float64)
            yield depth_first_tree(X, Y, times, seed, extra=self.extra, **shape)
