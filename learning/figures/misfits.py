"""Strata of disclosed columns in words: where records that do not fit gather, reports that the
register does not account for, and groups smaller than expected."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from privet.protocol.conditions import conditions_at, readable_names
from privet.protocol.features import Column
from privet.protocol.mechanisms.base import Sums
from privet.protocol.partition import Partition
from privet.protocol.task import Task

from ..core.amounts import figure, percent, thousands
from ..core.counts import QuestionCounts
from ..core.looks import LEVEL, factor_at
from ..core.public_data import Floats
from ..core.trees import common_node, locate, name_of_group, readable_path

MOST_NAMED = 3
"""Strata that a sentence names."""


def strata_in_words(
    question: QuestionCounts,
    questions: Sequence[QuestionCounts],
    task: Task,
    register: Floats | None,
) -> str:
    """All that is said of the strata of a task; empty if there is nothing to say.

    Misfits are those of the ``question`` in cells; reports are counted over all ``questions``.
    """
    sizes = np.sum([each.mechanism.reported(each.sums, each.n) for each in questions], axis=0)
    said = (
        gathered_misfits(question, task.columns),
        unregistered_reports(question, sizes, register, task.columns),
        small_groups(sizes, min(task.group_sizes, default=0)),
    )
    return " ".join(filter(None, said))


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
    named, replaced = [], dict[str, None]()
    for stratum in more[:MOST_NAMED]:
        cells = np.flatnonzero(of == stratum)
        where = _where(question.partition, columns, cells)
        replaced |= dict.fromkeys(_replaced(question.partition, columns, cells))
        share = min(float(found.reported[stratum]), 1.0)
        off = half(stratum, share, 0.0)
        ends = np.clip([share, share - off, share + off], 0, 1)
        named.append(f"{where} ({figure(*ends.tolist(), is_share=True)})")
    others = (
        f" and in {len(more) - MOST_NAMED} disclosed groups more" if len(more) > MOST_NAMED else ""
    )
    standing_in = (
        f" Some may be records whose {' or '.join(replaced)} itself did not fit, in place of which "
        "a stand-in counts."
    )
    return (
        f"Records that did not fit gather in {', in '.join(named)}{others}; of all reports "
        f"they are {percent(found.overall)}.{standing_in if replaced else ''}"
    )


def unregistered_reports(
    question: QuestionCounts,
    sizes: Sums,
    register: Floats | None,
    columns: tuple[Column, ...],
) -> str:
    """A sentence on the strata with more reports than people in the register; empty if none has.

    ``sizes``, ``(strata,)``, are the reports of each.

    Numbers of reports are exact, so there is no chance in it. A record whose disclosed column does
    not fit counts where its stand-in leads to.
    """
    of, strata = question.mechanism.stratum_of_cell, question.mechanism.stratum_count
    if register is None or not sizes.any() or strata == 1:
        return ""
    people = np.bincount(of[locate(question.partition, register)], minlength=strata)
    excess = sizes - people
    if excess.max() <= 0:
        return ""
    most = int(excess.argmax())
    where = _where(question.partition, columns, np.flatnonzero(of == most))
    many = thousands(int(np.maximum(excess, 0).sum()))
    return (
        f"{many} reports are more than the register has people in their "
        f"strata, most in {where}: somebody answered twice, disclosed other values than the "
        "register has, or was not in it."
    )


def small_groups(sizes: Sums, least: int) -> str:
    """A sentence on the strata from which fewer than ``least`` reports came; empty if none is.

    Who expects so many people to answer in each may be wrong, above all where some kinds of people
    answer less often than others.
    """
    few = int((sizes < least).sum())
    if not sizes.any() or few == 0 or len(sizes) == 1:
        return ""
    return (
        f"Fewer than the {thousands(least)} reports expected from each disclosed group came from "
        f"{thousands(few)} of {thousands(len(sizes))}: there, a report hides among fewer people."
    )


def _replaced(partition: Partition, columns: tuple[Column, ...], cells: np.ndarray) -> list[str]:
    """The features whose conditions in a stratum are all met by stand-ins, as people read them."""
    of_feature: dict[str, list[bool]] = {}
    for each in conditions_at(partition, columns, common_node(partition, cells)):
        of_feature.setdefault(each.feature.name, []).append(each.feature.stand_in_meets(each))
    names = readable_names(columns)
    return [f"“{names[name]}”" for name, met in of_feature.items() if all(met)]


def _where(partition: Partition, columns: tuple[Column, ...], cells: np.ndarray) -> str:
    """The conditions that lead to a stratum of these ``cells``, in words and in quotes."""
    node = common_node(partition, cells)
    return f"“{name_of_group(readable_path(partition, columns, node))}”"
