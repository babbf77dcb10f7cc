"""Random forests and extra trees: to the last bit those of scikit-learn's regression forests.

Trees are fitted one by one, since scikit-learn's forests clone and seed each, and to classes as
numbers, 0 or 1 for each, since its classifiers check labels tree by tree: for a few hundred rows
each takes as long as the tree. The squared error of such numbers is the Gini impurity over their
number, so the splits are a classifier's, up to rounding.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from ..core.public_data import Floats
from ..core.sklearn_trees import fit_unchecked


@dataclass(frozen=True, eq=False)
class Forest:
    """Fitted ``trees`` and the ``classes_`` that they know, none if they predict a number."""

    trees: list[DecisionTreeRegressor]
    classes_: Floats

    def predict(self, X: Floats) -> Floats:
        """The trees' mean probabilities of the classes, or number: ``(rows, values)``."""
        single, values = X.astype(np.float32), max(len(self.classes_), 1)
        total = np.zeros((len(X), values))
        for tree in self.trees:
            total += tree.tree_.predict(single).reshape(-1, values)
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
        kind = ExtraTreeRegressor if self.extra else DecisionTreeRegressor
        classes = np.zeros(0) if self.numbers else np.unique(y)
        targets = y[:, None] if self.numbers else (y[:, None] == classes).astype(np.float64)
        tried = 1.0 if self.numbers else "sqrt"
        single, rows = np.ascontiguousarray(X, dtype=np.float32), len(X)
        trees, random = [], np.random.RandomState(0)  # making one takes half of a small fit
        for seed in random.randint(np.iinfo(np.int32).max, size=self.trees):
            times = None
            if not self.extra:  # that each row is drawn
                random.seed(seed)
                drawn = random.randint(0, rows, self.drawn or rows)
                times = np.bincount(drawn, minlength=rows).astype(np.float64)
            random.seed(seed)
            tree = kind(max_features=tried, min_samples_leaf=self.leaf, random_state=random)
            trees.append(fit_unchecked(tree, single, targets, times))
        return Forest(trees, classes)
