"""Figures of groups of people: parts of the tree of which reports tell enough.

All people are divided at the tree's first ``SPLITS``, where the figures of one side or both are
known to ± ``TELLING`` of all that is possible. Groups are chosen by how wide intervals are, never
by what they say, and each interval is that of its node alone: 95 % of them hold, as of a group that
was named beforehand. Whether figures differ from the file's is tested for all of them together,
so that in 95 % of studies in which none does none is said to (Bonferroni).
"""

from collections.abc import Sequence
from functools import cache

from privet.protocol.features import Label

from ..core.amounts import tells_enough
from ..core.counts import QuestionCounts
from ..core.labels import kind_of
from ..core.looks import LEVEL
from ..core.public_data import PublicData
from .node_shares import BelowNodes, Share, consistent_masses
from .results import FigureInGroup, Group

SPLITS = 2
"""Splits that lead to a group, at most: more conditions are hard to read, and have few answers."""


def divide_people(
    label: Label,
    public: PublicData,
    question: QuestionCounts,
    selection: float,
    alone: QuestionCounts | None = None,
) -> tuple[Group, ...]:
    """The groups that the reports to a ``question`` about the label tell apart, in the order of the
    tree; none where they tell enough of all people alone.

    A figure is that of ``BelowNodes``, of two classes the headline's; a part of all people is that
    of ``consistent_masses``. ``selection`` is that of the model.
    """
    tree, kind = question.partition, kind_of(label)
    below = BelowNodes(label, public, question, alone)

    @cache
    def figures(node: int) -> Sequence[Share]:
        return below.shares(node).rows[kind.independent]

    def is_readable(node: int) -> bool:
        return all(
            tells_enough(of.reported.low, of.reported.high, label.span) for of in figures(node)
        )

    def divided(node: int, splits: int) -> list[int]:
        sides = [int(side[node]) for side in (tree.left, tree.right) if side[node] >= 0]
        readable = [side for side in sides if splits and is_readable(side)]
        if not readable:
            return [node]
        return [
            each
            for side in sides
            for each in (divided(side, splits - 1) if side in readable else [side])
        ]

    parts, chosen = consistent_masses(question), divided(0, SPLITS)
    if chosen == [0]:
        return ()
    level = LEVEL / (len(chosen) * kind.tests)
    return tuple(
        Group(
            node,
            parts[node].value,
            tuple(
                FigureInGroup(
                    of.name,
                    of.reported.value,
                    of.reported.low,
                    of.reported.high,
                    of.public,
                    p <= level,
                )
                for of, p in zip(
                    figures(node), below.p_values(node, selection)[kind.independent], strict=True
                )
            ),
        )
        for node in chosen
    )
