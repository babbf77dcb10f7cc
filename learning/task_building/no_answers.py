"""Values of a column that may stand for no answer: codes among numbers, and what one row alone has.

One value is far if the gap to the next one is ``FAR`` times as wide as all others are spread, or
``VERY_FAR`` times where these are few. A code is far if the gap is as wide as the others' spread,
or if it is the only negative number.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from privet.protocol.values import ColumnValues, number_text

from ..core.public_data import Floats

Counts = NDArray[np.intp]


CODES = frozenset(
    sign * code
    for sign in (1.0, -1.0)
    for code in (*range(7, 10), 77, 88, *range(97, 100), 777, 888, *range(997, 1000))
) | frozenset(float(sign * code) for sign in (1, -1) for code in (7777, 8888, 9998, 9999, 99999))
"""Numbers that files have for "no answer", "does not apply" and "does not know"."""
ONLY_NEGATIVE = frozenset({-1.0, -2.0}) | {code for code in CODES if code < 0.0}
FEWEST_ROWS = 20
FAR, VERY_FAR = 3.0, 100.0
"""Gap, in ranges of the others, from which one value is far, and where others are few."""
FEW = 10
"""Different values below which others are few, as those of counts and scales."""
STEPS = 5
"""Different values of the others from which the only negative one may be a code."""
SMALL = 10.0
"""Codes below that count only if several rows have them."""
MOST_FAR = 3
"""Different values at one end of a column that may be none."""
MOST_ALONE = 3
"""Categories of one row of which a column has no more, where it is asked about them."""
OTHERS = 5
"""Rows that each other category has, at least."""


def far_numbers(values: Floats) -> dict[str, int]:
    """The numbers of a column that may be none, by their texts with their rows."""
    present = values[np.isfinite(values)]
    distinct, rows = np.unique(present, return_counts=True)
    if len(present) < FEWEST_ROWS or len(distinct) < 3:
        return {}
    found = dict[float, int]()
    for ends in (slice(None), slice(None, None, -1)):
        places = np.arange(len(distinct))[ends]
        for count in range(min(MOST_FAR, len(distinct) - 2), 0, -1):
            outer, rest = places[:count], places[count:]
            if _are_none(distinct, rows, outer, rest):
                found |= {float(distinct[each]): int(rows[each]) for each in outer}
                break
    return {number_text(value): rows for value, rows in sorted(found.items())}


def _are_none(distinct: Floats, rows: Counts, outer: Counts, rest: Counts) -> bool:
    """True if the ``outer`` values at one end are codes, or one far value, beside the ``rest``."""
    values, others = distinct[outer], distinct[np.sort(rest)]
    are_negative = all(value in ONLY_NEGATIVE for value in values.tolist())
    if are_negative and len(others) >= STEPS and others[0] >= 0.0:
        return True
    gap = float(np.abs(values[:, None] - others[[0, -1]]).min())
    span = float(others[-1] - others[0])
    if all(value in CODES for value in values.tolist()):
        several = bool((rows[outer] > 1).all()) or bool((np.abs(values) >= SMALL).all())
        return several and gap >= max(span, 1.0)
    is_one = len(outer) == 1 and rows[outer[0]] == 1
    return is_one and gap >= (FAR if len(others) >= FEW else VERY_FAR) * span


def alone(counts: Mapping[str, int]) -> dict[str, int]:
    """The categories that one row each has, where few do and all others have several rows."""
    found = [text for text, rows in counts.items() if rows == 1]
    others = [rows for rows in counts.values() if rows > 1]
    if not 0 < len(found) <= MOST_ALONE or len(others) < 2 or min(others) < OTHERS:
        return {}
    return dict.fromkeys(found, 1)


def without(values: ColumnValues, numbers: Mapping[str, int]) -> ColumnValues:
    """A column of numbers without some of them, by their texts; any other column as it is."""
    if not isinstance(values, np.ndarray) or not numbers:
        return values
    return np.where(np.isin(values, [float(text) for text in numbers]), np.nan, values)
