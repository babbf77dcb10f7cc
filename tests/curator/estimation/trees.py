"""Slow, obvious twins: all prunings of a small tree, one by one."""

from collections.abc import Iterator

import numpy as np

from privet.protocol.partition import LEAF, Partition


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


def prunings(tree: Partition, node: int, split: float) -> Iterator[tuple[float, list[int]]]:
    """Every pruning below ``node``: its prior probability and the nodes it stops at."""
    if tree.left[node] == LEAF:
        yield 1.0, [node]
        return
    yield 1.0 - split, [node]
    for chance_left, left in prunings(tree, int(tree.left[node]), split):
        for chance_right, right in prunings(tree, int(tree.right[node]), split):
            yield split * chance_left * chance_right, left + right


def cells_below(tree: Partition, node: int) -> list[int]:
    """The cells whose path goes through ``node``."""
    return [cell for cell in range(tree.cells) if node in tree.path(cell)]
