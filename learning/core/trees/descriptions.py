"""The splits of a partition in the features' own units, for people to read."""

from collections.abc import Sequence

from privet.protocol.conditions import conditions_at, conditions_in_words, readable_names
from privet.protocol.features import Column
from privet.protocol.partition import Partition


def describe_path(partition: Partition, columns: tuple[Column, ...], cell: int) -> list[str]:
    """The conditions that define a cell, as ``describe_node``; empty if there is one cell."""
    return describe_node(partition, columns, int(partition.leaves[cell]))


def readable_path(partition: Partition, columns: tuple[Column, ...], node: int) -> list[str]:
    """The conditions of ``describe_node`` in words: by the questions that people read, a text for
    each."""
    return conditions_in_words(conditions_at(partition, columns, node), readable_names(columns))


def name_of_group(path: Sequence[str]) -> str:
    """A group of people as pages and sentences name it, by its ``readable_path``."""
    return " · ".join(path) or "everybody"


def describe_node(partition: Partition, columns: tuple[Column, ...], node: int) -> list[str]:
    """The conditions from the root to a node, less those that others imply; none for the root."""
    return [str(condition) for condition in conditions_at(partition, columns, node)]


def path_to(partition: Partition, node: int) -> list[int]:
    """The nodes from the root to ``node``, both included."""
    path = [node]
    while path[-1]:
        path.append(int(partition.parent[path[-1]]))
    return path[::-1]
