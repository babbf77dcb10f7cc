"""CART partitions: scikit-learn's best splits, in the protocol's own form."""

from privet.protocol.partition import Partition

from ..core.growth import Growth, check_cells
from ..core.sklearn_trees import from_sklearn


def cart(growth: Growth) -> Partition:
    """The best threshold on any column (Breiman et al. 1984); cells are scikit-learn's leaves.

    Splits are by Gini's index for classes and by variance for numbers. A cell always holds a public
    record, so ``min_leaf=0`` means 1.
    """
    X, depth, min_leaf = growth.X, growth.spec.depth, growth.spec.min_leaf
    check_cells(depth, len(X), max(min_leaf, 1) if min_leaf >= 0 else min_leaf)
    if depth == 0:
        return Partition.root(X.shape[1])
    # scikit-learn takes seconds to import, which only growing such a tree should cost
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    model = DecisionTreeClassifier if growth.classes else DecisionTreeRegressor
    fitted = model(
        max_depth=depth,
        min_samples_leaf=max(min_leaf, 1),
        random_state=int(growth.rng.integers(2**31)),
    ).fit(X, growth.y)
    return from_sklearn(fitted)
