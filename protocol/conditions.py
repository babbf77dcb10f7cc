"""The conditions that define a node of a partition, in the features' own units."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .features import Column, Condition
from .partition import Partition

ENDS_A_QUESTION = ("?", ":", "？", "…")
"""Signs behind which no colon stands."""
LONGEST_NAME = 44
"""Characters of a question with which pages name a feature; longer ones lose their middle."""


def condition_of(
    partition: Partition, columns: tuple[Column, ...], node: int, *, left: bool
) -> Condition:
    """The condition under which records go ``left`` (or else right) at an inner node."""
    column = columns[int(partition.feature[node])]
    return column.condition(float(partition.threshold[node]), left=left)


def conditions_at(partition: Partition, columns: tuple[Column, ...], node: int) -> list[Condition]:
    """The simplified conditions on the path to ``node``, grouped by feature.

    Of a number the closest bounds, the lower one first; of a category what it is, if only one is
    left, and else what it is not. None for the root. Splits that send all records one way say
    nothing. Of whole numbers below 1e15 nothing false is said.
    """
    of_features: dict[str, list[Condition]] = {}
    for condition in _path(partition, columns, node):
        of_features.setdefault(condition.feature.name, []).append(condition)
    return [each for said in of_features.values() for each in said[0].feature.in_short(said)]


def readable_names(columns: tuple[Column, ...]) -> dict[str, str]:
    """Each feature's name for people: its question, short, or what the task calls it where it has
    none or another one's looks the same."""
    features = {column.feature.name: column.feature for column in columns}
    asked = {name: _short(of.prompt) for name, of in features.items() if of.prompt}
    often = Counter(asked.values())
    return {
        name: asked[name] if name in asked and often[asked[name]] == 1 else name
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


def conditions_in_words(said: Sequence[Condition], names: Mapping[str, str]) -> list[str]:
    """Conditions as pages show them, by ``readable_names``: a text for each feature, such as
    ``How old are you? 28.5 to under 40.5 years`` and ``work: farm or shop``."""
    of_features: dict[str, list[Condition]] = {}
    for each in said:
        of_features.setdefault(each.feature.name, []).append(each)
    return [
        answered(names[name], each[0].feature.answers_in_words(each))
        for name, each in of_features.items()
    ]


def answered(name: str, answer: str) -> str:
    """An answer behind what was asked."""
    return f"{name}{'' if name.endswith(ENDS_A_QUESTION) else ':'} {answer}"


def _path(partition: Partition, columns: tuple[Column, ...], node: int) -> Iterator[Condition]:
    parent = int(partition.parent[node])
    if parent < 0:
        return
    yield from _path(partition, columns, parent)
    column = columns[int(partition.feature[parent])]
    if column.splits(float(partition.threshold[parent])):
        yield condition_of(partition, columns, parent, left=int(partition.left[parent]) == node)
