"""A register: the disclosed columns of the people asked, without their answers.

It is a row for each person, or a table of counts: a row for each combination of values, with the
number of people who have it in a column called ``count``, as statistics offices publish them. A
curator that has one counts groups in it instead of inferring them from public records. It is kept
like the public records, and what is published of it is coarse: the tree's thresholds lie between
values of public records, and group sizes are rounded down.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData, InvalidRecord
from privet.protocol.features import Feature, Label, columns_of, encode_table
from privet.protocol.strata import disclosed_columns
from privet.protocol.values import quoted
from privet.tables.cells import whole_number

from ..core.public_data import Floats
from .columns import Columns, count_rows
from .settings import TaskSettings

STEP = 10
"""Group sizes and the number of people are published in steps of this size, rounded down."""
MOST_OUTSIDE = 0.5
"""Share of a column outside the public range from which on it is of other people or units."""
COUNT = "count"
"""The column of a table of counts, in any case, unless a feature is called so."""
MOST_PEOPLE = 2_000_000
"""Everybody is kept as a row."""
TELLS_APART = 0.8
"""Distinct values for each row from which on a column is taken for an id, or a name; chosen."""


def encode_register(
    settings: TaskSettings, features: Sequence[Feature], label: Label, columns: Columns
) -> Floats:
    """The people asked as encoded rows, ``(people, columns)``; NaN in columns that are hidden.

    The register has the disclosed columns, or all if none is disclosed; others are not kept. A row
    counts as many people as its ``COUNT`` says. Raises ``InvalidPublicData`` for a register with
    answers, without a column, with a value that does not fit, with somebody twice, with too few or
    too many people, or of other people than the public records'.
    """
    asked = [f for f in features if f.name in settings.disclosed] or list(features)
    names = {feature.name for feature in features}
    _check_names(columns, [feature.name for feature in asked], label.name)
    times = _counts(columns, names)
    if times is None:
        _check_once(columns, names)
        times = np.ones(count_rows(columns), dtype=np.int64)
    people = int(times.sum())
    if people > MOST_PEOPLE:
        raise InvalidPublicData(
            f"The register has {people} people, and at most {MOST_PEOPLE} are kept: divide the "
            "counts, and give the holders that answer."
        )
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
        outside = int(times[feature.outside(values[feature.name])].sum())
        if outside > MOST_OUTSIDE * people:
            raise InvalidPublicData(
                f"{outside} of the {people} people in the register have a {feature.name!r} outside "
                f"{feature.extent('{:g}'.format)}: it is in another unit, or of other people "
                "than the public records. Correct it, or declare the range."
            )
    X = np.full((people, len(columns_of(features))), np.nan)
    X[:, disclosed_columns(tuple(features), [feature.name for feature in asked])] = np.repeat(
        block, times, axis=0
    )
    return X


def _counts(columns: Columns, features: set[str]) -> NDArray[np.int64] | None:
    """The people that each row counts; None for a row for each person."""
    found = [name for name in columns if name.strip().lower() == COUNT and name not in features]
    if not found:
        return None
    name, *more = found
    if more:
        raise InvalidPublicData(f"The register has two columns {name!r}: keep one of them.")
    numbers = [whole_number(str(value).removesuffix(".0")) for value in columns[name]]
    for row, number in enumerate(numbers, start=1):
        if number is None or number < 0:
            raise InvalidPublicData(
                f"The register has no whole number of people in row {row}: {name!r} counts the "
                "people of each row."
            )
    return np.array(numbers, dtype=np.int64)


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
