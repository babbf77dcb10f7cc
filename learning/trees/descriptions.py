"""The splits of a partition in the features' own units, for people to read."""

from itertools import pairwise

from privet.protocol.features import Column, Numeric
from privet.protocol.partition import Partition


def describe_split(partition: Partition, columns: tuple[Column, ...], node: int, left: bool) -> str:
    """The condition under which records go ``left`` (or else right) at an inner node.

    In the features' own units: ``age < 37.5``, ``age >= 37.5``, ``occupation is not farming``.
    """
    column = columns[int(partition.feature[node])]
    feature = column.feature
    if not isinstance(feature, Numeric):
        return f"{feature.name} is {'not ' if left else ''}{column.category}"
    at = feature.low + float(partition.threshold[node]) * (feature.high - feature.low)
    return f"{feature.name} {'<' if left else '>='} {at:.6g}"


def describe_path(partition: Partition, columns: tuple[Column, ...], cell: int) -> list[str]:
    """The conditions on the path from the root to a cell; empty if there is one cell."""
    return describe_node(partition, columns, int(partition.leaves[cell]))


def describe_node(partition: Partition, columns: tuple[Column, ...], node: int) -> list[str]:
    """The conditions on the path from the root to a node; empty for the root."""
    return [
        describe_split(partition, columns, parent, int(partition.left[parent]) == child)
        for parent, child in pairwise(path_to(partition, node))
    ]


def path_to(partition: Partition, node: int) -> list[int]:
    """The nodes from the root to ``node``, both included."""
    path = [node]
    while path[-1]:
        path.append(int(partition.parent[path[-1]]))
    return path[::-1]
