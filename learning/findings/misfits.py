"""Strata of disclosed columns in which records that do not fit gather, in words."""

import numpy as np

from privet.protocol.conditions import conditions_at
from privet.protocol.features import Column
from privet.protocol.partition import Partition

from ..core.counts import QuestionCounts
from ..core.looks import LEVEL, factor_at

MOST_NAMED = 3
"""Strata that a sentence names."""


def gathered_misfits(question: QuestionCounts, columns: tuple[Column, ...]) -> str:
    """A sentence on the strata with more misfits than all; empty if none is known to have.

    Intervals of all strata hold together with a probability of 95 %.
    """
    of = question.mechanism.stratum_of_cell
    strata = question.mechanism.stratum_count
    if question.n == 0 or strata == 1:
        return ""
    found, factor = question.stratum_misfits, factor_at(question.progress, LEVEL / strata)
    half = factor * np.sqrt(found.variance)
    more = [
        int(i) for i in np.argsort(-found.reported) if found.reported[i] - half[i] > found.overall
    ]
    if not more:
        return ""
    named = []
    for stratum in more[:MOST_NAMED]:
        node = _common_node(question.partition, np.flatnonzero(of == stratum))
        where = " and ".join(
            each.in_words for each in conditions_at(question.partition, columns, node)
        )
        ends = np.clip(
            [found.reported[stratum] + sign * half[stratum] for sign in (0, -1, 1)], 0, 1
        )
        named.append("{} ({:.0%} [{:.0%}, {:.0%}])".format(where, *ends))
    others = f" and in {len(more) - MOST_NAMED} groups more" if len(more) > MOST_NAMED else ""
    return (
        f"Records that did not fit gather where {', where '.join(named)}{others}; of all reports "
        f"they are {found.overall:.1%}."
    )


def _common_node(partition: Partition, cells: np.ndarray) -> int:
    """The lowest node above all ``cells``."""
    above: list[list[int]] = []
    for leaf in partition.leaves[cells]:
        path = [int(leaf)]
        while path[-1] != 0:
            path.append(int(partition.parent[path[-1]]))
        above.append(path)
    return next(node for node in above[0] if all(node in path for path in above))
