"""The conditions that define a node of a partition, in the features' own units."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Literal

from .features import Categorical, Column, Numeric, number_text
from .partition import Partition

Relation = Literal["<", ">=", "<=", ">", "is", "is not"]
IN_WORDS: dict[Relation, str] = {
    "<": "is below",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is above",
    "is": "is",
    "is not": "is not",
}
SIGNS: dict[Relation, str] = {">=": "≥", "<=": "≤"}
TURNED: dict[Relation, str] = {">=": "≤", ">": "<"}
"""The sign of a lower bound that stands before its feature."""
LONGEST_NAME = 44
"""Characters of a question with which pages name a feature; longer ones lose their middle."""
SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)


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
        """The condition under which records go ``left`` (or else right) at an inner node."""
        column = columns[int(partition.feature[node])]
        feature = column.feature
        if not isinstance(feature, Numeric):
            return cls(feature, "is not" if left else "is", str(column.category))
        threshold, width = float(partition.threshold[node]), feature.high - feature.low
        at = _readable(feature.low + threshold * width, width)
        if at % 1 == 0 and width and (at - feature.low) / width < threshold:  # itself goes left
            return cls(feature, "<=" if left else ">", at)
        return cls(feature, "<" if left else ">=", at)

    def __str__(self) -> str:
        return f"{self.feature.name} {self.relation} {self.bound}"

    def readable(self, names: Mapping[str, str]) -> str:
        """As pages show it, by ``readable_names``: ``age ≥ 37.5``; of two categories the one that
        it is."""
        name = names[self.feature.name]
        if self.relation == "is not" and isinstance(self.feature, Categorical):
            others = [category for category in self.feature.categories if category != self.value]
            if len(others) == 1:
                return f"{name} is {others[0]}"
        return f"{name} {SIGNS.get(self.relation, self.relation)} {self.bound}"

    @property
    def in_words(self) -> str:
        """Such as ``age is at least 37.5``."""
        return f"{self.feature.name} {IN_WORDS[self.relation]} {self.bound}"

    @property
    def bound(self) -> str:
        """The number or category as text."""
        return self.value if isinstance(self.value, str) else number_text(self.value)


def conditions_at(partition: Partition, columns: tuple[Column, ...], node: int) -> list[Condition]:
    """The simplified conditions on the path to ``node``, grouped by feature.

    Of a number the closest bounds, the lower one first; of a category what it is, if only one is
    left, and else what it is not. None for the root. Splits that send all records one way say
    nothing. Of whole numbers below 1e15 nothing false is said.
    """
    of_features: dict[str, list[Condition]] = {}
    for condition in _path(partition, columns, node):
        of_features.setdefault(condition.feature.name, []).append(condition)
    return [condition for said in of_features.values() for condition in _in_short(said)]


def readable_names(columns: tuple[Column, ...]) -> dict[str, str]:
    """Each feature's name for people: its question in quotes, short, or what the task calls it
    where it has none or another one's looks the same."""
    features = {column.feature.name: column.feature for column in columns}
    asked = {name: _short(of.prompt) for name, of in features.items() if of.prompt}
    often = Counter(asked.values())
    return {
        name: f"“{asked[name]}”" if name in asked and often[asked[name]] == 1 else name
        for name in features
    }


def _short(question: str) -> str:
    """A question without its middle words, if it is longer than ``LONGEST_NAME``."""
    if len(question) <= LONGEST_NAME:
        return question
    half = LONGEST_NAME // 2 - 1
    begin, end = question[: half + 1], question[-half - 1 :]
    begin = begin.rpartition(" ")[0] or begin[:-1]
    return f"{begin.rstrip()} … {(end.partition(' ')[2] or end[1:]).lstrip()}"


def in_ranges(said: Sequence[Condition], names: Mapping[str, str]) -> list[str]:
    """Conditions as pages show them, with both bounds of a number in one: ``28 ≤ age < 40``.

    A lower bound stands right before the upper one of the same feature, as in ``conditions_at``.
    """
    texts: list[str] = []
    before: Condition | None = None
    for each in said:
        if before and before.feature == each.feature and before.relation in TURNED:
            texts[-1] = f"{before.bound} {TURNED[before.relation]} {each.readable(names)}"
        else:
            texts.append(each.readable(names))
        before = each
    return texts


def _in_short(said: list[Condition]) -> list[Condition]:
    """The fewest conditions that say the same of one feature."""
    feature = said[0].feature
    if isinstance(feature, Numeric):
        said = sorted(said, key=lambda each: (each.value, each.relation in ("<=", ">")))
        lower = [each for each in said if each.relation in (">=", ">")]
        upper = [each for each in said if each.relation in ("<", "<=")]
        return lower[-1:] + upper[:1]
    left = [
        category
        for category in feature.categories
        if all((category == each.value) == (each.relation == "is") for each in said)
    ]
    return [Condition(feature, "is", left[0])] if len(left) == 1 else list(dict.fromkeys(said))


def _readable(value: float, width: float) -> float:
    """Six digits, or one decimal from 1e5 on; 0 for the noise of rounding."""
    if abs(value) < min(1e-7 * width, 0.005):
        return 0.0
    if abs(value) < 1e5:
        return float(SIX_DIGITS.plus(Decimal(value)))
    if abs(value) < 1e15:
        return float(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP))
    return value


def _path(partition: Partition, columns: tuple[Column, ...], node: int) -> Iterator[Condition]:
    parent = int(partition.parent[node])
    if parent < 0:
        return
    yield from _path(partition, columns, parent)
    feature = columns[int(partition.feature[parent])].feature
    flat = isinstance(feature, Numeric) and feature.low == feature.high
    if 0.0 < partition.threshold[parent] <= 1.0 and not flat:
        yield Condition.of(partition, columns, parent, int(partition.left[parent]) == node)
