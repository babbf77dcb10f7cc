"""Random trees."""

import numpy as np

from privet.protocol.partition import LEAF, Partition
from tests import naive


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
