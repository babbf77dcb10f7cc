"""A column of texts, or of a few numbers, as a feature of several categories.

Where public values are missing, the task has a category of its own for them. Unlisted categories
are refused unless the public data probably lack some.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Categorical
from privet.protocol.features.categorical import EMPTY
from privet.protocol.values import ColumnValues, category_text, text_counts

from .columns import order_of
from .numeric import numbers
from .settings import FeatureSettings

MAX_INFERRED_CATEGORIES = 100
"""Chosen, not measured: more are names or codes, most of which few holders have."""
DAY = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?([T ].*)?|\d\d?[./-]\d\d?[./-](\d{4}|\d\d)([T ].*)?"
    r"|\d\d?[ .-]{1,2}[^\W\d_]{3,9}[ .,-]{1,2}(\d{4}|\d\d)|[^\W\d_]{3,9}\.? \d\d?, \d{4}"
)
"""A day, with or without a time."""
ABOUT_DATES = (
    "holds dates or durations: turn it into a number, such as the days since a fixed day, or into "
    "a category, such as the weekday"
)


class TooVaried(InvalidPublicData):
    """A column with too many different texts to be categories, such as an id."""

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Its type and arguments, for another process."""
        return type(self), (self.column, self.detail)


def infer_categorical(name: str, values: ColumnValues, declared: FeatureSettings) -> Categorical:
    """The categorical feature of a column; raises ``InvalidPublicData`` where nobody could choose
    among its categories."""
    if declared.low is not None or declared.high is not None:
        raise InvalidPublicData(
            f"The feature {name!r} is categorical: declare categories, missing and unknown, "
            "not a range."
        )
    if isinstance(values, np.ndarray):
        values = numbers(name, values)
    listed = declared.categories or ()
    counts = text_counts(values, listed)
    categories = listed or _found_categories(name, counts, order_of(values))
    missing = None if declared.missing is None else category_text(declared.missing)
    if missing is None and counts.total() < len(values):
        missing = EMPTY
        categories = (*categories, missing) if missing not in categories else categories
    unknown = declared.unknown
    if unknown is None and not declared.categories and 1 in counts.values():
        # a category seen once: others were probably not seen, and count as the most frequent
        unknown = counts.most_common(1)[0][0]
    return Categorical(name=name, categories=categories, missing=missing, unknown=unknown)


def _found_categories(name: str, counts: Counter[str], order: Sequence[str]) -> tuple[str, ...]:
    rows = counts.total()
    if not counts:
        raise InvalidPublicData(
            f"The column {name!r} has no values: ignore it, or declare its categories."
        )
    if len(counts) > MAX_INFERRED_CATEGORIES or 20 < len(counts) > rows / 2:
        example = next(iter(counts))
        leave = f"leave it out (ignore={[name]})"
        if all(map(DAY.fullmatch, counts)):
            raise TooVaried(
                name,
                f"The column {name!r} {ABOUT_DATES}, let its year count (years={[name]}), or "
                f"{leave}.",
            )
        raise TooVaried(
            name,
            f"The column {name!r} has {len(counts)} different texts in {rows} rows, "
            f"for example {example!r}: {leave}, join its values into fewer "
            f"categories, turn it into a number, or declare its categories.",
        )
    return in_order(counts, order)


def all_too_varied(varied: Sequence[TooVaried]) -> InvalidPublicData:
    """One error for several columns."""
    names = [error.column for error in varied]
    listed = f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
    return InvalidPublicData(
        f"The columns {listed} have too many different texts to be categories, as ids, dates and "
        f"free texts do: leave them out (ignore={names}), join their values into fewer "
        "categories, turn them into numbers, or declare their categories."
    )


def in_order(texts: Iterable[str], order: Sequence[str] = ()) -> tuple[str, ...]:
    """In the order that their type has; else numerically if all are numbers, or alphabetically."""
    if order:
        return tuple(sorted(texts, key=order.index))
    try:
        return tuple(sorted(texts, key=float))
    except ValueError:
        return tuple(sorted(texts))
