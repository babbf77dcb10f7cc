"""Review of public columns: how they would be published, and what looks wrong."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import (
    NUMBER,
    Categorical,
    ColumnValues,
    Numeric,
    category_text,
    is_missing,
)

from .columns import Columns
from .schema import infer_feature
from .settings import TaskSettings

LIKE_A_NUMBER = 0.5
"""A column of texts with at least this share of numbers is probably numeric."""
FEWEST_IDS = 30
"""Rows from which whole numbers that all differ are probably ids."""


def review(columns: Columns, settings: TaskSettings) -> list[str]:
    """Warnings about columns that would become features but probably should not as they are.

    Columns that the settings declare are not questioned.
    """
    declared = {settings.label, *settings.ignore, *settings.features}
    return [
        f"{name!r} {remark}"
        for name, values in columns.items()
        if name not in declared
        for remark in remarks_on(values)
    ]


@dataclass(frozen=True)
class Proposal:
    """The ``feature`` that a column would be, None if it cannot be one, and what looks wrong."""

    name: str
    feature: Numeric | Categorical | None
    remarks: tuple[str, ...]


def propose(columns: Columns) -> list[Proposal]:
    """A proposal for every column, in file order."""
    proposals = []
    for name, values in columns.items():
        feature, remarks = None, tuple(f"It {remark}" for remark in remarks_on(values))
        try:
            feature = infer_feature(name, values)
        except InvalidPublicData as error:
            remarks = (error.detail, *remarks)
        proposals.append(Proposal(name, feature, remarks))
    return proposals


def remarks_on(values: ColumnValues) -> Iterator[str]:
    """Remarks on what looks wrong about a column, as sentences without a subject."""
    if isinstance(values, np.ndarray):
        present = values[~np.isnan(values)]
        distinct = len(np.unique(present))
        whole = bool(np.equal(np.mod(present, 1), 0).all())
        if whole and distinct == len(values) >= FEWEST_IDS:
            yield "has a different whole number in every row: ignore it if it is an id."
    else:
        counts = Counter(category_text(value) for value in values if not is_missing(value))
        distinct = len(counts)
        yield from _remarks_on_texts(counts)
    if distinct == 1:
        yield "has the same value in every row: ignore it, as it carries no information."


def _remarks_on_texts(counts: Counter[str]) -> Iterator[str]:
    texts = [text for text in counts if not NUMBER.fullmatch(text)]
    numbers = sum(count for text, count in counts.items() if NUMBER.fullmatch(text))
    if texts and numbers >= LIKE_A_NUMBER * counts.total():
        examples = ", ".join(map(repr, sorted(texts)[:3]))
        yield (
            f"has {numbers} numbers and {counts.total() - numbers} texts ({examples}), so it "
            f"becomes {len(counts)} categories: to make it a number, empty those cells."
        )
    alike = defaultdict(list)
    for text in sorted(counts):
        alike["".join(text.casefold().split())].append(text)
    for spellings in alike.values():
        if len(spellings) > 1:
            some = ", ".join(map(repr, spellings))
            yield f"has categories that differ only in case or spaces ({some}): spell them alike."
