"""A partition's splits in words, in the features' own units, so that a person can read them."""

from collections.abc import Iterator
from itertools import pairwise

from privet.protocol.encoding import Column
from privet.protocol.features import Categorical, Numeric
from privet.protocol.partition import Partition

Columns = tuple[Column, ...]


def describe_split(partition: Partition, columns: Columns, node: int, left: bool) -> str:
    """What is true of the records that go ``left`` (or else right) at an inner node.

    For example ``age < 37.5``, ``age >= 37.5``, ``occupation is not farming``.
    """
    column = columns[int(partition.feature[node])]
    if isinstance(column.feature, Numeric):
        return (
            f"{column.feature.name} {'<' if left else '>='} {_threshold(partition, node, column)}"
        )
    return f"{column.feature.name} is {'not ' if left else ''}{column.category}"


def describe_path(partition: Partition, columns: Columns, cell: int) -> list[str]:
    """The splits from the root to a cell, each in words; empty for the undivided space."""
    return [
        describe_split(partition, columns, node, left) for node, left in _turns(partition, cell)
    ]


def describe_cell(partition: Partition, columns: Columns, cell: int) -> list[str]:
    """A cell in as few words as its path allows: one entry per feature, in the task's order.

    For example ``20 <= age < 37.5``, ``occupation is not farming, student``. Empty for the
    undivided space.
    """
    turns: dict[str, list[tuple[int, bool]]] = {}
    for node, left in _turns(partition, cell):
        name = columns[int(partition.feature[node])].feature.name
        turns.setdefault(name, []).append((node, left))
    features = dict.fromkeys(column.feature for column in columns)
    return [
        _interval(partition, columns, turns[feature.name])
        if isinstance(feature, Numeric)
        else _categories(partition, columns, turns[feature.name])
        for feature in features
        if feature.name in turns
    ]


def _turns(partition: Partition, cell: int) -> Iterator[tuple[int, bool]]:
    """Each inner node on the way to a cell, and whether the way goes left there."""
    for node, child in pairwise(partition.path(cell)):
        yield node, int(partition.left[node]) == child


def _interval(partition: Partition, columns: Columns, turns: list[tuple[int, bool]]) -> str:
    """The tightest bounds: the highest threshold passed on the right, the lowest on the left."""
    by_height = sorted(turns, key=lambda turn: float(partition.threshold[turn[0]]))
    column = columns[int(partition.feature[turns[0][0]])]
    low = [_threshold(partition, node, column) for node, left in by_height if not left][-1:]
    high = [_threshold(partition, node, column) for node, left in by_height if left][:1]
    name = column.feature.name
    if not low:
        return f"{name} < {high[0]}"
    return f"{low[0]} <= {name} < {high[0]}" if high else f"{name} >= {low[0]}"


def _categories(partition: Partition, columns: Columns, turns: list[tuple[int, bool]]) -> str:
    """The category if one is certain, else those that are excluded."""
    named = [(str(columns[int(partition.feature[node])].category), left) for node, left in turns]
    name = columns[int(partition.feature[turns[0][0]])].feature.name
    certain = [category for category, left in named if not left]
    if certain:
        return f"{name} is {certain[0]}"
    return f"{name} is not {', '.join(dict.fromkeys(category for category, _ in named))}"


def _threshold(partition: Partition, node: int, column: Column) -> str:
    """The threshold of a node in the units of its numeric feature."""
    feature = column.feature
    if isinstance(feature, Categorical):
        msg = f"{feature.name!r} has categories, not thresholds"
        raise TypeError(msg)
    encoded = float(partition.threshold[node])
    return f"{feature.low + encoded * (feature.high - feature.low):.6g}"
