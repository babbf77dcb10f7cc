"""The account of what tasks disclose: how finely their strata together sort people.

A task's strata come from its splits on disclosed columns. Whatever the record, the strata of
several tasks tell at most the logarithm of how many combinations of them there are. Two bounds of
that are kept, and the smaller one is charged: the sum over different trees of log2(strata); and the
sum over different columns of log2(1 + cuts), since k cuts sort the values of one column into k + 1
parts. A column is its whole declaration: another range, unit, list or stand-in may sort people
otherwise.

The charge is a task's and not a record's, so that no later refusal depends on a record.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from privet.protocol.partition import LEAF, Partition
from privet.protocol.task import Task


@dataclass(frozen=True)
class DisclosedSplits:
    """The splits of a task on disclosed columns; ``tree`` is equal for equal trees of them."""

    tree: str
    strata: int
    cuts: Mapping[str, Set[str]]
    """Cuts by the digest of the column that they go through."""

    @property
    def text(self) -> str:
        """The cuts as JSON."""
        return json.dumps({column: sorted(cuts) for column, cuts in self.cuts.items()})

    @classmethod
    def read(cls, tree: str, strata: int, text: str) -> "DisclosedSplits":
        """Splits whose cuts are ``text``."""
        cuts = {column: frozenset(each) for column, each in json.loads(text).items()}
        return cls(tree, strata, cuts)


def splits_of(task: Task) -> DisclosedSplits | None:
    """The disclosed splits of ``task``; None if it discloses no column."""
    if task.strata is None:
        return None
    names = {column: _digest(column.feature.model_dump_json()) for column in task.columns}
    strata = set(task.strata.nodes.tolist())
    cuts: dict[str, set[str]] = defaultdict(set)

    def walk(tree: Partition, node: int) -> Any:
        if node in strata or tree.left[node] == LEAF:
            return None
        column = task.columns[tree.feature[node]]
        cut = column.cut(float(tree.threshold[node]))
        cuts[names[column]].add(cut)
        below = [walk(tree, int(child)) for child in (tree.left[node], tree.right[node])]
        return [names[column], cut, *below]

    tree = json.dumps(walk(task.tree_of(0), 0))
    return DisclosedSplits(_digest(tree), len(strata), dict(cuts))


def disclosed_bits(disclosed: Iterable[DisclosedSplits]) -> float:
    """The most bits that strata by these splits tell of one record, all together."""
    strata: dict[str, int] = {}
    cuts: dict[str, set[str]] = defaultdict(set)
    for splits in disclosed:
        strata[splits.tree] = splits.strata
        for column, through in splits.cuts.items():
            cuts[column] |= through
    by_tree = sum(math.log2(each) for each in strata.values())
    return min(by_tree, sum(math.log2(1 + len(each)) for each in cuts.values()))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
