"""Random trees, and what lies below their nodes."""

import numpy as np

from privet.protocol.partition import LEAF, Partition
from tests.naive import path_to


def random_tree(seed: int, cells: int) -> Partition:
    """A random binary tree with this many cells, over three columns."""
    rng = np.random.default_rng(seed)
    feature, threshold, left, right = [LEAF], [0.0], [LEAF], [LEAF]
    for _ in range(cells - 1):
        node = int(rng.choice([v for v in range(len(left)) if left[v] == LEAF]))
        feature[node], threshold[node] = int(rng.integers(3)), float(rng.random())
        left[node], right[node] = len(left), len(left) + 1
        feature += [LEAF, LEAF]
        threshold += [0.0, 0.0]
        left += [LEAF, LEAF]
        right += [LEAF, LEAF]
    return Partition.build(3, feature, threshold, left, right)


def cells_below(tree: Partition, node: int) -> list[int]:
    """The cells whose path goes through ``node``."""
    return [cell for cell in range(tree.cells) if node in path_to(tree, cell)]
