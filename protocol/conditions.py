"""What a node of a partition says of its records, as conditions in the features' own units."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .features import Categorical, Column, Numeric
from .partition import Partition

Relation = Literal["<", ">=", "is", "is not"]
IN_WORDS: dict[Relation, str] = {
    "<": "is below",
    ">=": "is at least",
    "is": "is",
    "is not": "is not",
}


@dataclass(frozen=True)
class Condition:
    """One such as ``age >= 37.5`` or ``occupation is not farming``."""

    feature: Numeric | Categorical
    relation: Relation
    value: float | str

    @classmethod
    def of(
        cls, partition: Partition, columns: tuple[Column, ...], node: int, left: bool
    ) -> "Condition":
        """That under which records go ``left`` (or else right) at an inner node."""
        column = columns[int(partition.feature[node])]
        feature = column.feature
        if not isinstance(feature, Numeric):
            return cls(feature, "is not" if left else "is", str(column.category))
        at = feature.low + float(partition.threshold[node]) * (feature.high - feature.low)
        return cls(feature, "<" if left else ">=", at)

    def __str__(self) -> str:
        return f"{self.feature.name} {self.relation} {self._value}"

    @property
    def in_words(self) -> str:
        """Such as ``age is at least 37.5``."""
        return f"{self.feature.name} {IN_WORDS[self.relation]} {self._value}"

    @property
    def _value(self) -> str:
        return self.value if isinstance(self.value, str) else f"{self.value:.6g}"

    def follows_from(self, other: "Condition") -> bool:
        """Whether it holds wherever ``other`` does, which is about the same feature."""
        if self.feature != other.feature:
            return False
        match self.relation, other.relation:
            case ("<", "<"):
                return other.value <= self.value  # type: ignore[operator]
            case (">=", ">="):
                return other.value >= self.value  # type: ignore[operator]
            case ("is not", "is"):
                return self.value != other.value
        return self == other


def conditions_at(partition: Partition, columns: tuple[Column, ...], node: int) -> list[Condition]:
    """Those on the path from the root to a node, in order, but for what others of them imply.

    None for the root. Splits that send all records one way say nothing.
    """
    kept: list[Condition] = []
    for condition in _path(partition, columns, node):
        if not any(condition.follows_from(other) for other in kept):
            kept = [other for other in kept if not other.follows_from(condition)]
            kept.append(condition)
    return kept


def _path(partition: Partition, columns: tuple[Column, ...], node: int) -> Iterator[Condition]:
    parent = int(partition.parent[node])
    if parent < 0:
        return
    yield from _path(partition, columns, parent)
    feature = columns[int(partition.feature[parent])].feature
    flat = isinstance(feature, Numeric) and feature.low == feature.high
    if 0.0 < partition.threshold[parent] <= 1.0 and not flat:
        yield Condition.of(partition, columns, parent, int(partition.left[parent]) == node)
