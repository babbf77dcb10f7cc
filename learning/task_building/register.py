"""A register: the disclosed columns of the people asked, without their answers.

A curator that has one counts groups in it instead of inferring them from public records. It is
kept like the public records, and what is published of it is coarse: the tree's thresholds lie
between values of public records, and group sizes are rounded down.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from privet.protocol.errors import InvalidPublicData, InvalidRecord
from privet.protocol.features import Feature, Label, columns_of, encode_table
from privet.protocol.strata import disclosed_columns
from privet.protocol.values import quoted

from ..core.public_data import Floats
from .columns import Columns, count_rows
from .settings import TaskSettings

STEP = 10
"""Group sizes and the number of people are published in steps of this size, rounded down."""
MOST_OUTSIDE = 0.5
"""Share of a column outside the public range from which on it is of other people or units."""
TELLS_APART = 0.8
"""Distinct values for each row from which on a column is taken for an id, or a name; chosen."""


def encode_register(
    settings: TaskSettings, features: Sequence[Feature], label: Label, columns: Columns
) -> Floats:
    """The people asked as encoded rows, ``(people, columns)``; NaN in columns that are hidden.

    The register has the disclosed columns, or all if none is disclosed; others are not kept.
    Raises ``InvalidPublicData`` for a register with answers, without a column, with a value that
    does not fit, with somebody twice, with too few people, or of other people than the public
    records'.
    """
    asked = [f for f in features if f.name in settings.disclosed] or list(features)
    people = count_rows(columns)
    _check_names(columns, [feature.name for feature in asked], label.name)
    _check_once(columns, {feature.name for feature in features})
    if settings.disclosed and people < 2 * settings.smallest_group:
        raise InvalidPublicData(
            f"The register has {people} people, which are not two groups of "
            f"{settings.smallest_group}: leave it out, or disclose nothing."
        )
    if "holders" in settings.model_fields_set and settings.holders > people:
        raise InvalidPublicData(
            f"The register has {people} people, and {settings.holders} are expected to answer: "
            "list everybody who is asked, or expect fewer holders."
        )
    try:
        values = {f.name: f.read_cells(columns[f.name]) for f in asked}
        block = encode_table(asked, values)
    except InvalidRecord as error:
        raise InvalidPublicData(
            f"The register does not fit the task. {error.detail} List the value in the settings "
            "of its column, or leave the person out."
        ) from None
    for feature in asked:
        outside = int(feature.outside(values[feature.name]).sum())
        if outside > MOST_OUTSIDE * people:
            raise InvalidPublicData(
                f"{outside} of the {people} people in the register have a {feature.name!r} outside "
                f"{feature.extent('{:g}'.format)}: it is in another unit, or of other people "
                "than the public records. Correct it, or declare the range."
            )
    X = np.full((people, len(columns_of(features))), np.nan)
    X[:, disclosed_columns(tuple(features), [feature.name for feature in asked])] = block
    return X


def _check_names(columns: Columns, asked: list[str], label: str) -> None:
    if label in columns:
        raise InvalidPublicData(
            f"The register has the column {label!r}, which is the label: leave it out, since a "
            "curator must not hold what reports protect."
        )
    if missing := [name for name in asked if name not in columns]:
        raise InvalidPublicData(
            f"The register has no column {missing[0]!r}: it takes {quoted(asked)}."
        )


def _check_once(columns: Columns, features: set[str]) -> None:
    """Raise if two rows are equal, or have one id, where columns besides features tell people
    from each other."""
    others = {name: values for name, values in columns.items() if name not in features}
    if not others:
        return
    for name, values in others.items():
        texts = [str(value) for value in values]
        if len(set(texts)) >= TELLS_APART * len(texts):
            _check_different(texts, f"have the same {name!r}")
    _check_different(list(zip(*columns.values(), strict=True)), "are equal in every column")


def _check_different(people: Sequence[Hashable], equal: str) -> None:
    seen: dict[Hashable, int] = {}
    for row, person in enumerate(people, start=1):
        if person in seen:
            raise InvalidPublicData(
                f"Rows {seen[person]} and {row} of the register {equal}: list each person once, or "
                "leave out the columns that are not disclosed."
            )
        seen[person] = row


def in_steps(people: float) -> int:
    """A number of people as it is published."""
    return int(people) // STEP * STEP
