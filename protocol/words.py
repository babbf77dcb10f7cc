"""A partition's splits in words, in the features' own units, so that a person can read them."""

from itertools import pairwise

from protocol.domain import Numeric
from protocol.encoding import Column
from protocol.partition import Partition


def describe_split(partition: Partition, columns: tuple[Column, ...], node: int, left: bool) -> str:
    """What is true of the records that go ``left`` (or else right) at an inner node.

    For example ``age < 37.5``, ``age >= 37.5``, ``occupation is not farming``.
    """
    column = columns[int(partition.feature[node])]
    if isinstance(column.feature, Numeric):
        at = _in_units(column.feature, float(partition.threshold[node]))
        return f"{column.feature.name} {'<' if left else '>='} {at:.6g}"
    return f"{column.feature.name} is {'not ' if left else ''}{column.category}"


def describe_path(partition: Partition, columns: tuple[Column, ...], cell: int) -> list[str]:
    """The splits from the root to a cell, each in words; empty for the undivided space."""
    path = partition.path(cell)
    return [
        describe_split(partition, columns, node, left=int(partition.left[node]) == child)
        for node, child in pairwise(path)
    ]


def _in_units(feature: Numeric, threshold: float) -> float:
    return feature.low + threshold * (feature.high - feature.low)
