"""Strata of disclosed columns in words: where records that do not fit gather, and reports
that the register does not account for."""

from math import sqrt

import numpy as np

from privet.protocol.features import Column
from privet.protocol.partition import Partition

from ..core.amounts import figure, percent, thousands
from ..core.counts import QuestionCounts
from ..core.looks import LEVEL, factor_at
from ..core.public_data import Floats
from ..core.trees import locate, readable_path

MOST_NAMED = 3
"""Strata that a sentence names."""


def gathered_misfits(question: QuestionCounts, columns: tuple[Column, ...]) -> str:
    """A sentence on the strata with more misfits than all; empty if none is known to have.

    If everybody's record is as likely not to fit, it is empty in 95 % of collections; and intervals
    of all strata hold together with that probability. Misfits are rare and so is what noise moves,
    so both have the skewness of rare events (Cornish and Fisher, 1938) and half a step more.
    """
    of = question.mechanism.stratum_of_cell
    strata = question.mechanism.stratum_count
    if question.n == 0 or strata == 1:
        return ""
    found, factor = question.stratum_misfits, factor_at(question.progress, LEVEL / strata)
    sizes: list[int] = question.mechanism.reported(question.sums, question.n).tolist()
    skewed = question.step * (0.5 + (factor**2 - 1.0) / 6.0)

    def half(stratum: int, share: float, of_one: float) -> float:
        n = sizes[stratum]
        variance = question.mechanism.misfit_variance(n, n * share) + n * of_one
        return (factor * sqrt(variance) + skewed) / max(n, 1)

    likely, chance = found.overall, found.overall * (1.0 - found.overall)
    more = [
        stratum
        for stratum in np.argsort(-found.reported).tolist()
        if found.reported[stratum] - likely > half(stratum, likely, chance)
    ]
    if not more:
        return ""
    named = []
    for stratum in more[:MOST_NAMED]:
        where = _where(question.partition, columns, np.flatnonzero(of == stratum))
        share = min(float(found.reported[stratum]), 1.0)
        off = half(stratum, share, 0.0)
        ends = np.clip([share, share - off, share + off], 0, 1)
        named.append(f"{where} ({figure(*ends.tolist(), is_share=True)})")
    others = f" and in {len(more) - MOST_NAMED} groups more" if len(more) > MOST_NAMED else ""
    return (
        f"Records that did not fit gather where {', where '.join(named)}{others}; of all reports "
        f"they are {percent(found.overall)}."
    )


def unregistered_reports(
    question: QuestionCounts, register: Floats | None, columns: tuple[Column, ...]
) -> str:
    """A sentence on the strata with more reports than people in the register; empty if none has.

    Numbers of reports are exact, so there is no chance in it. A record whose disclosed column does
    not fit counts where its stand-in leads to.
    """
    of, strata = question.mechanism.stratum_of_cell, question.mechanism.stratum_count
    if register is None or question.n == 0 or strata == 1:
        return ""
    people = np.bincount(of[locate(question.partition, register)], minlength=strata)
    excess = question.mechanism.reported(question.sums, question.n) - people
    if excess.max() <= 0:
        return ""
    most = int(excess.argmax())
    where = _where(question.partition, columns, np.flatnonzero(of == most))
    many = thousands(int(np.maximum(excess, 0).sum()))
    return (
        f"{many} reports are more than the register has people in their "
        f"strata, most where {where}: somebody answered twice, disclosed values that the register "
        "does not have, or was not in it."
    )


def _where(partition: Partition, columns: tuple[Column, ...], cells: np.ndarray) -> str:
    """The conditions that lead to a stratum of these ``cells``, in words."""
    node = _common_node(partition, cells)
    return " and ".join(readable_path(partition, columns, node))


def _common_node(partition: Partition, cells: np.ndarray) -> int:
    """The lowest node above all ``cells``."""
    above: list[list[int]] = []
    for leaf in partition.leaves[cells]:
        path = [int(leaf)]
        while path[-1] != 0:
            path.append(int(partition.parent[path[-1]]))
        above.append(path)
    return next(node for node in above[0] if all(node in path for path in above))
